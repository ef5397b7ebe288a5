"""Noisy gradient descent on all records: how much noise, how many steps, and the average of the iterates."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fastdp.accounting.compose import compose
from fastdp.laws.central.gaussian import smallest_ratio
from fastdp.learning.gradient_sum import GradientSum
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng

MANY_STEPS = 2.0**20
MOST_STEPS = 100
MOST_PURE_STEPS = 10
COUNT_SHARE = 0.05
"""Of the budget, for the number of records where that is not declared."""
PURE_GRID = 1 << 20
CHUNK = 1 << 22
"""Numbers of a chunk of gradients: 32 MB."""

Rows = Callable[[np.ndarray, slice], np.ndarray]
"""``rows(weights, chosen)``: the gradients of the chosen records, one row each."""


@dataclass(frozen=True, slots=True)
class Budget:
    """Epsilon and delta of a whole fit; delta is 0 for pure DP."""

    epsilon: float
    delta: float

    @property
    def ratio(self) -> float:
        """Sigma per sensitivity of one Gaussian release of the whole budget."""
        return smallest_ratio(self.epsilon, self.delta, MANY_STEPS) * (1 + 1e-7)


def choose_steps(budget: Budget, size: float, coordinates: int) -> int:
    """How many steps the budget is worth, from public numbers alone.

    A step sees a gradient of about ``size`` in noise of sigma * sqrt(coordinates * steps): more steps than half of
    their ratio at one step follow the noise. Pure noise grows with the steps and the coordinates themselves.
    """
    if not budget.delta:
        return min(MOST_PURE_STEPS, max(1, round(size * budget.epsilon / (320 * coordinates))))
    return min(MOST_STEPS, max(1, round(size / (2 * budget.ratio * math.sqrt(coordinates)))))


def make_sum(budget: Budget, clip: float, steps: int, batch: float, size: int, rng: Rng, share: float) -> GradientSum:
    """A sum of gradients, ``steps`` of which cost a share of the budget: of mu squared, or of a pure epsilon."""
    if not budget.delta:
        epsilon = budget.epsilon * share / steps * (1 - 1e-12)
        return GradientSum(clip=clip, epsilon=epsilon, batch=batch, steps=PURE_GRID, shapes=((size,),), rng=rng)
    multiplier = budget.ratio * math.sqrt(steps / share)
    return GradientSum(clip=clip, noise_multiplier=multiplier, batch=batch, shapes=((size,),), rng=rng)


def count_records(budget: Budget, count: int, rng: Rng) -> tuple[float, GradientSum]:
    """The noisy number of records, at least 1, and what released it."""
    counter = make_sum(budget, 1.0, 1, 1.0, 1, rng, COUNT_SHARE)
    for first in range(0, count, CHUNK):
        counter.add(np.ones((min(CHUNK, count - first), 1)))
    return max(1.0, float(counter.release()[0])), counter


def total_privacy(parts: list[tuple[GradientSum, int]], delta: float) -> Privacy:
    """The guarantee of several sums, composed."""
    return compose([(one, times) for one, times in parts if times]).as_privacy(delta=delta)


def descend(
    rows: Rows, count: int, gradients: GradientSum, steps: int, learning_rate: float, penalty: float
) -> np.ndarray:
    """The average of the second half of the iterates, from zero; ``penalty`` times the weights is added."""
    size = gradients.coordinates
    weights, average = np.zeros(size), np.zeros(size)
    chunk = max(1, CHUNK // size)
    for step in range(steps):
        for first in range(0, count, chunk):
            gradients.add(rows(weights, slice(first, first + chunk)))
        weights = weights - learning_rate * (np.asarray(gradients.release()) + penalty * weights)
        if step >= steps // 2:
            average += weights
    return average / (steps - steps // 2)
