"""The certificate of k-RR's closed form, against exact arithmetic."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import KRRChannel
from fastdp.estimators import ibu

EPSILONS = [1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.1, 1.0, 5.0, 36.0]


def exact_likeliest(counts, p, q):
    """The likeliest distribution in fractions: shares above a threshold that they decide themselves."""
    c, mass, scale = q / (p - q), Fraction(0), None
    for kept, count in enumerate(sorted(counts, reverse=True), 1):
        mass += count
        if count <= c * mass / (1 + c * kept):
            break
        scale = mass / (1 + c * kept)
    return [max(count / scale - c, Fraction(0)) for count in counts]


def mean_log_likelihood(counts, p, q, distribution):
    """Of the reports under a vector as it stands, whether or not it sums to 1."""
    with mpmath.workprec(200):
        total = sum(distribution)
        reports = [q * total + (p - q) * share for share in distribution]
        logs = [mpmath.log(mpmath.mpf(r.numerator) / r.denominator) for r in reports]
        n = mpmath.mpf(float(sum(counts)))
        return mpmath.fsum(mpmath.mpf(float(count)) * log for count, log in zip(counts, logs, strict=True)) / n


def cases():
    source = np.random.default_rng(5)
    for k in (2, 3, 10, 100):
        yield k, source.multinomial(10**6, np.full(k, 1 / k))
        yield k, source.multinomial(10**12, source.dirichlet(np.full(k, 0.1)))
        yield k, source.random(k) * 1e5


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_gap__is_no_less_than_the_distance_to_the_best(epsilon):
    """As the distribution stands and scaled to 1: at epsilon 1e-12 it used to miss 1 by 1e-4, with a gap of 0."""
    for k, counts in cases():
        p, q = (x / (math.exp(epsilon) + k - 1) for x in (math.exp(epsilon), 1.0))
        if p <= q:
            continue
        found = ibu(KRRChannel(k, p, q), counts)
        exact = [Fraction(count) for count in counts.tolist()], Fraction(p), Fraction(q)
        best = mean_log_likelihood(*exact, exact_likeliest(*exact))
        shares = [Fraction(share) for share in found.distribution.tolist()]
        for given in (shares, [share / sum(shares) for share in shares]):
            assert found.gap - float(best - mean_log_likelihood(*exact, given)) >= 0
        assert found.gap <= 1e-12
        assert abs(float(sum(shares)) - 1) <= k * 2**-52


def test_distribution__is_one_where_p_is_next_to_q():
    """Where every estimate is lost in rounding, any distribution is within the gap."""
    p = math.nextafter(0.25, 1)
    found = ibu(KRRChannel(4, p, 0.25), [10, 30, 20, 40])
    assert found.distribution.sum() == 1
    assert found.distribution.min() >= 0
    assert 0 < found.gap < 1e-14


@pytest.mark.parametrize("rows", [None, [[30, 50, 20], [10, 10, 80]]])
def test_maximum_likelihood__of_krr_is_its_closed_form_by_every_door(rows):
    """``estimate`` without regularisation, and the refits of a bootstrap, take no step where none is needed."""
    channel, counts = KRRChannel(3, 0.6, 0.2), np.array([30, 50, 20])
    found = fd.estimate(channel, counts, regularize=None) if rows is None else ibu(channel, np.array(rows))[0]

    assert (found.method, found.iterations) == ("closed form of k-RR", 0)
    np.testing.assert_array_equal(found.distribution, ibu(channel, counts).distribution)
    low, high = found.interval(0.95)
    assert (low <= found.distribution).all()
    assert (found.distribution <= high).all()
