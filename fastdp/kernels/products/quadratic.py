"""The largest value of a functional near a distribution of inputs, by a primal-dual interior-point method.

    maximise  h' p   subject to  p >= 0, sum p = 1, p' H p <= radius

Mehrotra's predictor and corrector. Each iteration factors t H + diag(z / p), scaled to a unit diagonal, once; the
multiplier t of the radius is found along with p, by a factor of 4 at most in an iteration. The weights of a bound are a
multiple of H p, so that each iterate has a bound of its own, and the search ends where that is near enough to the best.
Nothing that is proven rests on it: weights made from an inexact solution give a wider bound, never a wrong one.
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel, summed

JITTER = 1e-13
"""Added to the scaled diagonal, so that factors exist for channels with equal rows."""
SHORTEN = 0.995
"""The part of the way to the boundary that a step takes."""
LARGEST_CHANGE = 4.0
"""The factor by which t may change; where p is far from its place, Newton's step for t is wild."""


@summed
def _dot(a, b, start):
    total = 0.0
    for i in range(start, a.size):
        total += a[i] * b[i]
    return total


@summed
def _eliminate(m, j):
    """Subtract the products of rows j to j + 3 of the factor from all later rows, two rows at a time.

    Two rows of the factor at a time, one later row: 186 us for 142 rows in all, not 85.
    """
    k = m.shape[0]
    first, second, third, fourth = m[j], m[j + 1], m[j + 2], m[j + 3]
    i = j + 4
    while i + 1 < k:
        a, b, c, d = first[i], second[i], third[i], fourth[i]
        e, f, g, h = first[i + 1], second[i + 1], third[i + 1], fourth[i + 1]
        upper, lower = m[i], m[i + 1]
        for t in range(i, k):
            upper[t] -= a * first[t] + b * second[t] + c * third[t] + d * fourth[t]
            lower[t] -= e * first[t] + f * second[t] + g * third[t] + h * fourth[t]
        i += 2
    if i < k:
        m[i, i] -= first[i] ** 2 + second[i] ** 2 + third[i] ** 2 + fourth[i] ** 2


@inlined
def _factor(m):
    """Write the Cholesky factor U, with U' U = m, over the upper triangle of m, four rows at a time."""
    k = m.shape[0]
    for j in range(0, k, 4):
        for row in range(j, min(j + 4, k)):
            for above in range(j, row):
                f = m[above, row]
                for t in range(row, k):
                    m[row, t] -= f * m[above, t]
            pivot = 1.0 / math.sqrt(max(m[row, row], JITTER))
            for t in range(row, k):
                m[row, t] *= pivot
        if j + 4 < k:
            _eliminate(m, j)


@inlined
def _solve(u, scale, right, out):
    """Out = scale (U' U)**-1 (scale right)."""
    k = right.size
    for i in range(k):
        out[i] = scale[i] * right[i]
    for j in range(k):
        out[j] /= u[j, j]
        f = out[j]
        for t in range(j + 1, k):
            out[t] -= f * u[j, t]
    for i in range(k - 1, -1, -1):
        out[i] = (out[i] - _dot(u[i], out, i + 1)) / u[i, i]
    for i in range(k):
        out[i] *= scale[i]


@inlined
def _factor_system(h_matrix, t, p, z, scale, m):
    """Write the factor of t H + diag(z / p), scaled."""
    k = p.size
    for i in range(k):
        scale[i] = 1.0 / math.sqrt(t * h_matrix[i, i] + z[i] / p[i])
    for i in range(k):
        f = t * scale[i]
        for j in range(i, k):
            m[i, j] = f * h_matrix[i, j] * scale[j]
        m[i, i] = 1.0 + JITTER
    _factor(m)


@inlined
def _length(values, change, part):
    """How far along ``change`` all values stay positive: ``part`` of the way, 1 at most."""
    longest = 1.0
    for i in range(values.size):
        if change[i] < 0:
            longest = min(longest, -part * values[i] / change[i])
    return longest


@inlined
def _couple(g, one, along, t, missing, excess, dp):
    """Complete dp, so that the sum of p and its distance come right; return the changes of t and of the sum's price.

    With t held back, the sum comes right and the distance does not.
    """
    ones, both, most = 0.0, 0.0, 1e-300
    for i in range(dp.size):
        ones += one[i]
        both += along[i]
        most += g[i] * along[i]
        missing -= dp[i]
        excess -= g[i] * dp[i]
    dt = (missing * both - ones * excess) / (most * ones - both * both)
    dt = min(max(dt, (1 / LARGEST_CHANGE - 1) * t), (LARGEST_CHANGE - 1) * t)
    dnu = (missing + both * dt) / ones
    for i in range(dp.size):
        dp[i] += dnu * one[i] - dt * along[i]
    return dt, dnu


@inlined
def _begin(g, h, t, z):
    """Write multipliers that fit the start, none of them near 0; return the price of the sum."""
    k = h.size
    nu = math.inf
    for i in range(k):
        nu = min(nu, t * g[i] - h[i])
    mean = 0.0
    for i in range(k):
        z[i] = t * g[i] - h[i] - nu
        mean += z[i] / k
    floor = 0.1 * max(mean, 1e-3) + 1e-12
    for i in range(k):
        z[i] = max(z[i], floor)
    return nu


@inlined
def _judge(g, h, t, p, centre, radius):
    """The bound that p and t give, and the value that p shows to be possible, shrunk towards the centre if too far."""
    top, total, square, value = -math.inf, 0.0, 0.0, 0.0
    for i in range(h.size):
        total += p[i]
        square += g[i] * p[i]
        value += h[i] * p[i]
        top = max(top, h[i] - t * g[i])
    square = max(square, 0.0) / total**2
    shrunk = centre + (value / total - centre) * min(1.0, math.sqrt(radius / max(square, 1e-300)))
    return top + t * total * math.sqrt(square * radius), shrunk, square


@kernel
def solve_simplex_programme(h_matrix, h, centre, radius, tolerance, most, t, p, m, work, best):
    """Maximise h' p over the simplex where p' H p <= radius, from p; return the multiplier t of the best bound.

    The bound of w = t (H p) is max(h - w) + t sqrt(radius p' H p). It is within ``tolerance`` of the best, as a part of
    its excess over ``centre``, or the best after ``most`` iterations. Where that is max(h) = 1, t is 0.

    Pre:  p > 0 sums to 1; H is positive semidefinite; 0 <= h <= 1, both taken on; centre is h' p0 for p0 with H p0 = 0;
          t > 0; m has the shape of H; work has 10 rows of h.size.
    Post: best is the p of the least bound, or the last one if t is 0.
    """
    k = h.size
    z, scale, ones, g, dual, one, along, dp, dz, right = (
        work[0], work[1], work[2], work[3], work[4], work[5], work[6], work[7], work[8], work[9],
    )  # fmt: skip
    nu, found, least = 0.0, 0.0, 1.0
    for iteration in range(most):
        for i in range(k):
            g[i] = _dot(h_matrix[i], p, 0)
        if iteration == 0:
            nu = _begin(g, h, t, z)
        bound, value, square = _judge(g, h, t, p, centre, radius)
        if bound < least:
            least, found = bound, t
            for i in range(k):
                best[i] = p[i]
        if not least - value > tolerance * (least - centre):
            break
        mu, total = 0.0, 0.0
        for i in range(k):
            ones[i] = 1.0
            dual[i] = t * g[i] - h[i] - z[i] - nu
            mu += p[i] * z[i] / k
            total += p[i]
        _factor_system(h_matrix, t, p, z, scale, m)
        _solve(m, scale, ones, one)
        _solve(m, scale, g, along)
        excess = 0.5 * (radius - square * total**2)
        # predictor
        for i in range(k):
            right[i] = -dual[i] - z[i]
        _solve(m, scale, right, dp)
        dt, dnu = _couple(g, one, along, t, 1.0 - total, excess, dp)
        for i in range(k):
            dz[i] = -z[i] - z[i] / p[i] * dp[i]
        length = min(_length(p, dp, 1.0), _length(z, dz, 1.0))
        after = 0.0
        for i in range(k):
            after += (p[i] + length * dp[i]) * (z[i] + length * dz[i])
        centring = (after / (k * mu)) ** 3 * mu
        # corrector
        for i in range(k):
            turned = _dot(h_matrix[i], dp, 0)
            excess -= 0.5 * turned * dp[i]
            ones[i] = (centring - dp[i] * dz[i]) / p[i]
            right[i] = -dual[i] - z[i] + ones[i] - dt * turned
        _solve(m, scale, right, dp)
        dt, dnu = _couple(g, one, along, t, 1.0 - total, excess, dp)
        for i in range(k):
            dz[i] = -z[i] + ones[i] - z[i] / p[i] * dp[i]
        length = min(_length(p, dp, SHORTEN), _length(z, dz, SHORTEN))
        for i in range(k):
            p[i] += length * dp[i]
            z[i] += length * dz[i]
        nu += length * dnu
        t = min(max(t + length * dt, t / LARGEST_CHANGE), t * LARGEST_CHANGE)
    if found == 0.0:
        for i in range(k):
            best[i] = p[i]
    return found
