"""Add integer noise to a block of values, on a grid and within bounds.

Floats are rounded to a grid first, and the noise is a whole number of grid steps. Sums are exact integers in float64 or
are rounded by the last addition alone; that rounding depends on the sum only, so it is post-processing and tells
nothing more than the exact sum would. The same holds for the last conversion to float32.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel

NOT_A_NUMBER = 1
INFINITE = 2

_LOWEST = np.int64(-(2**63))
_HIGHEST = np.int64(2**63 - 1)


@inlined
def _saturating_add(a, b):
    total = a + b
    if ((a ^ total) & (b ^ total)) < 0:
        total = _LOWEST if b < 0 else _HIGHEST
    return total


@kernel
def add_integers(values, noise, low, high, flip, out):
    """out[i] = values[i] + noise[i], values and sums clamped to [low, high].

    Pre:  low <= high within the range of out's type; flip is 0, or -2**63 for uint64, which it maps in order onto
          int64 (low and high are given so mapped).
    Post: no sum wraps.
    """
    for i in range(out.size):
        value = np.int64(values[i]) ^ flip
        value = low if value < low else value
        value = high if value > high else value
        total = _saturating_add(value, noise[i])
        total = low if total < low else total
        total = high if total > high else total
        out[i] = total ^ flip


@kernel
def add_integers_folded(values, noise, low, high, flip, out):
    """out[i] = values[i] + noise[i], values clamped to [low, high] and sums reflected at both ends until inside.

    Pre:  as add_integers; 1 <= high - low < 2**61.
    """
    period = (high - low) * 2
    for i in range(out.size):
        value = np.int64(values[i]) ^ flip
        value = low if value < low else value
        value = high if value > high else value
        # Reduced first, so that nothing overflows: noise modulo the period of the reflection.
        place = (value - low + noise[i] % period) % period
        out[i] = (low + (place if place * 2 <= period else period - place)) ^ flip


@inlined
def _on_grid(value, steps_per_unit, low, high):
    place = np.rint(value * steps_per_unit)
    place = low if place < low else place
    return high if place > high else place


@inlined
def _trouble(value):
    """Flags of NaN and infinity, without a branch."""
    rest = value - value
    return np.uint8(value != value) | (np.uint8(rest != rest) << np.uint8(1))


@kernel
def add_floats(values, noise, steps_per_unit, grid, low, high, largest, out):
    """out[i] = (rint(values[i] / grid) + noise[i]) * grid, with steps clamped to [low, high] before and after.

    Pre:  grid is a power of two and steps_per_unit its inverse; low and high are whole numbers of steps or infinite.
    Post: every output is a multiple of grid, at most ``largest`` in size; the result is the NOT_A_NUMBER and INFINITE
          flags of the values, and outputs are of no meaning if it is not acceptable.
    """
    trouble = np.uint8(0)
    for i in range(out.size):
        value = np.float64(values[i])
        trouble |= _trouble(value)
        total = _on_grid(value, steps_per_unit, low, high) + np.float64(noise[i])
        total = low if total < low else total
        total = high if total > high else total
        result = total * grid
        result = -largest if result < -largest else result
        out[i] = largest if result > largest else result
    return trouble


@kernel
def add_floats_folded(values, noise, steps_per_unit, grid, low, high, out):
    """As add_floats, but sums are reflected at low and high until inside.

    Pre:  low and high are finite, both of size below 2**52.
    """
    trouble = np.uint8(0)
    period = (high - low) * 2.0
    for i in range(out.size):
        value = np.float64(values[i])
        trouble |= _trouble(value)
        place = _on_grid(value, steps_per_unit, low, high) - low + np.float64(noise[i])
        place -= np.floor(place / period) * period
        place = place if place * 2.0 <= period else period - place
        place = 0.0 if place < 0.0 else place
        place = period / 2.0 if place > period / 2.0 else place
        out[i] = (low + place) * grid
    return trouble
