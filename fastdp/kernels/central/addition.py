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
def _on_grid(value, steps_per_unit, grid):
    """The nearest multiple of grid: the value itself where its own digits are coarser, so that nothing overflows."""
    place = np.rint(value * steps_per_unit)
    return place * grid if abs(place) < 9007199254740992.0 else value


@inlined
def _clamp(value, low, high):
    value = low if value < low else value
    return high if value > high else value


@inlined
def _trouble(value):
    """Flags of NaN and infinity, without a branch."""
    rest = value - value
    return np.uint8(value != value) | (np.uint8(rest != rest) << np.uint8(1))


@kernel
def add_floats(values, noise, steps_per_unit, grid, low, high, least, most, out):
    """out[i] = (rint(values[i] / grid) + noise[i]) * grid, with values clamped to [low, high], sums to [least, most].

    Pre:  grid is a power of two and steps_per_unit its inverse; low and high are multiples of grid or infinite; least
          and most are finite numbers of out's type, multiples of grid, inside [low, high].
    Post: every output is a multiple of grid; the result is the NOT_A_NUMBER and INFINITE flags of the values, and
          outputs are meaningless if it is not acceptable.
    """
    trouble = np.uint8(0)
    for i in range(out.size):
        value = np.float64(values[i])
        trouble |= _trouble(value)
        value = _clamp(_on_grid(value, steps_per_unit, grid), low, high)
        total = value + np.float64(noise[i]) * grid
        out[i] = _clamp(total, least, most)
    return trouble


@kernel
def add_floats_folded(values, noise, steps_per_unit, grid, low, high, least, most, out):
    """As add_floats, but sums are reflected at low and high until inside.

    Pre:  low and high are finite, below 2**52 steps in size.
    """
    trouble = np.uint8(0)
    period = (high - low) * 2.0
    for i in range(out.size):
        value = np.float64(values[i])
        trouble |= _trouble(value)
        value = _clamp(_on_grid(value, steps_per_unit, grid), low, high)
        place = value - low + np.float64(noise[i]) * grid
        place -= np.floor(place / period) * period
        total = low + (place if place * 2.0 <= period else period - place)
        out[i] = _clamp(total, least, most)
    return trouble
