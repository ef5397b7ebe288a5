"""Products of tilted moment functions E e^{zL} / E e^{theta L} at the nodes z = theta + i j dt, block by block.

A block is 32 consecutive nodes. Every factor is at most 1 in modulus, so that a block whose partial product fell below
``cut`` everywhere is marked dead and costs nothing more. Factors come in order of their spread, the widest first.
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel

BLOCK = 32


@inlined
def _fill_turns(angle, cosines, sines):
    """Powers 0 to 31 of e^{i angle}."""
    for j in range(BLOCK):
        cosines[j] = math.cos(j * angle)
        sines[j] = math.sin(j * angle)


@inlined
def _raise(count, re, im):
    """Powers of the block's numbers, by squaring."""
    for j in range(BLOCK):
        a, b, u, v, n = re[j], im[j], 1.0, 0.0, count
        while n > 0:
            if n & 1:
                u, v = u * a - v * b, u * b + v * a
            a, b = a * a - b * b, 2.0 * a * b
            n >>= 1
        re[j], im[j] = u, v


@inlined
def _multiply(first, re, im, out_re, out_im):
    """Multiply a block of the products; the largest modulus, up to sqrt 2."""
    largest = 0.0
    for j in range(BLOCK):
        u = out_re[first + j] * re[j] - out_im[first + j] * im[j]
        v = out_re[first + j] * im[j] + out_im[first + j] * re[j]
        out_re[first + j] = u
        out_im[first + j] = v
        largest = max(largest, abs(u) + abs(v))
    return largest


@inlined
def _multiply_power(count, first, re, im, out_re, out_im):
    """Multiply a block of the products by a power of one factor, which is overwritten; the largest modulus."""
    if count > 1:
        _raise(count, re, im)
    return _multiply(first, re, im, out_re, out_im)


@inlined
def _slope(exponent, rate):
    """(1 - e^{-2 exponent rate}) / (2 rate), which is the exponent at rate 0."""
    return -math.expm1(-2.0 * exponent * rate) / (2.0 * rate) if rate > 0.0 else exponent


@kernel
def multiply_laplace(dt, theta, epsilons, rates, counts, cut, work, dead, out_re, out_im):
    """Multiply by (S(z+1) e^{z eps} + e^{-rate} S(z) e^{-(z+1) eps}) / (2 S(z+1/2)) of each epsilon, to its count.

    S(x) = (1 - e^{-2 x rate}) / (2 rate): geometric noise of that rate, and at rate 0, where S(x) = x, Laplace noise.
    The sine over the rate is what nodes are turned by, since it has a limit at rate 0 and no cancellation near it.
    Pre:  work has 6 rows of 32; out arrays have 32 numbers per entry of ``dead``.
    """
    turn_re, turn_im, cosines, sines, re, im = work[0], work[1], work[2], work[3], work[4], work[5]
    for i in range(epsilons.size):
        e, r = epsilons[i], rates[i]
        a1, b1, c1 = _slope(theta + 1.0, r), _slope(theta, r), _slope(theta + 0.5, r)
        a2, b2, c2 = math.exp(-2.0 * (theta + 1.0) * r), math.exp(-2.0 * theta * r), math.exp(-(2.0 * theta + 1.0) * r)
        d = math.exp(-(2.0 * theta + 1.0) * e - r)
        norm = (a1 + d * b1) / c1
        _fill_turns(dt * e, turn_re, turn_im)
        _fill_turns(dt * r, cosines, sines)
        for j in range(BLOCK):
            sines[j] = sines[j] / r if r > 0.0 else j * dt
        for block in range(dead.size):
            if dead[block]:
                continue
            first = block * BLOCK
            t0 = first * dt
            c0, s0 = math.cos(t0 * e), math.sin(t0 * e)
            k0, q0 = math.cos(t0 * r), math.sin(t0 * r) / r if r > 0.0 else t0
            for j in range(BLOCK):
                c = c0 * turn_re[j] - s0 * turn_im[j]
                s = c0 * turn_im[j] + s0 * turn_re[j]
                k = k0 * cosines[j] - r * r * q0 * sines[j]
                q = k0 * sines[j] + q0 * cosines[j]
                u, v = r * q * q, q * k
                ar, ai = a1 + a2 * u, a2 * v
                br, bi = d * (b1 + b2 * u), d * b2 * v
                cr, ci = c1 + c2 * u, c2 * v
                x = (ar + br) * c - (ai - bi) * s
                y = (ar - br) * s + (ai + bi) * c
                scale = norm * (cr * cr + ci * ci)
                re[j] = (x * cr + y * ci) / scale
                im[j] = (y * cr - x * ci) / scale
            if _multiply_power(counts[i], first, re, im, out_re, out_im) < cut:
                dead[block] = 1


@inlined
def _fill_sum(start, size, weights, cos0, sin0, turn_re, turn_im, re, im):
    """Sums of weights[k] e^{i(angle0_k + j angle_k)} for the nodes of one block."""
    for j in range(BLOCK):
        re[j] = 0.0
        im[j] = 0.0
    for k in range(size):
        w = weights[start + k]
        c0, s0 = w * cos0[k], w * sin0[k]
        tr, ti = turn_re[k], turn_im[k]
        for j in range(BLOCK):
            re[j] += c0 * tr[j] - s0 * ti[j]
            im[j] += c0 * ti[j] + s0 * tr[j]


@kernel
def multiply_atoms(dt, starts, losses, weights, counts, cut, work, turn_re, turn_im, phases, dead, out_re, out_im):
    """Multiply by sum w_k e^{i t l_k} over the atoms of each factor, to the power of its count.

    Pre:  factor i has the atoms starts[i] to starts[i+1]; its tilted weights sum to 1. work has 2 rows of 32, turns a
    row of 32 and phases 2 rows of at least as many columns as the largest factor has atoms.
    """
    re, im = work[0], work[1]
    cos0, sin0 = phases[0], phases[1]
    for i in range(counts.size):
        start, size = starts[i], starts[i + 1] - starts[i]
        for k in range(size):
            _fill_turns(dt * losses[start + k], turn_re[k], turn_im[k])
        for block in range(dead.size):
            if dead[block]:
                continue
            first = block * BLOCK
            for k in range(size):
                angle = first * dt * losses[start + k]
                cos0[k], sin0[k] = math.cos(angle), math.sin(angle)
            _fill_sum(start, size, weights, cos0, sin0, turn_re, turn_im, re, im)
            if _multiply_power(counts[i], first, re, im, out_re, out_im) < cut:
                dead[block] = 1


@kernel
def fill_sampled(sigma, rate, exponent, sign, low, high, size, losses, weights):
    """Trapezoid points of E_Q r^exponent, r = 1 - rate + rate e^{(2y-1)/(2 sigma^2)}, y ~ N(0, sigma^2).

    Post: the first ``size`` + 1 losses are sign * ln r, the weights are normalised. Returns the logarithm of the sum
    and a bound on the relative error of the weights and on the masses left out at both ends, in units of the sum.
    """
    step = (high - low) / size
    variance = sigma * sigma
    top = -1e300
    for c in range(size + 1):
        y = low + step * c
        x = (2.0 * y - 1.0) / (2.0 * variance)
        if x > 40.0:
            loss = x + math.log(rate) + math.log1p((1.0 - rate) / rate * math.exp(-x))
        elif rate <= 0.5:
            loss = math.log1p(rate * math.expm1(x))
        else:
            loss = math.log((1.0 - rate) + rate * math.exp(x))
        losses[c] = sign * loss
        weights[c] = exponent * loss - y * y / (2.0 * variance)
        top = max(top, weights[c])
    total, error = 0.0, 0.0
    for c in range(size + 1):
        y = low + step * c
        x = (2.0 * y - 1.0) / (2.0 * variance)
        w = math.exp(weights[c] - top)
        weights[c] = w
        total += w
        error += w * (8.0 + abs(top) + 3.0 * y * y / variance + 8.0 * abs(exponent) * (abs(x) + 1.0))
    # beyond the ends the weights fall at least as fast as those of a normal law: see docs/accounting.md
    last = weights[size] * (1.0 + variance / (step * (high - max(exponent, 0.0))))
    if exponent > 0.0:
        first = weights[0] * (1.0 + variance / (step * -low))
    else:
        spare = exponent * (math.log1p(-rate) - losses[0] * sign)
        first = weights[0] * math.exp(spare) * (1.0 + variance / (step * -low))
    for c in range(size + 1):
        weights[c] /= total
    return math.log(total * step / sigma) + top - 0.9189385332046727, 1.2e-16 * (error / total + size) + (
        first + last
    ) / total


@kernel
def multiply_band(dt, first_block, losses, weights, count, cut, work, turn_re, turn_im, phases, dead, out_re, out_im):
    """Multiply the blocks of one band by sum w_k e^{i t l_k} to the power of ``count``."""
    re, im = work[0], work[1]
    cos0, sin0 = phases[0], phases[1]
    size = losses.size
    for k in range(size):
        _fill_turns(dt * losses[k], turn_re[k], turn_im[k])
    for block in range(dead.size):
        if dead[block]:
            continue
        for k in range(size):
            angle = (first_block + block) * BLOCK * dt * losses[k]
            cos0[k], sin0[k] = math.cos(angle), math.sin(angle)
        _fill_sum(0, size, weights, cos0, sin0, turn_re, turn_im, re, im)
        if _multiply_power(count, block * BLOCK, re, im, out_re, out_im) < cut:
            dead[block] = 1
