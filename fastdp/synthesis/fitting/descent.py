"""Fitting: the model whose marginals are nearest to noisy ones, by accelerated mirror descent on its cliques.

Private-PGM's problem: the least sum of squares over all consistent marginals, each square divided by its noise's
variance. A step moves the log-potentials of the cliques along the gradient, so that every iterate is a distribution;
steps are accelerated, their length is found by backtracking. [McKenna, Sheldon, Miklau 2019; Tseng 2008]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fastdp.synthesis.fitting.axes import Axes, Columns, axes
from fastdp.synthesis.fitting.model import Model, infer
from fastdp.synthesis.fitting.trees import Tree, build_tree

FORBIDDEN = -1e6
"""The log-potential of a cell that is declared empty."""
SPAN = 10
"""Iterations over which the fit must improve."""


@dataclass(frozen=True, slots=True, eq=False)
class Measurement:
    """Noisy counts of the cells of a marginal, and the variance of the noise of each."""

    subset: Columns
    values: np.ndarray
    variance: float


def merge(measurements: Sequence[Measurement]) -> list[Measurement]:
    """One measurement per marginal: several are averaged by their precision."""
    found: dict[Columns, list[Measurement]] = {}
    for one in measurements:
        found.setdefault(one.subset, []).append(one)
    merged = []
    for subset, group in found.items():
        precision = math.fsum(1 / one.variance for one in group)
        values = np.sum([one.values / one.variance for one in group], axis=0) / precision
        merged.append(Measurement(subset, values, 1 / precision))
    return merged


def estimate_rows(measurements: Sequence[Measurement]) -> float:
    """The number of rows: the totals of all measurements by their precision, at least 1."""
    weights = [1 / (one.variance * one.values.size) for one in measurements]
    totals = [float(one.values.sum()) for one in measurements]
    return max(1.0, math.fsum(w * t for w, t in zip(weights, totals, strict=True)) / math.fsum(weights))


@dataclass(slots=True, eq=False)
class _Target:
    """A measurement as a share of all rows, where it lies, and how much a squared difference weighs."""

    clique: int
    axes: Axes
    share: np.ndarray
    weight: float


class _Problem:
    """The sum of squares and its gradient, as functions of the measured marginals."""

    def __init__(
        self, tree: Tree, measurements: Sequence[Measurement], rows: float, masks: Sequence[np.ndarray | None]
    ) -> None:
        self.tree, self.masks = tree, masks
        self.targets: list[_Target] = []
        for one in measurements:
            holder = tree.holder(one.subset)
            assert holder is not None
            place = axes(tree.cliques[holder], one.subset, tree.sizes)
            self.targets.append(_Target(holder, place, one.values / rows, rows * rows / one.variance))

    def read(self, tables: Sequence[np.ndarray]) -> list[np.ndarray]:
        """The measured marginals of a model."""
        return [target.axes.sum(tables[target.clique]) for target in self.targets]

    def loss(self, found: Sequence[np.ndarray]) -> float:
        pairs = zip(self.targets, found, strict=True)
        return 0.5 * math.fsum(t.weight * float(np.square(x - t.share).sum()) for t, x in pairs)

    def gradient(self, found: Sequence[np.ndarray]) -> list[np.ndarray]:
        return [target.weight * (x - target.share) for target, x in zip(self.targets, found, strict=True)]

    def curvature(self, change: Sequence[np.ndarray]) -> float:
        pairs = zip(self.targets, change, strict=True)
        return 0.5 * math.fsum(t.weight * float(np.square(d).sum()) for t, d in pairs)

    def step(self, potentials: Sequence[np.ndarray], gradient: Sequence[np.ndarray], length: float) -> list[np.ndarray]:
        moved = [table.copy() for table in potentials]
        for target, slope in zip(self.targets, gradient, strict=True):
            target.axes.add(slope, moved[target.clique], -length)
        return moved


def fit(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    *,
    start: Model | None = None,
    empty: Mapping[Columns, np.ndarray] | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-4,
    callback: Callable[[int, float], None] | None = None,
) -> Model:
    """The model with the least sum of squares over the measurements, each by its noise.

    ``empty`` are masks of cells, by subset, that hold no rows; ``start`` is an earlier model to begin from.
    """
    merged, forbidden = merge(measurements), empty or {}
    rows = estimate_rows(merged)
    tree = build_tree(sizes, [*(one.subset for one in merged), *forbidden])
    masks = _masks(tree, forbidden)
    if start is None:
        potentials = [np.zeros(math.prod(sizes[c] for c in clique)) for clique in tree.cliques]
        for number, mask in enumerate(masks):
            if mask is not None:
                potentials[number] += mask
    else:
        potentials = start.potentials(tree, masks)
    tables = _descend(_Problem(tree, merged, rows, masks), potentials, max_iterations, tolerance, callback)
    return Model(tree, tables, rows)


def _masks(tree: Tree, empty: Mapping[Columns, np.ndarray]) -> list[np.ndarray | None]:
    masks: list[np.ndarray | None] = [None] * len(tree.cliques)
    for subset, cells in empty.items():
        holder = tree.holder(subset)
        assert holder is not None
        mask = masks[holder]
        if mask is None:
            mask = masks[holder] = np.zeros(math.prod(tree.sizes[c] for c in tree.cliques[holder]))
        axes(tree.cliques[holder], subset, tree.sizes).add(np.where(cells, FORBIDDEN, 0.0), mask)
    return masks


def _descend(
    problem: _Problem, potentials: list[np.ndarray], max_iterations: int, tolerance: float,
    callback: Callable[[int, float], None] | None,
) -> list[np.ndarray]:  # fmt: skip
    """Tseng's accelerated descent with the entropy of the model as its distance; restarted when it overshoots."""
    tables, level = infer(problem.tree, potentials)
    ahead = problem.read(tables)
    found, average = [x.copy() for x in ahead], [table.copy() for table in tables]
    loss = problem.loss(found)
    rate = 1.0 / max(target.weight for target in problem.targets)
    history, round_number = [loss], 0
    for iteration in range(max_iterations):
        share = 2.0 / (round_number + 2.0)
        between = [(1 - share) * x + share * z for x, z in zip(found, ahead, strict=True)]
        slope = problem.gradient(between)
        for _ in range(40):
            moved = problem.step(potentials, slope, rate / share)
            new_tables, new_level = infer(problem.tree, moved)
            new_ahead = problem.read(new_tables)
            drop = math.fsum(float(g @ z) for g, z in zip(slope, new_ahead, strict=True))
            distance = -rate / share * drop - (new_level - level)  # of the new distribution from the last one
            change = [share * (n - z) for n, z in zip(new_ahead, ahead, strict=True)]
            if problem.curvature(change) <= share * share * max(distance, 0.0) / rate * (1 + 1e-9) + 1e-12:
                break
            rate /= 2
        candidate = [(1 - share) * x + share * z for x, z in zip(found, new_ahead, strict=True)]
        new_loss = problem.loss(candidate)
        if new_loss > loss and round_number:
            potentials = Model(problem.tree, average, 1.0).potentials(problem.tree, problem.masks)
            tables, level = infer(problem.tree, potentials)
            ahead, round_number = problem.read(tables), 0
            found, average, loss = [x.copy() for x in ahead], tables, problem.loss(ahead)
            continue
        potentials, level, ahead, found, loss = moved, new_level, new_ahead, candidate, new_loss
        for number, new in enumerate(new_tables):
            average[number] *= 1 - share
            average[number] += share * new
        round_number += 1
        rate *= 1.25
        history.append(loss)
        if callback is not None:
            callback(iteration + 1, loss)
        if len(history) > SPAN and history[-1 - SPAN] - loss <= tolerance * max(loss, 1.0):
            break
    return average
