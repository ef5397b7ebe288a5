"""The gradient of a log-likelihood through Hadamard response, by two fast transforms in one pass."""

from __future__ import annotations

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.products.likelihood import sum_logs, weigh


@inlined
def _apply_eights(values):
    """The first three steps: all of eight neighbours, in registers."""
    for first in range(0, values.size, 8):
        v = values[first : first + 8]
        a0, a1, a2, a3 = v[0] + v[1], v[0] - v[1], v[2] + v[3], v[2] - v[3]
        a4, a5, a6, a7 = v[4] + v[5], v[4] - v[5], v[6] + v[7], v[6] - v[7]
        b0, b1, b2, b3 = a0 + a2, a1 + a3, a0 - a2, a1 - a3
        b4, b5, b6, b7 = a4 + a6, a5 + a7, a4 - a6, a5 - a7
        v[0], v[1], v[2], v[3] = b0 + b4, b1 + b5, b2 + b6, b3 + b7
        v[4], v[5], v[6], v[7] = b0 - b4, b1 - b5, b2 - b6, b3 - b7


@inlined
def _apply_pairs(values, half):
    """One step: sums and differences of all pairs that are ``half`` apart."""
    for first in range(0, values.size, 2 * half):
        a, b = values[first : first + half], values[first + half : first + 2 * half]
        for i in range(half):
            u, v = a[i], b[i]
            a[i], b[i] = u + v, u - v


@inlined
def _apply_fours(values, half):
    """Two steps at once: half of the loads and stores."""
    for first in range(0, values.size, 4 * half):
        a, b = values[first : first + half], values[first + half : first + 2 * half]
        c, d = values[first + 2 * half : first + 3 * half], values[first + 3 * half : first + 4 * half]
        for i in range(half):
            s, t, u, v = a[i] + b[i], a[i] - b[i], c[i] + d[i], c[i] - d[i]
            a[i], b[i], c[i], d[i] = s + u, t + v, s - u, t - v


@inlined
def _apply_walsh(values):
    """Multiply by the Sylvester Hadamard matrix, in place."""
    half = 1
    if values.size >= 8:
        _apply_eights(values)
        half = 8
    while 4 * half <= values.size:
        _apply_fours(values, half)
        half *= 4
    if half < values.size:
        _apply_pairs(values, half)


@kernel
def apply_walsh(values):
    """Multiply by the Sylvester Hadamard matrix, in place; twice as fast as step by step.

    Pre:  values.size is a power of two.
    """
    _apply_walsh(values)


@kernel
def step_walsh(counts, p, spread, d, out):
    """As ``step_dense``, for entries 1 + spread where row x + 1 of the Hadamard matrix is 1 and 1 - spread elsewhere.

    Pre:  counts and d have a power of two entries, more than p and out; d is scratch.
    """
    total = 0.0
    d[:] = 0.0
    for x in range(p.size):
        d[x + 1] = p[x]
        total += p[x]
    _apply_walsh(d)
    for y in range(d.size):
        d[y] = total + spread * d[y]
    likelihood = sum_logs(counts, d)
    for y in range(d.size):
        d[y] = weigh(counts[y], d[y])
    _apply_walsh(d)
    total = d[0]
    for x in range(out.size):
        out[x] = total + spread * d[x + 1]
    return likelihood
