"""Many draws of a mechanism on one input, or of any callable, as arrays that cells can count."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
import pyarrow as pa

from fastdp.audits.cells import OWNER, Cells, Outputs, as_keys, choose_cells
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism, Mechanism
from fastdp.mechanisms.central.above_threshold import AboveThreshold
from fastdp.mechanisms.central.additive import Additive
from fastdp.mechanisms.central.key_selection import KeySelection
from fastdp.mechanisms.central.selection import Selection
from fastdp.mechanisms.local.attributes import Attributes
from fastdp.mechanisms.local.dbitflip import DBitFlip
from fastdp.mechanisms.local.hashing import LocalHashing
from fastdp.mechanisms.local.longitudinal import Longitudinal
from fastdp.mechanisms.local.means.reports import NumericReports
from fastdp.mechanisms.local.strings.frequent import FrequentStrings
from fastdp.mechanisms.metric.trajectory import Trajectories
from fastdp.threads import get_threads

if TYPE_CHECKING:
    from fastdp import Rng

Draw = Callable[[Any, int], Any]
"""``draw(value, count)``: that many independent outputs for one input, as an array with one entry or row each, or as a
tuple of arrays."""
BATCH = 1 << 17
"""Draws per call and thread: their outputs stay in the caches until they are counted."""
ONE_BY_ONE = 1 << 10


class Source:
    """Where outputs come from: how they are drawn, how many at once, and which cells suit them."""

    def __init__(self, draw: Draw, *, batch: int | None = None, cells: Cells | None = None) -> None:
        self._draw, self._cells = draw, cells
        self.batch = BATCH * get_threads() if batch is None else batch

    def draw(self, value: object, count: int) -> Any:
        outputs = self._draw(value, count)
        found = len(outputs[0]) if isinstance(outputs, tuple) else len(outputs) if hasattr(outputs, "__len__") else 1
        if found != count:
            raise ParameterError(
                f"{OWNER}: the callable must return one output for each of its {count} draws, got {found}; "
                "it is called as draw(value, count)"
            )
        return outputs

    def cells(self, trained: Sequence[Any], inputs: tuple[Any, Any]) -> list[Cells]:
        return [self._cells] if self._cells is not None else choose_cells(trained, inputs)

    def counts(self, value: object, total: int, cells: Sequence[Cells]) -> list[np.ndarray]:
        """How many of ``total`` draws fall into each cell, for several kinds of cells."""
        sums = [np.zeros(kind.size, np.int64) for kind in cells]
        for start in range(0, total, self.batch):
            outputs = self.draw(value, min(self.batch, total - start))
            for kind, total_of in zip(cells, sums, strict=True):
                np.add(total_of, kind.count(outputs), out=total_of)
        return sums


def open_source(mechanism: Mechanism | Draw, pair: tuple[Any, Any], rng: Rng | None) -> Source:
    """Draws of a mechanism, or of a callable."""
    if not isinstance(mechanism, Mechanism):
        if not callable(mechanism):
            raise ParameterError(f"{OWNER}: give a mechanism, or a callable draw(value, count) that returns an array")
        if rng is not None:
            raise ParameterError(f"{OWNER}: rng is for mechanisms of fastdp; a callable has randomness of its own")
        return Source(mechanism)
    if isinstance(mechanism, ColumnMechanism):
        return _column_source(mechanism, pair, rng)
    if isinstance(mechanism, Selection):
        return Source(_one_by_one(lambda scores: mechanism.choose(scores, rng=rng)), batch=ONE_BY_ONE)
    if isinstance(mechanism, AboveThreshold):
        return Source(
            _one_by_one(lambda values: ",".join(map(str, mechanism.above(values, rng=rng)))), batch=ONE_BY_ONE
        )
    if isinstance(mechanism, KeySelection):
        return Source(lambda count, size: _kept(mechanism, count, size, rng))
    if isinstance(mechanism, Attributes):
        return Source(lambda row, size: _attributes(mechanism, row, size, rng))
    if isinstance(mechanism, Trajectories):
        return Source(lambda point, size: _trajectory(mechanism, point, size, rng))
    points: Any = mechanism
    return Source(lambda point, size: tuple(points.randomize(*_columns(point, size), rng=rng)))


def _column_source(mechanism: ColumnMechanism, pair: tuple[Any, Any], rng: Rng | None) -> Source:
    kept: dict[tuple[Any, int], np.ndarray] = {}
    asked: Any = mechanism

    def repeated(value: Any, count: int) -> np.ndarray:
        if (value, count) not in kept:
            kept[value, count] = np.full(count, value)
        return kept[value, count]

    def draw(value: Any, count: int) -> Any:
        return asked.randomize(repeated(value, count), rng=rng)

    if isinstance(mechanism, Longitudinal | DBitFlip):
        people = [0]

        def draw(value: Any, count: int) -> Any:
            """Every draw is another person's: one person's answers are not independent."""
            people[0] += count
            persons = np.arange(people[0] - count, people[0])
            return asked.randomize(repeated(value, count), persons=persons, key=key, rng=rng)

        key = asked.new_key()
    cells = Outputs(mechanism) if has_outputs(mechanism) else None
    if isinstance(mechanism, LocalHashing) and mechanism.cohorts is None:
        return Source(lambda value, count: _likelier(mechanism, draw(value, count), pair))
    if isinstance(mechanism, FrequentStrings):
        return Source(lambda value, count: _supported(mechanism, draw(value, count), pair))
    return Source(lambda value, count: _plain(draw(value, count), cells), cells=cells)


def has_outputs(mechanism: object) -> TypeGuard[FiniteMechanism]:
    """Whether a mechanism's values are those of its channel: finitely many, and no bins of numbers."""
    numbers = Additive | NumericReports
    return isinstance(mechanism, FiniteMechanism) and mechanism.counts_outputs and not isinstance(mechanism, numbers)


def _plain(reports: Any, cells: Cells | None) -> Any:
    """Reports of several fields as rows of bytes."""
    if cells is None and isinstance(reports, np.ndarray) and reports.dtype.names:
        return reports.view(f"V{reports.dtype.itemsize}")
    return reports


def _likelier(mechanism: LocalHashing, reports: Any, pair: tuple[Any, Any]) -> np.ndarray:
    """For reports of 2**64 hash functions: 1 where the first input is the likelier, -1 where the second is."""
    from fastdp.channels import SupportChannel

    size = mechanism.domain.size
    channel = SupportChannel.from_hashes(reports["seed"], reports["value"], mechanism.g, size, mechanism.epsilon)
    names = mechanism.value_names()
    codes = [value if names is None else list(names).index(value) for value in pair]
    first, second = (channel.row(int(code)) for code in codes)
    signs: np.ndarray = np.sign(first - second).astype(np.int8)
    return signs


def _supported(mechanism: FrequentStrings, reports: Any, pair: tuple[Any, Any]) -> np.ndarray:
    """1 where a report has the hash of the first string alone, -1 where that of the second alone, else 0."""
    first, second = (mechanism.hashes(value, reports["seed"]) == reports["value"] for value in pair)
    signs: np.ndarray = first.astype(np.int8) - second.astype(np.int8)
    return signs


def _one_by_one(call: Callable[[Any], Any]) -> Draw:
    """Draws of what gives one output per call."""
    return lambda value, count: np.array([call(value) for _ in range(count)])


def _kept(mechanism: KeySelection, count: int, size: int, rng: Rng | None) -> np.ndarray:
    """The noisy count of each key, -1 for keys that are not released."""
    found = mechanism.select(np.full(size, count), rng=rng)
    counts = np.full(size, -1, np.int64)
    counts[found.indices] = found.counts
    return counts


def _attributes(mechanism: Attributes, row: Mapping[str, Any], size: int, rng: Rng | None) -> np.ndarray:
    """The reports of all attributes, side by side."""
    reports = mechanism.randomize({name: np.full(size, value) for name, value in row.items()}, rng=rng)
    return np.stack([_codes(reports[name]) for name in reports], axis=1)


def _codes(column: Any) -> np.ndarray:
    """One integer per report; -1 where there is none."""
    if isinstance(column, pa.Array):  # which attributes that were not sampled come as
        column = column.fill_null(-1).to_numpy(zero_copy_only=False)
    return as_keys(column).astype(np.int64)


def _columns(point: Sequence[float], size: int) -> list[np.ndarray]:
    return [np.full(size, float(part)) for part in point]


def _trajectory(mechanism: Trajectories, point: Sequence[float], size: int, rng: Rng | None) -> tuple[np.ndarray, ...]:
    """The first point of as many people."""
    reports: Any = mechanism.randomize(np.arange(size), np.zeros(size), *_columns(point, size), rng=rng)
    return tuple(np.asarray(part) for part in (reports.x, reports.y))
