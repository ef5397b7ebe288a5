"""Widths of certified bounds against the best that weights can do, by linear programmes from outside."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fastdp as fd
from fastdp.estimators import estimate
from fastdp.estimators.intervals.bounds import CertifiedBounds
from fastdp.estimators.intervals.weights import TOLERANCE, Programme, Stack

Z = 1.96
CLOSE = 0.005
"""How near the two sides of the reference come, as a part of the distance from the guess's own value."""


def most_by_cutting_planes(rows, pilot, h, n):
    """The largest h'p over all p whose outputs are within z standard errors of the pilot's: from below and above.

    The region is round. Linear programmes over planes around it give too much, and what they find, drawn back into the
    region, gives too little; each adds the plane that cuts its own solution off. [Kelley 1960]
    """
    d = pilot @ rows
    scaled, radius, centre, planes = (rows - d) / np.sqrt(d), Z / np.sqrt(n), h @ pilot, [np.zeros(h.size)]
    for _ in range(300):
        limits = np.full(len(planes), radius)
        found = linprog(-h, np.array(planes), limits, np.ones((1, h.size)), [1.0], bounds=(0, None), method="highs")
        moved = found.x @ scaled
        length = np.linalg.norm(moved)
        least = centre + (-found.fun - centre) * min(1.0, radius / length)
        if -found.fun - least <= CLOSE * (-found.fun - centre):
            return least, -found.fun
        planes.append(scaled @ (moved / length))
    raise AssertionError("the planes do not close in")


def bump(size):
    p = np.exp(-0.5 * ((np.arange(size) - 0.4 * size) / (0.1 * size + 1)) ** 2) + 0.01 / size
    return p / p.sum()


GEOMETRIC = fd.Geometric(epsilon=1.0, sensitivity=20, bounds=(0, 20)).channel()
WAVE = fd.SquareWave(epsilon=2.0, bounds=(0.0, 1.0), bins=8).channel()
KRR = fd.KRR(epsilon=1.0, domain=10).channel()
CASES = [
    pytest.param(GEOMETRIC, (np.arange(21) < 3).astype(float), 1e5, id="range of geometric"),
    pytest.param(GEOMETRIC, np.arange(21) / 20, 1e3, id="mean of geometric"),
    pytest.param(GEOMETRIC, -np.arange(21) / 20, 1e5, id="lower end of the mean"),
    pytest.param(KRR, np.eye(10)[3], 1e4, id="value of k-RR"),
    pytest.param(KRR, -np.eye(10)[3], 1e6, id="lower end of a value"),
    pytest.param(WAVE, (np.arange(8) < 4).astype(float), 1e4, id="half of a square wave"),
]


def predicted(channel, h, n):
    """The bound by the programme's weights, if reports were just as the pilot says."""
    pilot, stack = bump(h.size), Stack([channel], [n])
    d = stack.forward(pilot)
    w = Programme(channel.dense(), pilot, d, stack.parts, stack.slices, n, Z).find(h).values
    error = np.sqrt(stack.variances(w, d).sum() / n)
    return w @ d + (h - stack.backward(w)).max() + Z * error


@pytest.mark.parametrize(("channel", "h", "n"), CASES)
def test_programme__is_as_narrow_as_can_be(channel, h, n):
    """Not below the largest value that is possible, and hardly above it."""
    pilot = bump(h.size)
    least, most = most_by_cutting_planes(channel.dense(), pilot, h, n)
    found = predicted(channel, h, n)
    assert least - 1e-9 <= found <= most + TOLERANCE * (most - h @ pilot)


@pytest.mark.parametrize("factor", [0.7, 1.5])
def test_wrong_multiplier__is_caught_by_the_width(factor, monkeypatch):
    """The mutant: weights of another size still give a bound, and a needlessly wide one."""
    find = Programme.find

    def scaled(self, h, start=None):
        found = find(self, h, start)
        return found._replace(values=factor * found.values)

    h, n = np.arange(21) / 20, 1e5
    monkeypatch.setattr(Programme, "find", scaled)
    least, most = most_by_cutting_planes(GEOMETRIC.dense(), bump(21), h, n)
    found = predicted(GEOMETRIC, h, n)
    assert found >= least
    assert found > most + 5 * TOLERANCE * (most - h @ bump(21))


def test_dropped_certificate__is_caught_by_the_coverage(monkeypatch):
    """The mutant: the mean of the weights alone, without max(h - Cw), misses a spiky truth."""
    truth, h = np.zeros(21), (np.arange(21) < 3).astype(float)
    truth[[1, 10, 18]] = 0.3, 0.4, 0.3
    samples = np.random.default_rng(1).multinomial(2_000, GEOMETRIC.forward(truth), size=60)
    estimates = [estimate(GEOMETRIC, row, regularize="early", progress=False) for row in samples]

    def covered():
        return sum(low <= h @ truth <= high for _, low, high in (found.bounds(h, 0.95) for found in estimates))

    def mean_instead(self, h, w, finer):
        return float((h - GEOMETRIC.backward(w)).mean())

    assert covered() >= 0.92 * 60
    monkeypatch.setattr(CertifiedBounds, "_certificate", mean_instead)
    assert covered() < 0.8 * 60
