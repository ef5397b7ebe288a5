"""Noise on vectors: what it costs is at most what is spent, and its tails are exact."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fastdp as fd
from fastdp.errors import ParameterError
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.shares import least_variance
from fastdp.queries.unit import Sensitivity

EPSILONS = [0.01, 0.5, 1.0, 3.7]


def moved(steps, entries=1):
    return Sensitivity(steps * entries, steps * steps * entries, steps, entries)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("sensitivity", [moved(1), moved(10, 5), moved(1 << 24, 3)])
def test_cost__is_what_was_spent_and_no_more(epsilon, sensitivity):
    pure = Noise.of("release", Spend(epsilon=Fraction(epsilon)), sensitivity)
    assert Fraction(epsilon) * (1 - Fraction(1, 10**8)) < pure.cost.epsilon <= Fraction(epsilon)
    # The rate times the L1 sensitivity is the loss of the worst pair.
    assert math.isclose(float(pure.law.rate.exact) * sensitivity.l1, epsilon, rel_tol=1e-8)
    gauss = Noise.of("release", Spend(rho=Fraction(epsilon)), sensitivity)
    assert Fraction(epsilon) * (1 - Fraction(1, 10**8)) < gauss.cost.rho <= Fraction(epsilon)
    assert math.isclose(sensitivity.l2_squared / (2 * gauss.law.sigma**2), epsilon, rel_tol=1e-8)


def test_cost__catches_noise_of_more_epsilon():
    """The mutant: noise of 1.01 times the epsilon."""
    spend = Spend(epsilon=Fraction(1))
    mutant = Noise.of("release", Spend(epsilon=Fraction(101, 100)), moved(3))
    assert mutant.cost.epsilon > spend.epsilon


@pytest.mark.parametrize(("epsilon", "level", "width"), [(0.5, 0.95, 6), (1.0, 0.99, 4)])
def test_half_width__of_geometric_noise(epsilon, level, width):
    noise = Noise.of("release", Spend(epsilon=Fraction(epsilon)), moved(1))
    assert noise.half_width(level) == width


def test_half_width__covers_its_exact_share():
    """At epsilon 1, ±3 holds 1 - 2 a**4 / (1 + a) = 97.3 %, and ±2 only 92.7 %: not 95, and not needlessly wide."""
    noise = Noise.of("release", Spend(epsilon=Fraction(1)), moved(1))
    drawn = noise.add(np.zeros(200_000, np.int64), fd.Rng.unsafe_seed(3))
    inside = 1 - 2 * math.exp(-4) / (1 + math.exp(-1))
    assert noise.half_width(0.95) == 3
    assert abs((np.abs(drawn) <= 3).mean() - inside) < 4 * math.sqrt(inside * (1 - inside) / drawn.size)


def test_noise__is_none_where_nothing_moves():
    noise = Noise.of("release", Spend(epsilon=Fraction(1)), Sensitivity(0, 0, 0, 0))
    assert noise.add(np.arange(3), fd.Rng.unsafe_seed(1)).tolist() == [0, 1, 2]
    assert (noise.variance, noise.half_width(0.95), noise.cost) == (0.0, 0, Spend())


def test_noise__refuses_what_no_sampler_draws():
    with pytest.raises(ParameterError, match="beyond the sampler"):
        Noise.of("release", Spend(epsilon=Fraction(100)), moved(1))
    with pytest.raises(ParameterError, match="beyond the sampler"):
        Noise.of("release", Spend(rho=Fraction(1000)), moved(1))


def total_variance(amounts, shares, pure):
    if pure:
        return sum(2 * (a / float(s)) ** 2 for a, s in zip(amounts, shares, strict=True))
    return sum(a * a / (2 * 0.5 * float(s)) for a, s in zip(amounts, shares, strict=True))


@pytest.mark.parametrize(("pure", "best", "equal"), [(True, 359.115614403590, 808), (False, 121, 202)])
def test_shares__have_the_least_total_variance(pure, best, equal):
    """Sensitivities 1 and 10, epsilon 1 or rho 1/2."""
    amounts = [1.0, 10.0]
    shares = least_variance(amounts, pure=pure)
    assert sum(shares) <= 1
    assert math.isclose(total_variance(amounts, shares, pure), best, rel_tol=1e-9)
    assert math.isclose(total_variance(amounts, [0.5, 0.5], pure), equal)
    assert least_variance([0.0, 1.0], pure=pure)[0] == 0
