"""E S+ of a sum S of equal numbers of few values, by inverting the power of their moment function phi.

Of many numbers the power is e^{n ln phi}, with phi - 1 as a sum over differences from the heaviest value: at the
frequencies that count it is of size 1/n, and so right to a few units of itself whatever n is. Of few numbers many
more frequencies count; there it is a product, and a node costs a tenth.
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.losses.moments import BLOCK, fill_powers, fill_sum, raise_block

NEAR = 0.5
"""The distance from 1 up to which the logarithm is taken of the difference."""


@inlined
def _fall(middle, half, values, weights, enough):
    """A lower bound on 1 - |phi|^2 over a block, up to enough: the sum of 4 w_j w_k sin^2(t (v_j - v_k) / 2)."""
    fall = 0.0
    for j in range(values.size):
        for k in range(j):
            difference = 0.5 * abs(values[j] - values[k])
            turn = half * difference
            if turn < 1.5 and fall < enough:
                angle = middle * difference
                sine = abs(math.sin(angle)) * math.cos(turn) - abs(math.cos(angle)) * math.sin(turn)
                sine -= 1e-9 + 1e-15 * angle
                if sine > 0.0:
                    fall += 4.0 * weights[j] * weights[k] * sine * sine
    return fall


@kernel
def invert_power(dt, theta, smoothing, blocks, count, values, weights, log_cut, constant):
    """Trapezoid sums (dt / pi) sum Re (phi(t)^count - constant) e^{-smoothing (t^2 - 2 i theta t) / 2} / z^2.

    At z = theta + i t, for the variance ``smoothing`` and for twice as much. Also returns sums over nodes: of units of
    rounding over |z|^2, of t / |z|^2, of 1 / |z|^2, and of 1 / t^2 where the power was proven to be below e^{log_cut}.
    Pre:  weights sum to 1, the first is the largest. With a constant, no node is left out.
    """
    first, second, rounded, moved, live, lost = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    half = 0.5 * (BLOCK - 1) * dt
    enough = -math.expm1((2.0 * log_cut - 0.01) / count)
    for block in range(blocks):
        start = block * BLOCK * dt
        if block > 0 and constant == 0.0 and _fall(start + half, half, values, weights, enough) >= enough:
            lost += BLOCK / (start * start)
            continue
        for j in range(block * BLOCK, (block + 1) * BLOCK):
            t = j * dt
            x, y = 0.0, 0.0
            for k in range(1, values.size):
                angle = t * (values[k] - values[0])
                s = math.sin(0.5 * angle)
                x -= weights[k] * 2.0 * s * s
                y += weights[k] * math.sin(angle)
            near = abs(x) + abs(y) < NEAR
            a, b = theta * theta - t * t, 2.0 * theta * t
            d = a * a + b * b
            fallen = 0.5 * math.log1p(2.0 * x + x * x + y * y) if near else math.log(math.hypot(1.0 + x, y))
            turned = math.atan2(y, 1.0 + x)
            units = 32.0 + 8.0 * count * (abs(x) + abs(y)) * math.exp(count * fallen) + 4.0 * smoothing * b
            once, angle = math.exp(count * fallen), count * (turned + t * values[0])
            x, y = once * math.cos(angle) - constant, once * math.sin(angle)
            less = math.exp(-0.5 * smoothing * t * t) * (0.5 if j == 0 else 1.0) / d
            cosine, sine = math.cos(0.5 * smoothing * b), math.sin(0.5 * smoothing * b)
            c, s = less * (x * cosine - y * sine), less * (x * sine + y * cosine)
            u, v = c * a + s * b, s * a - c * b
            first += u
            second += math.exp(-0.5 * smoothing * t * t) * (u * cosine - v * sine)
            size = 1.0 / math.sqrt(d)
            rounded += size * (units if near else units + 8.0 * count)
            moved += size * t
            live += size
    return first * dt / math.pi, second * dt / math.pi, rounded, moved, live, lost


@inlined
def _fill_gaussian(start, dt, smoothing, steady, out):
    """e^{-smoothing t^2 / 2} at the nodes of a block: of its first node, of the way from there, and of products."""
    turn, power = math.exp(-smoothing * start * dt), math.exp(-0.5 * smoothing * start * start)
    for j in range(BLOCK):
        out[j] = power * steady[j]
        power *= turn


@kernel
def invert_few(dt, theta, smoothing, blocks, count, values, weights, constant, work, turn_re, turn_im, phases):
    """The same of few numbers, without a node left out.

    Pre:  work has 12 rows of 32, turns a row of 32 per value, phases 2 rows of as many columns as there are values.
    """
    re, im, steady, fallen, lean_re, lean_im = work[0], work[1], work[2], work[3], work[4], work[5]
    terms = work[6:11]
    cos0, sin0 = phases[0], phases[1]
    for k in range(values.size):
        fill_powers(dt * values[k], turn_re[k], turn_im[k])
    fill_powers(dt * smoothing * theta, lean_re, lean_im)
    for j in range(BLOCK):
        steady[j] = math.exp(-0.5 * smoothing * (j * dt) * (j * dt))
    first, second, rounded, moved, live = 0.0, 0.0, 0.0, 0.0, 0.0
    for block in range(blocks):
        start = block * BLOCK * dt
        for k in range(values.size):
            cos0[k], sin0[k] = math.cos(start * values[k]), math.sin(start * values[k])
        fill_sum(0, values.size, weights, cos0, sin0, turn_re, turn_im, re, im)
        raise_block(count, re, im)
        _fill_gaussian(start, dt, smoothing, steady, fallen)
        c0, s0 = math.cos(start * smoothing * theta), math.sin(start * smoothing * theta)
        for j in range(BLOCK):
            t = start + j * dt
            a, b = theta * theta - t * t, 2.0 * theta * t
            d = a * a + b * b
            cosine, sine = c0 * lean_re[j] - s0 * lean_im[j], c0 * lean_im[j] + s0 * lean_re[j]
            x, y = re[j] - constant, im[j]
            less = fallen[j] / d
            c, s = less * (x * cosine - y * sine), less * (x * sine + y * cosine)
            u, v = c * a + s * b, s * a - c * b
            size = 1.0 / math.sqrt(d)
            terms[0, j], terms[1, j] = u, fallen[j] * (u * cosine - v * sine)
            terms[2, j], terms[3, j], terms[4, j] = size * (256.0 + 8.0 * smoothing * b), size * t, size
        if block == 0:
            terms[0, 0] *= 0.5
            terms[1, 0] *= 0.5
        for j in range(BLOCK):
            first += terms[0, j]
            second += terms[1, j]
            rounded += terms[2, j]
            moved += terms[3, j]
            live += terms[4, j]
    return first * dt / math.pi, second * dt / math.pi, rounded + 128.0 * count * live, moved, live
