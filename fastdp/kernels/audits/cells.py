"""Cells of numbers: the bin of the value, and how many binary digits it needs after the point.

A threshold sees the size of an output alone. How many digits it needs is what floating-point noise gives away: sums of
a value and noise cannot take every number near it. [Mironov 2012]
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel

DIGITS = 64
"""Classes of digits: none up to the first that counts, then one by one, and all beyond the last together."""


@kernel
def fill_bins(values, low, slope, last, out):
    """Write the bin of each value: bin b starts at ``low + b / slope``; values beyond the first and last count there.

    Pre:  out is uint32 of the values' length. NaN counts in the first bin.
    """
    for i in range(values.size):
        place = (np.float64(values[i]) - low) * slope
        place = place if place > 0.0 else 0.0
        out[i] = np.uint32(np.int32(place if place < last else last))


@inlined
def digits_after_point(bits):
    """The smallest d >= 0 for which a float64 of these bits is a multiple of 2**-d."""
    exponent = np.int64((bits >> np.uint64(52)) & np.uint64(0x7FF))
    mantissa = bits & np.uint64(0xFFFFFFFFFFFFF)
    if exponent > 0:
        mantissa |= np.uint64(1) << np.uint64(52)
    else:
        exponent = 1
        if mantissa == 0:
            return 0
    lowest = np.float64(np.int64(mantissa & (~mantissa + np.uint64(1)))).view(np.uint64)
    trailing = np.int64(lowest >> np.uint64(52)) - 1023
    return max(np.int64(1075) - exponent - trailing, np.int64(0))


@kernel
def fill_digits(bits, first, out):
    """Append the class of digits to each cell: ``out[i] * DIGITS + class``, where digits from ``first`` on count.

    Pre:  bits are those of float64 values; out has a cell below 2**26 for each.
    """
    for i in range(bits.size):
        digits = digits_after_point(bits[i]) - first
        digits = digits if digits > 0 else 0
        digits = digits if digits < DIGITS - 1 else DIGITS - 1
        out[i] = out[i] * np.uint32(DIGITS) + np.uint32(digits)


@kernel
def most_digits(bits):
    """The most digits after the point that any of the values needs."""
    most = 0
    for i in range(bits.size):
        most = max(most, digits_after_point(bits[i]))
    return most
