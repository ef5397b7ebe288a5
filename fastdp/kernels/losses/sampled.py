"""Moment functions of Gaussian noise on a Poisson sample, by the trapezoid rule in the noise.

The likelihood ratio is r(y) = 1 - rate + rate e^{(2y-1)/(2 sigma^2)}, y ~ N(0, sigma^2); its moments are E r^a at
a = 1 + z where a record is removed, a = -z where it is added. docs/accounting.md bounds what the rule leaves out.
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel, part
from fastdp.kernels.losses.moments import BLOCK, fill_sum, fill_turns, move_phases, multiply_block, raise_block

REACH = 9.5
"""Deviations of noise on either side of where the tilted noise is centred."""
KEPT = 1e-20
"""The smallest share of the sum that is kept."""


@inlined
def _exponent(theta, add):
    """The real part of the ratio's exponent."""
    return -theta if add else 1.0 + theta


@inlined
def _low(sigma, exponent):
    return -REACH * sigma + min(exponent, 0.0)


@inlined
def _high(sigma, exponent):
    return REACH * sigma + max(exponent, 0.0)


@inlined
def _log_ratio(rate, x):
    """ln(1 - rate + rate e^x)."""
    if x > 40.0:
        return x + math.log(rate) + math.log1p((1.0 - rate) / rate * math.exp(-x))
    if rate <= 0.5:
        return math.log1p(rate * math.expm1(x))
    return math.log((1.0 - rate) + rate * math.exp(x))


@kernel
def count_points(sigma, theta, frequency, add):
    """How many steps make the trapezoid rule right to e^-41 up to a frequency: the strip bound."""
    best = 1e300
    widest = min(3.0, math.sqrt(84.0) / sigma)
    for k in range(1, 9):
        angle = widest * k / 8.0
        room = 42.0 - (theta * math.log(math.cos(angle / 2.0)) if add else 0.0)
        best = min(best, frequency + room / angle + angle * sigma * sigma / 2.0)
    step = min(sigma / 3.0, 2.0 * math.pi * sigma * sigma / best)
    exponent = _exponent(theta, add)
    return int((_high(sigma, exponent) - _low(sigma, exponent)) / step) + 2


@part
def fill_points(sigma, rate, theta, add, size, losses, weights):
    """The ``size`` + 1 points of E r^a at frequency 0: their losses, and weights that sum to 1.

    Returns ln E r^a and a bound on the relative error of the weights' sum, the masses beyond both ends included.
    Pre:  losses and weights have more than ``size`` places.
    """
    exponent = _exponent(theta, add)
    low, high = _low(sigma, exponent), _high(sigma, exponent)
    sign = -1.0 if add else 1.0
    step = (high - low) / size
    variance = sigma * sigma
    top = -1e300
    for c in range(size + 1):
        y = low + step * c
        loss = _log_ratio(rate, (2.0 * y - 1.0) / (2.0 * variance))
        losses[c] = sign * loss
        weights[c] = exponent * loss - y * y / (2.0 * variance)
        top = max(top, weights[c])
    total, error, furthest = 0.0, 0.0, max(-low, high)
    for c in range(size + 1):
        y = low + step * c
        w = math.exp(weights[c] - top)
        weights[c] = w
        total += w
        moved = 4.0 * (abs(exponent) + abs(y)) * furthest / variance
        error += w * (moved + 3.0 * y * y / variance + 8.0 * abs(exponent) * (abs(y - 0.5) / variance + 1.0))
    last = weights[size] * (1.0 + variance / (step * (high - max(exponent, 0.0))))
    first = weights[0] * (1.0 + variance / (step * (min(exponent, 0.0) - low)))
    for c in range(size + 1):
        weights[c] /= total
    off = 1.2e-16 * (error / total + 8.0 + abs(top) + size) + (first + last) / total + 1e-17
    return math.log(total * step / sigma) + top - 0.9189385332046727, off


@kernel
def sum_sampled(theta, sigmas, rates, counts, adds, coarse, losses, weights):
    """The sum over all rows of ln E r^a times its count, and a bound on its error; ``coarse`` only for choices."""
    total, error = 0.0, 0.0
    for i in range(sigmas.size):
        exponent = _exponent(theta, adds[i])
        size = count_points(sigmas[i], theta, 0.0, adds[i])
        if coarse:
            size = int((_high(sigmas[i], exponent) - _low(sigmas[i], exponent)) / sigmas[i]) + 2
        moment, off = fill_points(sigmas[i], rates[i], theta, adds[i], size, losses, weights)
        total += counts[i] * moment
        error += counts[i] * (off + 1.2e-16 * (abs(moment) + i + 1.0))
    return total, error


@kernel
def fill_variations(theta, sigmas, rates, adds, losses, weights, out):
    """Bounds on the total variations of the tilted densities of the losses: twice the top, for each of up to two tops.

    The density at noise y is g(y) = sigma^2 phi(y) (rate e^x)^a (1 + c e^-x)^(a+1) / M, x = (2y-1)/(2 sigma^2) and
    c = (1 - rate) / rate. Where g is stationary, y = a - (a+1) s(y) with a logistic s, so that y lies between -1 and a,
    and there are at most three such points. Between them |(ln g)'| <= |a+1| / sigma^2.
    """
    for i in range(sigmas.size):
        sigma, rate = sigmas[i], rates[i]
        variance = sigma * sigma
        a = _exponent(theta, adds[i])
        span = abs(a + 1.0)
        points = 32 + int(4.0 * span * span / variance)
        low, step = min(-1.0, a), span / points
        top = -1e300
        for c in range(points + 1):
            y = low + step * c
            x = (2.0 * y - 1.0) / (2.0 * variance)
            # ln of (1 - rate + rate e^x)^(a+1) / (rate e^x)
            top = max(top, (a + 1.0) * _log_ratio(rate, x) - x - math.log(rate) - y * y / (2.0 * variance))
        top += span * step / (2.0 * variance)
        size = count_points(sigma, theta, 0.0, adds[i])
        moment, _ = fill_points(sigma, rate, theta, adds[i], size, losses, weights)
        tops = 2.0 if a + 1.0 > 4.0 * variance else 1.0
        out[i] = 2.0 * tops * math.exp(min(top - moment, 600.0)) * sigma * 0.3989422804014327 * (1.0 + 1e-9)


@kernel
def multiply_sampled(
    dt, theta, first, stop, sigmas, rates, counts, adds, cut, losses, weights, turn_re, turn_im, phases, work, dead,
    errors, reaches, out_re, out_im,
):  # fmt: skip
    """Multiply the blocks from ``first`` to ``stop`` by all rows' moment functions, to the power of their counts.

    ``errors`` and ``reaches`` keep the largest error of a row's weights and mean absolute loss.
    Pre:  losses, weights, turns and the 4 rows of phases have places for the points of every row; work has 2 rows.
    """
    re, im = work[0], work[1]
    cos0, sin0, far_re, far_im = phases[0], phases[1], phases[2], phases[3]
    for i in range(sigmas.size):
        alive = False
        for block in range(first, stop):
            if not dead[block]:
                alive = True
        if not alive:
            return
        size = count_points(sigmas[i], theta, stop * BLOCK * dt, adds[i])
        _, off = fill_points(sigmas[i], rates[i], theta, adds[i], size, losses, weights)
        exponent = _exponent(theta, adds[i])
        # what a place moves by when it is rounded, in units, times the slope of the loss there
        steep = max(-_low(sigmas[i], exponent), _high(sigmas[i], exponent)) / (sigmas[i] * sigmas[i])
        points, reach = 0, 0.0
        for c in range(size + 1):
            if weights[c] > KEPT:
                losses[points] = losses[c]
                weights[points] = weights[c]
                ratio = -losses[c] if adds[i] else losses[c]
                slope = 1.0 - (1.0 - rates[i]) * math.exp(-ratio)
                reach += weights[c] * (abs(losses[c]) + steep * max(slope, 0.0))
                points += 1
        errors[i] = max(errors[i], 2.0 * (off + KEPT * (size + 1 - points)))
        reaches[i] = max(reaches[i], reach)
        for k in range(points):
            fill_turns(dt * losses[k], turn_re[k], turn_im[k])
            far_re[k], far_im[k] = math.cos(BLOCK * dt * losses[k]), math.sin(BLOCK * dt * losses[k])
        since = -1
        for block in range(first, stop):
            if dead[block]:
                since = -1
                continue
            since = move_phases(points, losses, 0, dt, block, since, cos0, sin0, far_re, far_im)
            fill_sum(0, points, weights, cos0, sin0, turn_re, turn_im, re, im)
            if counts[i] > 1:
                raise_block(counts[i], re, im)
            if multiply_block(block * BLOCK, re, im, out_re, out_im) < cut:
                dead[block] = 1
