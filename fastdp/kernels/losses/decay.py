"""How far products of tilted moment functions have fallen over whole blocks of nodes, without their values.

Between the nodes of a block every angle turns by a known amount, so that its sine is at least what it is at the nearer
end. Blocks that are proven to be below the cut are marked dead before any node is computed: at high frequencies that
is nearly all of them, for the price of a node each.
"""

from __future__ import annotations

import math

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.losses.moments import BLOCK, slope_of

LANES = 8
"""Blocks that are looked at together."""
ENOUGH = 32
"""Factors between two looks at how many blocks are left."""


@inlined
def _fill_lanes(angle, turn, cosines, sines):
    """e^{i (angle + j turn)} for each lane j."""
    c, s, u, v = math.cos(angle), math.sin(angle), math.cos(turn), math.sin(turn)
    for j in range(LANES):
        cosines[j], sines[j] = c, s
        c, s = c * u - s * v, c * v + s * u


@inlined
def _move_lanes(far_c, far_s, cosines, sines):
    for j in range(LANES):
        c, s = cosines[j], sines[j]
        cosines[j] = c * far_c - s * far_s
        sines[j] = c * far_s + s * far_c


@inlined
def _is_live(first, least, bounds):
    """Whether one of the blocks from the first one on is not below the least."""
    found = False
    for j in range(first, first + LANES):
        found |= bounds[j] >= least
    return found


@inlined
def _is_done(least, size, bounds):
    """Whether so few blocks are left that computing their nodes costs no more."""
    left = 0
    for block in range(size):
        left += bounds[block] >= least
    return left <= 1 + size // 64


@inlined
def _mark(least, bounds, dead):
    for block in range(dead.size):
        if bounds[block] < least:
            dead[block] = 1


@inlined
def _slop(frequency, dt, blocks):
    """What sines may be off by: angles are rounded, and turned from block to block."""
    return 1e-9 + 1e-15 * (blocks + BLOCK * dt * blocks * frequency)


@inlined
def _choose(start, size, losses, weights):
    """A frequency f, and a and b such that 1 - a sin^2(f t) - b sin^2(2 f t) bounds the squared modulus.

    |sum w e^{itl}|^2 = 1 - 4 sum w_j w_k sin^2(t (l_j - l_k) / 2) over pairs: all pairs of randomized response on two
    or many values, the pair of the heaviest atoms of other lists.
    """
    last = start + size - 1
    if size == 3 and losses[start + 1] == 0.0 and losses[start] == -losses[last]:
        once = 4.0 * weights[start + 1] * (weights[start] + weights[last])
        return 0.5 * losses[start], once, 4.0 * weights[start] * weights[last]
    first, second = start, start
    for k in range(start + 1, start + size):
        if weights[k] > weights[first]:
            first, second = k, first
        elif second == first or weights[k] > weights[second]:
            second = k
    return 0.25 * (losses[first] - losses[second]), 0.0, 4.0 * weights[first] * weights[second]


@kernel
def bound_atoms(dt, starts, losses, weights, counts, least, work, bounds, dead):
    """Multiply bounds on the squared modulus over each block by those of all factors, and mark what is below the least.

    Pre:  as for `moments.multiply_atoms`; work has 2 rows of 8, bounds a whole number of 8 places, at least as many as
    dead. Counts are below 2^40.
    """
    cosines, sines = work[0], work[1]
    middle = 0.5 * (BLOCK - 1) * dt
    for i in range(counts.size):
        if i % ENOUGH == 0 and _is_done(least, dead.size, bounds):
            break
        frequency, once, twice = _choose(starts[i], starts[i + 1] - starts[i], losses, weights)
        frequency = abs(frequency)
        half = middle * frequency
        if half >= 1.5:
            continue
        slop = _slop(frequency, dt, bounds.size)
        c1, s1, c2, s2 = math.cos(half), math.sin(half), math.cos(2.0 * half), math.sin(2.0 * half)
        if half >= 0.75:
            twice = 0.0
        turn = BLOCK * dt * frequency
        far_c, far_s = math.cos(LANES * turn), math.sin(LANES * turn)
        _fill_lanes(half, turn, cosines, sines)
        for first in range(0, bounds.size, LANES):
            if _is_live(first, least, bounds):
                for j in range(LANES):
                    c, s = abs(cosines[j]), abs(sines[j])
                    a = s * c1 - c * s1 - slop
                    b = 2.0 * s * c * c2 - abs(1.0 - 2.0 * s * s) * s2 - 2.0 * slop
                    a = a if a > 0.0 else 0.0
                    b = b if b > 0.0 else 0.0
                    bound = 1.0 - once * a * a - twice * b * b
                    bound = (bound if bound > 0.0 else 0.0) + 1e-15
                    if counts[i] > 1:
                        bound = math.exp(counts[i] * math.log(bound))
                    bounds[first + j] *= bound
            _move_lanes(far_c, far_s, cosines, sines)
    _mark(least, bounds, dead)


@kernel
def bound_laplace(dt, theta, epsilons, rates, counts, least, work, bounds, dead):
    """The same for Laplace and geometric noise.

    At s = z + 1/2, q = e^{-2 s rate}, v = e^{-2 s epsilon} it is (1 + v) / 2 + (1 - e^{-rate}) (q - v) / (2 (1 - q));
    abs(1 - q)^2 = (1 - u)^2 + 4 u sin^2(t rate) with u = abs(q), and sin x >= x - x^3 / 6.
    Pre:  as for `moments.multiply_laplace` and `bound_atoms`; work has 3 rows of 8.
    """
    cosines, sines, places = work[0], work[1], work[2]
    middle, whole_block = 0.5 * (BLOCK - 1) * dt, (BLOCK - 1) * dt
    for i in range(epsilons.size):
        if i % ENOUGH == 0 and _is_done(least, dead.size, bounds):
            break
        e, r = epsilons[i], rates[i]
        half = middle * e
        if half >= 1.5:
            continue
        d, u = math.exp(-(2.0 * theta + 1.0) * e), math.exp(-(2.0 * theta + 1.0) * r)
        slope, share = slope_of(theta + 0.5, r), 2.0 * slope_of(0.5, r)
        norm = 0.5 * (1.0 + d) + 0.25 * share * (u - d) / slope
        slop = _slop(e, dt, bounds.size)
        c1, s1 = math.cos(half), math.sin(half)
        turn = BLOCK * dt * e
        far_c, far_s = math.cos(LANES * turn), math.sin(LANES * turn)
        _fill_lanes(half, turn, cosines, sines)
        for j in range(LANES):
            places[j] = j * BLOCK * dt
        for first in range(0, bounds.size, LANES):
            if _is_live(first, least, bounds):
                for j in range(LANES):
                    a = abs(sines[j]) * c1 - abs(cosines[j]) * s1 - slop
                    a = a if a > 0.0 else 0.0
                    square = (1.0 + d) * (1.0 + d) - 4.0 * d * a * a
                    root = math.sqrt(square if square > 0.0 else 0.0)
                    t = places[j]
                    sine = t * (1.0 - t * r * t * r / 6.0) if (t + whole_block) * r < 1.5 else 0.0
                    bound = (0.5 * root + 0.25 * share * (u + d) / math.sqrt(slope * slope + u * sine * sine)) / norm
                    bound = (bound if bound < 1.0 else 1.0) * (1.0 + 1e-14)
                    bound *= bound
                    if counts[i] > 1:
                        bound = math.exp(counts[i] * math.log(bound))
                    bounds[first + j] *= bound
            _move_lanes(far_c, far_s, cosines, sines)
            for j in range(LANES):
                places[j] += LANES * BLOCK * dt
    _mark(least, bounds, dead)
