"""Summed histograms: noise on a grid that holds 0 and 1, on every entry alike."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from tests.mechanisms.report_checks import seeded
from tests.reference.laws import laplace_pmf
from tests.reference.statistics import chisquare_p


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 3), (1.0, 7), (4.0, 2)])
def test_randomize__adds_discrete_laplace_noise_to_every_entry(epsilon, k):
    """Each entry less its truth follows the exact law; noise of epsilon x 1.01 is rejected."""
    mechanism, size, x = fd.SummedHistogram(epsilon=epsilon, domain=k), 400_000, 1
    reports = mechanism.randomize(pa.array(np.full(size, x)), rng=seeded())
    entries = reports.values.to_numpy().reshape(size, k)
    steps = (entries - (np.arange(k) == x)) / mechanism.granularity
    assert np.array_equal(steps, np.rint(steps))
    rate = epsilon * mechanism.granularity / 2
    reach = round(12 / rate)
    for entry in range(k):
        assert chisquare_p(steps[:, entry].astype(np.int64), laplace_pmf(rate, reach), -reach, bins=200) > 1e-3
    everything = steps.reshape(-1).astype(np.int64)
    assert chisquare_p(everything, laplace_pmf(rate * 1.01, reach), -reach, bins=20) < 1e-3
    signs = np.sign(steps) + 1  # entries are independent of each other
    both = (signs[:, 0] * 3 + signs[:, 1]).astype(np.int64)
    single = np.array([(signs == s).mean() for s in range(3)])
    assert chisquare_p(both, np.outer(single, single).reshape(-1), 0) > 1e-4


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 0.1, 1.0, 7.3, 40.0])
def test_granularity__holds_one_and_is_fine(epsilon):
    """1 is a multiple of it, so the truth is never rounded; the variance is Laplace's to five digits."""
    mechanism = fd.SummedHistogram(epsilon=epsilon, domain=3)
    assert (1 / Fraction(mechanism.granularity)).denominator == 1
    assert mechanism.granularity * 512 <= 2 / epsilon or mechanism.granularity == 1
    assert mechanism.variance(1) == pytest.approx(8 / epsilon**2, rel=1e-5)
    assert mechanism.variance(1, 0.7) == mechanism.variance(1)
    assert (mechanism.p, mechanism.q) == (1.0, 0.0)


def test_aggregate__sums_exactly_in_any_order():
    """Entries are multiples of a power of two: sums of batches add up without rounding."""
    mechanism = fd.SummedHistogram(epsilon=0.7, domain=5)
    reports = mechanism.randomize(np.arange(20_000) % 5, rng=seeded())
    whole = mechanism.aggregate(reports)
    shuffled = np.random.default_rng(1).permutation(reports)
    assert np.array_equal(mechanism.aggregate(shuffled).support, whole.support)
    parts = mechanism.aggregate(reports[:7]) + mechanism.aggregate(reports[7:])
    assert np.array_equal(parts.support, whole.support)
    assert np.array_equal(whole.support, reports.sum(axis=0))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_aggregate__refuses_what_is_no_number(bad):
    mechanism = fd.SummedHistogram(epsilon=0.7, domain=5)
    reports = mechanism.randomize(np.zeros(50, np.int8), rng=seeded())
    reports[17, 3] = bad
    for given in (reports, pa.FixedSizeListArray.from_arrays(pa.array(reports.reshape(-1)), 5)):
        with pytest.raises(fd.DomainError, match="NaN"):
            mechanism.aggregate(given)


def test_aggregate__refuses_lists_with_holes():
    mechanism = fd.SummedHistogram(epsilon=0.7, domain=2)
    holed = pa.array([[1.0, None], [0.0, 1.0]], pa.list_(pa.float64(), 2))
    with pytest.raises(fd.DomainError, match="nulls"):
        mechanism.aggregate(holed)
    with pytest.raises(fd.SchemaError):
        mechanism.aggregate(pa.array([[1.0, 2.0]], pa.list_(pa.float32(), 2)))
    with pytest.raises(fd.ParameterError, match="2\\*\\*20"):
        fd.SummedHistogram(epsilon=1.0, domain=(1 << 20) + 1)
