"""Products with a**|x - y| by two recursions, left to right and right to left.

Each is a chain of multiply-adds that wait for each other, so that two of them in one loop take the time of one.
"""

from __future__ import annotations

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.products.likelihood import sum_logs, weigh


@inlined
def multiply_powers(a, values, keep, out):
    """Write keep[y] values[y] and the sums over x != y of a**|x - y| values[x].

    Up to the middle the upward chain writes and the downward chain comes to meet it; from there on each adds to what
    the other has left.
    """
    n = values.size
    half = n // 2
    up, down = 0.0, 0.0
    for i in range(half):
        low, high = values[i], values[n - 1 - i]
        out[i] = a * up + keep[i] * low
        out[n - 1 - i] = a * down + keep[n - 1 - i] * high
        up = a * up + low
        down = a * down + high
    if n % 2:
        middle = values[half]
        out[half] = a * (up + down) + keep[half] * middle
        up, down = a * up + middle, a * down + middle
    for i in range(n - half, n):
        out[i] += a * up
        out[n - 1 - i] += a * down
        up = a * up + values[i]
        down = a * down + values[n - 1 - i]


@kernel
def apply_powers(a, values, keep, out):
    """Write the products of the matrix a**|x - y|, with ``keep`` on its diagonal, and a vector."""
    multiply_powers(a, values, keep, out)


@kernel
def apply_powers_many(a, values, keep, chain, out):
    """The same for many vectors, the columns of ``values``: their chains go side by side. ``chain`` is scratch."""
    n, count = values.shape
    chain[:] = 0.0
    for i in range(n):
        for j in range(count):
            out[i, j] = a * chain[j] + keep[i] * values[i, j]
            chain[j] = a * chain[j] + values[i, j]
    chain[:] = 0.0
    for i in range(n - 1, -1, -1):
        for j in range(count):
            out[i, j] += a * chain[j]
            chain[j] = a * chain[j] + values[i, j]


@kernel
def step_line(a, keep, counts, p, d, out):
    """Write the sums over outputs y of counts[y] C[x, y] / d[y], d = p C; the result is the sum of counts[y] ln d[y].

    Pre:  C has keep on its diagonal and a**|x - y| elsewhere, in any unit of each column; d is scratch.
    Post: as ``step_dense``.
    """
    multiply_powers(a, p, keep, d)
    total = sum_logs(counts, d)
    for y in range(d.size):
        d[y] = weigh(counts[y], d[y])
    multiply_powers(a, d, keep, out)
    return total
