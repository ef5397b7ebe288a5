"""What sanitized columns tell about everyone: counts in one streaming pass, then an estimate per column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp.errors import FastDPError, ParameterError, SchemaError
from fastdp.tables.sources import open_source
from fastdp.tables.spec import MECHANISMS, unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.entry import Entry
    from fastdp.tables.plan import Plan

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Share:
    """What is estimated: the share of a value, or the mean; with the ends of its confidence interval."""

    value: Any
    estimate: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ColumnEstimate:
    """The estimate of one column from ``reports`` reports; ``kind`` is "shares" or "mean"."""

    column: str
    kind: str
    reports: int
    shares: tuple[Share, ...]

    def to_dict(self) -> dict[str, Any]:
        shares = [{"value": s.value, "estimate": s.estimate, "low": s.low, "high": s.high} for s in self.shares]
        return {"column": self.column, "kind": self.kind, "reports": self.reports, "level": LEVEL, "estimates": shares}


def estimate_columns(source: Any, plan: Plan, columns: Sequence[str] = ()) -> list[ColumnEstimate]:
    """Unbiased estimates of the columns of a sanitized table, by default of all that have one.

    Shares for categories and truth values, the mean for numbers that are reported within bounds. Nulls are left out.
    """
    opened = open_source(source)
    chosen = [_find(plan, name) for name in columns] or [entry for entry in plan.randomized if _can(entry)]
    if not chosen:
        raise ParameterError("estimate: the plan has no column with categories, truth values or reports within bounds")
    names = [entry.column for entry in chosen]
    for name in names:
        if opened.schema.names.count(name) != 1:
            raise SchemaError(f"estimate: the table must hold column {name!r} once")
    totals: dict[str, Any] = {}
    for batch in opened.batches(names, None, []):
        for entry in chosen:
            counts = _aggregate(entry, batch.column(entry.column))
            totals[entry.column] = totals[entry.column] + counts if entry.column in totals else counts
    if not totals:
        raise ParameterError("estimate: there are no reports")
    return [_estimate(entry, totals[entry.column]) for entry in chosen]


def _can(entry: Entry) -> bool:
    takes = MECHANISMS[entry.given["mechanism"]].takes
    return takes in {"categories", "truths"} or (takes == "bounded" and entry.given["mechanism"] != "square_wave")


def _find(plan: Plan, name: str) -> Entry:
    if name not in plan.columns:
        raise ParameterError(f"estimate: {unknown('column', name, tuple(plan.columns))}")
    entry: Entry = plan.columns[name]
    if entry.action != "randomize" or not _can(entry):
        raise ParameterError(f"estimate: column {name!r} has no reports to estimate from; read its values as they are")
    return entry


def _aggregate(entry: Entry, reports: pa.Array) -> Any:
    try:
        return entry.mechanism.aggregate(reports.drop_null() if entry.public_nulls else reports)
    except FastDPError as error:
        raise type(error)(f"estimate: column {entry.column!r}: {error}") from None


def _estimate(entry: Entry, counts: Any) -> ColumnEstimate:
    try:
        found = entry.mechanism.estimate(counts)
    except FastDPError as error:
        raise type(error)(f"estimate: column {entry.column!r}: {error}") from None
    low, high = found.interval(LEVEL)
    if hasattr(found, "mean"):
        return ColumnEstimate(entry.column, "mean", counts.n, (Share("mean", found.mean, low, high),))
    values = _values(entry)
    rows = zip(values, found.frequencies.tolist(), low.tolist(), high.tolist(), strict=True)
    return ColumnEstimate(entry.column, "shares", counts.n, tuple(Share(*row) for row in rows))


def _values(entry: Entry) -> Sequence[Any]:
    domain = getattr(entry.mechanism, "domain", None)
    if domain is None:
        return (False, True)
    return domain.labels if domain.labels is not None else range(domain.size)
