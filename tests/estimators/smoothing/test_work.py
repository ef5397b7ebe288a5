"""The work of an estimate is bounded, in products that are counted."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, GeometricChannel, GridChannel, KRRChannel
from fastdp.channels.hadamard import HadamardChannel
from fastdp.estimators import estimate
from fastdp.estimators.smoothing import work
from fastdp.estimators.smoothing.work import Allowance, product_work


class Counted(HadamardChannel):
    """Counts the rows of its products."""

    products = 0

    def _forward(self, p):
        self.products += 1
        return super()._forward(p)

    def _backward(self, w):
        self.products += 1
        return super()._backward(w)


def share_of_work(size):
    """The part of the work that is allowed that an estimate took."""
    outputs = 1 << size.bit_length()
    channel = Counted(size, outputs, 0.7, 0.3)
    chances = channel.forward(np.eye(1, size)[0])
    channel.products = 0
    estimate(channel, np.random.default_rng(1).multinomial(20_000, chances / chances.sum()), progress=False)
    return channel.products * product_work(channel) / work.MOST_WORK_QUICK


@pytest.mark.parametrize("size", [30, 500, 2_000])
def test_hadamard__stays_within_its_work(size, monkeypatch):
    """A twentieth of it, to take as little time."""
    monkeypatch.setattr(work, "MOST_WORK_QUICK", work.MOST_WORK_QUICK / 20)
    assert 0 < share_of_work(size) <= 1.1


@pytest.mark.slow
@pytest.mark.parametrize("size", [30, 2_000, 15_000, 31_000])
def test_hadamard__of_any_size_stays_within_its_work(size):
    """Beyond, the mutant without a bound takes as many steps as anywhere: 286 s at a million values."""
    assert 0 < share_of_work(size) <= 1.1


def test_protocol__with_too_many_values_gives_its_own_estimate():
    mechanism = fd.HadamardResponse(epsilon=2.0, domain=200_000)
    reports = mechanism.randomize(np.full(2_000, 7), rng=fd.Rng.unsafe_seed(1))
    found = fd.estimate(mechanism, reports)
    assert "projected" in found.method
    assert found.distribution.argmax() == 7
    alone = estimate(mechanism.channel(), mechanism.count_outputs(reports))
    assert "inverted" in alone.method
    assert alone.distribution.argmax() == 7


def test_krr__with_too_many_values_is_the_closed_form():
    mechanism = fd.KRR(epsilon=8.0, domain=1_000_000)
    found = fd.estimate(mechanism, mechanism.randomize(np.full(2_000, 7), rng=fd.Rng.unsafe_seed(1)))
    assert "closed form" in found.method
    assert found.distribution.argmax() == 7


@pytest.mark.parametrize(
    "channel", [KRRChannel(50, 0.3, 0.7 / 49), GeometricChannel(500, 0.1), DenseChannel(np.eye(9))]
)
def test_allowance__is_all_there_is_for_usual_sizes(channel):
    allowance = Allowance.of([channel])
    assert (allowance.deals, allowance.replicates, allowance.cuts) == (2, 2, True)
    assert allowance.steps >= 1024


def test_krr__pays_for_different_counts_and_for_values():
    """Equal counts are one entry of a step; drawing and sorting is for every value."""
    channel, equal = KRRChannel(20_000, 0.5, 0.5 / 19_999), np.repeat(np.arange(50.0), 400)
    usual, worst = Allowance.of([channel], [equal]), Allowance.of([channel], [np.arange(20_000.0)])
    assert usual == Allowance.of([channel], [equal + 3])
    assert usual.cuts
    assert not worst.cuts
    assert worst == Allowance.of([channel])
    for one, counts in ((channel, equal), (KRRChannel(200_000, 0.5, 0.5 / 199_999), np.repeat(equal, 10))):
        given = Allowance.of([one], [counts])
        rows = work.FOLDS * given.deals + work.MOST_TRUTHS * given.replicates
        steps = given.steps + work.CUTS * given.cuts
        assert rows * (work.row_work(one) + 2 * steps * product_work(one, counts)) <= work.MOST_WORK_QUICK


def test_allowance__shrinks_with_the_work():
    given = [Allowance.of([GridChannel.laplace(1.0, (side, side))], paths=2) for side in (20, 400)]
    assert given[0].steps > given[1].steps
    assert Allowance.of([HadamardChannel(10**6, 1 << 20, 0.7, 0.3)]) is None
    assert Allowance.of([KRRChannel(10**6, 0.5, 0.5e-6)]) is None


@pytest.mark.parametrize("bins", [8, 64, pytest.param(300, marks=pytest.mark.slow)])
def test_square_wave__is_as_good_as_its_channel_written_out(bins):
    """The products of small windows are those of the matrix, with no work of their own."""
    channel = fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=bins).channel()
    truth = np.exp(-(((np.arange(bins) / bins - 0.4) / 0.1) ** 2))
    counts = np.random.default_rng(4).multinomial(20_000, channel.forward(truth / truth.sum()))
    found, dense = (estimate(one, counts).distribution for one in (channel, DenseChannel(channel.dense())))
    np.testing.assert_allclose(found, dense, atol=1e-12 if bins < 200 else 1e-9)
