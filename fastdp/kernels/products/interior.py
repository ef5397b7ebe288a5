"""An interior-point method for the likelihood on a line, where the Newton matrix has five diagonals.

With K[x, y] = a**|x - y| the truncated geometric channel is K times a scale c_y per output. In v = K p the problem is

    minimise  sum(c v - q log v)  subject to  p = T v >= 0,

T = K**-1 tridiagonal, and its multipliers are z = 1 - G: Newton's matrix q / v**2 + T (z / p) T is banded, so that a
step costs O(n).
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.products.line import multiply_powers


@inlined
def _apply_inverse(a, values, out):
    """Out = T values, T with 1 + a**2 (1 at the ends) on and -a beside the diagonal, over 1 - a**2."""
    n = values.size
    scale = 1.0 / (1.0 - a * a)
    for i in range(n):
        here = values[i]
        left = values[i - 1] if i > 0 else 0.0
        right = values[i + 1] if i < n - 1 else 0.0
        if i > 0 and i < n - 1:
            # (1 - a)**2 v - a (second difference): less cancellation than the plain sum
            out[i] = ((1.0 - a) * (1.0 - a) * here - a * ((left - here) + (right - here))) * scale
        elif n > 1:
            other = right if i == 0 else left
            out[i] = ((1.0 - a) * here - a * (other - here)) * scale
        else:
            out[i] = here


@inlined
def _factor(a, curvature, ratio, d0, d1, d2):
    """The factors L D L' of diag(curvature) + T diag(ratio) T: D in d0, the diagonals of L in d1 and d2."""
    n = curvature.size
    scale = 1.0 / (1.0 - a * a)
    off = -a * scale
    inner = (1.0 + a * a) * scale
    for i in range(n):
        diagonal = scale if i == 0 or i == n - 1 else inner
        before = ratio[i - 1] if i > 0 else 0.0
        after = ratio[i + 1] if i < n - 1 else 0.0
        d0[i] = curvature[i] + diagonal * diagonal * ratio[i] + off * off * (before + after)
        if i > 0:
            previous = scale if i == 1 else inner
            d1[i] = off * (diagonal * ratio[i] + previous * ratio[i - 1])
        if i > 1:
            d2[i] = off * off * ratio[i - 1]
    for i in range(n):
        if i > 1:
            d2[i] /= d0[i - 2]
            d1[i] -= d2[i] * d0[i - 2] * d1[i - 1]
            d0[i] -= d2[i] * d2[i] * d0[i - 2]
        if i > 0:
            d1[i] /= d0[i - 1]
            d0[i] -= d1[i] * d1[i] * d0[i - 1]


@inlined
def _solve(d0, d1, d2, out):
    """Solve with the factors, in place."""
    n = out.size
    for i in range(n):
        if i > 0:
            out[i] -= d1[i] * out[i - 1]
        if i > 1:
            out[i] -= d2[i] * out[i - 2]
    for i in range(n):
        out[i] /= d0[i]
    for i in range(n - 2, -1, -1):
        out[i] -= d1[i + 1] * out[i + 1]
        if i < n - 2:
            out[i] -= d2[i + 2] * out[i + 2]


@inlined
def _longest(values, step):
    """The longest step up to 1 that keeps ``values`` >= 0."""
    longest = 1.0
    for i in range(values.size):
        if step[i] < 0.0:
            longest = min(longest, -values[i] / step[i])
    return longest


@kernel
def step_interior(a, c, q, p, z, work):
    """Move p and z by one predictor-corrector step towards the maximum likelihood of outputs q.

    Pre:  0 <= a < 1; c > 0; q >= 0 sums to 1; p > 0 sums to 1, z > 0; work is float64[12, n].
    Post: p > 0 sums to 1 and z > 0; the result is the mean of p z, which is 0 at the optimum, or nan if the step failed
          and p and z are as before.
    """
    n = p.size
    v, residual, curvature, ratio = work[0], work[1], work[2], work[3]
    d0, d1, d2 = work[4], work[5], work[6]
    dv, dp, dz, weights, rhs = work[7], work[8], work[9], work[10], work[11]
    ratio[:] = 1.0
    multiply_powers(a, p, ratio, v)
    _apply_inverse(a, z, residual)
    gap = 0.0
    for i in range(n):
        residual[i] = c[i] - q[i] / v[i] - residual[i]
        curvature[i] = q[i] / (v[i] * v[i])
        ratio[i] = z[i] / p[i]
        gap += p[i] * z[i]
    gap /= n
    _factor(a, curvature, ratio, d0, d1, d2)
    target = 0.0
    for corrector in range(2):
        for i in range(n):
            second = dp[i] * dz[i] if corrector == 1 else 0.0
            weights[i] = (target - second) / p[i] - z[i]
        _apply_inverse(a, weights, dv)
        for i in range(n):
            dv[i] -= residual[i]
        _solve(d0, d1, d2, dv)
        _apply_inverse(a, dv, dp)
        for i in range(n):
            dz[i] = weights[i] - ratio[i] * dp[i]
        if corrector == 0:
            primal, dual = _longest(p, dp), _longest(z, dz)
            after = 0.0
            for i in range(n):
                after += (p[i] + primal * dp[i]) * (z[i] + dual * dz[i])
            share = after / n / gap
            target = gap * share * share * share
    primal, dual = 0.995 * _longest(p, dp), 0.995 * _longest(z, dz)
    for i in range(n):
        rhs[i] = p[i] + primal * dp[i]
        weights[i] = z[i] + dual * dz[i]
        if not (rhs[i] > 0.0 and weights[i] > 0.0 and rhs[i] < math.inf and weights[i] < math.inf):
            return math.nan
    total = 0.0
    for i in range(n):
        total += rhs[i]
    gap = 0.0
    for i in range(n):
        p[i] = rhs[i] / total
        z[i] = weights[i]
        gap += p[i] * z[i]
    return gap / n
