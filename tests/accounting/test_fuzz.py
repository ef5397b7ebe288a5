"""Random compositions against sums over all their outcomes."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.accounting import inversion
from fastdp.accounting.building import build
from fastdp.losses import AtomicLoss


def random_loss(rng):
    """Randomized response on two or many values, or a sample of it, in a random direction."""
    epsilon = 10 ** rng.uniform(-2.5, 0.7)
    grown, kind = math.exp(epsilon), rng.integers(3)
    if kind == 1:
        k = int(rng.integers(3, 200))
        p = np.array([grown, k - 2, 1]) / (grown + k - 1)
        return AtomicLoss(losses=np.array([epsilon, 0.0, -epsilon]), p=p, q=p[::-1].copy())
    p = np.array([grown, 1]) / (grown + 1)
    q = p[::-1].copy()
    if kind == 2:
        rate = rng.uniform(0.01, 0.9)
        mixed = (1 - rate) * q + rate * p
        p, q = (mixed, q) if rng.random() < 0.5 else (q, mixed)
    return AtomicLoss(losses=np.log(p / q), p=p, q=q)


def count_misses(cases, seed, smoothing=0.005):
    """How many of the deltas lie outside their bracket, and the widths of those inside."""
    rng = np.random.default_rng(seed)
    missed, widths = 0, []
    while len(widths) + missed < cases:
        parts = [random_loss(rng) for _ in range(rng.integers(1, 7))]
        losses, masses = np.zeros(1), np.ones(1)
        for part in parts:
            losses, masses = (losses[:, None] + part.losses).ravel(), (masses[:, None] * part.p).ravel()
        epsilon = rng.uniform(0, 0.98) * losses.max()
        above = losses > epsilon
        exact = math.fsum(masses[above] * -np.expm1(epsilon - losses[above]))
        if exact < 1e-280:
            continue
        factors = build([(part, 1) for part in parts])
        theta, _ = inversion.choose_tilt(factors, epsilon=epsilon)
        depth = max(0.0, theta * epsilon - factors.log_moment(theta))
        width = smoothing / math.sqrt(theta * (theta + 1))
        low, high = inversion.Inversion(factors, theta, width, 1e-7, depth).bounds(epsilon)
        if low <= exact * (1 + 1e-12) and high >= exact * (1 - 1e-12):
            widths.append((high - low) / exact)
        else:
            missed += 1
    return missed, widths


def test_compositions__hold_all_outcomes():
    missed, widths = count_misses(150, 11)
    assert missed == 0
    assert np.median(widths) < 2e-3
    assert count_misses(60, 13, smoothing=0.5)[0] == 0


def test_compositions__are_found_out_with_a_smaller_constant(monkeypatch):
    monkeypatch.setattr(inversion, "SMOOTHING_CONSTANT", 1.0)
    assert count_misses(60, 13, smoothing=0.5)[0] > 3


@pytest.mark.slow
def test_ten_thousand_compositions__hold_all_outcomes():
    missed, _ = count_misses(10_000, 12)
    assert missed == 0
