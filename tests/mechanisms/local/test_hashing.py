"""Local hashing: its integers, its hash functions, its reports, its estimates."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction
from itertools import combinations

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

from fastdp.errors import InputCorruptError, ParameterError
from fastdp.kernels.local.hashing import count_supporters
from fastdp.laws.local.hashing import buckets, polynomials
from fastdp.laws.local.krr import build_bounds
from fastdp.mechanisms.local.hashing import LocalHashing
from tests.mechanisms import report_checks
from tests.mechanisms.report_checks import seeded
from tests.reference.hashing import PRIME, line, polynomial

FORMS = [{}, {"cohorts": 50}, {"g": 2}, {"g": 200}, {"g": 7, "cohorts": 64, "salt": 3}]


def test_hashing__costs_no_more_than_stated():
    """The exact ratio of the realised integers, for hundreds of (epsilon, g): never above asked, hardly below."""
    source = random.Random(1)
    for _ in range(300):
        epsilon, g = 2 ** source.uniform(-19, 5.3), source.choice([None, 2, 3, 10, 97, 4096])
        mechanism = LocalHashing(epsilon=epsilon, domain=100, g=g, cohorts=source.choice([None, 7]))
        bounds = build_bounds(mechanism._law.krr)
        starts = [int(high) << 64 | int(low) for high, low in zip(bounds.high, bounds.low, strict=True)]
        kept, smallest = starts[0], min(b - a for a, b in itertools.pairwise([*starts[:-1], 2**128]))
        with mpmath.workprec(300):
            stated = mechanism.privacy.epsilon
            realised = mpmath.log(1 + mpmath.mpf(kept) / smallest)
            assert realised <= mpmath.mpf(stated) <= mpmath.mpf(epsilon)
            assert realised >= mpmath.mpf(epsilon) * (1 - mpmath.mpf(10) ** -6)
            mutant = kept * (1 + mpmath.mpf(10) ** -8 * max(1, epsilon))  # keeps a hundred-millionth more
            assert mpmath.log(1 + mutant / smallest) > stated


@pytest.mark.parametrize("g", [2, 3, 4, 100, 1000, 4095, 4096])
def test_buckets__are_those_of_the_hash(g):
    """Every number that a line can give falls into the bucket of its hash; q is exact over all pairs of them."""
    starts, widths = buckets(g)
    hashes = (np.arange(1 << 16, dtype=np.uint64) * np.uint64(g)) >> np.uint64(16)
    sizes = np.bincount(hashes.astype(np.int64), minlength=g)
    assert np.array_equal(widths.astype(np.int64) >> 16, sizes)
    assert np.array_equal(starts.astype(np.int64) >> 16, np.cumsum(sizes) - sizes)
    mechanism = LocalHashing(epsilon=1.0, domain=10, g=g)
    assert mechanism._law.collision == Fraction(int((sizes**2).sum()), 1 << 32)
    keep = mechanism._law.krr.keep
    assert mechanism._law.q == keep * mechanism._law.collision + (1 - keep) / g
    assert mechanism.q == pytest.approx(1 / g, rel=1e-2 if g > 100 else 1e-6)
    if g < 100:
        edges = [-(-(y << 31) // g) for y in range(g)] + [PRIME]
        squares = sum((b - a) ** 2 for a, b in zip(edges, edges[1:], strict=False))
        assert LocalHashing(epsilon=1.0, domain=10, g=g, cohorts=3)._law.collision == Fraction(squares, PRIME**2)


def test_lines__are_exactly_pairwise_independent_in_small():
    """All 2**16 lines modulo 2**8: upper halves of any two values below 2**5 are uniform; of 0 and 2**5 not.

    The same holds modulo 2**32, for the upper 16 bits of values below 2**17: only the powers of two enter the proof.
    """
    factors, offsets = (part.reshape(-1) for part in np.meshgrid(np.arange(256), np.arange(256)))
    upper = [((factors * value + offsets) % 256 >> 4) for value in range(33)]
    for u, v in [*combinations(range(32), 2), (0, 32)]:
        seen = np.bincount(upper[u] * 16 + upper[v], minlength=256)
        assert (seen == 256).all() == (v < 32)


def pair_p(one: np.ndarray, other: np.ndarray, g: int) -> float:
    """The p-value of two hashes against independent, uniform ones."""
    seen = np.bincount(one.astype(np.int64) * g + other.astype(np.int64), minlength=g * g)
    return chisquare(seen).pvalue


PAIRS = [(0, 1), (5, 6), (17, 1000), (3, 3 + (1 << 15)), (1, 1 + (1 << 16)), (0, (1 << 17) - 1)]


@pytest.mark.parametrize("g", [2, 4, 16])
def test_lines__have_independent_hashes_over_the_seeds_of_reports(g):
    """Hashes of pairs of values over a million reports; lower bits instead of upper ones, or no offset, are caught."""
    mechanism = LocalHashing(epsilon=1.0, domain=1 << 17, g=g)
    seeds = mechanism.randomize(np.zeros(1_000_000, np.int32), rng=seeded())["seed"]
    for u, v in PAIRS:
        assert pair_p(line(seeds, u, g), line(seeds, v, g), g) > 1e-3
    bare = seeds & np.uint64(0xFFFFFFFF)
    assert pair_p(line(bare, 0, g), line(bare, 1, g), g) < 1e-6
    low = [((bare * np.uint64(v) & np.uint64(0xFFFF)) * np.uint64(g)) >> np.uint64(16) for v in (1, 1 + (1 << 16))]
    assert pair_p(*low, g) < 1e-6


def test_polynomials__have_three_independent_hashes_over_cohorts():
    """Hashes of triples of values over 2**16 cohorts; lines, which are independent in pairs only, are caught."""
    g, coefficients = 4, polynomials(11, 1 << 16).astype(object)

    def triple_p(hashes) -> float:
        return chisquare(np.bincount((hashes[0] * g + hashes[1]) * g + hashes[2], minlength=g**3)).pvalue

    for triple in [(0, 1, 2), (7, 8, 9), (10, 500, 99_999), (1, 2**16 + 1, 2**17 + 1), (5, 2**24 - 1, 2**23)]:
        a, b, c = coefficients
        hashes = [((a * v * v + b * v + c) % PRIME * g >> 31).astype(np.int64) for v in triple]
        assert triple_p(hashes) > 1e-3
    seeds = LocalHashing(epsilon=1.0, domain=9).randomize(np.zeros(1 << 16, np.int32), rng=seeded())["seed"]
    assert triple_p([line(seeds, v, g).astype(np.int64) for v in (7, 8, 9)]) < 1e-6


@pytest.mark.parametrize(("epsilon", "g", "k"), [(0.5, 2, 10), (1.0, 4, 1000), (2.0, 8, 50), (3.0, 21, 70_000)])
def test_hashing__randomizes_the_hash_of_its_seed(epsilon, g, k):
    """Hash by seed and reported hash follow k-ary randomized response; p x 1.005 is rejected, and seeds are uniform."""
    mechanism, size = LocalHashing(epsilon=epsilon, domain=k, g=g), 4_000_000
    reports = mechanism.randomize(np.full(size, k - 1, np.int32), rng=seeded())
    true, seen = line(reports["seed"], k - 1, g).astype(np.int64), reports["value"].astype(np.int64)
    sizes = buckets(g).widths / 2**32
    channel = np.full((g, g), mechanism._law.krr.q)
    np.fill_diagonal(channel, mechanism._law.krr.p)
    joint = np.bincount(true * g + seen, minlength=g * g)
    assert chisquare(joint, (sizes[:, None] * channel).reshape(-1) * size).pvalue > 1e-3
    kept = int((true == seen).sum())
    for factor, passes in ((1, True), (1.005, False)):
        p = mechanism.p * factor
        assert (chisquare([kept, size - kept], [p * size, (1 - p) * size]).pvalue > 1e-3) == passes
    for byte in range(8):
        counted = np.bincount((reports["seed"] >> np.uint64(8 * byte)).astype(np.uint8), minlength=256)
        assert chisquare(counted).pvalue > 1e-4


@pytest.mark.parametrize(("epsilon", "g", "cohorts", "k"), [(0.5, 2, 5, 3), (1.0, 4, 16, 10), (3.0, 7, 9, 1000)])
def test_cohorts__follow_their_channel(epsilon, g, cohorts, k):
    """Whole reports of one value are distributed as its channel row; p x 1.005 and another value's row are rejected."""
    mechanism, size = LocalHashing(epsilon=epsilon, domain=k, g=g, cohorts=cohorts, salt=5), 4_000_000
    channel = mechanism.channel()
    for x in {0, k // 2, k - 1}:
        reports = mechanism.randomize(np.full(size, x, np.int32), rng=seeded(x))
        seen, row = np.bincount(reports, minlength=cohorts * g), channel.row(x)
        assert chisquare(seen, row * size).pvalue > 1e-3
        assert chisquare(seen, channel.row((x + 1) % k) * size).pvalue < 1e-6
        true = [cohort * g + polynomial(5, cohort, x, g) for cohort in range(cohorts)]
        kept = seen[true].sum()
        for factor, passes in ((1, True), (1.005, False)):
            p = mechanism.p * factor
            assert (chisquare([kept, size - kept], [p * size, (1 - p) * size]).pvalue > 1e-3) == passes


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 40.0])
def test_channel__agrees_with_its_matrix(epsilon):
    mechanism = LocalHashing(epsilon=epsilon, domain=9, cohorts=6)
    channel, source = mechanism.channel(), np.random.default_rng(3)
    dense = channel.dense()
    assert dense.shape == channel.shape == (9, 6 * mechanism.g)
    assert np.allclose(dense.sum(axis=1), 1)
    assert channel.epsilon() == pytest.approx(np.log(dense[:, None, :] / dense[None, :, :]).max())
    assert channel.epsilon() <= mechanism.privacy.epsilon * (1 + 1e-12)
    p, w = source.random(9), source.random(channel.shape[1])
    assert np.allclose(channel.forward(p), p @ dense)
    assert np.allclose(channel.backward(w), dense @ w)
    with pytest.raises(ParameterError, match="cohorts"):
        LocalHashing(epsilon=1.5, domain=9).channel()


@pytest.mark.parametrize(("g", "variance"), [(2, 4.68269), (None, 3.69165)])
def test_variance__meets_the_closed_form(g, variance):
    assert LocalHashing(epsilon=1.0, domain=100, g=g).variance(1) == pytest.approx(variance, rel=2e-6)
    # All others hold one value: the worst case for cohorts adds 1 / ((g - 1) C).
    mechanism = LocalHashing(epsilon=1.0, domain=100, g=g, cohorts=10)
    assert mechanism.variance(7, 0.25) == pytest.approx(
        LocalHashing(epsilon=1.0, domain=100, g=g).variance(7, 0.25) + 0.75**2 / ((mechanism.g - 1) * 10), rel=1e-6
    )


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.5, 8.0, 40.0])
def test_g__is_the_best_by_default(epsilon):
    g = LocalHashing(epsilon=epsilon, domain=10).g
    assert g == (round(math.exp(epsilon)) + 1 if epsilon < 8.3 else 4096)
    if epsilon < 8:
        best = LocalHashing(epsilon=epsilon, domain=10).variance(1)
        assert all(
            LocalHashing(epsilon=epsilon, domain=10, g=other).variance(1) >= best * 0.99 for other in range(2, 30)
        )


@pytest.mark.parametrize(("epsilon", "k", "g"), [(0.5, 4, 2), (1.0, 10, None), (3.0, 50, None), (1.0, 20, 1000)])
def test_estimate__is_unbiased_with_its_variance(epsilon, k, g):
    report_checks.check_estimates(LocalHashing(epsilon=epsilon, domain=k, g=g), k)


@pytest.mark.parametrize("runs", [600, pytest.param(4_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("epsilon", "g", "cohorts"), [(1.0, 4, 32), (2.0, 2, 64), (0.7, 3, 40)])
def test_cohorts__are_unbiased_with_their_variance_over_hash_functions(epsilon, g, cohorts, runs):
    """So many salts: mean and variance within 4 standard errors of the closed form, which has collisions."""
    n, k, rng = 2_000, 6, seeded()
    values = np.repeat([0, 1, 2], [n // 4, n // 4, n - n // 2])
    truth = np.bincount(values, minlength=k) / n
    estimates, errors = np.zeros((runs, k)), np.zeros((runs, k))
    for salt in range(runs):
        mechanism = LocalHashing(epsilon=epsilon, domain=k, g=g, cohorts=cohorts, salt=salt)
        found = mechanism.estimate(mechanism.randomize(values, rng=rng))
        estimates[salt], errors[salt] = found.frequencies, found.std_error
    p, q = mechanism.p, mechanism.q
    for x in (0, 2, k - 1):
        base = (truth[x] * p * (1 - p) + (1 - truth[x]) * q * (1 - q)) / (n * (p - q) ** 2)
        collisions = ((truth**2).sum() - truth[x] ** 2) / ((g - 1) * cohorts)
        variance = base + collisions
        assert abs(estimates[:, x].mean() - truth[x]) < 4 * math.sqrt(variance / runs)
        assert abs(estimates[:, x].var() / variance - 1) < 4 * math.sqrt(2 / runs)
        assert estimates[:, x].var() > base * (1 + 3 * math.sqrt(2 / runs))
        assert (errors[:, x] ** 2).mean() == pytest.approx(variance, rel=0.35)
        assert (errors[:, x] ** 2).mean() > variance * 0.9
        assert mechanism.variance(n, truth[x]) >= variance * 0.999


@pytest.mark.parametrize("form", FORMS)
def test_randomize__does_not_depend_on_threads_or_batches(form, threads):
    report_checks.check_threads_and_batches(LocalHashing(epsilon=1.0, domain=100, **form), 100, threads)


@pytest.mark.parametrize("form", FORMS)
def test_reports__have_one_type_in_arrow_and_numpy(form):
    mechanism = LocalHashing(epsilon=1.0, domain=300, **form)
    if "cohorts" in form:
        assert mechanism.report_type.arrow_type() == pa.uint32()
    else:
        fields = [pa.field("seed", pa.uint64(), nullable=False), pa.field("value", pa.uint16(), nullable=False)]
        assert mechanism.report_type.arrow_type() == pa.struct(fields)
        assert mechanism.randomize(np.zeros(3, np.int32)).dtype == np.dtype([("seed", "u8"), ("value", "u2")])
    report_checks.check_arrow(mechanism, 300)
    report_checks.check_foreign_reports(mechanism)


@pytest.mark.parametrize("form", FORMS[:2])
def test_randomize__takes_nulls_labels_and_nothing(form):
    report_checks.check_odd_values(lambda domain: LocalHashing(epsilon=1.0, domain=domain, **form))


@pytest.mark.parametrize("form", FORMS)
def test_randomize__refuses_undeclared_codes(form):
    report_checks.check_undeclared(LocalHashing(epsilon=1.0, domain=100, **form), 100)


@pytest.mark.parametrize("place", range(6))
def test_aggregate__refuses_a_bad_hash_among_four_at_a_time_and_in_the_rest(place):
    seeds, hashes = np.arange(6, dtype=np.uint64), np.zeros(6, np.uint16)
    starts, widths = buckets(4)
    assert not count_supporters(seeds, hashes, starts, widths, np.zeros(9, np.uint32))
    hashes[place] = 4
    assert count_supporters(seeds, hashes, starts, widths, np.zeros(9, np.uint32))


def test_aggregate__refuses_what_is_no_report():
    mechanism = LocalHashing(epsilon=1.0, domain=10)
    reports = mechanism.randomize(np.zeros(2_000, np.int32))
    reports["value"][1_234] = mechanism.g
    with pytest.raises(InputCorruptError, match="not below 4"):
        mechanism.aggregate(reports)
    mechanism = LocalHashing(epsilon=1.0, domain=10, cohorts=5)
    reports = mechanism.randomize(np.zeros(2_000, np.int32))
    reports[1_234] = 5 * mechanism.g
    with pytest.raises(InputCorruptError, match="not below 20"):
        mechanism.aggregate(reports)


@pytest.mark.parametrize("epsilon", report_checks.BAD_EPSILONS)
def test_epsilon__is_refused_when_bad(epsilon):
    with pytest.raises(ParameterError, match="LocalHashing: epsilon"):
        LocalHashing(epsilon=epsilon, domain=10)


@pytest.mark.parametrize("domain", [*report_checks.BAD_DOMAINS, 2**17 + 1])
def test_domain__is_refused_when_bad(domain):
    with pytest.raises(ParameterError, match="LocalHashing"):
        LocalHashing(epsilon=1.0, domain=domain)


@pytest.mark.parametrize(
    "bad",
    [{"g": g} for g in (1, 0, -2, 2.5, True, "4", math.nan, 4097)]
    + [{"cohorts": c} for c in (0, -1, 1.5, True, "3", math.inf, 2**16 + 1)]
    + [{"cohorts": 5, "salt": s} for s in (-1, True, False, 1.5, "a", None)]
    + [{"salt": 1}, {"g": 4096, "cohorts": 5000}, {"cohorts": 5, "domain": 2**24 + 1}],
)
def test_hash_functions__are_refused_when_bad(bad):
    with pytest.raises(ParameterError, match="LocalHashing"):
        LocalHashing(**{"epsilon": 1.0, "domain": 10} | bad)
