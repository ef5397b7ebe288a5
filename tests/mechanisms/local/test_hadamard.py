"""Hadamard response: its integers, its reports, its estimates."""

from __future__ import annotations

import math
import random

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from fastdp.errors import InputCorruptError, ParameterError
from fastdp.mechanisms.local.hadamard import HadamardResponse
from tests.mechanisms import report_checks
from tests.mechanisms.report_checks import seeded
from tests.reference.hadamard import sylvester


def test_hadamard__costs_no_more_than_stated():
    """The exact ratio of the realised integers, for hundreds of epsilons: never above asked, hardly below."""
    source = random.Random(1)
    for _ in range(300):
        epsilon, k = 2 ** source.uniform(-19, 5.3), source.choice([2, 3, 10, 97, 1000, 70_000])
        mechanism = HadamardResponse(epsilon=epsilon, domain=k)
        heads = mechanism._odds.threshold
        with mpmath.workprec(300):
            realised = mpmath.log(mpmath.mpf(heads) / (2**128 - heads))
            stated = mechanism.privacy.epsilon
            assert realised <= mpmath.mpf(stated) <= mpmath.mpf(epsilon)
            assert realised >= mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -6)
            mutant = (2**128 - heads) * (1 - mpmath.mpf(epsilon) / 10**8)  # fewer tails by a hundred-millionth
            assert mpmath.log((2**128 - mutant) / mutant) > stated


def test_hadamard__has_different_balanced_rows():
    """Every value's row is half 1 and half -1, any two agree at half of the indices, and q = 1/2 follows."""
    for k in (2, 3, 4, 7, 8, 31):
        mechanism = HadamardResponse(epsilon=1.0, domain=k)
        rows = sylvester(mechanism.rows)[1 : k + 1]
        assert rows.shape == (k, mechanism.rows)
        assert np.array_equal(rows @ rows.T, mechanism.rows * np.eye(k, dtype=np.int64))
        assert not rows.sum(axis=1).any()
        assert mechanism.rows < 2 * (k + 1)


def by_hand(size: int, x: int, k: int, p: float, *, bit: int | None = None) -> np.ndarray:
    """The plain sampler in numpy; ``bit`` flips a fixed bit of the index, which is wrong."""
    rng, outputs, row = np.random.default_rng(1), 1 << k.bit_length(), x + 1
    index = rng.integers(0, outputs, size)
    wrong = (np.bitwise_count(index & row) & 1) != (rng.random(size) >= p)
    return np.where(wrong, index ^ (bit or row & -row), index)


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (5, 1.0), (7, 2.0), (100, 3.0), (70_000, 1.0)])
@pytest.mark.parametrize(
    ("size", "mutant"), [(800_000, 1.012), pytest.param(4_000_000, 1.005, marks=pytest.mark.slow)], ids=["fast", "long"]
)
def test_hadamard__follows_its_channel(k, epsilon, size, mutant):
    """Whole reports of one value are distributed as its channel row; p times the mutant's factor is rejected."""
    mechanism = HadamardResponse(epsilon=epsilon, domain=k)
    for x in {0, k // 2, k - 1}:
        reports = mechanism.randomize(np.full(size, x, np.int32), rng=seeded(x))
        seen, expected = np.bincount(reports, minlength=mechanism.rows), mechanism.channel().row(x) * size
        assert chisquare(seen, expected).pvalue > 1e-3
        likely = expected > size / mechanism.rows
        halves = np.array([seen[likely].sum(), seen[~likely].sum()])
        for factor, passes in ((1, True), (mutant, False)):
            heads = mechanism.p * factor
            assert (chisquare(halves, np.array([heads, 1 - heads]) * size).pvalue > 1e-3) == passes


def test_hadamard__a_mutant_that_flips_another_bit_is_caught():
    """The check of whole reports sees a sampler that is right in half of the bits only."""
    mechanism, size, x = HadamardResponse(epsilon=1.0, domain=7), 400_000, 5
    row = mechanism.channel().row(x) * size
    right = np.bincount(by_hand(size, x, 7, mechanism.p), minlength=8)
    wrong = np.bincount(by_hand(size, x, 7, mechanism.p, bit=1), minlength=8)
    assert chisquare(right, row).pvalue > 1e-3
    assert chisquare(wrong, row).pvalue < 1e-6


@pytest.mark.parametrize(("k", "epsilon"), [(2, 0.5), (5, 1.0), (12, 3.0), (3, 40.0)])
def test_channel__agrees_with_its_matrix(k, epsilon):
    mechanism = HadamardResponse(epsilon=epsilon, domain=k)
    channel, source = mechanism.channel(), np.random.default_rng(3)
    dense = channel.dense()
    assert dense.shape == channel.shape == (k, mechanism.rows)
    assert np.allclose(dense.sum(axis=1), 1)
    assert channel.epsilon() <= mechanism.privacy.epsilon * (1 + 1e-12)
    assert np.abs(np.log(dense[:, None, :] / dense[None, :, :])).max() == pytest.approx(epsilon, rel=1e-6)
    p, w = source.random(k), source.random(mechanism.rows)
    assert np.allclose(channel.forward(p), p @ dense)
    assert np.allclose(channel.backward(w), dense @ w)


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 4), (1.0, 10), (3.0, 50)])
def test_estimate__is_unbiased_with_its_variance(epsilon, k):
    report_checks.check_estimates(HadamardResponse(epsilon=epsilon, domain=k), k)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5])
def test_variance__meets_the_closed_form(epsilon):
    e = math.exp(epsilon)
    for k in (3, 1_000):
        mechanism = HadamardResponse(epsilon=epsilon, domain=k)
        assert mechanism.variance(7) == pytest.approx(((e + 1) / (e - 1)) ** 2 / 7, rel=1e-8)
        assert mechanism.variance(7, 0.25) == pytest.approx((((e + 1) / (e - 1)) ** 2 - 0.25) / 7, rel=1e-8)


@pytest.mark.parametrize("k", [10, 1_000, 70_000])
def test_randomize__does_not_depend_on_threads_or_batches(k, threads):
    report_checks.check_threads_and_batches(HadamardResponse(epsilon=1.0, domain=k), k, threads)


@pytest.mark.parametrize(("k", "kind"), [(10, pa.uint16()), (65_535, pa.uint16()), (65_536, pa.uint32())])
def test_reports__have_one_type_in_arrow_and_numpy(k, kind):
    mechanism = HadamardResponse(epsilon=1.0, domain=k)
    assert mechanism.report_type.arrow_type() == kind
    assert mechanism.randomize(np.zeros(3, np.int32)).dtype == kind.to_pandas_dtype()
    report_checks.check_arrow(mechanism, k)
    report_checks.check_foreign_reports(mechanism)


def test_randomize__takes_nulls_labels_and_nothing_undeclared():
    report_checks.check_odd_values(lambda domain: HadamardResponse(epsilon=1.0, domain=domain), [10, 70_000])


@pytest.mark.parametrize("k", [10, 70_000])
def test_aggregate__refuses_indices_beyond_the_matrix(k):
    mechanism = HadamardResponse(epsilon=1.0, domain=k)
    reports = mechanism.randomize(np.zeros(2_000, np.int32))
    reports[1_234] = mechanism.rows
    with pytest.raises(InputCorruptError, match="not below"):
        mechanism.aggregate(reports)


@pytest.mark.parametrize("epsilon", report_checks.BAD_EPSILONS)
def test_epsilon__is_refused_when_bad(epsilon):
    with pytest.raises(ParameterError, match="HadamardResponse: epsilon"):
        HadamardResponse(epsilon=epsilon, domain=10)


@pytest.mark.parametrize("domain", [*report_checks.BAD_DOMAINS, 2**24])
def test_domain__is_refused_when_bad(domain):
    with pytest.raises(ParameterError, match="HadamardResponse"):
        HadamardResponse(epsilon=1.0, domain=domain)
