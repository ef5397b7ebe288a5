"""Iterates of EM from uniform towards the maximum likelihood, for many count vectors at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Iterator, Sequence

import numpy as np

from fastdp.channels import Channel, DenseChannel, GeometricChannel, GridChannel, KRRChannel
from fastdp.channels.window import WindowChannel
from fastdp.estimators.likelihood.accelerate import LEAST_LOG
from fastdp.estimators.likelihood.problem import Problem

LARGEST_WRITTEN = 300
"""Cells of a grid up to which a matrix product beats transforms of forty rows: 1.8 times at 225, 0.8 times at 400."""
LARGEST_LINE = 128
"""Inputs of a geometric channel up to which a matrix product is as fast as the recursions: 9.0 and 7.8 us at 100."""
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

    def whole(self, points: np.ndarray) -> np.ndarray:
        """Points with an entry for each input."""
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


class _AlikeRows(CountRows):
    """k-RR treats all values alike, so those with equal counts keep equal probabilities: one entry stands for all.

    A million values have a few thousand different counts.
    """

    def __init__(self, channel: KRRChannel, counts: np.ndarray) -> None:
        row = channel.row(0)
        self._p, self._q = float(row[0]), float(row[-1])
        groups = [np.unique(one, return_inverse=True, return_counts=True) for one in counts]
        width = max(len(values) for values, _, _ in groups)
        self._places = [places for _, places, _ in groups]
        self.shares, self.sizes = np.zeros((len(groups), width)), np.zeros((len(groups), width))
        for i, (values, _, sizes) in enumerate(groups):
            self.shares[i, : len(values)], self.sizes[i, : len(values)] = values, sizes
        self.shares /= (self.shares * self.sizes).sum(axis=1, keepdims=True)
        self.matrix = None
        self.start = np.full(self.shares.shape, 1 / channel.shape[0])

    def products(self, points: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        d = self._q + (self._p - self._q) * points
        w = self.shares / d
        return self._q * (self.sizes * w).sum(axis=1, keepdims=True) + (self._p - self._q) * w, [d]

    def normalised(self, points: np.ndarray) -> np.ndarray:
        scaled: np.ndarray = points / (self.sizes * points).sum(axis=1, keepdims=True)
        return scaled

    def whole(self, points: np.ndarray) -> np.ndarray:
        return np.array([point[places] for point, places in zip(points, self._places, strict=True)])

    def last(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(points[-1][self._places[-1]])

    def folded(self, counts: Sequence[np.ndarray]) -> Sequence[np.ndarray]:
        width = self.shares.shape[1]
        return [np.array([np.bincount(*pair, width) for pair in zip(self._places, counts[0], strict=True)])]


def rows_of(problem: Problem, counts: Sequence[np.ndarray], *, mixed: bool = False) -> CountRows:
    """The rows of a problem with such counts; ``mixed`` if entries are averaged with others on the way."""
    if not mixed and len(problem.channels) == 1 and type(problem.channels[0]) is KRRChannel and problem.size > 1:
        return _AlikeRows(problem.channels[0], counts[0])
    return CountRows(problem, counts)


def accelerated_steps(
    rows: CountRows, after: After | None = None, start: np.ndarray | None = None, wanted: Container[int] | None = None
) -> Iterator[Step]:
    """Accelerated steps of EM from uniform, or from ``start``, of all rows in step, each followed by ``after``.

    Only the numbers of steps that are ``wanted`` come back, or all.

    Momentum is never dropped, so that a number of steps means the same for every row.
    """
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
