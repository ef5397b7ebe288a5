"""Moment functions at nodes against sums and closed forms in complex arithmetic."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from fastdp.kernels.losses import moments

DT = 0.37


def blocks(count):
    return np.zeros(count, np.uint8), np.ones(32 * count), np.zeros(32 * count)


def scratch(dead):
    return np.empty(dead.size, np.int64)


def laplace(theta, epsilon, rate, count):
    dead, re, im = blocks(3)
    rows = [np.array([one]) for one in (epsilon, rate, count)]
    moments.multiply_laplace(DT, theta, *rows, 0.0, np.empty((6, 32)), scratch(dead), dead, re, im)
    return re + 1j * im


def tolerance(epsilon, count):
    return count * (128 + 4 * 96 * DT * epsilon) * 2**-53


@pytest.mark.parametrize(("theta", "epsilon", "count"), [(0.3, 1.0, 1), (5.0, 0.1, 7), (40.0, 2.0, 3)])
def test_laplace__is_its_closed_form(theta, epsilon, count):
    def moment(z):
        return ((z + 1) * mpmath.exp(z * epsilon) + z * mpmath.exp(-(z + 1) * epsilon)) / (2 * z + 1)

    wanted = [complex((moment(theta + 1j * mpmath.mpf(DT) * j) / moment(theta)) ** count) for j in range(96)]
    found = laplace(theta, epsilon, 0.0, count)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance(epsilon, count))
    np.testing.assert_allclose(laplace(theta, epsilon, 1e-14, count), wanted, rtol=0, atol=1e-11)


@pytest.mark.parametrize(
    ("theta", "rate", "steps", "count"),
    [(0.3, 1.0, 1, 1), (5.0, 0.01, 10, 7), (40.0, 2.0, 3, 3), (1e-3, 0.3, 5, 1), (2.0, 4e-3, 500, 2)],
)
def test_geometric__is_the_sum_over_its_losses(theta, rate, steps, count):
    atoms = [(steps - 2 * j, rate * j) for j in range(steps + 1)]
    a = mpmath.exp(-rate)

    def moment(z):
        inner = [1, *[1 - a] * (steps - 1), 1]
        return sum(w * mpmath.exp(-x + z * rate * l) for w, (l, x) in zip(inner, atoms, strict=True)) / (1 + a)

    with mpmath.workdps(30):
        wanted = [complex((moment(theta + 1j * mpmath.mpf(DT) * j) / moment(theta)) ** count) for j in range(96)]
    coarse = count * (64 + 32 * 96 * DT * rate) / -math.expm1(-(2 * theta + 1) * rate) if rate * 96 * DT > 1 else 0
    found = laplace(theta, rate * steps, rate, count)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=tolerance(rate * steps, count) + coarse * 2**-53)


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_atoms__are_their_sum(count):
    losses, weights = np.array([1.0, 0.2, -1.0]), np.array([0.5, 0.3, 0.2])
    wanted = [(weights @ np.exp(1j * j * DT * losses)) ** count for j in range(64)]
    turns, phases, starts = np.empty((2, 3, 32)), np.empty((4, 3)), np.array([0, 3])
    dead, re, im = blocks(2)
    moments.multiply_atoms(
        DT,
        starts,
        losses,
        weights,
        np.array([count]),
        0.0,
        np.empty((2, 32)),
        turns[0],
        turns[1],
        phases,
        scratch(dead),
        dead,
        re,
        im,
    )
    np.testing.assert_allclose(re + 1j * im, wanted, rtol=0, atol=64 * count * 2**-53 + 1e-14 * 64 * DT)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    ("losses", "weights"), [([0.7, -0.7], [0.6, 0.4]), ([1.9, 0.0, -1.9], [0.5, 0.3, 0.2]), ([-2.5, 2.5], [0.01, 0.99])]
)
def test_mirrored_atoms__are_their_sum(losses, weights, count):
    """Randomized response goes a shorter way: over 20 blocks, past the turns after which phases are computed anew."""
    losses, weights = np.array(losses), np.array(weights)
    dead, re, im = blocks(20)
    dead[7] = 1
    turns = np.empty((2, 3, 32))
    moments.multiply_atoms(
        DT, np.array([0, losses.size]), losses, weights, np.array([count]), 0.0, np.empty((2, 32)), turns[0], turns[1],
        np.empty((4, 3)), scratch(dead), dead, re, im,
    )  # fmt: skip
    wanted = np.array([(weights @ np.exp(1j * j * DT * losses)) ** count for j in range(640)])
    live = np.repeat(dead == 0, 32)
    units = (128 + 4 * 640 * DT * 3) * count
    np.testing.assert_allclose((re + 1j * im)[live], wanted[live], rtol=0, atol=units * 2**-53)
    assert (re[224:256] == 1).all()


@pytest.mark.parametrize("skipped", [None, 5])
def test_phases__turn_on_and_start_anew(skipped):
    """Over 20 blocks, past the turns after which phases are computed anew, and past a dead block."""
    losses, weights = np.array([3.0, 0.2, -1.7]), np.array([0.5, 0.3, 0.2])
    dead, re, im = blocks(20)
    if skipped is not None:
        dead[skipped] = 1
    turns = np.empty((2, 3, 32))
    moments.multiply_atoms(
        DT, np.array([0, 3]), losses, weights, np.array([1]), 0.0, np.empty((2, 32)), turns[0], turns[1],
        np.empty((4, 3)), scratch(dead), dead, re, im,
    )  # fmt: skip
    wanted = np.array([weights @ np.exp(1j * j * DT * losses) for j in range(640)])
    live = np.repeat(dead == 0, 32)
    np.testing.assert_allclose((re + 1j * im)[live], wanted[live], rtol=0, atol=(128 + 4 * 640 * DT * 3) * 2**-53)


def test_blocks__below_the_cut_are_dead():
    dead, re, im = blocks(4)
    dead[1] = 1
    weights, turns = np.array([0.5, 0.5]), np.empty((2, 2, 32))
    losses = np.array([1.0, -1.0])
    moments.multiply_atoms(
        DT, np.array([0, 2]), losses, weights, np.array([10**9]), 0.5, np.empty((2, 32)), turns[0], turns[1],
        np.empty((4, 2)), scratch(dead), dead, re, im,
    )  # fmt: skip
    assert dead.tolist() == [0, 1, 1, 1]
    assert (re[32:64] == 1).all()
