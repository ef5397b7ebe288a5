"""The least noise for a total: calibrate the parameter of a whole composition at once."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastdp import validation
from fastdp.accounting.brackets import Bounds
from fastdp.accounting.compose import compose
from fastdp.accounting.curve import PrivacyCurve
from fastdp.errors import ParameterError

MOST_TRIES = 60
COARSE = 3e-5
"""The relative width of totals while the scale is far from its end; fine ones take several times as long."""


@dataclass(frozen=True)
class Calibrated:
    """The least scale found, the releases it makes, their curve and their total; ``epsilon`` is never above the aim."""

    scale: float
    parts: Any
    curve: PrivacyCurve
    epsilon: Bounds

    def __float__(self) -> float:
        return self.scale


def calibrate(
    make: Callable[[float], Any], *, epsilon: float, delta: float = 0.0, start: float = 1.0, tolerance: float = 1e-5
) -> Calibrated:
    """The smallest scale of noise at which a composition costs at most (epsilon, delta).

    ``make(scale)`` gives the releases for a scale of noise, as `compose` takes them; they must cost less with more
    noise. The upper end of the total is never above ``epsilon``, and within ``tolerance`` of it where the total is
    continuous in the scale.

    Parameters
    ----------
    make
        A function from a scale > 0 to a list of releases, or to one release.
    epsilon, delta
        The aim.
    start
        A first guess of the scale.
    tolerance
        How far below the aim the total may be, as a part of it.

    >>> import fastdp as fd
    >>> found = calibrate(lambda scale: [(fd.Privacy(epsilon=1 / scale), 100)], epsilon=1.0, delta=1e-6)
    >>> 0.99999 <= found.epsilon.upper <= 1.0
    True
    >>> round(found.scale, 1)
    41.6
    """
    if not callable(make):
        raise ParameterError("calibrate: make must be a function from a scale of noise to a list of releases")
    epsilon = validation.positive("calibrate", "epsilon", epsilon)
    delta = validation.as_float(delta)
    if not 0 <= delta < 1:
        raise ParameterError(f"calibrate: delta must be a number with 0 <= delta < 1, got {delta!r}")
    start = validation.positive("calibrate", "start", start)
    tolerance = validation.as_float(tolerance)
    if not 1e-9 <= tolerance < 1:
        raise ParameterError(f"calibrate: tolerance must be a number between 1e-9 and 1, got {tolerance!r}")

    def total(scale: float, width: float) -> Calibrated:
        parts = make(scale)
        curve = compose(parts if isinstance(parts, list) else [parts], width=width)
        return Calibrated(scale, parts, curve, curve.epsilon(delta=delta))

    fine, coarse = max(1e-9, tolerance / 8), max(1e-9, tolerance / 8, min(COARSE, 3 * tolerance))
    search = functools.partial(total, width=coarse)
    nearby = tolerance if coarse == fine else max(tolerance, 20 * coarse)
    below, above = _narrow(search, *_bracket(search, epsilon, start), epsilon, nearby)
    if coarse == fine:
        return above
    return _refine(functools.partial(total, width=fine), below, above, epsilon, tolerance)


def _narrow(
    total: Callable[[float], Calibrated], below: Calibrated, above: Calibrated, aim: float, tolerance: float
) -> tuple[Calibrated, Calibrated]:
    """The same bracket until its upper scale costs at most so much less than the aim."""
    for _ in range(MOST_TRIES):
        if above.epsilon.upper >= aim * (1 - tolerance) or above.scale <= below.scale * (1 + 1e-14):
            break
        tried = total(_between(below, above, aim * (1 - tolerance / 2)))
        below, above = (tried, above) if tried.epsilon.upper > aim else (below, tried)
    return below, above


def _refine(
    total: Callable[[float], Calibrated], below: Calibrated, above: Calibrated, aim: float, tolerance: float
) -> Calibrated:
    """From a coarse bracket to the tolerance: steps along its slope, else the fine bracket around it."""
    goal = aim * (1 - tolerance / 2)
    rise = _logarithm(above.epsilon.upper, below.epsilon.upper) / math.log(above.scale / below.scale)
    scale = _between(below, above, goal)
    for _ in range(4):
        tried = total(scale)
        if aim * (1 - tolerance) <= tried.epsilon.upper <= aim:
            return tried
        step = _logarithm(goal, tried.epsilon.upper) / rise if rise < 0 else math.nan
        if not abs(step) < 1:
            break
        scale *= math.exp(step)
    return _narrow(total, *_bracket(total, aim, above.scale), aim, tolerance)[1]


def _logarithm(high: float, low: float) -> float:
    """ln(high / low), nan where one of them has no logarithm."""
    return math.log(high / low) if 0 < low < math.inf and 0 < high < math.inf else math.nan


def _bracket(total: Callable[[float], Calibrated], epsilon: float, start: float) -> tuple[Calibrated, Calibrated]:
    """Two scales between which the total passes the aim."""
    here = total(start)
    for _ in range(MOST_TRIES):
        cost = here.epsilon.upper
        ratio = cost / epsilon if math.isfinite(cost) and cost > 0 else (1e3 if cost else 1e-3)
        # a little beyond the aim, so that the next one lies on the other side
        step = min(max(ratio * (1.02 if ratio > 1 else 0.98), 1e-3), 1e3)
        there = total(here.scale * step)
        if (there.epsilon.upper > epsilon) != (here.epsilon.upper > epsilon):
            return (here, there) if here.epsilon.upper > epsilon else (there, here)
        here = there
    raise ParameterError(
        "calibrate: no scale reaches the aim; is delta too small, or does make(scale) not depend on it?"
    )


def _between(below: Calibrated, above: Calibrated, aim: float) -> float:
    """Where the logarithm of epsilon, linear in that of the scale, meets the aim."""
    x, y = math.log(below.scale), math.log(above.scale)
    high, low = below.epsilon.upper, above.epsilon.upper
    middle = (x + y) / 2
    if math.isfinite(high) and low > 0 and high > low:
        middle = x + (y - x) * math.log(high / aim) / math.log(high / low)
        edge = 1e-3 * (y - x)
        middle = min(max(middle, x + edge), y - edge)
    return math.exp(middle)
