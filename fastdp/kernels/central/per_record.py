"""Integer noise with a law of its own for each record, exact, from private streams alone."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.bernoulli import draw_bernoulli_exp_ratio
from fastdp.kernels.stream.lanes import private_draws
from fastdp.kernels.stream.words import draw_below, next_word

LARGEST_STEP = np.uint64(15)

_U = np.uint64
_ZERO, _ONE, _TWO = _U(0), _U(1), _U(2)


@inlined
def _draw_sign(magnitude, key, work, blocks):
    """A magnitude with a random sign, and whether it counts: a negative zero does not."""
    negative = next_word(key, work, blocks) & _ONE
    noise = np.int64(magnitude)
    return (noise if negative == _ZERO else -noise), negative == _ZERO or magnitude != _ZERO


@inlined
def _draw_laplace(rate, shift, key, work, blocks):
    """P(z) ~ e**(-|z| * rate / 2**shift): floor(E * 2**shift / rate) with E exponential, and a sign.

    E is a whole part, geometric with ratio 1/e, and a fraction of ``shift`` bits, kept with probability e**-fraction.
    """
    scale = _ONE << shift
    while True:
        fraction = next_word(key, work, blocks) >> (_U(64) - shift)
        if draw_bernoulli_exp_ratio(fraction, scale, key, work, blocks):
            whole = _ZERO
            while draw_bernoulli_exp_ratio(_ONE, _ONE, key, work, blocks):
                whole += _ONE
            magnitude = whole * (scale // rate) + (whole * (scale % rate) + fraction) // rate
            noise, counts = _draw_sign(magnitude, key, work, blocks)
            if counts:
                return noise


@inlined
def _draw_gaussian(sigma, shift, key, work, blocks):
    """P(z) ~ e**(-z**2 / (2 s**2)) with s = sigma / 2**shift (Karney 2016, algorithm D, at mean 0).

    A step k with P(k) ~ e**(-k**2 / 2), an integer i of the k-th interval of length s, and x = (i - k*s) / s, kept with
    probability e**(-x * (2k + x) / 2). Cutting k at 15 costs less than 2**-180.
    """
    unit = _ONE << shift
    count = (sigma + unit - _ONE) >> shift
    while True:
        k = _ZERO
        while k <= LARGEST_STEP and draw_bernoulli_exp_ratio(_ONE, _TWO, key, work, blocks):
            k += _ONE
        trials = k * (k - _ONE) if k > _ONE else _ZERO
        kept = k <= LARGEST_STEP
        while kept and trials > _ZERO:
            kept = draw_bernoulli_exp_ratio(_ONE, _TWO, key, work, blocks)
            trials -= _ONE
        if kept:
            negative = next_word(key, work, blocks) & _ONE
            i = ((k * sigma + unit - _ONE) >> shift) + draw_below(count, key, work, blocks)
            x = (i << shift) - k * sigma
            kept = x < sigma and not (negative == _ONE and i == _ZERO)
            numerator, denominator = x * (_TWO * k * sigma + x), _TWO * sigma * sigma * (k + _ONE)
            trials = k + _ONE
            while kept and trials > _ZERO:
                kept = draw_bernoulli_exp_ratio(numerator, denominator, key, work, blocks)
                trials -= _ONE
            if kept:
                return np.int64(i) if negative == _ZERO else -np.int64(i)


@inlined
def _draw_whole_bernoulli_exp(rate, shift, key, work, blocks):
    """True with probability e**-(rate / 2**shift): one flip of e**-1 for each whole unit, and one for the rest."""
    scale = _ONE << shift
    for _ in range(rate // scale):
        if not draw_bernoulli_exp_ratio(_ONE, _ONE, key, work, blocks):
            return False
    return draw_bernoulli_exp_ratio(rate % scale, scale, key, work, blocks)


@inlined
def _draw_stairs(rate, shift, steps, tread, key, work, blocks):
    """P(z) = h for |z| < tread, h e**-r up to ``steps``, and P(|z| + steps) = e**-r P(|z|), with r = rate / 2**shift.

    A uniform place on the first stair, kept with probability e**-r beyond the tread; whole stairs are geometric.
    """
    while True:
        place = draw_below(steps, key, work, blocks)
        if place < tread or _draw_whole_bernoulli_exp(rate, shift, key, work, blocks):
            while _draw_whole_bernoulli_exp(rate, shift, key, work, blocks):
                place += steps
            noise, counts = _draw_sign(place, key, work, blocks)
            if counts:
                return noise


@private_draws
def _fill_stairs(i, key, work, blocks, rates, shifts, steps, treads):
    return _draw_stairs(rates[i], shifts[i], steps[i], treads[i], key, work, blocks)


@kernel
def fill_stairs_each(key, start, rates, shifts, steps, treads, scratch, out):
    """Write one staircase draw per slot, of rate rates[i] / 2**shifts[i], steps[i] and treads[i].

    Pre:  0 < rates[i] < 2**24; 0 <= shifts[i] <= 57; 1 <= treads[i] <= steps[i] < 2**40. The expected number of places
          tried is steps / (tread + (steps - tread) e**-rate).
    Post: each draw is within 2**-100 of its law in statistical distance.
    Bits: the private stream of slot start + i.
    """
    _fill_stairs(key, start, scratch, out, rates, shifts, steps, treads)


@private_draws
def _fill_laplace(i, key, work, blocks, rates, shifts):
    return _draw_laplace(rates[i], shifts[i], key, work, blocks)


@kernel
def fill_laplace_each(key, start, rates, shifts, scratch, out):
    """Write one discrete Laplace draw per slot, of rate rates[i] / 2**shifts[i].

    Pre:  0 < rates[i] < 2**24; 1 <= shifts[i] <= 57.
    Post: each draw is within 2**-100 of its law in statistical distance.
    Bits: the private stream of slot start + i.
    """
    _fill_laplace(key, start, scratch, out, rates, shifts)


@private_draws
def _fill_gaussian(i, key, work, blocks, sigmas, shifts):
    return _draw_gaussian(sigmas[i], shifts[i], key, work, blocks)


@kernel
def fill_gaussian_each(key, start, sigmas, shifts, scratch, out):
    """Write one discrete Gaussian draw per slot, of standard deviation parameter sigmas[i] / 2**shifts[i].

    Pre:  0 < sigmas[i] <= 2**26; 0 <= shifts[i] <= 32.
    Post: each draw is within 2**-100 of its law in statistical distance.
    Bits: the private stream of slot start + i.
    """
    _fill_gaussian(key, start, scratch, out, sigmas, shifts)
