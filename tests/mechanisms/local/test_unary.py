"""Unary encodings: bits as in plain Python, p and q by their closed forms, thresholds of THE."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.mechanisms.local.unary import best_threshold
from tests.reference.protocols import ONE
from tests.reference.protocols import unary as unary_law


@pytest.mark.parametrize(("epsilon", "k"), [(0.1, 3), (1.0, 100), (5.0, 7), (40.0, 2)])
def test_coins__meet_the_closed_forms(epsilon, k):
    e = math.exp(epsilon)
    oue = fd.UnaryEncoding(epsilon=epsilon, domain=k)
    sue = fd.UnaryEncoding(epsilon=epsilon, domain=k, optimized=False)
    assert oue.p == 0.5
    assert oue.coins[0].threshold == ONE // 2
    assert oue.q == pytest.approx(1 / (e + 1), rel=1e-7)
    assert sue.q == pytest.approx(1 / (math.sqrt(e) + 1), rel=1e-7)
    assert sum(coin.threshold for coin in sue.coins) == ONE
    with mpmath.workdps(60):  # more noise than asked, never less
        assert mpmath.mpf(oue.coins[1].threshold) / ONE >= 1 / (mpmath.exp(mpmath.mpf(epsilon)) + 1)


def test_of__keeps_p_and_q():
    source = random.Random(3)
    for _ in range(200):
        q, p = sorted((source.uniform(1e-6, 1 - 1e-6), source.uniform(1e-6, 1 - 1e-6)))
        mechanism = fd.UnaryEncoding.of(p=p, q=q, domain=4)
        assert (mechanism.p, mechanism.q) == (p, q)
        exact = Fraction(p) * (1 - Fraction(q)) / (Fraction(q) * (1 - Fraction(p)))
        with mpmath.workdps(60):
            realised = mpmath.log(mpmath.mpf(exact.numerator) / exact.denominator)
            assert realised * (1 - mpmath.mpf(10) ** -30) <= mechanism.privacy.epsilon <= realised * (1 + 1e-13)
        assert mechanism.epsilon == mechanism.privacy.epsilon


@pytest.mark.parametrize(
    ("p", "q"),
    [(0.2, 0.5), (0.5, 0.5), (0, 0.1), (1, 0.1), (0.5, 0), (0.5, 1e-60), (math.nan, 0.1), (0.5, math.nan), (True, 0.1),
     ("0.5", 0.1), (0.5, None), (1e-40, 1e-42), (5e-39, 1e-40), (0.5 + 2**-53, 0.5), (1 - 2**-53, 2**-53)],
)  # fmt: skip
def test_of__refuses_what_no_coin_can_do(p, q):
    """Also a pair so close that the estimates would be nothing but rounding, and one beyond epsilon 40."""
    with pytest.raises(fd.ParameterError, match="UnaryEncoding"):
        fd.UnaryEncoding.of(p=p, q=q, domain=5)


def test_optimized__is_a_bool():
    for bad in (0, 1, None, "yes"):
        with pytest.raises(fd.ParameterError, match="optimized"):
            fd.UnaryEncoding(epsilon=1.0, domain=5, optimized=bad)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, 20.0])
def test_threshold__is_the_best_one_and_costs_less_than_the_noise(epsilon):
    """THE: p and q of the Laplace noise; no threshold on a fine grid does better; the bits cost less than the noise."""
    mechanism = fd.ThresholdedHistogram(epsilon=epsilon, domain=6)
    theta = mechanism.threshold
    assert mechanism.p == pytest.approx(1 - 0.5 * math.exp(epsilon * (theta - 1) / 2), rel=1e-9)
    assert mechanism.q == pytest.approx(0.5 * math.exp(-epsilon * theta / 2), rel=1e-9)
    for other in np.linspace(0.5, 0.999, 200):
        worse = fd.ThresholdedHistogram(epsilon=epsilon, domain=6, threshold=float(other))
        assert worse.variance(1) >= mechanism.variance(1) * (1 - 1e-9)
        assert worse.privacy.epsilon <= epsilon
    assert best_threshold(1.0) == pytest.approx(0.6186, abs=5e-5)
    for bad in (0, 0.49, 1, 1.5, math.nan, True, "0.6"):
        with pytest.raises(fd.ParameterError, match="threshold"):
            fd.ThresholdedHistogram(epsilon=epsilon, domain=6, threshold=bad)


@pytest.mark.parametrize("k", [2, 5, 8])
def test_channel__is_the_law_of_independent_bits(k):
    for mechanism in (fd.UnaryEncoding(epsilon=1.2, domain=k), fd.ThresholdedHistogram(epsilon=1.2, domain=k)):
        dense = mechanism.channel().dense()
        assert dense.shape == (k, 1 << k)
        for x in range(k):
            assert dense[x] == pytest.approx(unary_law(mechanism.p, mechanism.q, k, x)[0], rel=1e-12)
        assert mechanism.channel().epsilon() == pytest.approx(mechanism.privacy.epsilon, rel=1e-9)
    with pytest.raises(fd.ParameterError, match="too large"):
        fd.UnaryEncoding(epsilon=1.0, domain=13).channel()


def test_domain__is_limited_by_the_size_of_a_report():
    with pytest.raises(fd.ParameterError, match="2\\*\\*24"):
        fd.UnaryEncoding(epsilon=1.0, domain=(1 << 24) + 1)
