"""Cells of outputs: what an audit counts. Any function of an output keeps its privacy, so any cells give valid bounds.

Cells are fixed from training draws, before those that prove anything.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp.errors import ParameterError
from fastdp.kernels.audits.cells import DIGITS, fill_bins, fill_digits, most_digits
from fastdp.kernels.fairness.cells import count_cells
from fastdp.mechanisms.base import FiniteMechanism
from fastdp.threads import BLOCK, for_each_block

OWNER = "audit"
Drawn = ArrayLike | tuple[ArrayLike, ...]
"""Outputs of several draws: an array with one entry or row each, or a tuple of such columns."""
FINE_BINS, COARSE_BINS = 1024, 64
FEW = 256
"""Distinct outputs of the training draws that each get a cell of their own."""
MOST_RECORDS = 1 << 16
FEW_COLUMNS = 3
"""Numbers per output that are cut into boxes; of more, log likelihood ratios are added up."""
MANY = 20
"""Draws per kind of output below which bits are weighed one by one."""
WIDEST = 30.0
"""Half the range of the bins, in interquartile ranges; what lies beyond counts in the last ones."""


class Cells(ABC):
    """A numbering of outputs from 0 to ``size`` - 1."""

    size: int
    ordered = False
    """Whether cells follow one another as numbers do, so that runs from either end are events too."""

    @abstractmethod
    def count(self, outputs: Drawn) -> np.ndarray:
        """How many outputs fall into each cell."""

    @abstractmethod
    def words(self, event: np.ndarray) -> str:
        """An event, given as one truth value per cell, in words."""


class Bins(Cells):
    """Bins of a number, aligned so that both inputs are edges; with ``digits``, each split by the digits it needs."""

    ordered = True

    def __init__(self, low: float, step: float, bins: int, first_digit: int | None = None) -> None:
        self.low, self.step, self.bins, self.first_digit = low, step, bins, first_digit
        self.digits = 1 if first_digit is None else DIGITS
        self.size = bins * self.digits
        self.ordered = first_digit is None
        self._idle: list[tuple[np.ndarray, np.ndarray]] = []  # working memory of threads

    def count(self, outputs: Drawn) -> np.ndarray:
        values = np.ascontiguousarray(outputs)
        if self.first_digit is not None:
            values = values.astype(np.float64, copy=False)
        used: dict[int, tuple[np.ndarray, np.ndarray]] = {}

        def work(start: int, stop: int) -> None:
            own = threading.get_ident()
            if own not in used:
                try:
                    used[own] = self._idle.pop()
                except IndexError:
                    used[own] = np.empty(BLOCK, np.uint32), np.empty((4, self.size), np.int64)
                used[own][1][:] = 0
            cells, counts = used[own]
            part, block = values[start:stop], cells[: stop - start]
            fill_bins(part, self.low, 1 / self.step, float(self.bins - 1), block)
            if self.first_digit is not None:
                fill_digits(part.view(np.uint64), self.first_digit, block)
            count_cells(block, counts)

        for_each_block(values.size, work)
        total = np.zeros(self.size, np.int64)
        for memory in used.values():
            total += memory[1].sum(axis=0)
            self._idle.append(memory)
        return total

    def edge(self, number: int) -> float:
        """Where a bin starts; without end beyond the first and last."""
        return -math.inf if number <= 0 else math.inf if number >= self.bins else self.low + number * self.step

    def words(self, event: np.ndarray) -> str:
        table = event.reshape(self.bins, self.digits)
        rows = np.flatnonzero(table.any(axis=1))
        if not rows.size:
            return "no output"
        runs = np.split(rows, np.flatnonzero(np.diff(rows) > 1) + 1)
        parts = [_interval(self.edge(int(run[0])), self.edge(int(run[-1]) + 1)) for run in runs[:3]]
        more = f" and {len(runs) - 3} more intervals" if len(runs) > 3 else ""
        listed = f"outputs {' or '.join(parts)}{more}"
        if self.first_digit is None or table[rows].all():
            return listed
        needed = np.flatnonzero(table.any(axis=0)) + self.first_digit
        exact = "" if (table[rows] == table[rows[:1]]).all() and np.ptp(needed) + 1 == needed.size else "some of the "
        ends = f"{needed[0]}" if needed.size == 1 else f"{needed[0]} to {needed[-1]}"
        return f"{exact}{listed} that need {ends} binary digits after the point"


def _interval(low: float, high: float) -> str:
    if math.isinf(low) or math.isinf(high):
        return "of any size" if math.isinf(low) and math.isinf(high) else (
            f"below {high:.6g}" if math.isinf(low) else f"from {low:.6g} on"
        )  # fmt: skip
    return f"from {low:.6g} to {high:.6g}"


class Records(Cells):
    """Outputs that are few, or rows of anything: those of the training draws, and all others together."""

    def __init__(self, rows: np.ndarray, names: Sequence[str] | None) -> None:
        self.rows, self.names, self.size = rows, names, rows.size + 1

    def count(self, outputs: Drawn) -> np.ndarray:
        keys = as_keys(outputs)
        places = np.minimum(np.searchsorted(self.rows, keys), self.rows.size - 1)
        places[self.rows[places] != keys] = self.rows.size
        return np.bincount(places, minlength=self.size)

    def words(self, event: np.ndarray) -> str:
        chosen = np.flatnonzero(event)
        if self.names is None:
            return f"{chosen.size:,} of {self.size:,} kinds of outputs"
        names = [self.names[i] if i < len(self.names) else "any other" for i in chosen.tolist()]
        return "outputs " + ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


class Outputs(Cells):
    """The outputs of a mechanism's own channel, counted by the mechanism."""

    def __init__(self, mechanism: FiniteMechanism) -> None:
        self.mechanism, self.size = mechanism, int(mechanism.channel().shape[1])

    def count(self, outputs: Drawn) -> np.ndarray:
        counted: np.ndarray = np.asarray(self.mechanism.count_outputs(outputs)).astype(np.int64)
        return counted

    def words(self, event: np.ndarray) -> str:
        chosen = np.flatnonzero(event)
        listed = ", ".join(str(i) for i in chosen[:8])
        return f"outputs {listed}" + (f" and {chosen.size - 8} more" if chosen.size > 8 else "")


class Columns(Cells):
    """Several numbers per output: each cut at its own quantiles, and all of them together a record."""

    def __init__(self, edges: Sequence[np.ndarray], rows: np.ndarray) -> None:
        self.edges, self.records = edges, Records(rows, None)
        self.size = self.records.size

    def count(self, outputs: Drawn) -> np.ndarray:
        return self.records.count(cut(columns_of(outputs), self.edges))

    def words(self, event: np.ndarray) -> str:
        return f"{int(event.sum()):,} of {self.size:,} boxes of {len(self.edges)} numbers"


class Scores(Cells):
    """Many columns per output: the sum of their log likelihood ratios, each learned by itself, in bins.

    As good as the joint ratio where columns are independent, and a valid function of the output anywhere.
    """

    ordered = True

    def __init__(
        self, edges: Sequence[np.ndarray], weights: Sequence[np.ndarray], sample: Sequence[np.ndarray]
    ) -> None:
        self.edges, self.weights = edges, weights
        scores = np.concatenate([self.scores(columns) for columns in sample])  # type: ignore[arg-type]
        self.ends = np.unique(np.quantile(scores, np.arange(1, 512) / 512))
        self.size = self.ends.size + 1

    def scores(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        parts = zip(columns, self.edges, self.weights, strict=True)
        total: np.ndarray = sum(
            (w[np.searchsorted(e, c, side="right")] for c, e, w in parts), np.zeros(len(columns[0]))
        )
        return np.round(total, 9)

    def count(self, outputs: Drawn) -> np.ndarray:
        places = np.searchsorted(self.ends, self.scores(columns_of(outputs)), side="right")
        return np.bincount(places, minlength=self.size)

    def words(self, event: np.ndarray) -> str:
        runs = np.flatnonzero(event)
        low, high = ([-math.inf, *self.ends, math.inf][i] for i in (int(runs[0]), int(runs[-1]) + 1))
        return f"outputs whose log likelihood ratio, added up over {len(self.edges)} columns, is {_interval(low, high)}"


def cut(columns: Sequence[np.ndarray], edges: Sequence[np.ndarray]) -> np.ndarray:
    """The number of the box that each row of several columns lies in."""
    place = np.zeros(columns[0].size, np.int64)
    for column, ends in zip(columns, edges, strict=True):
        place = place * (ends.size + 1) + np.searchsorted(ends, column, side="right")
    return place


def columns_of(outputs: Drawn) -> list[np.ndarray]:
    """The columns of outputs of several numbers: a tuple of arrays, or a table of rows."""
    if isinstance(outputs, tuple):
        return [np.asarray(column) for column in outputs]
    values = np.asarray(outputs)
    if values.dtype.kind == "V" or (values.ndim == 2 and values.dtype == np.uint8):  # packed bits
        bytes_ = np.ascontiguousarray(values).view(np.uint8).reshape(len(values), -1)
        return list(np.unpackbits(bytes_, axis=1).T)
    return list(values.T)


def as_keys(outputs: Drawn) -> np.ndarray:
    """One sortable value per output: numbers as they are, rows and texts as their bytes."""
    values = np.asarray(outputs)
    if values.ndim == 2:
        rows = np.ascontiguousarray(values)
        width = rows.dtype.itemsize * rows.shape[1]
        return rows.view(f"V{width}").ravel() if width > 8 else _short_rows(rows, width)
    if values.dtype.kind == "V":
        return _short_rows(values, values.dtype.itemsize) if values.dtype.itemsize <= 8 else values
    return values.astype(str) if values.dtype.kind == "O" else values


def _short_rows(rows: np.ndarray, width: int) -> np.ndarray:
    """Rows of at most eight bytes as integers."""
    wide = np.zeros((len(rows), 8), np.uint8)
    wide[:, :width] = np.ascontiguousarray(rows).view(np.uint8).reshape(len(rows), width)
    return wide.view(np.uint64).ravel()


def choose_cells(trained: Sequence[Any], inputs: tuple[Any, Any]) -> list[Cells]:
    """Cells for outputs like these: bins, bins with digits, or records; an audit takes those that promise most."""
    kinds = {type(outputs) if isinstance(outputs, tuple) else np.asarray(outputs).dtype.kind for outputs in trained}
    if len(kinds) > 1:
        raise ParameterError(f"{OWNER}: the outputs of the two inputs have different types; return arrays of one type")
    first = trained[0]
    if isinstance(first, tuple) or (np.asarray(first).ndim == 2 and np.asarray(first).dtype.kind == "f"):
        split = [columns_of(outputs) for outputs in trained]
        return [_columns(split) if len(split[0]) <= FEW_COLUMNS else _scores(split)]
    sample = np.concatenate([as_keys(outputs) for outputs in trained])
    if not sample.size:
        raise ParameterError(f"{OWNER}: the mechanism returned no outputs")
    if sample.dtype.kind not in "fiub" or np.asarray(first).ndim == 2 or np.asarray(first).dtype.kind == "V":
        records = _records(sample, None)
        wide = np.asarray(first).ndim == 2 or np.asarray(first).dtype.kind == "V"
        many = wide and records.size > sample.size / MANY
        return [_scores([columns_of(outputs) for outputs in trained])] if many else [records]
    few = np.unique(sample[:: max(1, sample.size // 50_000)])
    if few.size <= FEW:
        few = np.unique(sample)
    if few.size <= FEW:
        return [Records(few, [f"{value:g}" if few.dtype.kind == "f" else str(value) for value in few])]
    return _numbers(sample, inputs)


def _records(sample: np.ndarray, names: Sequence[str] | None) -> Records:
    rows, counts = np.unique(sample, return_counts=True)
    if rows.size > MOST_RECORDS:
        rows = np.sort(rows[np.argsort(-counts, kind="stable")[:MOST_RECORDS]])
    if names is None and rows.dtype.kind == "U":
        names = [str(row) for row in rows]
    return Records(rows, names)


def _columns(trained: Sequence[Sequence[np.ndarray]]) -> Columns:
    columns = [np.concatenate(parts) for parts in zip(*trained, strict=True)]
    parts = max(2, min(64, round(20_000 ** (1 / len(columns)))))
    edges = [np.unique(np.quantile(column, np.arange(1, parts) / parts)) for column in columns]
    return Columns(edges, np.unique(cut(columns, edges)))


def _scores(trained: Sequence[Sequence[np.ndarray]]) -> Scores:
    """Per column the log likelihood ratio of each of up to 64 intervals."""
    edges, weights = [], []
    for first, second in zip(*trained, strict=True):
        both = np.concatenate([first, second])
        ends = np.unique(np.quantile(both, np.arange(1, 64) / 64, method="nearest")) if both.dtype.kind == "f" else (
            np.unique(both)[1:][:FEW]
        )  # fmt: skip
        a, b = (
            np.bincount(np.searchsorted(ends, part, side="right"), minlength=ends.size + 1) for part in (first, second)
        )
        edges.append(ends)
        weights.append(np.log((a + 0.5) / (b + 0.5)))
    return Scores(edges, weights, trained)  # type: ignore[arg-type]


def _numbers(sample: np.ndarray, inputs: tuple[Any, Any]) -> list[Cells]:
    """Bins over the range of the training draws; for floats also coarser ones split by digits."""
    whole = sample.dtype.kind in "iub"
    values = sample.astype(np.float64)
    values = values[np.isfinite(values)]
    quarter, middle, three = np.quantile(values, [0.25, 0.5, 0.75])
    reach = WIDEST * max(three - quarter, np.finfo(float).tiny)
    low, high = max(values.min(), middle - reach), min(values.max(), middle + reach)
    if whole:
        step = math.ceil((high - low + 1) / FINE_BINS)
        return [Bins(math.floor(low) - 0.5, float(step), math.ceil((high - low + 1) / step))]
    found: list[Cells] = []
    for bins in (FINE_BINS, COARSE_BINS):
        start, step = _aligned(low, high, bins, inputs)
        first = None
        if bins == COARSE_BINS:
            first = max(0, int(most_digits(np.ascontiguousarray(values).view(np.uint64))) - DIGITS + 1)
        found.append(Bins(start, step, math.ceil((high - start) / step) or 1, first))
    return found


def _aligned(low: float, high: float, bins: int, inputs: tuple[Any, Any]) -> tuple[float, float]:
    """The first edge and the width of the bins, so that both inputs are edges where they are numbers."""
    step = (high - low) / bins
    try:
        a, b = (float(value) for value in inputs)
        apart = abs(b - a)
    except (TypeError, ValueError):
        return low, step
    if not 0 < apart < (high - low):
        return low, step
    step = apart / max(1, round(apart / step))
    return a - math.ceil((a - low) / step) * step, step
