"""Which parts of a plan can be estimated from their reports, and by which reader; why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp.columns.numeric import check_arrow
from fastdp.errors import FastDPError, ParameterError
from fastdp.mechanisms.base import FiniteMechanism
from fastdp.mechanisms.central.additive import Additive
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.mechanisms.local.numeric import MeanReports
from fastdp.mechanisms.local.square_wave import SquareWave
from fastdp.plans.category_group import Joint
from fastdp.plans.column_entry import Entry
from fastdp.plans.column_group import Group
from fastdp.plans.policies import missing_rows
from fastdp.tables.estimating.category_readers import OutputReader, Reader, ShareReader
from fastdp.tables.estimating.group_readers import open_group_reader
from fastdp.tables.estimating.number_readers import WAVE_BINS, MeanReader, NoiseReader, WaveReader
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

    @property
    def name(self) -> str:
        return self.part.name

    @property
    def columns(self) -> tuple[str, ...]:
        return self.part.columns

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns whose reports are labels themselves, as those of k-RR are."""
        if isinstance(self.part, Group):
            return self.part.labelled if isinstance(self.part.body, Joint) else ()
        mechanism = self.part.mechanism
        is_label = isinstance(mechanism, FrequencyProtocol) and mechanism.report_type is None
        return self.part.labelled if is_label else ()

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self.columns]
        in_place = not isinstance(self.part, Group) or isinstance(self.part.body, Joint)
        with_nulls = in_place and self.part.nulls == "public"
        try:
            if with_nulls:
                for column in columns:
                    check_arrow(f"column {self.name!r}", column, "public")  # before anything reads them
                columns = _present(columns)
            if self.ticks is not None:
                columns = [self.ticks.read(type(self.part.mechanism).__name__, column) for column in columns]
            if len(columns[0]):
                self.reader.add(*columns)
                self.reports += len(columns[0])
        except FastDPError as error:
            raise self._named(error) from None

    def conclude(self, level: float) -> list[ColumnEstimate]:
        try:
            found = self.reader.find(self.name, str(self.part.given["mechanism"]), level)
        except FastDPError as error:
            raise self._named(error) from None
        return found if self.ticks is None else [in_values(estimate, self.ticks) for estimate in found]

    @property
    def ticks(self) -> Ticks | None:
        """How the column's values are whole numbers, where they are dates, times, durations or decimals."""
        return self.part.ticks if isinstance(self.part, Entry) else None

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
    if isinstance(part, Group):
        return open_group_reader(part, unbiased=unbiased)
    return None if part.mechanism is None else _open_reader(part.mechanism, part.given, bins=bins, unbiased=unbiased)


def reason(part: PlanPart) -> str:
    """Why there is no estimate, and what to do instead."""
    if isinstance(part, Group):
        if isinstance(part.body, Joint):
            return f"{part.mechanism.domain.size:,} combinations are too many to count; estimate parts of the group"
        return "moved points are read as they are; for a density, count them on a grid and use the grid's channel"
    if part.action == "keep":
        return "it is kept as it is; read it directly"
    if part.action == "drop":
        return "it is dropped, so that no reports exist"
    return f"no estimator is known for {type(part.mechanism).__name__}; read its values as they are"


def _open_reader(mechanism: Any, given: Any, *, bins: int | None, unbiased: bool) -> Reader | None:
    """The reader for the reports of a mechanism; None where there is none."""
    if isinstance(mechanism, SquareWave):
        return WaveReader(mechanism, bins or given.get("bins", WAVE_BINS))
    if isinstance(mechanism, MeanReports):
        return MeanReader(mechanism, bins)
    if isinstance(mechanism, Additive):
        return NoiseReader(mechanism, bins)
    if isinstance(mechanism, FrequencyProtocol):
        return ShareReader(mechanism, unbiased=unbiased)
    if isinstance(mechanism, FiniteMechanism):
        return OutputReader(mechanism)
    return None
