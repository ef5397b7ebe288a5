"""What is kept of the reports of one column while they stream by, and what is estimated from it: categories.

Every reader keeps counts or sums of a fixed size, which add up over batches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp.channels import Channel
from fastdp.errors import NotIdentifiableError
from fastdp.estimators.estimate import estimate as estimate_reports
from fastdp.estimators.result import Estimate
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.mechanisms.local.randomized_response import RandomizedResponse
from fastdp.mechanisms.metric.grid import GridNoise
from fastdp.tables.estimating.results import ColumnEstimate, Line

if TYPE_CHECKING:
    import pyarrow as pa

UNBIASED = "unbiased, so that shares may lie below 0 or above 1"


class Reader(Protocol):
    """Takes the reports of a column batch by batch, then says what they tell."""

    missing: str | None
    """Why something that was asked for is not estimated."""

    def add(self, *reports: pa.Array) -> None: ...

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]: ...


class ShareReader:
    """Shares of categories and truth values."""

    missing: str | None = None

    def __init__(self, mechanism: FrequencyProtocol, *, unbiased: bool) -> None:
        self._mechanism, self._unbiased = mechanism, unbiased
        self._counts: Any = None

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        counts = self._mechanism.aggregate(column)
        self._counts = counts if self._counts is None else self._counts + counts

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        if self._unbiased:
            found: Any = self._mechanism.estimate(self._counts)
            method = UNBIASED
            shares = found.frequencies
        else:
            found = estimate_reports(self._mechanism, self._counts, progress=False)
            shares, method = found.distribution, found.method
        lines = lines_of(values_of(self._mechanism, shares.size), shares, found, level)
        return [ColumnEstimate(column, name, "shares", self._counts.n, level, method, lines)]


class OutputReader:
    """Shares of codes that a channel mixes up, such as the cells of a grid."""

    missing: str | None = None

    def __init__(self, mechanism: FiniteMechanism) -> None:
        self._mechanism = mechanism
        self._channel: Channel = mechanism.channel()
        self._counts = np.zeros(self._channel.shape[1], np.int64)

    def add(self, *reports: pa.Array) -> None:
        (column,) = reports
        self._counts = self._counts + np.asarray(self._mechanism.count_outputs(column))

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        found = estimate_reports(self._channel, self._counts, progress=False)
        lines = lines_of(values_of(self._mechanism, found.distribution.size), found.distribution, found, level)
        return [
            ColumnEstimate(column, name, "shares", int(self._counts.sum()), level, found.method, lines),
        ]


def lines_of(values: Sequence[Any], shares: np.ndarray, found: Any, level: float) -> tuple[Line, ...]:
    """A line per value; what was ``found`` knows its intervals, if it has any, and its errors, if it is unbiased."""
    nothing = np.full(shares.size, np.nan)
    try:
        low, high = found.interval(level)
    except NotIdentifiableError:  # cells of a map, or too many values
        low = high = nothing
    errors = nothing if isinstance(found, Estimate) else np.asarray(found.std_error)
    numbers = (part.tolist() for part in (shares, errors, low, high, ~(high - low > 0.5)))
    return tuple(Line(*row) for row in zip(values, *numbers, strict=True))


def values_of(mechanism: ColumnMechanism, size: int) -> Any:
    """What the shares of a mechanism are of."""
    if isinstance(mechanism, RandomizedResponse):
        return (False, True)
    if isinstance(mechanism, GridNoise):
        return [str(cell) for cell in np.ndindex(*mechanism.shape)]
    names = mechanism.value_names()
    return range(size) if names is None else names
