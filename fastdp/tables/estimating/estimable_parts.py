"""Which parts of a plan can be estimated from their reports, and by which reader; why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastdp.columns.numeric import check_arrow
from fastdp.errors import FastDPError, ParameterError
from fastdp.plans.column_entry import ColumnEntry
from fastdp.plans.column_group import Group
from fastdp.plans.policies import missing_rows
from fastdp.tables.estimating.category_readers import Reader
from fastdp.tables.estimating.null_tally import NullTally
from fastdp.tables.estimating.readers import Options, open_reader
from fastdp.tables.estimating.results import ColumnEstimate, in_values
from fastdp.validation import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.plans.part import PlanPart
    from fastdp.plans.plan import Plan
    from fastdp.units.ticks import Ticks


@dataclass(slots=True)
class Subject:
    """A column or a group whose reports are read."""

    part: PlanPart
    reader: Reader
    reports: int = 0
    nulls: NullTally | None = None
    """Of columns that report nullness by itself."""

    @property
    def name(self) -> str:
        return self.part.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.part.columns

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns whose reports are labels themselves, as those of k-RR are."""
        return self.part.reported_labels

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self.columns]
        try:
            items = self.part.policies.items if isinstance(self.part, ColumnEntry) else None
            if items is not None and items.length is not None:
                check_arrow(f"column {self.name!r}", columns[0], "public")
                columns = [items.reports_in(columns[0])]
            if self.part.keeps_nulls:
                for column in columns:
                    check_arrow(f"column {self.name!r}", column, "public")  # before anything reads them
                count = len(columns[0])
                columns = _present(columns)
                if self.nulls is not None:
                    self.nulls.add(count, len(columns[0]))
            if self.ticks is not None:
                columns = [self.ticks.read(type(self.part.mechanism).__name__, column) for column in columns]
            if len(columns[0]):
                self.reader.add(*columns)
                self.reports += len(columns[0])
        except FastDPError as error:
            raise self._named(error) from None

    def conclude(self, level: float) -> list[ColumnEstimate]:
        try:
            found = self.reader.conclude(self.name, str(self.part.given["mechanism"]), level)
        except FastDPError as error:
            raise self._named(error) from None
        if self.nulls is not None:
            found = self.nulls.conclude(found)
        return found if self.ticks is None else [in_values(estimate, self.ticks) for estimate in found]

    @property
    def ticks(self) -> Ticks | None:
        """How the column's values are whole numbers, where they are dates, times, durations or decimals."""
        return self.part.ticks if isinstance(self.part, ColumnEntry) else None

    def _named(self, error: FastDPError) -> FastDPError:
        return type(error)(f"estimate: column {self.name!r}: {error}")


def _present(columns: list[pa.Array]) -> list[pa.Array]:
    """The rows without a null."""
    import pyarrow as pa

    missing = missing_rows(columns)
    if not missing.any():
        return columns
    present = pa.array(~missing)
    return [column.filter(present) for column in columns]


def choose(plan: Plan, asked: list[str]) -> list[PlanPart]:
    """The columns and groups that are asked for, a group by any of its columns or its name; all if none are."""
    if not asked:
        return list(plan.parts)
    chosen: list[PlanPart] = []
    for name in asked:
        part = next((part for part in plan.parts if name == part.name or name in part.columns), None)
        if part is None:
            raise ParameterError(f"estimate: {unknown('column', name, plan.names)}")
        if part not in chosen:
            chosen.append(part)
    return chosen


def open_part(part: PlanPart, *, bins: int | None, unbiased: bool) -> Reader | None:
    """The reader for the reports of a part; None where there is none."""
    subject = part.body if isinstance(part, Group) else part.mechanism
    return open_reader(subject, Options(bins, unbiased, part.given))
