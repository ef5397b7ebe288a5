"""Subset selection: its integers, its reports as they are written, its estimates."""

from __future__ import annotations

import math
import random
from itertools import permutations

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from fastdp.errors import InputCorruptError, ParameterError
from fastdp.mechanisms.local.subset import SubsetSelection
from tests.mechanisms import report_checks
from tests.mechanisms.report_checks import seeded
from tests.reference.subset import unpack


def test_subset__costs_no_more_than_stated():
    """The exact ratio of the realised integers, for hundreds of (epsilon, k): never above asked, hardly below."""
    source = random.Random(1)
    for _ in range(300):
        epsilon, k = 2 ** source.uniform(-19, 5.3), source.choice([2, 3, 10, 97, 1000, 65_536])
        mechanism = SubsetSelection(epsilon=epsilon, domain=k)
        size, heads = mechanism.size, mechanism._law.odds.threshold
        assert 1 <= size < k
        with mpmath.workprec(300):
            # A set with the truth has probability heads / C(k-1, size-1), one without tails / C(k-1, size).
            realised = mpmath.log(mpmath.mpf(heads) * (k - size) / ((2**128 - heads) * size))
            stated = mechanism.privacy.epsilon
            assert realised <= mpmath.mpf(stated) <= mpmath.mpf(epsilon)
            assert realised >= mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -6)
            mutant = (2**128 - heads) * (1 - mpmath.mpf(epsilon) / 10**8)  # fewer tails by a hundred-millionth
            assert mpmath.log((2**128 - mutant) * (k - size) / (mutant * size)) > stated


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 3), (1.0, 100), (2.0, 7), (4.0, 1000), (1e-6, 2)])
def test_subset__meets_the_closed_forms_of_p_and_q(epsilon, k):
    mechanism, e = SubsetSelection(epsilon=epsilon, domain=k), math.exp(epsilon)
    w = max(1, round(k / (e + 1)))
    assert mechanism.size == w
    assert mechanism.p == pytest.approx(w * e / (w * e + k - w), rel=1e-9)
    assert mechanism.q == pytest.approx(((w - 1) * w * e + (k - w) * w) / ((k - 1) * (w * e + k - w)), rel=1e-9)


@pytest.mark.parametrize(("k", "variance"), [(10, 2.83921), (100, 3.58965), (1024, 3.67355)])
def test_variance__meets_the_closed_form(k, variance):
    assert SubsetSelection(epsilon=1.0, domain=k).variance(1) == pytest.approx(variance, rel=2e-6)


def numbers_of(mechanism: SubsetSelection, reports: np.ndarray) -> np.ndarray:
    """The number of each report among the channel's outputs, from its bytes as written."""
    weights = 256 ** np.arange(reports.shape[1])
    keys = (1 << mechanism.sets()).sum(axis=1)
    order = np.argsort(keys)
    return order[np.searchsorted(keys[order], reports @ weights)]


SMALL = [(2, 1.0), (4, 0.5), (6, 1.0), (9, 0.8), (12, 0.3), (5, 4.0)]


@pytest.mark.parametrize(("k", "epsilon"), SMALL)
def test_subset__follows_its_channel(k, epsilon):
    """Whole reports of one value are distributed as its channel row over all sets; p x 1.005 is rejected."""
    mechanism, size = SubsetSelection(epsilon=epsilon, domain=k), 2_000_000
    sets = mechanism.sets()
    for x in {0, k // 2, k - 1}:
        reports = mechanism.randomize(np.full(size, x, np.int32), rng=seeded(x))
        seen = np.bincount(numbers_of(mechanism, reports), minlength=len(sets))
        assert chisquare(seen, mechanism.channel().row(x) * size).pvalue > 1e-3
        holds = (sets == x).any(axis=1)
        split = np.array([seen[holds].sum(), seen[~holds].sum()])
        for factor, passes in ((1, True), (1.005, False)):
            heads = mechanism.p * factor
            assert (chisquare(split, np.array([heads, 1 - heads]) * size).pvalue > 1e-3) == passes


def by_hand(size: int, x: int, mechanism: SubsetSelection, p: float) -> np.ndarray:
    """Members in ascending order of a uniform key; the truth has the smallest key on heads, the largest on tails."""
    rng = np.random.default_rng(1)
    keys = rng.random((size, mechanism.domain.size))
    keys[:, x] = np.where(rng.random(size) < p, -1, 2)
    return np.argsort(keys, axis=1)[:, : mechanism.size]


def test_subset__mutants_are_caught_by_whole_reports():
    """The check of sets sees a truth that is always in; that of lists, one that stands first."""
    mechanism, size, x = SubsetSelection(epsilon=1.0, domain=6), 200_000, 4
    sets, row = mechanism.sets(), mechanism.channel().row(x)
    keys = (1 << sets).sum(axis=1)

    def p_of_sets(lists: np.ndarray) -> float:
        seen = np.bincount((1 << lists).sum(axis=1), minlength=1 << 6)[keys]
        return chisquare(seen, row * len(lists)).pvalue

    def p_of_lists(lists: np.ndarray) -> float:
        orders = [order for members in sets for order in permutations(members.tolist())]
        places = {order: place for place, order in enumerate(orders)}
        seen = np.bincount([places[tuple(members)] for members in lists.tolist()], minlength=len(orders))
        each = math.factorial(mechanism.size)
        return chisquare(seen, np.repeat(row, each) / each * len(lists)).pvalue

    right = by_hand(size, x, mechanism, mechanism.p)
    shuffled = np.random.default_rng(2).permuted(right, axis=1)
    assert p_of_sets(right) > 1e-3
    assert p_of_lists(shuffled) > 1e-3
    assert p_of_lists(right) < 1e-6  # as sets they are fine; as lists they say where the truth is
    assert p_of_sets(by_hand(size, x, mechanism, 1.0)) < 1e-6
    assert p_of_sets(by_hand(10 * size, x, mechanism, mechanism.p * 1.005)) < 1e-3


@pytest.mark.parametrize(("k", "epsilon"), [(20, 0.5), (100, 1.0), (300, 1.0), (1000, 3.0)])
def test_subset__spreads_its_other_values_evenly(k, epsilon):
    """In larger domains: single values and pairs of neighbours, given the coin; a mutant that forgets one is caught."""
    mechanism, size, x = SubsetSelection(epsilon=epsilon, domain=k), 100_000, k // 3
    bits = unpack(mechanism.randomize(np.full(size, x, np.int32), rng=seeded()), k)
    assert (bits.sum(axis=1) == mechanism.size).all()
    for coin in (0, 1):
        others = np.delete(bits[bits[:, x] == coin], x, axis=1)
        members, n = mechanism.size - coin, len(others)
        if not members:
            continue
        # Members without replacement: counts vary less than independent ones, by (k - 1 - members) / (k - 2).
        share = members / (k - 1)
        spread = n * share * (1 - share) * (k - 1) / (k - 2)
        statistic = ((others.sum(axis=0) - n * share) ** 2).sum() / spread
        assert abs(statistic - (k - 2)) < 4 * math.sqrt(2 * (k - 2))
        pairs = (others[:, :-1] & others[:, 1:]).sum() / n
        expected = (k - 2) * share * (members - 1) / (k - 2)
        assert abs(pairs - expected) < 5 * math.sqrt(max(expected, 0.01) / n)
        others[:, 0] = 0
        assert ((others.sum(axis=0) - n * share) ** 2).sum() / spread > k - 2 + 10 * math.sqrt(2 * (k - 2))


@pytest.mark.parametrize(("k", "epsilon"), SMALL)
def test_channel__costs_what_the_mechanism_states(k, epsilon):
    mechanism = SubsetSelection(epsilon=epsilon, domain=k)
    channel = mechanism.channel()
    assert channel.shape == (k, math.comb(k, mechanism.size))
    assert channel.epsilon() <= mechanism.privacy.epsilon * (1 + 1e-12)
    assert channel.epsilon() == pytest.approx(epsilon, rel=1e-6)
    support = np.zeros((channel.shape[1], k))
    np.put_along_axis(support, mechanism.sets(), 1, axis=1)
    expected = np.full((k, k), mechanism.q)
    np.fill_diagonal(expected, mechanism.p)
    assert np.allclose(channel.dense() @ support, expected)


def test_channel__is_refused_where_it_is_too_large():
    with pytest.raises(ParameterError, match="20000"):
        SubsetSelection(epsilon=1.0, domain=100).channel()


@pytest.mark.parametrize("k", [3, 100, 1001])
def test_aggregate__counts_members(k):
    mechanism = SubsetSelection(epsilon=1.0, domain=k)
    reports = mechanism.randomize(np.arange(2_001) * 7 % k, rng=seeded())
    counts = mechanism.aggregate(reports)
    assert np.array_equal(counts.support, unpack(reports, k).sum(axis=0))
    assert counts.n == 2_001
    whole = np.zeros((70_000, (k + 7) // 8), np.uint8)
    whole[:] = reports[:1]
    assert np.array_equal(mechanism.aggregate(whole).support, 70_000 * unpack(reports[:1], k)[0].astype(np.int64))


@pytest.mark.parametrize(("epsilon", "k"), [(0.5, 4), (1.0, 10), (3.0, 50)])
def test_estimate__is_unbiased_with_its_variance(epsilon, k):
    report_checks.check_estimates(SubsetSelection(epsilon=epsilon, domain=k), k)


@pytest.mark.parametrize("k", [2, 10, 100, 300])
def test_randomize__does_not_depend_on_threads_or_batches(k, threads):
    report_checks.check_threads_and_batches(SubsetSelection(epsilon=1.0, domain=k), k, threads, 200_000)


@pytest.mark.parametrize(("k", "width"), [(8, 1), (9, 2), (1000, 125)])
def test_reports__have_one_type_in_arrow_and_numpy(k, width):
    mechanism = SubsetSelection(epsilon=1.0, domain=k)
    assert mechanism.report_type.arrow_type() == pa.binary(width)
    assert mechanism.randomize(np.zeros(3, np.int32)).shape == (3, width)
    report_checks.check_arrow(mechanism, k)
    report_checks.check_foreign_reports(mechanism)


def test_randomize__takes_nulls_labels_and_nothing_undeclared():
    report_checks.check_odd_values(lambda domain: SubsetSelection(epsilon=1.0, domain=domain), [10, 1_000])


def test_aggregate__refuses_what_is_no_report():
    """A set too small, one too large, and one of the right size with a padding bit."""
    mechanism = SubsetSelection(epsilon=1.0, domain=12)
    good = mechanism.randomize(np.zeros(2_000, np.int32))
    member = int(np.flatnonzero(unpack(good[1_234:1_235], 12)[0])[0])
    other = int(np.flatnonzero(1 - unpack(good[1_234:1_235], 12)[0])[0])
    for removed, added in ((member, None), (None, other), (member, 13)):
        reports = good.copy()
        if removed is not None:
            reports[1_234, removed // 8] &= 255 - (1 << removed % 8)
        if added is not None:
            reports[1_234, added // 8] |= 1 << added % 8
        for container in (reports, pa.array([row.tobytes() for row in reports], pa.binary(2))):
            with pytest.raises(InputCorruptError, match="not of this mechanism"):
                mechanism.aggregate(container)


@pytest.mark.parametrize("epsilon", report_checks.BAD_EPSILONS)
def test_epsilon__is_refused_when_bad(epsilon):
    with pytest.raises(ParameterError, match="SubsetSelection: epsilon"):
        SubsetSelection(epsilon=epsilon, domain=10)


@pytest.mark.parametrize("domain", [*report_checks.BAD_DOMAINS, 2**16 + 1])
def test_domain__is_refused_when_bad(domain):
    with pytest.raises(ParameterError, match="SubsetSelection"):
        SubsetSelection(epsilon=1.0, domain=domain)
