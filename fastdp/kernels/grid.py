"""What is left of a product on a grid when the Fourier transforms are done elsewhere."""

from __future__ import annotations

from fastdp.kernels.jit import kernel, summed


@kernel
def apply_spectrum(spectrum, values):
    """Multiply the values by the spectrum, in place."""
    for u in range(values.shape[0]):
        factors, row = spectrum[u], values[u]
        for v in range(row.size):
            row[v] *= factors[v]


@kernel
def add_tails(values, low, high, out_low, out_high):
    """Add the sums over rows of values * low to ``out_low``, and of values * high to ``out_high``."""
    for i in range(values.shape[0]):
        row, below, above = values[i], low[i], high[i]
        for v in range(row.size):
            out_low[v] += row[v] * below[v]
            out_high[v] += row[v] * above[v]


@kernel
def spread_tails(low, high, at_low, at_high, out):
    """Add to each row of ``out`` what ``add_tails`` would take from it: its adjoint."""
    for i in range(out.shape[0]):
        row, below, above = out[i], low[i], high[i]
        for v in range(row.size):
            row[v] += below[v].conjugate() * at_low[v] + above[v].conjugate() * at_high[v]


@summed
def _dot(a, b):
    """The sum of the products of complex numbers, real parts at even places and imaginary parts at odd ones."""
    real, imaginary = 0.0, 0.0
    for v in range(a.size // 2):
        real += a[2 * v] * b[2 * v] - a[2 * v + 1] * b[2 * v + 1]
        imaginary += a[2 * v] * b[2 * v + 1] + a[2 * v + 1] * b[2 * v]
    return real, imaginary


@kernel
def add_ends(values, low, high, even, out):
    """Write, for each row, the sums of values * low and of values * high, columns that are their own mirrors by half.

    Pre:  all are complex numbers as pairs of floats, out is [2, rows]; even says that the last column has no mirror.
    Post: twice the real part of the inverse transform of out[0] is that of the sums over the whole spectrum.
    """
    width = values.shape[1]
    for u in range(values.shape[0]):
        row = values[u]
        for side in range(2):
            other = low[u] if side == 0 else high[u]
            real, imaginary = _dot(row, other)
            first_real, first_imaginary = _dot(row[:2], other[:2])
            real -= 0.5 * first_real
            imaginary -= 0.5 * first_imaginary
            if even:
                last_real, last_imaginary = _dot(row[width - 2 :], other[width - 2 :])
                real -= 0.5 * last_real
                imaginary -= 0.5 * last_imaginary
            out[side, 2 * u] = real
            out[side, 2 * u + 1] = imaginary


@kernel
def spread_ends(low, high, at_low, at_high, out):
    """Add to each row of ``out`` its number in ``at_low`` times the conjugate of ``low``, and the same for high."""
    for u in range(out.shape[0]):
        row, below, above = out[u], low[u], high[u]
        a, b, c, d = at_low[2 * u], at_low[2 * u + 1], at_high[2 * u], at_high[2 * u + 1]
        for v in range(row.size // 2):
            row[2 * v] += a * below[2 * v] + b * below[2 * v + 1] + c * above[2 * v] + d * above[2 * v + 1]
            row[2 * v + 1] += b * below[2 * v] - a * below[2 * v + 1] + d * above[2 * v] - c * above[2 * v + 1]


@kernel
def crop_sums(wide, ends, corners, out):
    """Write the grid's part of ``wide`` with what goes beyond its ends and corners added, and nothing below 0.

    Pre:  ends are complex numbers as pairs of floats, [2, rows or more]: half of what goes to the left and the right
          end of each row; corners are four sums, of the first row and then of the last.
    """
    rows, columns = out.shape
    for i in range(rows):
        source, target = wide[i], out[i]
        for j in range(columns):
            target[j] = source[j]
        target[0] += 2 * ends[0, 2 * i]
        target[columns - 1] += 2 * ends[1, 2 * i]
    out[0, 0] += corners[0]
    out[0, columns - 1] += corners[1]
    out[rows - 1, 0] += corners[2]
    out[rows - 1, columns - 1] += corners[3]
    for i in range(rows):
        target = out[i]
        for j in range(columns):
            target[j] = target[j] if target[j] > 0.0 else 0.0


@kernel
def crop_spread(wide, cells, corners, out):
    """Write the grid's part of ``wide`` and add to it, for each corner, its cell times that corner's masses."""
    rows, columns = out.shape
    a, b, c, d = cells[0, 0], cells[0, columns - 1], cells[rows - 1, 0], cells[rows - 1, columns - 1]
    for i in range(rows):
        source, target = wide[i], out[i]
        m0, m1, m2, m3 = corners[0, i], corners[1, i], corners[2, i], corners[3, i]
        for j in range(columns):
            target[j] = source[j] + (a * m0[j] + b * m1[j] + c * m2[j] + d * m3[j])
