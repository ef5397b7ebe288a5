"""The least noise for a total: calibrate the parameter of a whole composition at once."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fastdp import validation
from fastdp.accounting.compose import compose
from fastdp.accounting.curve import Bounds, PrivacyCurve
from fastdp.errors import ParameterError

MOST_TRIES = 60


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

    def total(scale: float) -> Calibrated:
        parts = make(scale)
        curve = compose(parts if isinstance(parts, list) else [parts], width=max(1e-9, tolerance / 8))
        return Calibrated(scale, parts, curve, curve.epsilon(delta=delta))

    below, above = _bracket(total, epsilon, start)
    for _ in range(MOST_TRIES):
        if above.epsilon.upper >= epsilon * (1 - tolerance) or above.scale <= below.scale * (1 + 1e-14):
            break
        tried = total(_between(below, above, epsilon * (1 - tolerance / 2)))
        below, above = (tried, above) if tried.epsilon.upper > epsilon else (below, tried)
    return above


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
