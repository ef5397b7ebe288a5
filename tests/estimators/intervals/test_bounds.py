"""Certified bounds: the inequality they rest on, the solvers behind them, and what they do with odd problems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastdp as fd
from fastdp.binomial import normal_quantile
from fastdp.channels import DenseChannel, GeometricChannel, GridChannel, KRRChannel
from fastdp.estimators import estimate, ibu
from fastdp.estimators.intervals.bounds import CertifiedBounds, deal_halves, open_finder
from fastdp.estimators.intervals.descent import Descent, minimise
from fastdp.estimators.intervals.weights import Coarse, Programme, Stack
from fastdp.estimators.likelihood.problem import Problem


def dense(inputs, outputs, seed):
    return DenseChannel(np.random.default_rng(seed).dirichlet(np.full(outputs, 0.7), size=inputs))


def simulate(channel, truth, n, seed=1):
    chances = channel.forward(truth)
    return np.random.default_rng(seed).multinomial(n, chances / chances.sum()).astype(float)


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 12), st.integers(1, 12), st.integers(0, 2**32), st.floats(0.01, 1e6))
def test_certificate__bounds_every_functional_of_every_distribution(inputs, outputs, seed, size):
    """h'p <= w'(pC) + max(h - Cw), whatever w, p and C are."""
    source = np.random.default_rng(seed)
    channel = source.dirichlet(np.full(outputs, 0.3), size=inputs)
    p, h, w = source.dirichlet(np.full(inputs, 0.2)), source.normal(size=inputs), size * source.normal(size=outputs)
    bound = w @ (p @ channel) + (h - channel @ w).max()
    assert h @ p <= bound + 1e-12 * size


def test_descent__minimises():
    scales = np.geomspace(1, 1e4, 30)
    found = minimise(lambda x: (0.5 * float(scales @ (x - 1) ** 2), scales * (x - 1)), np.zeros(30), 300)
    np.testing.assert_allclose(found, 1, atol=1e-3)


def predicted(stack, finder, pilot, h, z=1.96):
    """The bound if reports were just as the pilot says."""
    weights, d = finder.find(h), stack.forward(pilot)
    error = np.sqrt(stack.variances(weights.values, d).sum() / stack.n)
    return weights.values @ d + (h - stack.backward(weights.values)).max() + z * error


def test_coarse_line__is_as_good_as_all_inputs():
    channel = GeometricChannel(301, 1 / 300)
    pilot = np.exp(-(((np.arange(301) - 100) / 60) ** 2)) + 0.01
    pilot /= pilot.sum()
    stack, h = Stack([channel], [1e5]), (np.arange(301) < 150).astype(float)
    d = stack.forward(pilot)
    coarse = Coarse(stack, pilot, d, 1.96, h[None, :])
    full = Programme(stack.rows(np.arange(301)), pilot, d, stack.parts, stack.slices, stack.n, 1.96)
    centre = h @ pilot
    assert predicted(stack, coarse, pilot, h) - centre <= 1.05 * (predicted(stack, full, pilot, h) - centre)


def test_descent__is_nearly_as_good_as_the_programme():
    channel = GridChannel.laplace(1.0, (12, 12))
    pilot = np.random.default_rng(3).dirichlet(np.full(144, 0.5))
    stack, h = Stack([channel], [1e5]), (np.arange(144) < 72).astype(float)
    d = stack.forward(pilot)
    full = Programme(stack.rows(np.arange(144)), pilot, d, stack.parts, stack.slices, stack.n, 1.96)
    centre = h @ pilot
    wide = predicted(stack, Descent(stack, pilot, d, 1.96), pilot, h) - centre
    assert wide <= 1.5 * (predicted(stack, full, pilot, h) - centre)


def test_finder__follows_size_and_kind():
    def kind(channel):
        pilot = np.full(channel.shape[0], 1 / channel.shape[0])
        return type(open_finder(Stack([channel], [1e3]), pilot, 1.96, np.eye(channel.shape[0])[:1]))

    assert kind(GeometricChannel(100, 0.1)) is Programme
    assert kind(GeometricChannel(1000, 0.1)) is Coarse
    assert kind(GridChannel.laplace(0.5, (30, 30))) is Descent
    assert kind(GridChannel.laplace(0.5, (20, 20))) is Programme
    assert kind(dense(401, 20, 1)) is Descent


@pytest.mark.parametrize("regularize", ["cv", "early", "smooth", None])
def test_bounds__are_the_same_for_the_same_counts_and_hold_the_estimate(regularize):
    channel = GeometricChannel(30, 0.3)
    truth = np.exp(-(((np.arange(30) - 12) / 5) ** 2))
    counts = simulate(channel, truth / truth.sum(), 2000)
    first, second = (estimate(channel, counts, regularize=regularize, progress=False) for _ in range(2))
    found = first.bounds(np.eye(30), 0.95)
    for one, other in zip(found, second.bounds(np.eye(30), 0.95), strict=True):
        assert np.array_equal(one, other)
    assert (found.low <= found.estimate).all()
    assert (found.estimate <= found.high).all()
    assert (found.low >= 0).all()
    assert (found.high <= 1).all()


def test_bounds__shrink_with_the_root_of_n():
    """Where the functional is well determined, a hundred times the reports give a tenth of the width."""
    channel, truth = KRRChannel(5, 0.5, 0.125), np.array([0.3, 0.25, 0.2, 0.15, 0.1])
    widths = []
    for n in (1e5, 1e7):
        found = estimate(channel, n * channel.forward(truth)).bounds([0, 1, 2, 3, 4], 0.95)
        widths.append(found.high - found.low)
    assert widths[0] / widths[1] == pytest.approx(10, rel=0.01)


def test_bounds__of_a_constant_are_the_constant():
    found = ibu(dense(4, 6, 1), [10, 20, 30, 40, 50, 60]).bounds(np.full(4, 2.5), 0.95)
    assert found == pytest.approx((2.5, 2.5, 2.5))


def test_bounds__of_several_channels_are_narrower_than_of_each():
    channels, truth = [KRRChannel(3, 0.5, 0.25), dense(3, 5, 4)], np.array([0.5, 0.3, 0.2])
    parts = [(channel, 1e5 * channel.forward(truth)) for channel in channels]
    h = [0.0, 1.0, 3.0]

    def width(found):
        return found.high - found.low

    both = ibu(parts).bounds(h, 0.95)
    assert both.low <= 0.9 <= both.high
    assert width(both) < min(width(ibu([part]).bounds(h, 0.95)) for part in parts)


def test_bounds__simultaneous_are_wider():
    channel = dense(4, 6, 1)
    found = ibu(channel, simulate(channel, np.full(4, 0.25), 20_000))
    alone, together = (found.bounds(np.eye(4), 0.95, simultaneous=all_) for all_ in (False, True))
    assert ((together.high - together.low) > (alone.high - alone.low)).all()
    assert normal_quantile(0.95, 4) == pytest.approx(2.4977, abs=1e-4)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_bounds__say_nothing_of_nothing(n):
    """From one or two reports: all that is possible, or next to it, and no error."""
    found = estimate(KRRChannel(4, 0.4, 0.2), np.eye(4)[0] * n, progress=False).bounds([0, 0, 1, 1], 0.95)
    assert found.low == pytest.approx(0, abs=1e-9)
    assert found.high > 0.5


def test_halves__are_dealt_whole():
    counts = [np.array([5.0, 0.0, 1e6, 2.5]), np.array([1e17])]
    for part, halves in zip(counts, deal_halves(counts), strict=True):
        np.testing.assert_array_equal(halves.sum(axis=0), part)
        assert (halves >= 0).all()
    assert np.array_equal(deal_halves(counts)[0], deal_halves(counts)[0])


def test_rounding__never_narrows():
    """The certificate has room for the rounding of products with large weights."""
    problem = Problem("test", [(dense(4, 6, 1), np.arange(1.0, 7.0))])
    found = CertifiedBounds(problem, lambda counts: np.full((2, 4), 0.25), 1.96, np.eye(4))
    h, w = np.zeros(4), np.full(6, 1e9)
    assert found._certificate(h, w, None) >= -1e9 + 1e-4


def test_share__takes_values_numbers_and_masks():
    mechanism = fd.KRR(epsilon=2.0, domain=["a", "b", "c"])
    found = estimate(mechanism, mechanism.randomize(["a"] * 300 + ["b"] * 700, rng=fd.Rng.unsafe_seed(3)))
    assert found.share("a", 0.95) == found.share(["a"], 0.95) == found.share(np.array([True, False, False]), 0.95)
    numbered = ibu(mechanism.channel(), [10, 20, 30])
    assert numbered.share([0, 2], 0.9).estimate == pytest.approx(numbered.distribution[[0, 2]].sum())


@pytest.mark.parametrize("which", ["z", ["a", "z"], [0], [True, False]])
def test_share__refuses_what_is_no_value(which):
    mechanism = fd.KRR(epsilon=2.0, domain=["a", "b", "c"])
    found = estimate(mechanism, mechanism.randomize(["a", "b"] * 50, rng=fd.Rng.unsafe_seed(3)))
    with pytest.raises(fd.ParameterError, match="share: which must be values"):
        found.share(which, 0.95)


@pytest.mark.parametrize("functional", [[1, 2], [[1, 2]], [np.nan, 1, 2], "abc", None, [], [1, 2, np.inf]])
def test_bounds__refuse_other_functionals(functional):
    with pytest.raises(fd.ParameterError, match="one per value"):
        ibu(KRRChannel(3, 0.5, 0.25), [1, 2, 3]).bounds(functional, 0.95)


def test_interval__refuses_maps_and_many_values():
    counts = np.full(144, 100.0)
    with pytest.raises(fd.NotIdentifiableError, match=r"single cells of a map.*estimate\.share"):
        estimate(GridChannel.laplace(0.5, (12, 12)), counts, regularize="early").interval(0.95)
    with pytest.raises(fd.NotIdentifiableError, match=r"each of 144 values.*estimate\.share"):
        estimate(GeometricChannel(144, 0.01), counts, regularize="early").interval(0.95)


@pytest.mark.parametrize("q", [0, 1, -0.5, np.nan, "x", True, None])
def test_quantile__refuses_parts(q):
    with pytest.raises(fd.ParameterError, match="quantile: q"):
        ibu(GeometricChannel(5, 0.5), [1, 2, 3, 4, 5]).quantile(q, 0.95)


def test_quantile__refuses_labels():
    mechanism = fd.KRR(epsilon=2.0, domain=["a", "b", "c"])
    found = estimate(mechanism, mechanism.randomize(["a", "b"] * 50, rng=fd.Rng.unsafe_seed(3)))
    with pytest.raises(fd.ParameterError, match="labels, which have no order"):
        found.quantile(0.5, 0.95)


def test_quantile__is_exact_without_noise():
    """Reports that are all true: the sample's own quantiles lie in narrow intervals, on values and in bins."""
    found = ibu(DenseChannel(np.eye(50)), np.full(50, 1e6)).quantile(0.5, 0.95)
    assert found.estimate in {24, 25}
    assert 23 <= found.low <= 24
    assert 24 <= found.high <= 26
    wave = fd.SquareWave(epsilon=8.0, bounds=(0.0, 10.0), bins=40)
    values = np.random.default_rng(1).uniform(0, 10, 200_000)
    found = estimate(wave, wave.randomize(values, rng=fd.Rng.unsafe_seed(1)), progress=False).quantile(0.25, 0.95)
    assert found.low <= 2.5 <= found.high
    assert found.high - found.low <= 1
