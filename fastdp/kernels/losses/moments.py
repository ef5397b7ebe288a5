"""Products of tilted moment functions E e^{zL} / E e^{theta L} at the nodes z = theta + i j dt, block by block.

A block is 32 consecutive nodes. Every factor is at most 1 in modulus, so that a block whose partial product fell below
``cut`` everywhere is marked dead and costs nothing more. Factors come in order of their spread, the widest first.
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel, largest

BLOCK = 32
RESTART = 4
"""Blocks after which phases are computed anew."""


@inlined
def list_live(dead, live):
    """The blocks that are not dead, in order; how many they are."""
    count = 0
    for block in range(dead.size):
        if not dead[block]:
            live[count] = block
            count += 1
    return count


@inlined
def fill_turns(angle, cosines, sines):
    """Powers 0 to 31 of e^{i angle}: 0 to 7, times the eighth, sixteenth and twenty-fourth, each from its own angle."""
    for j in range(8):
        cosines[j] = math.cos(j * angle)
        sines[j] = math.sin(j * angle)
    _spread_turns(angle, cosines, sines)


@inlined
def fill_powers(angle, cosines, sines):
    """The same with a third of the sines: powers 2 to 7 are products of at most three, and off by at most 46 units."""
    cosines[0], sines[0] = 1.0, 0.0
    cosines[1], sines[1] = math.cos(angle), math.sin(angle)
    for j in range(2, 8):
        a, b = j // 2, j - j // 2
        cosines[j] = cosines[a] * cosines[b] - sines[a] * sines[b]
        sines[j] = cosines[a] * sines[b] + sines[a] * cosines[b]
    _spread_turns(angle, cosines, sines)


@inlined
def _spread_turns(angle, cosines, sines):
    """Powers 8 to 31 from 0 to 7."""
    for first in range(8, BLOCK, 8):
        c, s = math.cos(first * angle), math.sin(first * angle)
        for j in range(8):
            cosines[first + j] = c * cosines[j] - s * sines[j]
            sines[first + j] = s * cosines[j] + c * sines[j]


@inlined
def raise_block(count, re, im):
    """Powers of the block's numbers, by squaring."""
    for j in range(BLOCK):
        a, b, u, v, n = re[j], im[j], 1.0, 0.0, count
        while n > 0:
            if n & 1:
                u, v = u * a - v * b, u * b + v * a
            a, b = a * a - b * b, 2.0 * a * b
            n >>= 1
        re[j], im[j] = u, v


@largest
def _modulus(first, out_re, out_im):
    """The largest modulus of a block, up to sqrt 2."""
    found = 0.0
    for j in range(first, first + BLOCK):
        found = max(found, abs(out_re[j]) + abs(out_im[j]))
    return found


@inlined
def multiply_block(first, re, im, out_re, out_im):
    """Multiply a block of the products; the largest modulus, up to sqrt 2."""
    for j in range(BLOCK):
        u = out_re[first + j] * re[j] - out_im[first + j] * im[j]
        v = out_re[first + j] * im[j] + out_im[first + j] * re[j]
        out_re[first + j] = u
        out_im[first + j] = v
    return _modulus(first, out_re, out_im)


@inlined
def slope_of(exponent, rate):
    """(1 - e^{-2 exponent rate}) / (2 rate), which is the exponent at rate 0."""
    return -math.expm1(-2.0 * exponent * rate) / (2.0 * rate) if rate > 0.0 else exponent


@kernel
def multiply_laplace(dt, theta, epsilons, rates, counts, cut, work, live, dead, out_re, out_im):
    """Multiply by (S(z+1) e^{z eps} + e^{-rate} S(z) e^{-(z+1) eps}) / (2 S(z+1/2)) of each epsilon, to its count.

    S(x) = (1 - e^{-2 x rate}) / (2 rate): geometric noise of that rate, and at rate 0, where S(x) = x, Laplace noise.
    The sine over the rate is what nodes are turned by, since it has a limit at rate 0 and no cancellation near it.
    Pre:  work has 6 rows of 32; out arrays have 32 numbers per entry of ``dead``, and ``live`` has one.
    """
    alive = list_live(dead, live)
    turn_re, turn_im, cosines, sines, re, im = work[0], work[1], work[2], work[3], work[4], work[5]
    for i in range(epsilons.size):
        e, r = epsilons[i], rates[i]
        a1, b1, c1 = slope_of(theta + 1.0, r), slope_of(theta, r), slope_of(theta + 0.5, r)
        a2, b2, c2 = math.exp(-2.0 * (theta + 1.0) * r), math.exp(-2.0 * theta * r), math.exp(-(2.0 * theta + 1.0) * r)
        d = math.exp(-(2.0 * theta + 1.0) * e - r)
        norm = (a1 + d * b1) / c1
        fill_powers(dt * e, turn_re, turn_im)
        if r > 0.0:
            fill_turns(dt * r, cosines, sines)
            for j in range(BLOCK):
                sines[j] /= r
        else:
            for j in range(BLOCK):
                cosines[j] = 1.0
                sines[j] = j * dt
        kept = 0
        for at in range(alive):
            block = live[at]
            first = block * BLOCK
            t0 = first * dt
            c0, s0 = math.cos(t0 * e), math.sin(t0 * e)
            k0, q0 = 1.0, t0
            if r > 0.0:
                k0, q0 = math.cos(t0 * r), math.sin(t0 * r) / r
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
            if counts[i] > 1:
                raise_block(counts[i], re, im)
            if multiply_block(first, re, im, out_re, out_im) < cut:
                dead[block] = 1
            else:
                live[kept] = block
                kept += 1
        alive = kept


@inlined
def fill_sum(start, size, weights, cos0, sin0, turn_re, turn_im, re, im):
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


@inlined
def move_phases(size, losses, start, dt, block, since, cos0, sin0, far_re, far_im):
    """Phases of all points at the first node of a block: by one turn from the block before, or anew.

    ``since`` counts the turns; a negative one asks for new phases. Returns the next count.
    """
    if since < 0 or since >= RESTART:
        for k in range(size):
            angle = block * BLOCK * dt * losses[start + k]
            cos0[k], sin0[k] = math.cos(angle), math.sin(angle)
        return 1
    for k in range(size):
        c = cos0[k] * far_re[k] - sin0[k] * far_im[k]
        sin0[k] = cos0[k] * far_im[k] + sin0[k] * far_re[k]
        cos0[k] = c
    return since + 1


@inlined
def multiply_mirrored(
    dt, loss, middle, even, odd, cut, turn_re, turn_im, re, im, count, alive, live, dead, out_re, out_im,
):  # fmt: skip
    """Multiply by ``middle`` + ``even`` cos(t loss) + i ``odd`` sin(t loss): atoms at +loss, 0 and -loss.

    Returns how many blocks are left.
    """
    fill_powers(dt * loss, turn_re, turn_im)
    far_re, far_im = 1.0, 0.0
    if alive > 1:
        far_re, far_im = math.cos(BLOCK * dt * loss), math.sin(BLOCK * dt * loss)
    c0, s0, since, before, kept = 1.0, 0.0, RESTART, -1, 0
    for at in range(alive):
        block = live[at]
        if since >= RESTART or block != before + 1:
            angle = block * BLOCK * dt * loss
            c0, s0, since = math.cos(angle), math.sin(angle), 0
        first = block * BLOCK
        for j in range(BLOCK):
            re[j] = middle + even * (c0 * turn_re[j] - s0 * turn_im[j])
            im[j] = odd * (c0 * turn_im[j] + s0 * turn_re[j])
        if count > 1:
            raise_block(count, re, im)
        if multiply_block(first, re, im, out_re, out_im) < cut:
            dead[block] = 1
        else:
            live[kept] = block
            kept += 1
        c0, s0 = c0 * far_re - s0 * far_im, c0 * far_im + s0 * far_re
        since += 1
        before = block
    return kept


@kernel
def multiply_atoms(
    dt, starts, losses, weights, counts, cut, work, turn_re, turn_im, phases, live, dead, out_re, out_im,
):  # fmt: skip
    """Multiply by sum w_k e^{i t l_k} over the atoms of each factor, to the power of its count.

    Pre:  factor i has the atoms starts[i] to starts[i+1]; its tilted weights sum to 1. work has 2 rows of 32, turns a
    row of 32 and phases 4 rows of at least as many columns as the largest factor has atoms.
    """
    re, im = work[0], work[1]
    cos0, sin0, far_re, far_im = phases[0], phases[1], phases[2], phases[3]
    alive = list_live(dead, live)
    for i in range(counts.size):
        start, size = starts[i], starts[i + 1] - starts[i]
        last = start + size - 1
        if (size == 2 or (size == 3 and losses[start + 1] == 0.0)) and losses[start] == -losses[last]:
            # randomized response: half the sines, and no sum over atoms (1,000 of them: 13 -> 3 ms)
            alive = multiply_mirrored(
                dt, losses[start], weights[start + 1] if size == 3 else 0.0, weights[start] + weights[last],
                weights[start] - weights[last], cut, turn_re[0], turn_im[0], re, im, counts[i], alive, live, dead,
                out_re, out_im,
            )  # fmt: skip
            continue
        for k in range(size):
            fill_powers(dt * losses[start + k], turn_re[k], turn_im[k])
            far_re[k], far_im[k] = math.cos(BLOCK * dt * losses[start + k]), math.sin(BLOCK * dt * losses[start + k])
        since, before, kept = -1, -1, 0
        for at in range(alive):
            block = live[at]
            since = move_phases(
                size, losses, start, dt, block, since if block == before + 1 else -1, cos0, sin0, far_re, far_im
            )
            fill_sum(start, size, weights, cos0, sin0, turn_re, turn_im, re, im)
            if counts[i] > 1:
                raise_block(counts[i], re, im)
            if multiply_block(block * BLOCK, re, im, out_re, out_im) < cut:
                dead[block] = 1
            else:
                live[kept] = block
                kept += 1
            before = block
        alive = kept
