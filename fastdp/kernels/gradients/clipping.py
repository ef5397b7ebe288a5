"""Norms of the rows of a matrix, and the sum of scaled rows as integers.

The order of additions is fixed, by lanes, so that a row has the same norm on every machine and next to any other rows;
lanes are vectors to the compiler without any licence to reorder. Rows are truncated toward zero: no norm grows, and the
number of coordinates does not enter the sensitivity.
"""

from __future__ import annotations

import numpy as np

from fastdp.kernels.jit import inlined, kernel

LANES = 512
"""Partial sums of a norm: they stay in the first-level cache."""
STRIP = 128
"""Coordinates of one row after which the next is turned to; a divisor of LANES."""
TILE = 8192
"""Coordinates whose sums stay in the first-level cache while rows are added to them."""
ROWS = 4
"""Rows that are added at once: the sums are read and written once for all of them."""


@inlined
def _clear(lanes):
    for j in range(LANES):
        lanes[j] = 0.0


@inlined
def _add_squares(row, lanes):
    for j in range(row.size):
        x = np.float64(row[j])
        lanes[j] += x * x


@inlined
def _total(lanes):
    total = 0.0
    for j in range(LANES):
        total += lanes[j]
    return total


@kernel
def add_square_norms(rows, lanes, out):
    """Add the sum of squares of each row to ``out``, in float64.

    Pre:  rows is float32 or float64[n, d], contiguous; lanes is scratch of float64[m, LANES]; out is float64[n].
    Post: each sum is right to a relative (d / LANES + LANES) * 2**-53; squares of float32 are exact. Not finite where
          an entry of the row is not, or where a square is beyond float64.
    """
    for r in range(rows.shape[0]):
        _clear(lanes[0])
        for low in range(0, rows.shape[1], STRIP):
            high = min(low + STRIP, rows.shape[1])
            _add_squares(rows[r, low:high], lanes[0, low % LANES : low % LANES + STRIP])
        out[r] += _total(lanes[0])


@inlined
def _add_row(a, fa, sums):
    for i in range(sums.size):
        sums[i] += np.int32(a[i] * fa)


@inlined
def _add_rows(a, b, c, d, fa, fb, fc, fd, sums):
    for i in range(sums.size):
        sums[i] += np.int32(a[i] * fa) + np.int32(b[i] * fb) + np.int32(c[i] * fc) + np.int32(d[i] * fd)


@kernel
def add_steps(rows, factors, chosen, sums):
    """Add the rows times their factors, truncated toward zero, to ``sums``.

    Pre:  rows is float[n, d], contiguous; factors is float64[n], each a float32 for rows of float32; a factor of 0
          leaves its row out, whatever is in it. Other products are below 2**24 in absolute value, and n is at most 64,
          so that sums, int32[d] and 0 before, hold them. chosen is scratch of int64[n].
    """
    count = 0
    for r in range(rows.shape[0]):
        if factors[r] != 0.0:
            chosen[count] = r
            count += 1
    kind = rows.dtype.type
    for low in range(0, sums.size, TILE):
        high = min(low + TILE, sums.size)
        here = sums[low:high]
        whole = count // ROWS * ROWS
        for i in range(0, whole, ROWS):
            p, q, s, t = chosen[i], chosen[i + 1], chosen[i + 2], chosen[i + 3]
            _add_rows(
                rows[p, low:high], rows[q, low:high], rows[s, low:high], rows[t, low:high],
                kind(factors[p]), kind(factors[q]), kind(factors[s]), kind(factors[t]), here,
            )  # fmt: skip
        for i in range(whole, count):
            _add_row(rows[chosen[i], low:high], kind(factors[chosen[i]]), here)


@inlined
def _add_two(a, b, fa, fb, sums):
    for i in range(sums.size):
        sums[i] += np.int32(a[i] * fa) + np.int32(b[i] * fb)


@kernel
def add_steps_ahead(rows, factors, sums, ahead, lanes, out):
    """Add up to two rows as `add_steps` does, and meanwhile the square norms of the rows ahead as `add_square_norms`.

    Rows that no cache holds are waited for: some come from the main memory while others come from what is nearer.

    Pre:  of `add_steps` for rows and factors, with n at most 2; of `add_square_norms` for ahead and out, with as many
          rows of lanes as ahead has, at most 2.
    """
    first = 0 if factors[0] != 0.0 else factors.size - 1
    last = factors.size - 1 if factors[factors.size - 1] != 0.0 else first
    kind = rows.dtype.type
    p, q = kind(factors[first]), kind(factors[last])
    for r in range(ahead.shape[0]):
        _clear(lanes[r])
    for low in range(0, sums.size, STRIP):
        high = min(low + STRIP, sums.size)
        if first != last:
            _add_two(rows[first, low:high], rows[last, low:high], p, q, sums[low:high])
        elif p != 0.0:
            _add_row(rows[first, low:high], p, sums[low:high])
        for r in range(ahead.shape[0]):
            _add_squares(ahead[r, low:high], lanes[r, low % LANES : low % LANES + STRIP])
    for r in range(ahead.shape[0]):
        out[r] += _total(lanes[r])


@kernel
def flush_steps(sums, total):
    """Move ``sums``, int32, to ``total``, int64, and set them to 0."""
    for i in range(total.size):
        total[i] += np.int64(sums[i])
        sums[i] = np.int32(0)
