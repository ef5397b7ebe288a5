"""RAPPOR: public filters, uniform cohorts, decoded estimates with honest errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

import fastdp as fd
from tests.mechanisms.report_checks import seeded


def mix(word: int) -> int:
    """The finalizer of splitmix64."""
    mask = (1 << 64) - 1
    word = (word + 0x9E3779B97F4A7C15) & mask
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & mask
    word = (word ^ word >> 27) * 0x94D049BB133111EB & mask
    return word ^ word >> 31


def test_filters__are_a_public_function_of_the_salt():
    for salt in (0, 7, 2**64 - 1):
        mechanism = fd.RAPPOR(epsilon=1.0, domain=9, bits=21, hashes=3, cohorts=4, salt=salt)
        filters = mechanism.filters()
        for cohort in range(4):
            for value in range(9):
                start = mix((mix((salt + cohort) % 2**64) + value) % 2**64)
                places = {mix((start + number) % 2**64) % 21 for number in range(3)}
                assert set(np.flatnonzero(filters[cohort, value]).tolist()) == places
    assert filters.sum(axis=2).max() <= 3


@pytest.mark.parametrize("cohorts", [1, 2, 64, 1024])
def test_cohorts__are_uniform_whatever_the_value(cohorts):
    """Also those of one value alone are uniform; a mutant with a favourite is rejected."""
    mechanism, size = fd.RAPPOR(epsilon=1.0, domain=10, bits=8, cohorts=cohorts), 400_000
    for x in (0, 9):
        seen = np.bincount(mechanism.randomize(np.full(size, x), rng=seeded(x))["cohort"], minlength=cohorts)
        assert seen.size == cohorts
        assert cohorts == 1 or chisquare(seen).pvalue > 1e-3
    if cohorts > 1:
        mutant = np.append(seen[:1] + size // 10, seen[1:])
        assert chisquare(mutant).pvalue < 1e-3


@pytest.mark.parametrize(
    ("epsilon", "k", "bits", "cohorts", "hashes"), [(1.0, 6, 8, 8, 1), (2.0, 20, 16, 8, 2), (5.0, 40, 24, 16, 3)]
)
def test_estimate__has_standard_errors_that_hold(epsilon, k, bits, cohorts, hashes):
    """Of one skewed population, 250 times: z-scores are standard normal; with errors 15 % too small they are not."""
    mechanism = fd.RAPPOR(epsilon=epsilon, domain=k, bits=bits, cohorts=cohorts, hashes=hashes)
    n, runs = 4_000, 250
    codes = np.minimum(np.random.default_rng(2).geometric(0.3, n) - 1, k - 1)
    truth = np.bincount(codes, minlength=k) / n
    reports = mechanism.randomize(np.tile(codes, runs), rng=seeded())
    found = [mechanism.estimate(reports[i * n : (i + 1) * n]) for i in range(runs)]
    z = np.array([(estimate.frequencies - truth) / estimate.std_error for estimate in found])
    for x in range(k):
        assert abs(z[:, x].mean()) < 4.5 / np.sqrt(runs)
    assert z.std() == pytest.approx(1, abs=0.06)
    assert kstest(z[:, 0], "norm").pvalue > 1e-3
    assert (z / 0.85).std() > 1.06


def test_estimate__says_so_when_filters_do_not_tell_values_apart():
    """More values than bits of all cohorts, or equal filters."""
    for parameters in ({"domain": 40, "bits": 4, "cohorts": 8}, {"domain": 9, "bits": 2, "cohorts": 1, "hashes": 2}):
        mechanism = fd.RAPPOR(epsilon=2.0, **parameters)
        reports = mechanism.randomize(np.arange(500) % parameters["domain"], rng=seeded())
        with pytest.raises(fd.NotIdentifiableError, match="bits or cohorts"):
            mechanism.estimate(reports)
        with pytest.raises(fd.NotIdentifiableError):
            mechanism.variance(100)
        assert mechanism.aggregate(reports).n == 500
    sparse = fd.RAPPOR(epsilon=2.0, domain=4, bits=16, cohorts=64)
    with pytest.raises(fd.ParameterError, match="every cohort"):
        sparse.estimate(sparse.randomize([1, 2, 3]))


@pytest.mark.parametrize(
    "parameters",
    [{"bits": 0}, {"bits": 1}, {"bits": 65_537}, {"hashes": 0}, {"hashes": 40}, {"cohorts": 0}, {"cohorts": 3},
     {"cohorts": 1 << 17}, {"salt": -1}, {"salt": 1 << 64}, {"salt": True}, {"salt": 1.0}, {"bits": 8.0},
     {"domain": 1 << 24, "cohorts": 64}],
)  # fmt: skip
def test_parameters__are_refused_when_bad(parameters):
    with pytest.raises(fd.ParameterError, match="RAPPOR"):
        fd.RAPPOR(**{"epsilon": 1.0, "domain": 10, **parameters})
