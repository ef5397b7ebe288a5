"""The Skellam law: its table against Bessel functions, its costs against exact divergences."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import chisquare, skellam

import fastdp as fd
from fastdp.kernels.stream.words import make_scratch
from fastdp.laws.central.skellam import LARGEST_TABLE, SkellamLaw, build

VARIANCES = [2.0**-10, 0.3, 1.0, 10.0, 100.0, 4000.0]


def probabilities(variance):
    law = SkellamLaw.of_variance(variance)
    table = build(law.numerator, law.shift)
    return law, {z: table.probability(z) for z in table.slots}


@pytest.mark.parametrize("variance", VARIANCES)
def test_table__has_the_probabilities_of_the_law(variance):
    law, found = probabilities(variance)
    assert sum(found.values()) == 1
    with mp.workdps(60):
        v = mp.mpf(law.exact.numerator) / law.exact.denominator
        for z in (0, 1, -1, 2, max(found) // 2):
            exact = mp.exp(-v) * mp.besseli(abs(z), v)
            assert abs(mp.mpf(found[z].numerator) / found[z].denominator - exact) < mp.mpf(2) ** -120
        beyond = 1 - sum(mp.exp(-v) * mp.besseli(abs(z), v) for z in found) if len(found) < 500 else 0
        assert beyond < mp.mpf(2) ** -115


@pytest.mark.parametrize(
    ("mean", "z", "due"),
    [(0.5, 0, 0.46575960759364), (0.5, 1, 0.20791041534971), (5, 0, 0.12783333716343), (5, 3, 0.079830361029841)],
)
def test_oracles_40_41__probabilities(mean, z, due):
    _, found = probabilities(2 * mean)
    assert float(found[z]) == pytest.approx(due, rel=1e-13)


@pytest.mark.parametrize("mean", [0.5, 5.0])
def test_oracle_40__variance_and_kurtosis(mean):
    law, found = probabilities(2 * mean)
    assert float(sum(z * z * p for z, p in found.items())) == pytest.approx(law.variance, rel=1e-12)
    fourth = float(sum(z**4 * p for z, p in found.items()))
    assert fourth / law.variance**2 - 3 == pytest.approx(1 / (2 * mean), rel=1e-9)


def exact_renyi(variance, order, steps):
    _, found = probabilities(variance)
    inner = [z for z in found if abs(z) < 11 * math.sqrt(variance) + 10]  # outside it, roundings of 2**-128 show
    terms = [float(found[z] / found[z - steps]) ** order * float(found[z - steps]) for z in inner]
    return math.log(math.fsum(terms)) / (order - 1)


@pytest.mark.parametrize(
    ("variance", "order", "exact", "bound"),
    [(10.0, 2, 0.0996544384535, 0.1225), (100.0, 16, 0.079539776013, 0.080925)],
)
def test_oracles_42_43__renyi(variance, order, exact, bound):
    assert exact_renyi(variance, order, 1) == pytest.approx(exact, rel=1e-9)
    found = SkellamLaw.of_variance(variance).renyi(order, 1, 1)
    assert found == pytest.approx(bound, rel=1e-9)
    assert found > exact


@pytest.mark.parametrize(("variance", "steps", "delta"), [(10.0, 1, 1e-5), (100.0, 3, 1e-6), (1000.0, 20, 1e-6)])
def test_epsilon__is_above_that_of_the_table(variance, steps, delta):
    law, found = probabilities(variance)
    epsilon = law.epsilon(delta, steps, steps)
    pairs = [(float(p), float(found.get(z - steps, 0))) for z, p in found.items()]
    real = sum(max(0.0, p - math.exp(epsilon) * q) for p, q in pairs)
    assert real <= delta
    assert sum(max(0.0, p - math.exp(epsilon * 0.6) * q) for p, q in pairs) > delta  # and not by far


@pytest.mark.parametrize("variance", [0.3, 10.0, 4000.0])
def test_draws__follow_the_law(variance):
    law = SkellamLaw.of_variance(variance)
    key, start = fd.Rng.unsafe_seed(5).reserve(300_000)
    out = np.empty(300_000, np.int64)
    law.sampler()(key, start, 0, None, make_scratch(), out)
    reach = int(3 * math.sqrt(variance)) + 1
    edges = np.clip(out, -reach, reach) + reach
    exact = skellam(law.variance / 2, law.variance / 2)
    due = exact.pmf(np.arange(-reach, reach + 1))
    due[0], due[-1] = exact.cdf(-reach), exact.sf(reach - 1)
    seen = np.bincount(edges, minlength=due.size)
    keep = due * out.size > 5
    assert chisquare(seen[keep], due[keep] / due[keep].sum() * seen[keep].sum()).pvalue > 1e-3
    wider = skellam(law.variance * 0.53, law.variance * 0.53).pmf(np.arange(-reach, reach + 1))  # a mutant
    wider[0] = wider[-1] = skellam(law.variance * 0.53, law.variance * 0.53).cdf(-reach)
    assert chisquare(seen[keep], wider[keep] / wider[keep].sum() * seen[keep].sum()).pvalue < 1e-3


def test_wide_laws__are_sums_of_narrow_ones():
    law = SkellamLaw.of_variance(2.5 * LARGEST_TABLE)
    assert law.parts == 3
    assert law.variance >= 2.5 * LARGEST_TABLE
    key, start = fd.Rng.unsafe_seed(6).reserve(3 * 20_000)
    out, halves = np.empty(20_000, np.int64), np.empty(20_000, np.int64)
    law.sampler()(key, start, 0, None, make_scratch(), out)
    assert out.var() == pytest.approx(law.variance, rel=0.05)
    for first in (0, 10_000):  # the same in two blocks
        law.sampler()(key, start + np.uint64(3 * first), 0, None, make_scratch(), halves[first : first + 10_000])
    assert np.array_equal(out, halves)


@pytest.mark.parametrize("variance", [0.0, -1.0, math.nan, math.inf, 2.0**29])
def test_variance__is_checked(variance):
    with pytest.raises(fd.ParameterError, match="variance"):
        SkellamLaw.of_variance(variance)
