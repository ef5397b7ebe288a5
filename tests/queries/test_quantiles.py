"""Quantiles: the exact law, atoms, recursion on own rows, and errors far below splitting the budget."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.queries import quantiles
from fastdp.queries.answers.noise import Spend
from fastdp.queries.order_statistics import OrderStatistics
from fastdp.queries.quantiles import QuantileNoise, draw_one, draw_quantiles
from fastdp.queries.unit import Unit
from fastdp.random.integers import Integers

ROWS = np.array([1, 3, 3, 3, 6], np.int32)


def law(rows, candidates, quantile, rate):
    """Weights by the definition, one candidate at a time."""
    target = quantile * len(rows)
    scores = [max((rows < o).sum() - target, target - (rows <= o).sum(), 0) for o in range(candidates)]
    weights = np.exp(-rate * np.array(scores, float))
    return weights / weights.sum()


def one_draw(rows, width, quantile, noise, integers):
    part = quantiles._Range(0, width, 0, rows.size)
    return draw_one(rows, quantile, part, noise, width, integers)[0]


def test_law__is_that_of_the_exponential_mechanism():
    """Five rows, eight candidates, the median at epsilon 1 under replace: the published probabilities."""
    expected = law(ROWS, 8, 0.5, 0.5)
    np.testing.assert_allclose(expected[[0, 1, 3]], [0.0728122681509, 0.120047135268, 0.254139787357], rtol=1e-10)
    noise = QuantileNoise.of(Spend(epsilon=Fraction(1)), 1, Unit(neighbours="replace"))
    integers = Integers(fd.Rng.unsafe_seed(2).reserve(1))
    rows = OrderStatistics([ROWS], 7)
    seen = np.bincount([one_draw(rows, 7, Fraction(1, 2), noise, integers) for _ in range(4000)], minlength=8)
    assert chisquare(seen, expected * 4000).pvalue > 1e-3


@pytest.mark.parametrize("quantile", [Fraction(1, 4), Fraction(9, 10)])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_law__of_other_quantiles(quantile, epsilon):
    source = np.random.default_rng(7)
    data = np.sort(source.integers(0, 40, 60)).astype(np.int32)
    noise = QuantileNoise.of(Spend(epsilon=Fraction(epsilon)), 1, Unit())
    rate = epsilon / (2 * max(quantile, 1 - quantile))
    expected = law(data, 51, float(quantile), float(rate))
    integers = Integers(fd.Rng.unsafe_seed(3).reserve(1))
    rows = OrderStatistics([data], 50)
    seen = np.bincount([one_draw(rows, 50, quantile, noise, integers) for _ in range(3000)], minlength=51)
    keep = expected * 3000 >= 5
    pooled = [*seen[keep], seen[~keep].sum()], [*(expected[keep] * 3000), expected[~keep].sum() * 3000]
    assert chisquare(pooled[0], np.array(pooled[1]) * sum(pooled[0]) / sum(pooled[1])).pvalue > 1e-3


def test_atom__is_the_answer():
    """IBM/differential-privacy-library#107: 80 % of the rows are one value, and its library fails."""
    values = np.where(np.random.default_rng(1).random(10_000) < 0.8, 65_000.0, np.linspace(0, 200_000, 10_000))
    found = fd.release.quantiles(values, [0.3, 0.5, 0.7], bounds=(0, 200_000), epsilon=1.0, rng=fd.Rng.unsafe_seed(1))
    np.testing.assert_allclose(found.value, 65_000, atol=1e-3)


def mean_rank_error(values, chosen, seeds, **how):
    ordered = np.sort(values)
    errors = []
    for seed in range(seeds):
        answer = fd.release.quantiles(values, chosen, bounds=(0, 1), rng=fd.Rng.unsafe_seed(seed), **how)
        errors.append(np.abs(np.searchsorted(ordered, answer.value) - np.array(chosen) * values.size))
    return float(np.mean(errors))


def test_recursion__has_a_third_of_the_error_of_splitting():
    """31 quantiles at epsilon 1: five levels, not 31 parts."""
    values = np.random.default_rng(3).random(20_000)
    chosen = [k / 32 for k in range(1, 32)]
    together = mean_rank_error(values, chosen, 2, epsilon=1.0)
    alone = mean_rank_error(values, [0.5], 12, epsilon=1.0 / 31)
    assert together <= 0.3 * alone


def asked_of(monkeypatch):
    """The quantile and the number of rows of each choice, for three quartiles of 1,000 rows."""
    calls = []
    real = quantiles.draw_one

    def spy(rows, quantile, part, *more, **how):
        calls.append((quantile, part.last - part.first))
        return real(rows, quantile, part, *more, **how)

    noise = QuantileNoise.of(Spend(epsilon=Fraction(4)), 3, Unit())
    rows, quarters = OrderStatistics([np.arange(1000, dtype=np.int32)], 999), [Fraction(k, 4) for k in (1, 2, 3)]
    with monkeypatch.context() as patch:
        patch.setattr(quantiles, "draw_one", spy)
        draw_quantiles(rows, quarters, noise, 999, fd.Rng.unsafe_seed(1))
    assert noise.cost(pure=True).epsilon <= 4 + Fraction(1, 10**20)
    assert noise.levels == 2
    return calls


def test_recursion__uses_own_rows_only(monkeypatch):
    """Rows on one side of the first choice do not change the law on the other: each is asked once at each level."""
    (first, whole), (second, below), (third, above) = asked_of(monkeypatch)
    assert (first, second, third) == (Fraction(1, 2),) * 3
    assert whole == 1000 == below + above


def test_mutant__absolute_ranks_are_caught(monkeypatch):
    """Each quantile by its rank among all rows, paid as if the halves were apart: rows are asked twice at a level."""

    def absolute(rows, wanted, _ends, part, noise, width, rng, found):
        for place, quantile in sorted(wanted, key=lambda one: abs(one[1] - Fraction(1, 2))):
            drawn = quantiles.draw_one(rows, quantile, part, noise, width, quantiles.Integers(rng.reserve(1)))
            found[place] = drawn[0]

    monkeypatch.setattr(quantiles, "_recurse", absolute)
    (_, whole), (second, below), (_, above) = asked_of(monkeypatch)
    assert second != Fraction(1, 2)
    assert whole == 1000 != below + above


@pytest.mark.parametrize("size", [0, 1, 2, 5])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_quantiles__of_few_rows(size, count):
    """No rows, one row, all equal: an answer within the bounds, in order, and never an error."""
    for data in (np.zeros(size), np.full(size, 9.0), np.arange(size, dtype=float)):
        chosen = [(k + 1) / (count + 1) for k in range(count)]
        answer = fd.release.quantiles(data, chosen, bounds=(-4, 9), epsilon=0.5, rng=fd.Rng.unsafe_seed(size))
        assert ((answer.value >= -4) & (answer.value <= 9)).all()
        assert (np.diff(answer.value) >= 0).all()


def test_rank_error__holds():
    values = np.random.default_rng(5).random(5000)
    ordered = np.sort(values)
    for seed in range(20):
        answer = fd.release.quantiles(
            values, [0.25, 0.5, 0.75], bounds=(0, 1), epsilon=1.0, rng=fd.Rng.unsafe_seed(seed)
        )
        off = np.abs(np.searchsorted(ordered, answer.value) - np.array([1250, 2500, 3750]))
        assert (off <= answer.rank_error(0.99)).all()
    assert math.isnan(answer.std_error[0])
    with pytest.raises(fd.ParameterError, match="without intervals"):
        answer.interval()


def test_quantiles__of_persons_count_few_rows_of_each():
    """A person with half of the rows cannot move the median: one row of each counts."""
    values = np.concatenate([np.full(5000, 90.0), np.full(5000, 10.0)])
    persons = np.concatenate([np.zeros(5000, int), np.arange(1, 5001)])
    answer = fd.release.quantiles(
        values, [0.5], bounds=(0, 100), epsilon=1.0, person=persons, max_rows=1, rng=fd.Rng.unsafe_seed(1)
    )
    assert abs(answer.value[0] - 10) < 1e-3
