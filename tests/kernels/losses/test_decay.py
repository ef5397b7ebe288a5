"""Bounds over blocks are never below the moduli at their nodes, and come close to them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.kernels.losses import decay, moments

BLOCKS = 24
DT = 0.4


def moduli(products):
    """The largest squared modulus in each block."""
    return (np.abs(products) ** 2).reshape(BLOCKS, moments.BLOCK).max(1)


def scratch():
    return np.empty((3, decay.LANES)), np.ones(BLOCKS), np.zeros(BLOCKS, np.uint8)


def bounds_of_atoms(losses, weights, count):
    work, bounds, dead = scratch()
    starts = np.array([0, len(losses)])
    decay.bound_atoms(DT, starts, losses, weights, np.array([count]), 0.0, work, bounds, dead)
    assert not dead.any()
    return bounds


CASES = [
    ([0.05, -0.05], [0.6, 0.4]),
    ([0.04, 0.0, -0.04], [0.2, 0.7, 0.1]),
    ([0.03, -0.01], [0.5, 0.5]),
    ([0.05, 0.02, -0.03, -0.05], [0.4, 0.3, 0.2, 0.1]),
    ([0.02], [1.0]),
    ([0.2, -0.2], [0.5, 0.5]),
]


@pytest.mark.parametrize("count", [1, 7])
@pytest.mark.parametrize(("losses", "weights"), CASES)
def test_atoms__are_below_their_bounds(losses, weights, count):
    losses, weights = np.array(losses), np.array(weights)
    t = np.arange(BLOCKS * moments.BLOCK) * DT
    wanted = moduli((np.exp(1j * np.outer(t, losses)) @ weights) ** count)
    found = bounds_of_atoms(losses, weights, count)
    assert (wanted <= found * (1 + 1e-12)).all()
    assert (found <= 1 + 1e-12).all()
    if losses.size == 2 and losses[0] < 0.1:
        assert found.min() < 0.6


@pytest.mark.parametrize(("theta", "epsilon", "rate", "count"), [
    (5.0, 0.05, 0.0, 1), (5.0, 0.05, 1e-9, 3), (0.3, 0.1, 1e-3, 1), (20.0, 0.02, 2e-2, 2), (2.0, 0.15, 0.05, 1),
])  # fmt: skip
def test_laplace__is_below_its_bounds(theta, epsilon, rate, count):
    nodes = BLOCKS * moments.BLOCK
    dead, re, im = np.zeros(BLOCKS, np.uint8), np.ones(nodes), np.zeros(nodes)
    row = [np.array([value]) for value in (epsilon, rate, count)]
    moments.multiply_laplace(DT, theta, *row, 0.0, np.empty((6, 32)), np.empty(BLOCKS, np.int64), dead, re, im)
    work, bounds, dead = scratch()
    decay.bound_laplace(DT, theta, *row, 0.0, work, bounds, dead)
    wanted = moduli(re + 1j * im)
    assert (wanted <= bounds * (1 + 1e-11)).all()
    assert bounds.min() < 0.99


def test_bounds__of_whole_blocks_are_needed(monkeypatch):
    """Mutant: the sine in the middle of a block is not the least of its nodes."""
    losses, weights = np.array([0.09, -0.09]), np.array([0.5, 0.5])
    t = np.arange(BLOCKS * moments.BLOCK) * DT
    wanted = moduli(np.exp(1j * np.outer(t, losses)) @ weights)
    middles = (np.arange(BLOCKS) + 0.5) * moments.BLOCK * DT
    mutant = 1 - np.sin(middles * 0.09) ** 2
    assert (wanted > mutant + 1e-3).any()
    assert (wanted <= bounds_of_atoms(losses, weights, 1) + 1e-12).all()


def test_blocks__below_the_least_are_dead():
    """100 coins: all blocks but those that their nodes show to be above it."""
    rates = 0.02 + 0.04 * np.random.default_rng(1).random(100)
    losses, weights = np.stack([rates, -rates], 1).ravel(), np.full(200, 0.5)
    starts, counts = np.arange(0, 201, 2), np.ones(100, np.int64)
    work, bounds, dead = scratch()
    decay.bound_atoms(DT, starts, losses, weights, counts, 1e-10, work, bounds, dead)
    t = np.arange(BLOCKS * moments.BLOCK) * DT
    products = np.prod(np.cos(np.outer(t, rates)), axis=1)
    assert dead.sum() > BLOCKS / 2
    assert (moduli(products)[dead == 1] < 1e-10).all()
    assert dead[0] == 0
    assert math.isclose(bounds[0], 1.0)
