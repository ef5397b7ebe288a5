"""Iterates of EM from uniform towards the maximum likelihood, for many count vectors at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from fastdp.channels import Channel, DenseChannel, GeometricChannel, GridChannel, KRRChannel
from fastdp.channels.window import WindowChannel
from fastdp.estimators.likelihood.accelerate import LEAST_LOG
from fastdp.estimators.likelihood.problem import Problem
from fastdp.kernels.products.likelihood import step_krr_rows

LARGEST_WRITTEN = 300
"""Cells of a grid up to which a matrix product beats transforms of forty rows: 1.8 times at 225, 0.8 times at 400."""
LARGEST_LINE = 128
"""Inputs of a geometric channel up to which a matrix product is as fast as the recursions: 9.0 and 7.8 us at 100."""
LARGEST_APART = 64
"""Values of k-RR up to which those with equal counts are not looked for: it would take longer than it saves."""
LEAST_CHANCE = 1e-300

After = Callable[[np.ndarray, int], np.ndarray]
"""Applied to the rows after the step of this number."""
Step = tuple[int, np.ndarray, list[np.ndarray]]
"""The number of steps, the points, and the probabilities of their outputs by channel."""


class CountRows:
    """Distributions of many rows of counts, and their gradients."""

    def __init__(self, problem: Problem, counts: Sequence[np.ndarray]) -> None:
        total = sum(part.sum(axis=1, keepdims=True) for part in counts)
        self._pairs = [(channel, part / total) for channel, part in zip(problem.channels, counts, strict=True)]
        self.matrix = _write_out(problem.channels)
        """The only channel's matrix, where products with it are the fastest."""
        self.shares = self._pairs[0][1]
        self.sizes: np.ndarray | None = None
        """How many inputs each entry stands for, if not one."""
        self.size = problem.size
        self.start = np.full((len(counts[0]), problem.size), 1 / problem.size)

    def products(self, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """G of each row, and the probabilities of outputs by channel."""
        if self.matrix is not None:
            d = np.maximum(points @ self.matrix, LEAST_CHANCE)
            return (self.shares / d) @ self.matrix.T, [d]
        g, chances = np.zeros(points.shape), []
        for channel, q in self._pairs:
            d = np.maximum(channel.forward(points), LEAST_CHANCE)  # a transform may leave a rounded zero, or below
            g += channel.backward(q / d)
            chances.append(d)
        return np.maximum(g, 0.0), chances

    def normalised(self, points: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = points / points.sum(axis=1, keepdims=True)
        return scaled

    def largest(self, points: np.ndarray, count: int) -> np.ndarray:
        """The least of so many largest probabilities, in each row."""
        least: np.ndarray = np.partition(points, -count, axis=1)[:, -count, None]
        return least

    def whole(self, points: np.ndarray) -> np.ndarray:
        """Points with an entry for each input."""
        return points

    def entries(self, points: np.ndarray) -> np.ndarray:
        """Points with an entry for each input, equal ones where counts are equal, in the form of these rows."""
        return points

    def last(self, points: np.ndarray) -> np.ndarray:
        """The point of the last row, with an entry for each input."""
        return np.asarray(points[-1])

    def folded(self, counts: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        """Counts added up to the entries of the probabilities of outputs."""
        return counts


def _write_out(channels: Sequence[Channel]) -> np.ndarray | None:
    """The matrix of a single small channel: one product for all rows, instead of a transform or a recursion of each."""
    channel, inputs = channels[0], channels[0].shape[0]
    if (
        len(channels) > 1
        or inputs > LARGEST_WRITTEN
        or not isinstance(channel, DenseChannel | GeometricChannel | GridChannel | WindowChannel)
    ):
        return None
    return None if isinstance(channel, GeometricChannel) and inputs > LARGEST_LINE else channel.dense()


class AlikeRows(CountRows):
    """k-RR treats all values alike, so those with equal counts keep equal probabilities: one entry stands for all.

    A million values have a few thousand different counts. Few values are left as they are.
    """

    def __init__(self, channel: KRRChannel, counts: np.ndarray) -> None:
        row = channel.row(0)
        self._p, self._q = float(row[0]), float(row[-1])
        self.matrix, self.size = None, channel.shape[0]
        self._places: list[np.ndarray] | None = None
        self._first: list[np.ndarray] | None = None
        self.sizes: np.ndarray
        if self.size <= LARGEST_APART:
            self.shares, self.sizes = np.array(counts, np.float64), np.ones(counts.shape)
        else:
            self._group(counts)
        self.shares /= (self.shares * self.sizes).sum(axis=1, keepdims=True)
        self.start = np.full(self.shares.shape, 1 / self.size)

    def _group(self, counts: np.ndarray) -> None:
        groups = [np.unique(one, return_index=True, return_inverse=True, return_counts=True) for one in counts]
        width = max(len(values) for values, *_ in groups)
        self._first = [first for _, first, _, _ in groups]
        self._places = [places for _, _, places, _ in groups]
        self.shares, self.sizes = np.zeros((len(groups), width)), np.zeros((len(groups), width))
        for i, (values, _, _, sizes) in enumerate(groups):
            self.shares[i, : len(values)], self.sizes[i, : len(values)] = values, sizes

    def chances(self, points: np.ndarray) -> np.ndarray:
        """Probabilities of the outputs that entries stand for."""
        return np.maximum(self._q + (self._p - self._q) * points, LEAST_CHANCE)

    def products(self, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        d = self.chances(points)
        w = self.shares / d
        return self._q * (self.sizes * w).sum(axis=1, keepdims=True) + (self._p - self._q) * w, [d]

    def accelerated_steps(self, start: np.ndarray, wanted: Sequence[int]) -> Iterator[Step]:
        """The steps of :func:`accelerated_steps`, compiled."""
        points, plain, done = start, np.zeros(start.shape), 0
        momenta = momentum_factors(max(wanted))
        for step in wanted:
            points = points.copy()  # those that were given out stay as they are
            step_krr_rows(
                self.shares, self.sizes, self._p, self._q, momenta[done:step], LEAST_LOG, points, plain
            )  # fmt: skip
            done = step
            yield step, points, [self.chances(points)]

    def normalised(self, points: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = points / (self.sizes * points).sum(axis=1, keepdims=True)
        return scaled

    def largest(self, points: np.ndarray, count: int) -> np.ndarray:
        if self._places is None:
            return super().largest(points, count)
        order = np.argsort(-points, axis=1)
        enough = np.cumsum(np.take_along_axis(self.sizes, order, axis=1), axis=1) >= count
        return np.take_along_axis(points, np.take_along_axis(order, enough.argmax(axis=1)[:, None], axis=1), axis=1)

    def whole(self, points: np.ndarray) -> np.ndarray:
        if self._places is None:
            return points
        return np.array([point[places] for point, places in zip(points, self._places, strict=True)])

    def entries(self, points: np.ndarray) -> np.ndarray:
        if self._first is None:
            return points
        found = np.zeros(self.shares.shape)
        for row, point, first in zip(found, points, self._first, strict=True):
            row[: first.size] = point[first]
        return found

    def last(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(points[-1] if self._places is None else points[-1][self._places[-1]])

    def folded(self, counts: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        if self._places is None:
            return counts
        width = self.shares.shape[1]
        return [np.array([np.bincount(*pair, width) for pair in zip(self._places, counts[0], strict=True)])]


def rows_of(problem: Problem, counts: Sequence[np.ndarray], *, mixed: bool = False) -> CountRows:
    """The rows of a problem with such counts; ``mixed`` if entries are averaged with others on the way."""
    if not mixed and len(problem.channels) == 1 and type(problem.channels[0]) is KRRChannel and problem.size > 1:
        return AlikeRows(problem.channels[0], counts[0])
    return CountRows(problem, counts)


@functools.cache
def momentum_factors(steps: int) -> np.ndarray:
    """By how much of the last change each step goes beyond its own: 0 at first, near 1 in the end."""
    factors, t = np.empty(steps), 1.0
    for step in range(steps):
        t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
        factors[step], t = (t - 1) / t_next, t_next
    return factors


def accelerated_steps(
    rows: CountRows, after: After | None = None, start: np.ndarray | None = None, wanted: Sequence[int] | None = None
) -> Iterator[Step]:
    """Accelerated steps of EM from uniform, or from ``start``, of all rows in step, each followed by ``after``.

    Only the numbers of steps that are ``wanted``, in order, come back, or all.

    Momentum is never dropped, so that a number of steps means the same for every row.
    """
    if wanted is not None and after is None and isinstance(rows, AlikeRows):
        yield from rows.accelerated_steps(rows.start if start is None else start, wanted)
        return
    points, plain = rows.start if start is None else start, None
    matrix, shares, sizes = rows.matrix, rows.shares, rows.sizes
    t, step = 1.0, 0
    while True:
        if matrix is None:
            g, chances = rows.products(points)
        else:  # written here once more: a call takes half as long as a step of a small channel
            d = np.maximum(points @ matrix, LEAST_CHANCE)
            g, chances = (shares / d) @ matrix.T, [d]
        if wanted is None or step in wanted:
            yield step, points, chances
        products = points * g if after is None else after(points * g, step + 1)
        with np.errstate(divide="ignore"):
            stepped = np.maximum(np.log(products), LEAST_LOG)
        t_next = (1 + math.sqrt(1 + 4 * t * t)) / 2
        logs = stepped if plain is None else stepped + ((t - 1) / t_next) * (stepped - plain)
        points = np.exp(np.maximum(logs - logs.max(axis=1, keepdims=True), LEAST_LOG))
        points /= (points if sizes is None else sizes * points).sum(axis=1, keepdims=True)
        plain, t, step = stepped, t_next, step + 1


def em_steps(rows: CountRows, after: After | None = None) -> Iterator[Step]:
    """Steps of EM from uniform, of all rows in step, each followed by ``after``."""
    points, step = rows.start, 0
    while True:
        g, chances = rows.products(points)
        yield step, points, chances
        points = rows.normalised(points * g if after is None else after(points * g, step + 1))
        step += 1
