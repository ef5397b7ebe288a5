"""The square wave mechanism: its window, its channel, its estimates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.channels import window
from fastdp.channels.window import WindowChannel
from fastdp.mechanisms.local.frequencies import Counts
from fastdp.mechanisms.local.square_wave import SquareWave, half_width


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def wasserstein(one: np.ndarray, other: np.ndarray) -> float:
    """The distance of two distributions on the same bins of [0, 1]."""
    return float(np.abs(np.cumsum(one - other)).mean())


@pytest.mark.parametrize(("epsilon", "b"), [(0.5, 0.3581554), (1, 0.2560829), (2, 0.1293371), (4, 0.0304277)])
def test_window__has_the_width_and_densities_of_the_literature(epsilon, b):
    assert half_width(epsilon) == pytest.approx(b, abs=5e-8)
    mechanism = SquareWave(epsilon=epsilon, bounds=(0, 1))
    assert mechanism.b == pytest.approx(b, abs=1e-6)
    q = 1 / (2 * mechanism.b * math.exp(epsilon) + 1)
    assert mechanism.q == pytest.approx(q, rel=1e-8)
    assert mechanism.p == pytest.approx(math.exp(epsilon) * q, rel=1e-8)


@pytest.mark.parametrize("epsilon", [2.0**-20, 1e-3, 0.1, 3.0, 20.0])
def test_half_width__loses_no_digits(epsilon):
    import mpmath

    with mpmath.workprec(300):
        e = mpmath.exp(epsilon)
        exact = (epsilon * e - e + 1) / (2 * e * (e - 1 - epsilon))
    assert half_width(epsilon) == pytest.approx(float(exact), rel=1e-13)


CHANNELS = [(8, Fraction(3)), (8, Fraction(1, 5)), (5, Fraction(7, 3)), (64, Fraction(2)), (3, Fraction(9, 2)), (2, 1)]


@pytest.mark.parametrize("written", [True, False])
@pytest.mark.parametrize(("size", "span"), CHANNELS)
def test_channel__agrees_with_its_definition(size, span, written, monkeypatch):
    """Entries by midpoint sums over the input bin; products by the matrix; epsilon by all pairs."""
    if not written:
        monkeypatch.setattr(window, "LARGEST_WRITTEN", 0)
    ratio = math.exp(1.3)
    q = 1 / (size + float(span) * ratio)
    channel = WindowChannel(size, Fraction(span), q * ratio, q)
    dense, half, steps = channel.dense(), float(span) / 2, 4_000
    assert dense.shape == channel.shape
    assert np.allclose(dense.sum(axis=1), 1, atol=1e-12)
    x = (np.arange(steps) + 0.5) / steps
    for i in {0, 1, size - 1}:
        for o in range(channel.shape[1]):
            left, right = o - channel.margin, o - channel.margin + 1
            inner = np.minimum(i + x + half, right) - np.maximum(i + x - half, left)
            overlap = np.maximum(inner, 0).mean()
            length = min(right, size + half) - max(left, -half)
            assert dense[i, o] == pytest.approx(q * length + q * (ratio - 1) * overlap, abs=1e-6)
    source = np.random.default_rng(1)
    p, w = source.dirichlet(np.ones(size)), source.normal(size=channel.shape[1])
    assert np.allclose(channel.forward(p), p @ dense, atol=1e-14)
    assert np.allclose(channel.backward(w), dense @ w, atol=1e-13)
    many, weights = source.dirichlet(np.ones(size), 3), source.normal(size=(3, channel.shape[1]))
    assert np.allclose(channel.forward(many), many @ dense, atol=1e-14)
    assert np.allclose(channel.backward(weights), weights @ dense.T, atol=1e-13)
    logs = np.log(dense)
    assert channel.epsilon() == pytest.approx((logs.max(axis=0) - logs.min(axis=0)).max(), abs=1e-12)
    assert channel.epsilon(1) == pytest.approx(np.abs(np.diff(logs, axis=0)).max(), abs=1e-12)
    assert channel.epsilon() <= 1.3 + 1e-12


@pytest.mark.parametrize(("epsilon", "bins"), [(0.5, 256), (1.0, 32), (2.0, 100), (4.0, 1000), (10.0, 256)])
def test_reports__follow_the_channel(epsilon, bins):
    """Values uniform in one bin give reports in output bins as its row says; the row of 1.01 epsilon is rejected."""
    mechanism, x, size = SquareWave(epsilon=epsilon, bounds=(-3, 5), bins=bins), bins // 3, 10_000_000
    values = -3 + 8 * (x + np.random.default_rng(4).random(size)) / bins
    counts = mechanism.aggregate(mechanism.randomize(values, rng=seeded()))
    row = mechanism.channel().row(x)
    assert counts.n == size == counts.support.sum()
    assert chisquare(counts.support, row * size).pvalue > 1e-3
    other = SquareWave(epsilon=epsilon * 1.01, bounds=(-3, 5), bins=bins).channel()
    flat = (row > row.max() * 0.999) if epsilon < 5 else row == row.max()
    shifted = np.zeros(row.size + 2)
    shifted[1 + mechanism.channel().margin - other.margin :][: other.shape[1]] = other.row(x)
    mutant = shifted[1:-1][flat].sum()
    both = [counts.support[flat].sum(), size - counts.support[flat].sum()]
    assert chisquare(both, [mutant * size, (1 - mutant) * size]).pvalue < 1e-3


@pytest.mark.parametrize(("epsilon", "limit"), [(0.5, 0.02), (1.0, 0.01), (2.0, 0.005), (4.0, 0.002)])
def test_estimate__recovers_a_distribution(epsilon, limit):
    """Far closer to the truth than the reports themselves, and than a guess of uniform."""
    mechanism, n = SquareWave(epsilon=epsilon, bounds=(0, 1), bins=128), 100_000
    values = np.random.default_rng(2).beta(5, 2, n)
    truth = np.histogram(values, 128, (0, 1))[0] / n
    reports = mechanism.randomize(values, rng=seeded())
    estimate = mechanism.estimate(reports)
    raw = np.histogram(np.clip(reports, 0, 1), 128, (0, 1))[0] / n
    assert estimate.distribution.sum() == pytest.approx(1)
    assert (estimate.distribution >= 0).all()
    assert wasserstein(estimate.distribution, truth) < min(limit, wasserstein(raw, truth) / 8)
    assert wasserstein(np.full(128, 1 / 128), truth) > 10 * limit
    assert abs(estimate.mean - values.mean()) < limit
    assert 5 < estimate.iterations < 5_000
    assert estimate.n == n
    assert "n=100000, bins=128" in repr(estimate)


def test_estimate__sees_two_modes_in_the_units_of_the_bounds():
    source = np.random.default_rng(7)
    values = np.concatenate([source.normal(-50, 5, 60_000), source.normal(70, 8, 140_000)])
    mechanism = SquareWave(epsilon=3.0, bounds=(-100, 100), bins=200)
    estimate = mechanism.estimate(mechanism.randomize(values, rng=seeded()))
    assert estimate.distribution[:100].sum() == pytest.approx(0.3, abs=0.01)
    assert estimate.mean == pytest.approx(34, abs=1.5)
    assert abs(int(estimate.distribution[:100].argmax()) - 50) <= 3
    assert abs(int(estimate.distribution.argmax()) - 170) <= 3


def test_counts__of_batches_add_up():
    mechanism = SquareWave(epsilon=1.0, bounds=(0, 10), bins=20)
    reports = mechanism.randomize(np.linspace(0, 10, 50_000), rng=seeded())
    whole = mechanism.aggregate(reports)
    parts = mechanism.aggregate(reports[:100]) + mechanism.aggregate(pa.array(reports[100:]))
    assert whole.n == parts.n == 50_000
    assert np.array_equal(whole.support, parts.support)
    assert np.array_equal(mechanism.aggregate(reports.astype(np.float32)).support, whole.support)
    assert np.array_equal(mechanism.estimate(parts).distribution, mechanism.estimate(reports).distribution)
    with pytest.raises(fd.ParameterError, match="no reports"):
        mechanism.estimate([])
    with pytest.raises(fd.ParameterError, match="other bins"):
        mechanism.estimate(Counts(np.ones(5, np.int64), 5))


@pytest.mark.parametrize("bins", [0, 1, -3, 2.5, True, None, "9", (1 << 14) + 1])
def test_bins__are_refused_when_bad(bins):
    with pytest.raises(fd.ParameterError, match="bins"):
        SquareWave(epsilon=1.0, bounds=(0, 1), bins=bins)


def test_bins__do_not_change_the_reports():
    """Up to 256 of them."""
    values = np.linspace(0, 1, 5_000)
    reports = [SquareWave(epsilon=1.0, bounds=(0, 1), bins=bins).randomize(values, rng=seeded()) for bins in (2, 256)]
    assert np.array_equal(*reports)
