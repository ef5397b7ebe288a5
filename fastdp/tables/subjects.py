"""Which parts of a plan can be estimated from their reports, and by which reader; why the others cannot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp.columns.numeric import check_arrow
from fastdp.errors import FastDPError, ParameterError
from fastdp.mechanisms.additive import Additive
from fastdp.mechanisms.numeric import MeanReports
from fastdp.mechanisms.square_wave import SquareWave
from fastdp.tables.findings import ColumnEstimate
from fastdp.tables.group import Group
from fastdp.tables.group_readers import open_group_reader
from fastdp.tables.joint import Joint
from fastdp.tables.number_readers import WAVE_BINS, MeanReader, NoiseReader, WaveReader
from fastdp.tables.policies import missing_rows
from fastdp.tables.readers import OutputReader, Reader, ShareReader
from fastdp.tables.spec import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.entry import Entry
    from fastdp.tables.plan import Plan


@dataclass(slots=True)
class Subject:
    """A column or a group whose reports are read."""

    name: str
    part: Entry | Group
    reader: Reader
    reports: int = 0

    @property
    def columns(self) -> tuple[str, ...]:
        return self.part.columns if isinstance(self.part, Group) else (self.name,)

    @property
    def labels(self) -> tuple[str, ...]:
        """Columns whose reports are labels themselves, as those of k-RR are."""
        if isinstance(self.part, Group):
            return self.part.labelled if isinstance(self.part.body, Joint) else ()
        domain = getattr(self.part.mechanism, "domain", None)
        labels = None if domain is None else domain.labels
        is_label = labels is not None and isinstance(labels[0], str) and not hasattr(self.part.mechanism, "report_type")
        return self.columns if is_label else ()

    def add(self, batch: pa.RecordBatch) -> None:
        columns = [batch.column(name) for name in self.columns]
        with_nulls = self.part.public_nulls and (not isinstance(self.part, Group) or isinstance(self.part.body, Joint))
        try:
            if with_nulls:
                for column in columns:
                    check_arrow(f"column {self.name!r}", column, "public")  # before anything reads them
                columns = _present(columns)
            if len(columns[0]):
                self.reader.add(*columns)
                self.reports += len(columns[0])
        except FastDPError as error:
            raise self._named(error) from None

    def conclude(self, confidence: float) -> list[ColumnEstimate]:
        try:
            return self.reader.find(self.name, str(self.part.given["mechanism"]), confidence)
        except FastDPError as error:
            raise self._named(error) from None

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


def choose(plan: Plan, asked: list[str]) -> list[Entry | Group]:
    """The columns and groups that are asked for, a group by any of its columns or its name; all if none are."""
    if not asked:
        return [*plan.columns.values(), *plan.groups]
    chosen: list[Entry | Group] = []
    for name in asked:
        group = next((group for group in plan.groups if name == group.name or name in group.columns), None)
        if name not in plan.columns and group is None:
            raise ParameterError(f"estimate: {unknown('column', name, plan.names)}")
        part = plan.columns[name] if group is None else group
        if part not in chosen:
            chosen.append(part)
    return chosen


def open_part(part: Entry | Group, *, bins: int | None, unbiased: bool) -> tuple[str, Reader | None]:
    """The name of a part, and the reader for its reports; None where there is none."""
    if isinstance(part, Group):
        return part.name, open_group_reader(part, unbiased=unbiased)
    if part.action != "randomize":
        return part.column, None
    return part.column, _open_reader(part.mechanism, part.given, bins=bins, unbiased=unbiased)


def reason(part: Entry | Group) -> str:
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
    if hasattr(mechanism, "aggregate"):
        return ShareReader(mechanism, unbiased=unbiased)
    if hasattr(mechanism, "channel") and hasattr(mechanism, "count_outputs"):
        return OutputReader(mechanism)
    return None
