"""Powers of moment functions, inverted: both ways agree with sums in complex arithmetic, for few and for many."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from fastdp.kernels.losses import moments, shuffled

VALUES = np.array([0.0, 2.0, -1.5, -0.1])
WEIGHTS = np.array([0.6, 0.2, 0.05, 0.15])
THETA, SMOOTHING, DT, BLOCKS = 0.7, 0.02, 0.09, 6


def plain(count, constant):
    """Both sums, node by node."""
    t = np.arange(BLOCKS * moments.BLOCK) * DT
    z = THETA + 1j * t
    power = (np.exp(1j * np.outer(t, VALUES)) @ WEIGHTS) ** count - constant
    found = []
    for times in (1, 2):
        terms = (power * np.exp(-0.5 * times * SMOOTHING * (t * t - 2j * THETA * t)) / z**2).real
        found.append((terms.sum() - terms[0] / 2) * DT / math.pi)
    return found


@pytest.mark.parametrize("constant", [0.0, 0.125])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_sums__are_those_of_all_nodes(count, constant):
    turns = np.empty((2, 4, moments.BLOCK))
    few = shuffled.invert_few(
        DT, THETA, SMOOTHING, BLOCKS, count, VALUES, WEIGHTS, constant, np.empty((12, moments.BLOCK)), turns[0],
        turns[1], np.empty((2, 4)),
    )  # fmt: skip
    many = shuffled.invert_power(DT, THETA, SMOOTHING, BLOCKS, float(count), VALUES, WEIGHTS, -1e9, constant)
    wanted = plain(count, constant)
    np.testing.assert_allclose(few[:2], wanted, rtol=0, atol=1e-13 * count)
    np.testing.assert_allclose(many[:2], wanted, rtol=0, atol=1e-13 * count)
    assert many[3] == pytest.approx(few[3])
    assert many[5] == 0


def test_powers__of_many_keep_their_digits():
    """A million numbers, at nodes where the power counts: right to far less than a million roundings."""
    count, dt = 10**6, 2e-4
    found = shuffled.invert_power(dt, THETA, 1e-9, 1, float(count), VALUES, WEIGHTS, -28.0, 0.0)[0]
    with mpmath.workdps(40):
        wanted = mpmath.mpf(0)
        for j in range(moments.BLOCK):
            t = mpmath.mpf(dt) * j
            phi = sum(
                mpmath.mpf(float(w)) * mpmath.expj(t * mpmath.mpf(float(v)))
                for w, v in zip(WEIGHTS, VALUES, strict=True)
            )
            phi /= sum(mpmath.mpf(float(w)) for w in WEIGHTS)
            term = phi**count * mpmath.exp(-(t * t - 2j * THETA * t) * mpmath.mpf(1e-9) / 2) / (THETA + 1j * t) ** 2
            wanted += term.real / (2 if j == 0 else 1)
        wanted *= mpmath.mpf(dt) / mpmath.pi
    assert abs(found - float(wanted)) < 1e-9 * abs(float(wanted)) + 1e-13


def test_blocks__left_out_are_below_the_cut():
    """What is left out of 10,000 numbers is small, and charged for."""
    whole = shuffled.invert_power(DT, THETA, SMOOTHING, BLOCKS, 1e4, VALUES, WEIGHTS, -1e9, 0.0)
    short = shuffled.invert_power(DT, THETA, SMOOTHING, BLOCKS, 1e4, VALUES, WEIGHTS, -28.0, 0.0)
    assert short[5] > 0
    assert abs(whole[0] - short[0]) <= math.exp(-28.0) * short[5] * DT / math.pi + 1e-15
    loose = shuffled.invert_power(DT, THETA, SMOOTHING, BLOCKS, 3.0, VALUES, WEIGHTS, -0.01, 0.0)
    few = shuffled.invert_power(DT, THETA, SMOOTHING, BLOCKS, 3.0, VALUES, WEIGHTS, -1e9, 0.0)
    assert abs(few[0] - loose[0]) <= math.exp(-0.01) * loose[5] * DT / math.pi + 1e-15
