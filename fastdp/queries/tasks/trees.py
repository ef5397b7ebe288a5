"""Histograms with a consistent tree: counts of nested ranges, each with noise, brought into agreement.

A range of bins is a sum of few nodes, not of many bins, so that its error stays small. Every level costs its share;
least squares then makes the nodes agree, and lowers every node's error. [Hay, Rastogi, Miklau, Suciu 2010]
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.queries.answers.answer import Answer, Answers
from fastdp.queries.answers.errors import Interval
from fastdp.queries.answers.noise import Noise
from fastdp.queries.data.keys import BinKeys
from fastdp.queries.data.measures import check_numbers
from fastdp.queries.tasks.base import Setting
from fastdp.queries.tasks.counted import CountedTask

if TYPE_CHECKING:
    from fastdp.random.rng import Rng


def height(leaves: int, branching: int) -> int:
    """Levels of a complete tree with at least so many leaves, the root included."""
    levels = 1
    while branching ** (levels - 1) < leaves:
        levels += 1
    return levels


def node_sums(leaves: np.ndarray, branching: int, levels: int) -> list[np.ndarray]:
    """The sums of all nodes, level by level, the root first; leaves that are missing count 0."""
    padded = np.zeros(branching ** (levels - 1), leaves.dtype)
    padded[: leaves.size] = leaves
    sums = [padded]
    while len(sums) < levels:
        sums.append(sums[-1].reshape(-1, branching).sum(axis=1))
    return sums[::-1]


def make_consistent(nodes: Sequence[np.ndarray], branching: int) -> np.ndarray:
    """The leaves of the least-squares estimate from noisy nodes of equal variance."""
    levels, b = len(nodes), branching
    estimates = [np.asarray(level, np.float64) for level in nodes]
    for depth in range(levels - 2, -1, -1):  # weighted averages from the leaves up
        size = levels - depth
        below = estimates[depth + 1].reshape(-1, b).sum(axis=1)
        own = (b**size - b ** (size - 1)) / (b**size - 1)
        estimates[depth] = own * estimates[depth] + (1 - own) * below
    for depth in range(1, levels):  # differences spread evenly from the root down
        below = estimates[depth].reshape(-1, b)
        missing = estimates[depth - 1] - below.sum(axis=1)
        estimates[depth] = (below + (missing / b)[:, None]).ravel()
    return estimates[-1]


def leaf_weights(branching: int, levels: int) -> list[tuple[float, int]]:
    """The weights of all nodes in a leaf's estimate, each with the number of nodes that have it.

    Nodes of one level whose last common ancestor with the leaf is at one depth weigh the same.
    """
    found = []
    for depth in range(levels):
        numbers = np.arange(branching**depth)
        ancestor = np.zeros(numbers.size, np.int64)
        for above in range(depth + 1):  # depth of the last common ancestor with leaf 0
            ancestor[numbers // branching ** (depth - above) == 0] = above
        for common in range(depth + 1):
            chosen = ancestor == common
            nodes = [np.zeros(branching**level) for level in range(levels)]
            nodes[depth][chosen] = 1.0
            count = int(chosen.sum())
            if count:
                found.append((float(make_consistent(nodes, branching)[0]) / count, count))
    return found


@dataclass(frozen=True, slots=True, eq=False)
class TreeErrors:
    """Leaves of a consistent tree: a weighted sum of the noise of all nodes."""

    values: np.ndarray
    noise: Noise
    weights: list[tuple[float, int]]

    @property
    def _deviation(self) -> float:
        return math.sqrt(self.noise.variance * math.fsum(weight**2 * count for weight, count in self.weights))

    @property
    def std_error(self) -> np.ndarray:
        return np.full(self.values.shape, self._deviation)

    def interval(self, level: float) -> Interval:
        width = sum_quantile(self.noise, self.weights, level, self._deviation)
        return np.maximum(self.values - width, 0.0), np.maximum(self.values + width, 0.0)


def sum_quantile(noise: Noise, weights: list[tuple[float, int]], level: float, deviation: float) -> float:
    """The w with P(|sum of weight * noise| <= w) = level, by inverting the characteristic function.

    P(|S| <= w) = 2/pi * integral over t > 0 of sin(w t) / t * product of the parts' characteristic functions.
    """
    if noise.law is None or not deviation:
        return 0.0
    if noise.is_gaussian:
        from statistics import NormalDist

        return deviation * NormalDist().inv_cdf((1 + level) / 2)
    return _laplace_quantile(noise.scale, tuple(weights), level, deviation)


@functools.lru_cache(maxsize=16)
def _laplace_quantile(scale: float, weights: tuple[tuple[float, int], ...], level: float, deviation: float) -> float:
    """For Laplace parts, 1 / (1 + (weight * scale * t)**2) each; the discrete law differs by less than its own step."""
    points = np.linspace(0, 60 / deviation, 30_001)[1:]
    product = np.ones_like(points)
    for weight, count in weights:
        product *= (1 + (weight * scale * points) ** 2) ** -float(count)
    low, high = 0.0, 30 * deviation
    for _ in range(60):
        middle = (low + high) / 2
        values = np.sin(middle * points) / points * product
        inside = 2 / math.pi * float(np.trapezoid(np.concatenate([[middle], values]), np.concatenate([[0.0], points])))
        low, high = (middle, high) if inside < level else (low, middle)
    return high + 0.5


class TreeTask(CountedTask):
    """A histogram whose bins come from a consistent tree."""

    _keys: BinKeys

    def __init__(
        self, setting: Setting, name: str, column: str, edges: np.ndarray, branching: int,
        *, share: float | None = None,
    ) -> None:  # fmt: skip
        check_numbers(f"{setting.owner}: {name}", column, setting.check_column(column))
        keys = BinKeys(column, edges)
        super().__init__(setting, name, keys, known=keys.size, share=share)
        self._branching, self._levels = branching, height(keys.size, branching)
        self._sensitivity = setting.unit.tree(self._limits, branching, self._levels)

    def amounts(self) -> list[float]:
        moved = self._sensitivity
        return [float(moved.l1) if self._setting.pure else math.sqrt(moved.l2_squared)]

    def answer(self, rng: Rng) -> Answers:
        import pyarrow as pa

        nodes = node_sums(self._tally.finish()[:, 1], self._branching, self._levels)
        noisy = self.noise.add(np.concatenate(nodes), rng.child("tree"))
        split = np.split(noisy, np.cumsum([level.size for level in nodes])[:-1])
        leaves = make_consistent(split, self._branching)[: self._keys.size]
        errors = TreeErrors(leaves, self.noise, leaf_weights(self._branching, self._levels))
        privacy = self._setting.privacy(self.cost)
        answer = Answer("count", leaves, errors, privacy, pa.table(self._keys.labels()))
        return Answers(self.name, {"count": answer}, privacy)

    def explain(self, level: float) -> list[dict[str, Any]]:
        errors = TreeErrors(np.zeros(1), self.noise, leaf_weights(self._branching, self._levels))
        low, high = (errors.std_error[0], errors.interval(level)[1][0])
        return [{"query": self.name, "answer": "count", "std_error": float(low), "half_width": float(high)}]

    def describe(self) -> dict[str, Any]:
        return {
            "query": self.name, "histogram": self._keys.columns[0], "tree": self._branching, "levels": self._levels,
            **self.noise.describe(),
        }  # fmt: skip
