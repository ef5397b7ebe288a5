"""Repeated collection: answers that are really permanent, and what one report and all of them together tell."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chisquare

import fastdp as fd
from tests.contracts.protocols import KEY
from tests.mechanisms.report_checks import seeded
from tests.patience import PATIENCE
from tests.reference.permanent import answers_key, krr, number_of, sets
from tests.reference.protocols import ONE, composed_krr, log_ratio, unary_ratio

OTHER_KEY = bytes(range(1, 33))


def make(kind: str, epsilon: float, k, share: float = 0.5) -> fd.Longitudinal:
    if kind == "krr":
        mechanism = fd.KRR(epsilon=epsilon, domain=k)
    elif kind == "the":
        mechanism = fd.ThresholdedHistogram(epsilon=epsilon, domain=k)
    else:
        mechanism = fd.UnaryEncoding(epsilon=epsilon, domain=k, optimized=kind == "oue")
    return fd.Longitudinal(mechanism, first=mechanism.privacy.epsilon * share)


each_kind = pytest.mark.parametrize("kind", ["krr", "oue", "sue", "the"])


def purpose(mechanism: fd.Longitudinal) -> tuple:
    inner = mechanism.mechanism
    return type(inner).__name__, inner.domain.size, inner.domain.labels, mechanism._rounds.permanent


@pytest.mark.parametrize("k", [2, 9, 64, 70, 1000])
@each_kind
def test_permanent__agrees_with_plain_python(kind, k):
    mechanism = make(kind, 1.5, k)
    persons = np.array([0, 1, 5, 2**40, 2**63 - 1, *range(100, 135)])
    values = np.arange(persons.size) * 7 % k
    answers = mechanism.permanent(values, persons=persons, key=KEY)
    key = answers_key(KEY, purpose(mechanism))
    for person, value, answer in zip(persons.tolist(), values.tolist(), answers, strict=True):
        if kind == "krr":
            assert answer == krr(key, person, value, mechanism._rounds.permanent, k)
        else:
            expected = sets(key, person, value, k, *mechanism._rounds.permanent, by_value=True)
            assert int.from_bytes(bytes(answer), "little") == expected
    names = ["ada", "bob", "", "zoë", "a\0"]
    named = mechanism.permanent([1] * 5, persons=names, key=KEY)
    numbered = mechanism.permanent([1] * 5, persons=np.array([number_of(KEY, n) for n in names], np.uint64), key=KEY)
    assert np.array_equal(np.asarray(named), np.asarray(numbered))


ACROSS = """
import sys, numpy as np, fastdp as fd
from tests.mechanisms.local.test_longitudinal import KEY, make
m = make(sys.argv[1], 1.5, 20)
print(np.asarray(m.permanent(np.arange(60) % 20, persons=[f"p{i}" for i in range(60)], key=KEY)).tobytes().hex())
"""


@pytest.mark.parametrize("kind", ["krr", "oue"])
def test_permanent__is_the_same_across_calls_processes_and_orders(kind):
    mechanism, values, persons = make(kind, 1.5, 20), np.arange(60) % 20, [f"p{i}" for i in range(60)]
    once = np.asarray(mechanism.permanent(values, persons=persons, key=KEY))
    assert np.array_equal(np.asarray(mechanism.permanent(values, persons=persons, key=KEY)), once)
    order = np.random.default_rng(1).permutation(60)
    shuffled = mechanism.permanent(values[order], persons=[persons[i] for i in order], key=KEY)
    assert np.array_equal(np.asarray(shuffled), once[order])
    single = [np.asarray(mechanism.permanent([values[i]], persons=[persons[i]], key=KEY))[0] for i in range(60)]
    assert np.array_equal(np.array(single), once)
    root = Path(fd.__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-c", ACROSS, kind], cwd=root, capture_output=True, text=True, timeout=PATIENCE,
        env={**os.environ, "PYTHONHASHSEED": "5", "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.stdout.strip() == once.tobytes().hex(), done.stderr[-2000:]


@each_kind
def test_permanent__is_another_for_another_key_person_or_value(kind):
    """And for another mechanism; what a single report may cost makes no difference."""
    k, size = 30, 4_000
    mechanism, persons, values = make(kind, 0.5, k), np.arange(size), np.zeros(size, int)

    def answers(m, values, persons, key):
        return np.asarray(m.permanent(values, persons=persons, key=key)).reshape(size, -1)

    once = answers(mechanism, values, persons, KEY)
    for other in (
        answers(mechanism, values, persons, OTHER_KEY),
        answers(mechanism, values, persons + size, KEY),
        answers(mechanism, values + 1, persons, KEY),
        answers(make(kind, 0.5001, k), values, persons, KEY),
        answers(mechanism, values, [f"{p}" for p in persons], KEY),
    ):
        same = (once == other).all(axis=1).mean()
        assert same < (0.1 if kind == "krr" else 0.01)
    assert np.array_equal(answers(make(kind, 0.5, k, share=0.9), values, persons, KEY), once)


@pytest.mark.parametrize("kind", ["krr", "oue", "sue"])
def test_permanent__answers_of_persons_follow_the_mechanism(kind):
    """Over persons: the mechanism's channel; consecutive and hashed numbers alike. p x 1.01 is rejected."""
    k, size, x = 4, 1_000_000, 2
    mechanism = make(kind, 1.2, k)
    answers = mechanism.permanent(np.full(size, x), persons=np.arange(size), key=KEY).reshape(-1)
    row = mechanism.mechanism.channel().row(x)
    assert chisquare(np.bincount(answers, minlength=row.size), row * size).pvalue > 1e-3
    p = mechanism.mechanism.p
    kept = int((answers == x).sum()) if kind == "krr" else int((answers >> x & 1).sum())
    assert binomtest(kept, size, p).pvalue > 1e-3
    assert binomtest(kept, size, p * 1.01).pvalue < 1e-3


@pytest.mark.parametrize("kind", ["krr", "oue", "sue"])
def test_averaging__recovers_at_most_the_permanent_answer(kind):
    """200 reports of each person: the majority names the truth as often as the permanent answer, p, and no more.

    A mutant that redraws the permanent answer, here by a key that changes, is broken by the same attack.
    """
    k, people, repeats = 5, 3_000, 200
    mechanism = make(kind, 1.0, k, share=0.7)
    truth, persons, rng = np.arange(people) % k, np.arange(people), seeded()

    def attack(keys: list[bytes]) -> np.ndarray:
        """For each person and value, in how many reports it was supported."""
        votes = np.zeros((people, k))
        for i in range(repeats):
            reports = mechanism.randomize(truth, persons=persons, key=keys[i % len(keys)], rng=rng)
            if kind == "krr":
                votes[persons, reports] += 1
            else:
                votes += np.unpackbits(reports, axis=1, bitorder="little")[:, :k]
        return votes

    permanent = mechanism.permanent(truth, persons=persons, key=KEY)
    mutant = attack([bytes([i, *KEY[1:]]) for i in range(repeats)])
    p, q, p1 = mechanism.p, mechanism.q, mechanism.mechanism.p
    if kind == "krr":
        guess = attack([KEY]).argmax(axis=1)
        assert (guess == permanent).mean() > 0.97
        success, broken = int((guess == truth).sum()), int((mutant.argmax(axis=1) == truth).sum())
        assert binomtest(success, people, p1).pvalue > 1e-3
        assert broken > 0.95 * people
    else:
        middle = repeats * (p + q) / 2
        bits = np.unpackbits(permanent, axis=1, bitorder="little")[:, :k]
        flip = float(mechanism._rounds.flip.exact)
        decided = attack([KEY]) > repeats / 2
        assert flip < 0.5
        assert (decided == bits).mean() > 0.9
        success = int(decided[persons, truth].sum())
        spread = 4 * np.sqrt(people * p1 * (1 - p1)) + people * (decided != bits).mean() * 2
        assert abs(success - people * p1) < spread  # the true bit is found as often as its permanent coin shows it
        assert (mutant[persons, truth] > middle).mean() > p1 + 0.1
        assert (mutant.argmax(axis=1) == truth).mean() > bits_best(bits, truth) + 0.2


def bits_best(bits: np.ndarray, truth: np.ndarray) -> float:
    """How often a guess among the set bits of a permanent answer is right, or among all where none is set."""
    sizes, k = bits.sum(axis=1), bits.shape[1]
    hit = bits[np.arange(truth.size), truth] / np.maximum(sizes, 1)
    return float(np.where(sizes == 0, 1 / k, hit).mean())


@pytest.mark.parametrize("kind", ["krr", "oue"])
def test_collections__share_nothing_but_the_permanent_answer(kind):
    """Given their permanent answer, two collections are independent: they agree as often as two fresh rounds do."""
    k, size = 3, 400_000
    mechanism, values = make(kind, 1.5, k), np.full(size, 1)
    rng = seeded()
    one, two = (mechanism.randomize(values, persons=np.arange(size), key=KEY, rng=rng).reshape(-1) for _ in range(2))
    permanent = mechanism.permanent(values, persons=np.arange(size), key=KEY).reshape(-1)
    here = permanent == np.bincount(permanent).argmax()
    one, two = one[here].astype(int), two[here].astype(int)
    shares = np.bincount(np.concatenate([one, two])) / (2 * one.size)
    outcomes = shares.size
    seen, expected = np.bincount(one * outcomes + two, minlength=outcomes**2), np.outer(shares, shares).reshape(-1)
    assert chisquare(seen[expected > 0], expected[expected > 0] * one.size).pvalue > 1e-3
    doubled = np.bincount(one * outcomes + one, minlength=outcomes**2)  # a mutant that repeats its second round
    assert chisquare(doubled[expected > 0], expected[expected > 0] * one.size).pvalue < 1e-6


def test_single_report__costs_what_both_rounds_cost_by_enumeration():
    """k-RR: both rounds summed over all first answers, in fractions; and the published p2 = (p' - b) / (p1 - b)."""
    source = random.Random(5)
    for _ in range(150):
        epsilon, k = 2 ** source.uniform(-8, 5), source.choice([2, 3, 5, 17])
        mechanism = fd.Longitudinal(fd.KRR(epsilon=epsilon, domain=k), first=epsilon * source.uniform(0.05, 0.98))
        keeps = Fraction(mechanism._rounds.permanent, ONE), Fraction(mechanism._rounds.again, ONE)
        p1, p2 = (keep + (1 - keep) / k for keep in keeps)
        p, q = composed_krr(p1, p2, k)
        with mpmath.workdps(60):
            realised = log_ratio(p / q)
            stated = mechanism.single_report.epsilon
            assert realised <= mpmath.mpf(stated) <= mechanism.first
            assert realised > mechanism.first * (1 - mpmath.mpf("1e-6"))
            e = mpmath.exp(mpmath.mpf(mechanism.first))
            b = mpmath.mpf((1 - p1).numerator) / (1 - p1).denominator / (k - 1)
            exact = mpmath.mpf(p1.numerator) / p1.denominator
            published = (e / (e + k - 1) - b) / (exact - b)
            assert abs(mpmath.mpf(p2.numerator) / p2.denominator - published) < mpmath.mpf("1e-6")
        assert (mechanism.p, mechanism.q) == (pytest.approx(float(p), rel=1e-12), pytest.approx(float(q), rel=1e-12))


@pytest.mark.parametrize("kind", ["oue", "sue", "the"])
def test_single_report__of_sets_costs_what_their_bits_cost(kind):
    source = random.Random(6)
    for _ in range(60):
        mechanism = make(kind, 2 ** source.uniform(-6, 4.5), 5, share=source.uniform(0.05, 0.97))
        flip = Fraction(mechanism._rounds.flip.threshold, ONE)
        after = [Fraction(c.threshold, ONE) * (1 - flip) + (1 - Fraction(c.threshold, ONE)) * flip
                 for c in mechanism.mechanism.coins]  # fmt: skip
        with mpmath.workdps(60):
            realised = log_ratio(unary_ratio(*after))
            stated = mechanism.single_report.epsilon
            assert realised <= mpmath.mpf(stated) <= mechanism.first
            assert realised > mechanism.first * (1 - mpmath.mpf("1e-6"))
        assert mechanism.single_report.unit == "report"
        assert mechanism.privacy.unit == "person and value"
        assert mechanism.privacy.epsilon == mechanism.mechanism.privacy.epsilon


def test_values_that_change__are_seen_to_change():
    """What the documentation warns of: one value never has two permanent answers, so different answers prove a change.

    It is also why every question needs a key or a name of its own: with both shared, two questions with the same answer
    look the same in every permanent answer.
    """
    mechanism, size = make("krr", 0.5, 2), 2_000
    persons = np.arange(size)
    stay = [mechanism.permanent(np.zeros(size, int), persons=persons, key=KEY) for _ in range(2)]
    move = mechanism.permanent(np.ones(size, int), persons=persons, key=KEY)
    assert (stay[0] == stay[1]).all()
    assert 0.3 < (stay[0] != move).mean() < 0.7
    own_key = mechanism.permanent(np.zeros(size, int), persons=persons, key=OTHER_KEY)
    assert 0.3 < (stay[0] != own_key).mean() < 0.7
    named = fd.Longitudinal(mechanism.mechanism, first=mechanism.first, question="another")
    assert 0.3 < (stay[0] != named.permanent(np.zeros(size, int), persons=persons, key=KEY)).mean() < 0.7
    with pytest.raises(fd.ParameterError, match="question"):
        fd.Longitudinal(mechanism.mechanism, first=mechanism.first, question=3).permanent([0], persons=[1], key=KEY)


@pytest.mark.parametrize("first", [2.0, 2.5, 0, -1, True, None, "1", float("nan"), 41, 1e-7])
def test_first__must_be_below_what_all_reports_cost(first):
    with pytest.raises(fd.ParameterError, match="first"):
        fd.Longitudinal(fd.KRR(epsilon=2.0, domain=5), first=first)


@pytest.mark.parametrize(
    "mechanism", [None, 1.0, fd.RandomizedResponse(epsilon=1.0), fd.Laplace(epsilon=1.0, sensitivity=1.0)]
)
def test_mechanism__must_be_one_that_composes(mechanism):
    with pytest.raises(fd.ParameterError, match="KRR or a unary encoding"):
        fd.Longitudinal(mechanism, first=0.5)


def test_permanent__takes_arrow():
    mechanism = make("oue", 1.0, 9)
    plain = mechanism.permanent(np.arange(9), persons=np.arange(9), key=KEY)
    arrow = mechanism.permanent(pa.array(np.arange(9)), persons=pa.array(np.arange(9)), key=KEY)
    assert arrow.type == mechanism.mechanism.report_type.arrow_type()
    assert [bytes(row) for row in plain] == arrow.to_pylist()
    with pytest.raises(fd.DomainError, match="nulls"):
        mechanism.permanent(pa.array([1, None]), persons=[1, 2], key=KEY)
