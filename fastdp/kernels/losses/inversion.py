"""The inverse transform of tilted moment functions: trapezoid sums for two widths of smoothing at once."""

from __future__ import annotations

import math

from fastdp.kernels.jit import kernel
from fastdp.kernels.losses.moments import BLOCK


@kernel
def weigh_nodes(dt, theta, variance, smoothing, order, dead, re, im, once, twice):
    """Multiply the products by the Gaussian factors and the transform of the payoff.

    Variance ``variance + smoothing`` goes to ``once``, another ``smoothing`` to ``twice``. ``order`` 1 divides by
    z (z + 1), the payoff (1 - e^{-s})+ with Gaussians of mean variance / 2; order 2 by z^2, the payoff s+ with those
    of mean 0. Node 0 counts half. Returns the sums of 1 / |z (z+1)|, of t / |z (z+1)| (live nodes) and of 1 / t^2
    (dead nodes).
    """
    drift = 2.0 * theta + 1.0 if order == 1 else 2.0 * theta
    live, moved, lost = 0.0, 0.0, 0.0
    for block in range(dead.size):
        for j in range(block * BLOCK, (block + 1) * BLOCK):
            t = j * dt
            if dead[block]:
                lost += 1.0 / (t * t)
                continue
            a = theta * (theta + 1.0) - t * t if order == 1 else theta * theta - t * t
            b = t * drift
            d = a * a + b * b
            half = 0.5 if j == 0 else 1.0
            live += 1.0 / math.sqrt(d)
            moved += t / math.sqrt(d)
            m = math.exp(-0.5 * (variance + smoothing) * t * t) * half / d
            angle = 0.5 * (variance + smoothing) * b
            c, s = m * math.cos(angle), m * math.sin(angle)
            u, v = re[j] * c - im[j] * s, re[j] * s + im[j] * c
            x, y = u * a + v * b, v * a - u * b
            once[0, j], once[1, j] = x, y
            m = math.exp(-0.5 * smoothing * t * t)
            angle = 0.5 * smoothing * b
            c, s = m * math.cos(angle), m * math.sin(angle)
            twice[0, j], twice[1, j] = x * c - y * s, x * s + y * c
    return live, moved, lost


@kernel
def sum_nodes(dt, epsilon, dead, once, twice):
    """Both trapezoid sums at ``epsilon``: (dt / pi) sum Re F_j e^{-i t epsilon}."""
    first, second = 0.0, 0.0
    turn_c, turn_s = math.cos(dt * epsilon), -math.sin(dt * epsilon)
    for block in range(dead.size):
        if dead[block]:
            continue
        j0 = block * BLOCK
        c, s = math.cos(j0 * dt * epsilon), -math.sin(j0 * dt * epsilon)
        for j in range(j0, j0 + BLOCK):
            first += once[0, j] * c - once[1, j] * s
            second += twice[0, j] * c - twice[1, j] * s
            c, s = c * turn_c - s * turn_s, c * turn_s + s * turn_c
    return first * dt / math.pi, second * dt / math.pi
