"""What a report really costs, to 60 digits, from the integers that are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from typing import Any, NamedTuple

import mpmath

import fastdp as fd
from fastdp.units.lengths import METRES
from tests.mechanisms.local.test_attributes import channel
from tests.mechanisms.metric.test_grid import realised_channel
from tests.reference.metric import exact_epsilon, plane

DIGITS = 60


class Exact(NamedTuple):
    """What is lost between two neighbours at most; ``delta`` is that at the epsilon that is stated."""

    epsilon: mpmath.mpf | None = None
    rho: mpmath.mpf | None = None
    delta: mpmath.mpf | None = None


def real(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def log(ratio: Fraction) -> mpmath.mpf:
    """The logarithm of a ratio, accurate also where the ratio is near 1."""
    return mpmath.log1p(real(ratio - 1))


def law_of(law: Any) -> Any:
    """The law without the interval that it may be conditioned on."""
    return getattr(law, "law", law)


def rate_of(mechanism: Any) -> Fraction:
    rate = law_of(mechanism._law).rate
    return Fraction(rate.numerator, 1 << rate.shift)


def rates_of(law: Any) -> list[Fraction]:
    """The rate of each record's own law."""
    return [Fraction(int(n), 1 << int(s)) for n, s in zip(law._numerators, law._shifts, strict=True)]


def steps_apart(distance: Any, granularity: float | None) -> int:
    """How many steps two values up to ``distance`` apart can be apart, once they are rounded to a grid, if they are."""
    return int(distance) if granularity is None else Fraction(distance) // Fraction(granularity) + 1


def grid_of(mechanism: Any) -> float | None:
    return getattr(mechanism, "granularity", None)


def each_steps(mechanism: Any) -> list[int]:
    """Steps of each record."""
    size = mechanism._records()
    given = mechanism.sensitivity
    values = given.values.tolist() if hasattr(given, "values") else [given] * size
    return [steps_apart(value, grid_of(mechanism)) for value in values]


def laplace_loss(mechanism: Any, steps: int) -> mpmath.mpf:
    """Between any two values so many steps apart at most; conditioned on an interval where draws are repeated."""
    rate = rate_of(mechanism)
    if mechanism.boundary != "resample":
        return steps * real(rate)
    width = mechanism._law.width
    return max(resampled_loss(real(rate), width, x, x + near) for near in nearby(min(steps, width)) for x in (0, 1))


def nearby(steps: int) -> set[int]:
    """Some distances up to ``steps``, the largest among them."""
    return {max(1, steps >> k) for k in range(0, 40, 3)} | {1, steps}


def resampled_loss(rate: mpmath.mpf, width: int, x: int, other: int) -> mpmath.mpf:
    """Between two places of an interval: the change of the weights, and of the sum of all that are inside."""
    if other > width:
        return mpmath.mpf(0)
    a = mpmath.exp(-rate)

    def mass(place: int) -> mpmath.mpf:
        return (1 - a ** (place + 1) + a - a ** (width - place + 1)) / (1 - a)

    return rate * abs(other - x) + abs(mpmath.log(mass(other) / mass(x)))


def pure_noise(mechanism: Any, _stated: fd.Privacy) -> Exact:
    """Laplace and geometric noise."""
    if mechanism._records() is None:
        return Exact(laplace_loss(mechanism, steps_apart(mechanism.sensitivity, grid_of(mechanism))))
    pairs = zip(rates_of(mechanism._law), each_steps(mechanism), strict=True)
    return Exact(max(real(rate * steps) for rate, steps in pairs))


def staircase(mechanism: Any, _stated: fd.Privacy) -> Exact:
    """One fall of e**-rate in any stretch as long as a stair."""
    law = mechanism._law
    return Exact(real(rate_of(mechanism) if mechanism._records() is None else max(rates_of(law))))


def gaussian(mechanism: Any, stated: fd.Privacy) -> Exact:
    """Rho from the integer rate 1 / (2 sigma**2), or sigma of each record; delta by its definition."""
    if mechanism._records() is not None:
        sigmas = rates_of(mechanism._law)
        pairs = list(zip(sigmas, each_steps(mechanism), strict=True))
        rho = max(real(Fraction(steps * steps) / (2 * sigma * sigma)) for sigma, steps in pairs)
        return Exact(rho=rho, delta=each_delta(mechanism, stated, pairs))
    rate, steps = rate_of(mechanism), steps_apart(mechanism.sensitivity, grid_of(mechanism))
    delta = None if stated.epsilon is None else gaussian_delta(stated.epsilon, real(rate), steps)
    return Exact(rho=real(rate * steps * steps), delta=delta)


def each_delta(mechanism: Any, stated: fd.Privacy, pairs: list[tuple[Fraction, int]]) -> mpmath.mpf | None:
    """The worst of some records at their own epsilons."""
    if stated.epsilon is None:
        return None
    epsilons = mechanism.epsilon.values.tolist() if hasattr(mechanism.epsilon, "values") else None
    chosen = range(0, len(pairs), max(1, len(pairs) // 12))
    return max(
        gaussian_delta(epsilons[i] if epsilons else stated.epsilon, real(1 / (2 * pairs[i][0] ** 2)), pairs[i][1])
        for i in chosen
    )


def gaussian_delta(epsilon: float, rate: mpmath.mpf, steps: int) -> mpmath.mpf:
    """P(loss > epsilon) - e**epsilon P'(loss > epsilon) of the discrete Gaussian.

    Summed for small sigma. For large sigma the sum over the integers from k on is the integral from k - 1/2 on, up to
    a part of about 1 / sigma**2 of it.
    """
    factor, sigma = mpmath.exp(mpmath.mpf(epsilon)), mpmath.sqrt(1 / (2 * rate))
    edge = mpmath.mpf(epsilon) / (2 * rate * steps) - mpmath.mpf(steps) / 2
    first = int(mpmath.floor(edge)) + 1
    if sigma > 3000:
        low = (first - mpmath.mpf(1) / 2) / sigma
        return tail(low) - factor * tail(low + steps / sigma)
    reach = int(40 * sigma) + steps + 2
    near = range(max(first, -reach), reach + 1)
    total = mpmath.fsum(mpmath.exp(-rate * z * z) for z in range(-reach, reach + 1))
    gains = (mpmath.exp(-rate * z * z) - factor * mpmath.exp(-rate * (z + steps) ** 2) for z in near)
    return mpmath.fsum(gains) / total


def tail(x: mpmath.mpf) -> mpmath.mpf:
    return mpmath.erfc(x / mpmath.sqrt(2)) / 2


def numeric(mechanism: Any, _stated: fd.Privacy) -> Exact:
    """The two ends of a two-point report, and a cell inside a window against one outside, whichever are drawn."""
    least, window, share = mechanism._two_point.least, mechanism._window, mechanism._share
    two_point = log(Fraction((1 << 53) - least, least))
    inside = log(Fraction(window.keep * window.cells, ((1 << 64) - window.keep) * window.width))
    return Exact(inside if share == 1 << 16 else two_point if share == 0 else max(two_point, inside))


def matrix(mechanism: Any, _stated: fd.Privacy) -> Exact:
    return Exact(exact_epsilon(mechanism._shares, mechanism.distance))


def grid(mechanism: Any, _stated: fd.Privacy) -> Exact:
    return Exact(exact_epsilon(realised_channel(mechanism), plane(*mechanism.shape) * mechanism.cell))


def remapped(mechanism: Any, stated: fd.Privacy) -> Exact:
    """The integers of the mechanism whose reports are replaced: what is done with them costs nothing."""
    return recompute(mechanism.mechanism, stated)


def planar(mechanism: Any, _stated: fd.Privacy) -> Exact:
    return Exact(planar_loss(mechanism, Fraction(1)))


def planar_loss(mechanism: Any, distance: Fraction) -> mpmath.mpf:
    """rate * (the distance and sqrt(2) steps of rounding), what float64 adds on the globe, and the kernel's excess."""
    side = Fraction(mechanism._law.side.numerator, 1 << mechanism._law.side.shift)
    off = Fraction(1, 1 << 20) / Fraction(METRES[mechanism.unit]) if mechanism.origin is not None else 0
    steps = real((distance + off) / Fraction(mechanism.granularity)) + mpmath.sqrt(2)
    return mpmath.sqrt(2) * real(side) * steps + mpmath.mpf(2) ** -33


def globe(mechanism: Any, _stated: fd.Privacy) -> Exact:
    return Exact(globe_loss(mechanism, Fraction(1)))


def globe_loss(mechanism: Any, distance: Fraction) -> mpmath.mpf:
    """The origin's three coordinates, rounded to steps, and the point on its plane."""
    metres = Fraction(METRES[mechanism.unit])
    apart = distance * metres + Fraction(1.0e-6)
    coarse = real(rate_of(mechanism._coarse)) * (mpmath.sqrt(3) * real(apart / Fraction(mechanism._step)) + 3)
    return coarse + planar_loss(mechanism._fine, apart / metres)


def attributes(mechanism: Any, _stated: fd.Privacy) -> Exact:
    """The largest log-ratio of whole reports over all pairs of records that differ as the unit allows."""
    laws = channel(mechanism)
    changes = 1 if getattr(mechanism, "unit", "record") == "attribute" else len(mechanism.mechanisms)
    worst = Fraction(1)
    for one, other in product(laws, laws):
        if 0 < sum(a != b for a, b in zip(one, other, strict=True)) <= changes:
            worst = max(worst, *(laws[one][report] / laws[other][report] for report in laws[one]))
    return Exact(log(worst))


Recompute = Callable[[Any, fd.Privacy], Exact]


def hashed_prefixes(mechanism: Any, _stated: fd.Privacy) -> Exact:
    """The seed is drawn without the string; the hash is kept, or one of g drawn evenly."""
    keep, g = mechanism._law.krr.keep, mechanism.g
    return Exact(log(1 + keep * g / (1 - keep)))


EXACT: dict[type, Recompute] = {
    fd.Laplace: pure_noise,
    fd.Geometric: pure_noise,
    fd.Staircase: staircase,
    fd.Gaussian: gaussian,
    fd.DiscreteGaussian: gaussian,
    fd.Duchi: numeric,
    fd.Piecewise: numeric,
    fd.Hybrid: numeric,
    fd.SquareWave: numeric,
    fd.ExponentialMetric: matrix,
    fd.TightConstraints: matrix,
    fd.BlahutArimoto: matrix,
    fd.OptimalMechanism: matrix,
    fd.GridGeometric: grid,
    fd.GridLaplace: grid,
    fd.Remapped: remapped,
    fd.RemappedPoints: remapped,
    fd.PlanarLaplace: planar,
    fd.GlobeLaplace: globe,
    fd.FrequentStrings: hashed_prefixes,
    fd.SplitBudget: attributes,
    fd.SampleOne: attributes,
    fd.SampleAndFake: attributes,
}
"""By class. Local protocols have a recomputation of their own each, in their contract list."""


def recompute(mechanism: Any, stated: fd.Privacy) -> Exact:
    """What the mechanism costs, by its class."""
    found = EXACT[type(mechanism)]
    with mpmath.workdps(DIGITS):
        return found(mechanism, stated)


def understates(stated: fd.Privacy, exact: Exact) -> bool:
    """Whether anything that is stated is below what is lost."""
    with mpmath.workdps(DIGITS):
        pairs = [(stated.epsilon, exact.epsilon), (stated.rho, exact.rho), (stated.delta or None, exact.delta)]
        return any(one is not None and other is not None and mpmath.mpf(one) < other for one, other in pairs)
