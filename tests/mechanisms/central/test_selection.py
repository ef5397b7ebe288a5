"""The exponential mechanism, permute-and-flip and noisy max: laws, guarantees, containers."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.laws.central.selection import SelectionLaw
from fastdp.laws.rate import Rate

BOTH = (fd.ExponentialMechanism, fd.PermuteAndFlip)


def weights(mechanism, scores: list) -> list:
    """e**-(rate * gap) of every candidate, on the mechanism's own grid."""
    grid = Fraction(mechanism._granularity)
    steps = [Fraction(score) // grid for score in scores]
    rate = mechanism._law.rate.exact
    return [mpmath.exp(-mpmath.mpf(r.numerator) / r.denominator) for r in (rate * (max(steps) - s) for s in steps)]


def exact(mechanism, scores: list) -> list:
    """The probability of every candidate, to 40 digits."""
    with mpmath.workdps(40):
        p = weights(mechanism, scores)
        if isinstance(mechanism, fd.ExponentialMechanism):
            return [w / sum(p) for w in p]
        found = []
        for i in range(len(p)):
            polynomial = [mpmath.mpf(1)]  # of the product over the others of (1 - p_j t), integrated from 0 to 1
            for j, w in enumerate(p):
                if j != i:
                    polynomial = [a - w * b for a, b in zip([*polynomial, 0], [0, *polynomial], strict=True)]
            found.append(p[i] * sum(c / (k + 1) for k, c in enumerate(polynomial)))
        return found


@pytest.mark.parametrize(
    ("kind", "scores", "epsilon", "first"),
    [
        (fd.ExponentialMechanism, [10, 9, 9, 5], 1.0, 0.435702069248),
        (fd.PermuteAndFlip, [10, 9, 9, 5], 1.0, 0.500695354422),
        (fd.ExponentialMechanism, [3, 2, 1, 0], 2.0, 0.643914259888),
        (fd.PermuteAndFlip, [3, 2, 1, 0], 2.0, 0.74782630032),
        (fd.PermuteAndFlip, [1, -1], 2.0, 0.932332358382),
    ],
)
def test_law__meets_published_values(kind, scores, epsilon, first):
    """The law that the draws are tested against is the papers'."""
    assert float(exact(kind(epsilon=epsilon), scores)[0]) == pytest.approx(first, abs=1e-8)


def draw(mechanism, scores, count: int, seed: int) -> np.ndarray:
    rng = fd.Rng.unsafe_seed(seed)
    return np.bincount([mechanism.choose(scores, rng=rng) for _ in range(count)], minlength=len(scores))


SETTINGS = [
    ([10, 9, 9, 5], {"epsilon": 1.0}),
    ([0.25, 3.5, -2.0, 3.5, 1.75, 0.0], {"epsilon": 0.7, "sensitivity": 2.5}),
    ([1000, 400, -900, 0, 1200, 1100], {"epsilon": 0.001, "sensitivity": 1}),
    ([5, 3, 0], {"epsilon": 0.4, "monotone": True}),
]


def p_value(seen: np.ndarray, mechanism, scores: list[int]) -> float:
    """Of the choices seen, by the chi-square test against the exact law."""
    expected = np.array([float(p) for p in exact(mechanism, scores)])
    return chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("draws", [3000, pytest.param(200_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(("scores", "parameters"), SETTINGS)
def test_choose__follows_the_law(kind, scores, parameters, draws):
    mechanism = kind(**parameters)
    seen = draw(mechanism, scores, draws, 11)
    assert p_value(seen, mechanism, scores) > 1e-3


def test_choose__the_other_law_is_caught():
    """Permute-and-flip in place of the exponential mechanism fails the test above."""
    scores, mechanism = [10, 9, 9, 5], fd.ExponentialMechanism(epsilon=1.0)
    seen = draw(fd.PermuteAndFlip(epsilon=1.0), scores, 3000, 11)
    assert p_value(seen, mechanism, scores) < 1e-3


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize(("epsilon", "sensitivity"), [(0.3, 1), (2.0, 0.7)])
def test_privacy__is_the_largest_ratio_of_neighbours(kind, monotone, epsilon, sensitivity):
    """Over all moves of three scores: never above the statement, and a rate that is 1 % larger would be."""
    mechanism = kind(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    moves = (0, sensitivity) if monotone else (-sensitivity, 0, sensitivity)
    scores = [0.0, 0.0, 60 * sensitivity / epsilon]
    for base in (scores, [0.0, 40 * sensitivity / epsilon, 40 * sensitivity / epsilon]):
        worst = largest_ratio(mechanism, base, moves)
        assert worst <= mechanism.privacy.epsilon <= epsilon
    assert largest_ratio(mechanism, scores, moves) > 0.999 * epsilon
    faster = kind(epsilon=epsilon, sensitivity=sensitivity, monotone=monotone)
    object.__setattr__(faster, "_law", SelectionLaw(Rate.below(mechanism._law.rate.exact * Fraction(101, 100))))
    assert largest_ratio(faster, scores, moves) > mechanism.privacy.epsilon


def largest_ratio(mechanism, scores: list, moves: tuple) -> float:
    base, worst = exact(mechanism, scores), 0.0
    for move in product(moves, repeat=len(scores)):
        other = exact(mechanism, [Fraction(s) + Fraction(m) for s, m in zip(scores, move, strict=True)])
        worst = max(worst, *(abs(float(mpmath.log(a / b))) for a, b in zip(base, other, strict=True)))
    return worst


def test_privacy__only_the_exponential_mechanism_has_an_eighth():
    """Permute-and-flip at epsilon 2 has a Renyi divergence above 2 * epsilon**2 / 8, so it must not claim that."""
    one, other = (kind(epsilon=2.0).privacy.rho for kind in BOTH)
    assert one == pytest.approx(0.5, rel=1e-8)
    assert other == pytest.approx(2.0, rel=1e-8)
    p, q = (exact(fd.PermuteAndFlip(epsilon=2.0), scores) for scores in ([1, -1], [0, 0]))
    divergence = max(float(mpmath.log(sum(a * a / b for a, b in zip(x, y, strict=True)))) for x, y in ((p, q), (q, p)))
    assert divergence == pytest.approx(1.3769187396, abs=1e-6)
    assert divergence > 2 * one


def test_top__is_one_choice_after_another():
    """Pairs without replacement have the probabilities of peeling."""
    mechanism, rng = fd.ExponentialMechanism(epsilon=2.0), fd.Rng.unsafe_seed(4)
    pairs = [tuple(mechanism.top([3, 2, 1, 0], 2, rng=rng)) for _ in range(2000)]
    assert np.mean([pair == (0, 1) for pair in pairs]) == pytest.approx(0.428358137685, abs=0.037)
    assert np.mean([pair == (1, 0) for pair in pairs]) == pytest.approx(0.199880474593, abs=0.03)
    assert mechanism.top_privacy(2).epsilon == 2 * mechanism.privacy.epsilon


def test_top__reaches_candidates_of_no_weight():
    """However far below the best, all are found in the end."""
    mechanism = fd.ExponentialMechanism(epsilon=1.0)
    assert mechanism.top([0, 10**12, 1000, 10**6], 4) == [1, 3, 2, 0]
    many = np.arange(300_000) % 7
    assert len(set(mechanism.top(many, 50, rng=fd.Rng.unsafe_seed(1)))) == 50


@pytest.mark.parametrize("kind", BOTH)
def test_choose__is_the_same_in_every_container(kind):
    """One seed, one choice: for any container, chunks, width of integers and number of blocks."""
    scores = np.random.default_rng(2).integers(0, 60, 300_000)
    mechanism = kind(epsilon=0.5)
    containers = [
        scores, scores.astype(np.int8), scores.astype(np.uint64), scores.tolist(),
        pa.array(scores), pa.chunked_array([scores[:7], scores[7:200_000], scores[200_000:]]), pl.Series(scores),
        pa.array(scores).dictionary_encode(), np.repeat(scores, 2)[::2],
    ]  # fmt: skip
    assert len({mechanism.choose(values, rng=fd.Rng.unsafe_seed(6)) for values in containers}) == 1
    halves = scores / 2
    floats = [halves, halves.astype(np.float32), halves.tolist(), pa.chunked_array([halves[:9], halves[9:]])]
    assert len({mechanism.choose(values, rng=fd.Rng.unsafe_seed(6)) for values in floats}) == 1


def test_noisy_max__is_the_exact_equivalent():
    scores = [3.0, 2.5, 0.0]
    for noise, kind in (("gumbel", fd.ExponentialMechanism), ("exponential", fd.PermuteAndFlip)):
        named, direct = fd.NoisyMax(epsilon=1.0, noise=noise, sensitivity=2), kind(epsilon=1.0, sensitivity=2.0)
        assert named.exact == direct
        assert named.privacy == direct.privacy
        assert named.choose(scores, rng=fd.Rng.unsafe_seed(1)) == direct.choose(scores, rng=fd.Rng.unsafe_seed(1))


@pytest.mark.parametrize("kind", [*BOTH, fd.NoisyMax])
@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"epsilon": 0.0}, "epsilon must be"), ({"epsilon": float("nan")}, "epsilon must be"),
        ({"epsilon": 101}, "epsilon must be from"), ({"epsilon": True}, "epsilon must be"),
        ({"epsilon": 1.0, "sensitivity": -1}, "sensitivity must be"),
        ({"epsilon": 1.0, "sensitivity": 1e-300}, "sensitivity must be from"),
        ({"epsilon": 1.0, "monotone": 1}, "monotone must be True or False"),
    ],
)  # fmt: skip
def test_parameters__are_checked(kind, parameters, rule):
    with pytest.raises(fd.ParameterError, match=rule):
        kind(**parameters)


@pytest.mark.parametrize("kind", BOTH)
def test_scores__are_checked(kind):
    mechanism = kind(epsilon=1.0)
    with pytest.raises(fd.ParameterError, match="at least one candidate"):
        mechanism.choose([])
    for odd in (np.nan, np.inf):
        with pytest.raises(fd.DomainError, match="scores must be finite"):
            mechanism.choose([1.0, odd])
    with pytest.raises(fd.SchemaError):
        mechanism.choose(["a", "b"])
    with pytest.raises(fd.ParameterError, match="k must be at most"):
        fd.ExponentialMechanism(epsilon=1.0).top([1, 2], 3)


def test_settles__decides_by_the_exact_probability():
    """Words at the edge of a bucket: the probability of acceptance given the word is right."""
    law = SelectionLaw(Rate.below(Fraction(1, 3)))
    gap = 7
    threshold = mpmath.exp(-mpmath.mpf(law.rate.exact.numerator) * gap / law.rate.exact.denominator) * 2**32
    word, part = int(threshold), float(threshold - int(threshold))
    from fastdp.random.integers import Integers

    integers = Integers(fd.Rng.unsafe_seed(2).reserve(1))
    hits = sum(law.settles(gap, word, integers) for _ in range(4000))
    assert abs(hits / 4000 - part) < 4 * (part * (1 - part) / 4000) ** 0.5
    assert law.settles(gap, word - 1, integers)
    assert not law.settles(gap, word + 1, integers)
    assert not law.settles(10**9, 0, integers)
