"""What is found out about a sanitized table: estimates with their intervals, column by column."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from fastdp import optional
from fastdp.display.html import to_html
from fastdp.display.plotting import draw_shares, new_axes
from fastdp.renamed import renamed_fields
from fastdp.results import Result

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.units.ticks import Ticks

Kind = Literal["shares", "mean", "distribution", "quartiles"]
"""Shares of values; the mean; shares of ranges of numbers; their quartiles."""


class Range(NamedTuple):
    """Numbers from ``start`` to ``end``."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Line:
    """One number that is estimated, and the ends of its confidence interval."""

    value: Any
    """What it is of: a label, a truth value, a tuple of labels, a range, a quartile's name, or None for the mean."""
    estimate: float
    std_error: float
    """NaN where the estimate is regularised: how much it varies says nothing of its bias."""
    low: float
    """NaN, as ``high``, where there is no interval."""
    high: float
    determined: bool = True
    """Whether the reports tell it at all: the interval is at most half as wide as all that is possible."""

    @property
    def name(self) -> str:
        """The value in words.

        >>> Line(Range(0.0, 2.5), 0.1, 0.01, 0.08, 0.12).name, Line(None, 3.0, 0.1, 2.8, 3.2).name
        ('0 to 2.5', 'mean')
        """
        if self.value is None:
            return "mean"
        if isinstance(self.value, Range):
            return " to ".join(f"{end:.6g}" for end in self.value)
        if isinstance(self.value, tuple):
            return ", ".join(map(str, self.value))
        return str(self.value)


@renamed_fields(confidence="level")
@dataclass(frozen=True, slots=True, repr=False)
class ColumnEstimate(Result):
    """The estimate of one column from ``reports`` reports, at one level of confidence for each line by itself."""

    estimated = "lines"

    column: str
    mechanism: str
    kind: Kind
    reports: int
    level: float
    method: str
    lines: tuple[Line, ...]
    ticks: Ticks | None = None
    """How numbers are moments, where they are steps since 1970 or since midnight."""

    def show(self, number: float) -> str | None:
        """A number as a moment; None where it is none."""
        return None if self.ticks is None or not np.isfinite(number) else self.ticks.show(number)

    def name_of(self, line: Line) -> str:
        """What a line is of, in words."""
        if self.ticks is not None and isinstance(line.value, Range):
            return " to ".join(self.ticks.show(end) for end in line.value)
        return line.name

    @property
    def _shows_values(self) -> bool:
        """Whether the numbers that are estimated are values of the column, and not shares."""
        return self.ticks is not None and self.kind in {"mean", "quartiles"}

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it; a number that is not known is null."""
        lines = [
            {"value": list(line.value) if isinstance(line.value, tuple) else line.value}
            | {
                name: getattr(line, name) if np.isfinite(getattr(line, name)) else None
                for name in ("estimate", "std_error", "low", "high")
            }
            | {"determined": line.determined}
            | ({} if self.ticks is None else {"shown": self._shown(line)})
            for line in self.lines
        ]
        return {
            "column": self.column, "mechanism": self.mechanism, "kind": self.kind, "reports": self.reports,
            "confidence": self.level, "method": self.method, "estimates": lines,
        }  # fmt: skip

    def to_arrow(self) -> pa.Table:
        """One row per line."""
        return TableEstimate((self,)).to_arrow()

    def to_pandas(self) -> Any:
        """One row per line, as a pandas frame; needs pandas."""
        optional.load("ColumnEstimate.to_pandas", "pandas", extra="pandas")
        return self.to_arrow().to_pandas()

    def plot(self, *, ax: Any = None) -> Any:
        """Estimates with their intervals; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax
            The axes to draw on; new ones by default.
        """
        axes = new_axes("ColumnEstimate.plot", ax)
        ends = np.array([[line.estimate, line.low, line.high] for line in self.lines]).T
        names = [self.name_of(line) for line in self.lines]
        draw_shares(axes, ends[0], names=names, interval=(ends[1], ends[2]))
        axes.set(title=self.column, ylabel=self.kind)
        return axes

    def _table(self) -> list[list[str]]:
        return [
            [self.column, self.name_of(line), f"{line.estimate:.6g}", f"{line.low:.6g}", f"{line.high:.6g}"]
            for line in self.lines
        ]

    def __repr__(self) -> str:
        head = f"ColumnEstimate({self.column!r}, {self.mechanism}, {self.kind}, {self.reports:,} reports)"
        rows = [f"  {name}: {estimate} [{low}, {high}]" for _, name, estimate, low, high in self._table()[:10]]
        return "\n".join([head, *rows, *(["  ..."] if len(self.lines) > 10 else [])])

    def _repr_html_(self) -> str:
        title = f"{self.column}: {self.kind}, {self.reports:,} reports, intervals of {self.level:.4g}"
        return to_html(title, [row[1:] for row in self._table()], head=["value", "estimate", "low", "high"])

    def _shown(self, line: Line) -> dict[str, str | None]:
        numbers = ("estimate", "low", "high") if self._shows_values else ()
        return {"value": self.name_of(line)} | {name: self.show(getattr(line, name)) for name in numbers}


@dataclass(frozen=True, slots=True, repr=False)
class TableEstimate:
    """The estimates of a table, in the order of its plan; ``skipped`` says of every other column why it has none."""

    estimates: tuple[ColumnEstimate, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[ColumnEstimate]:
        return iter(self.estimates)

    def __len__(self) -> int:
        return len(self.estimates)

    def __getitem__(self, column: str) -> ColumnEstimate:
        """The first estimate of a column: its shares, or its mean."""
        for estimate in self.estimates:
            if estimate.column == column:
                return estimate
        raise KeyError(column)

    def to_pandas(self) -> Any:
        """One row per line, as a pandas frame; needs pandas."""
        optional.load("TableEstimate.to_pandas", "pandas", extra="pandas")
        return self.to_arrow().to_pandas()

    def __repr__(self) -> str:
        shown = "\n".join(map(repr, self.estimates[:10]))
        more = f"\n... {len(self.estimates) - 10} more" if len(self.estimates) > 10 else ""
        return f"TableEstimate of {len(self.estimates)} estimates, {len(self.skipped)} columns without\n{shown}{more}"

    def _repr_html_(self) -> str:
        rows = [row for one in self.estimates for row in one._table()]  # noqa: SLF001 - its own parts
        return to_html("Estimates", rows, head=["column", "value", "estimate", "low", "high"])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {"estimates": [estimate.to_dict() for estimate in self.estimates], "skipped": dict(self.skipped)}

    def to_arrow(self) -> pa.Table:
        """One row per line: column, kind, value, its range if it is one, estimate, its errors, reports, method."""
        import pyarrow as pa

        rows = [(estimate, line) for estimate in self.estimates for line in estimate.lines]
        ends = [line.value if isinstance(line.value, Range) else (None, None) for _, line in rows]
        return pa.table({
            "column": pa.array([estimate.column for estimate, _ in rows], pa.string()),
            "mechanism": pa.array([estimate.mechanism for estimate, _ in rows], pa.string()),
            "kind": pa.array([estimate.kind for estimate, _ in rows], pa.string()),
            "value": pa.array([estimate.name_of(line) for estimate, line in rows], pa.string()),
            "from": pa.array([start for start, _ in ends], pa.float64()),
            "to": pa.array([end for _, end in ends], pa.float64()),
            **{
                name: pa.array([getattr(line, name) for _, line in rows], pa.float64(), from_pandas=True)
                for name in ("estimate", "std_error", "low", "high")
            },
            "determined": pa.array([line.determined for _, line in rows], pa.bool_()),
            "confidence": pa.array([estimate.level for estimate, _ in rows], pa.float64()),
            "reports": pa.array([estimate.reports for estimate, _ in rows], pa.int64()),
            "method": pa.array([estimate.method for estimate, _ in rows], pa.string()),
        })  # fmt: skip


def in_values(estimate: ColumnEstimate, ticks: Ticks) -> ColumnEstimate:
    """Estimates in steps as estimates of a column's values: decimals as numbers, moments with their words."""
    if estimate.kind == "shares":
        return estimate
    if ticks.kind != "decimal":
        return replace(estimate, ticks=ticks)
    step = float(ticks.step)

    def scale(line: Line) -> Line:
        if isinstance(line.value, Range):
            return replace(line, value=Range(line.value.start * step, line.value.end * step))
        numbers = {name: getattr(line, name) * step for name in ("estimate", "std_error", "low", "high")}
        return replace(line, **numbers)

    return replace(estimate, lines=tuple(scale(line) for line in estimate.lines))
