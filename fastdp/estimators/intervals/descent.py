"""Weights for channels too large to write out, such as maps: the bound itself is minimised, by products alone.

F(w) = w'd + z sd(w) + tau log sum exp((h - Cw) / tau) is the bound for outputs distributed as d, its maximum smoothed;
tau is lowered in stages, each begun where the last one ended.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fastdp.estimators.intervals.weights import Stack, Start, Weights

STAGES = (0.1, 0.03, 0.01, 0.004, 0.0015, 0.0005)
"""Temperatures tau, as parts of the functional's range."""
ENOUGH = 0.1
"""The stages end where smoothing adds so little, as a part of the bound's distance from the guess's own value."""
STEPS = 60
"""Steps of each stage, fewer on channels whose products take long."""
LARGEST_WORK = 2e8
"""Inputs and outputs times products, about: a second or two."""
MEMORY = 20
LEAST_VARIANCE = 1e-18
SUFFICIENT, CURVATURE = 1e-4, 0.9
MOST_TRIALS = 20

Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Descent:
    """By quasi-Newton steps on the smoothed bound."""

    def __init__(self, stack: Stack, pilot: np.ndarray, d: np.ndarray, z: float) -> None:
        self._stack, self._pilot, self._z = stack, pilot, z
        self._d = np.maximum(d, 1e-300)
        self._root = np.sqrt(self._d * stack.parts)
        work = len(STAGES) * 3 * (stack.size + stack.outputs)
        self._steps = int(min(max(LARGEST_WORK / work, 8), STEPS))

    def find(self, h: np.ndarray, start: Start | None = None) -> Weights:  # noqa: ARG002
        span = float(np.ptp(h))
        x, worst = np.zeros(self._stack.outputs), np.full(self._stack.size, 1 / self._stack.size)
        if not span > 0:
            return Weights(x, np.zeros(len(self._stack.slices)))
        scaled = (h - h.min()) / span
        centre = float(scaled @ self._pilot)
        for tau in STAGES:
            x = minimise(lambda x, tau=tau: self._bound(x, scaled, tau)[:2], x, self._steps)  # type: ignore[misc]
            _, _, hard, worst = self._bound(x, scaled, tau)
            if tau * math.log(h.size) < ENOUGH * (hard - centre):
                break
        w = span * x / self._root
        return Weights(w, self._stack.variances(w, self._stack.forward(worst)))

    def _bound(self, x: np.ndarray, h: np.ndarray, tau: float) -> tuple[float, np.ndarray, float, np.ndarray]:
        """The smoothed bound and its gradient; the bound itself, and the least favourable distribution."""
        w, d, stack = x / self._root, self._d, self._stack
        centre, total = np.empty(w.size), LEAST_VARIANCE
        for part in stack.slices:
            centre[part] = w[part] - w[part] @ d[part]
            total += float(centre[part] ** 2 @ d[part]) / (stack.n * stack.parts[part.start])
        error = math.sqrt(total)
        left = h - stack.backward(w)
        top = float(left.max())
        worst = np.exp((left - top) / tau)
        mass = float(worst.sum())
        worst /= mass
        hard = float(w @ d) + self._z * error + top
        slope = d + self._z * centre * d / (stack.n * stack.parts * error) - stack.forward(worst)
        return hard + tau * math.log(mass), slope / self._root, hard, worst


def minimise(objective: Objective, x: np.ndarray, steps: int) -> np.ndarray:
    """The minimiser of a smooth convex function, by L-BFGS with weak Wolfe steps. [Liu, Nocedal 1989]"""
    value, slope = objective(x)
    pairs: list[tuple[np.ndarray, np.ndarray, float]] = []
    for _ in range(steps):
        direction = _direction(slope, pairs)
        downhill = float(slope @ direction)
        if not downhill < 0:
            return x
        length = 1.0 if pairs else min(1.0, 1 / max(float(np.abs(slope).sum()), 1e-300))
        trial = _line_search(objective, x, value, direction, downhill, length)
        if trial is None:
            return x
        reached, lower, steeper = trial
        moved, turned = reached - x, steeper - slope
        if float(moved @ turned) > 0:
            pairs = [*pairs[1 - MEMORY :], (moved, turned, 1 / float(moved @ turned))]
        small = value - lower <= 1e-9 * max(abs(value), abs(lower), 1.0)
        x, value, slope = reached, lower, steeper
        if small:
            return x
    return x


def _direction(slope: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray, float]]) -> np.ndarray:
    """The quasi-Newton step, by the two-loop recursion."""
    result = -slope
    parts = []
    for moved, turned, inverse in reversed(pairs):
        part = inverse * float(moved @ result)
        result = result - part * turned
        parts.append(part)
    if pairs:
        moved, turned, inverse = pairs[-1]
        result = result / (inverse * float(turned @ turned))
    for (moved, turned, inverse), part in zip(pairs, reversed(parts), strict=True):
        result = result + moved * (part - inverse * float(turned @ result))
    return result


def _line_search(
    objective: Objective, x: np.ndarray, value: float, direction: np.ndarray, downhill: float, length: float
) -> tuple[np.ndarray, float, np.ndarray] | None:
    """A point with enough less value and slope, by bisection; None where rounding leaves none."""
    low, high = 0.0, math.inf
    for _ in range(MOST_TRIALS):
        trial = x + length * direction
        reached, slope = objective(trial)
        if not reached <= value + SUFFICIENT * length * downhill:
            high = length
        elif float(slope @ direction) < CURVATURE * downhill:
            low = length
        else:
            return trial, reached, slope
        length = (low + high) / 2 if high < math.inf else 2 * length
    return None
