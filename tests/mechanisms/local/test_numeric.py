"""Local reports of numbers for means: their integers, their reports, their containers, their estimates."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binomtest, chisquare

import fastdp as fd
from fastdp.channels.window import WindowChannel
from fastdp.laws.rate import Rate
from fastdp.mechanisms.local.means.estimate import MeanEstimate, Sums
from fastdp.mechanisms.local.numeric import HYBRID_FROM, Duchi, Hybrid, Piecewise
from fastdp.mechanisms.local.square_wave import SquareWave
from tests.mechanisms import report_checks
from tests.mechanisms.report_checks import seeded
from tests.reference.numeric import cell_probabilities
from tests.reference.statistics import chisquare_p

MEANS = [Duchi, Piecewise, Hybrid]
EVERY = [*MEANS, SquareWave]
SIZE = 10_000_000

each_mean = pytest.mark.parametrize("kind", MEANS)
each_kind = pytest.mark.parametrize("kind", EVERY)


def cells_of(mechanism, reports: np.ndarray) -> np.ndarray:
    """The cells that window reports stand for."""
    law = mechanism._kernel[1]
    return np.rint((reports - law.middle) / law.step + law.centre).astype(np.int64)


def realised_epsilon(mechanism) -> tuple[mpmath.mpf, mpmath.mpf]:
    """ln of the worst ratio of the two-point and of the window integers."""
    least, window = mechanism._two_point.least, mechanism._window
    keep = window.keep
    return (
        mpmath.log(mpmath.mpf(2**53 - least) / least),
        mpmath.log(mpmath.mpf(keep * window.cells) / ((2**64 - keep) * window.width)),
    )


@each_kind
def test_privacy__is_no_less_than_the_integers_cost(kind):
    """For hundreds of epsilons: the exact ratio is at most what is stated, which is at most what was asked."""
    source = random.Random(1)
    for _ in range(300):
        epsilon = 2 ** source.uniform(-20, math.log2(20))
        mechanism = kind(epsilon=epsilon, bounds=(-1, 1))
        stated = mechanism.privacy
        with mpmath.workprec(300):
            for realised in realised_epsilon(mechanism):
                assert realised <= mpmath.mpf(stated.epsilon)
                assert realised >= mpmath.mpf(epsilon) * (1 - mpmath.mpf("1e-6"))
        assert epsilon * (1 - 1e-6) <= stated.epsilon <= epsilon
        assert (stated.unit, stated.neighbours, stated.delta) == ("report", "replace", 0.0)


@pytest.mark.parametrize("epsilon", [2.0**-8, 0.5, 1.0, 4.0, 10.0, 20.0])
def test_privacy__would_not_hold_for_one_unit_less_noise(epsilon):
    """A least threshold one unit lower, or a window kept one part in 2**64 more often, costs more than stated."""
    mechanism = Hybrid(epsilon=epsilon, bounds=(-1, 1))
    least, window = mechanism._two_point.least - 1, mechanism._window
    keep = window.keep + 1
    with mpmath.workprec(300):
        stated = mpmath.exp(mpmath.mpf(mechanism.privacy.epsilon))
        assert mpmath.mpf(2**53 - least) / least > stated
        assert mpmath.mpf(keep * window.cells) / ((2**64 - keep) * window.width) > stated


@pytest.mark.parametrize("value", [-1.0, 0.3, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_duchi__follows_its_law(epsilon, value):
    """Exactly two reports, in their exact proportion; that of 1.01 epsilon is rejected."""
    mechanism = Duchi(epsilon=epsilon, bounds=(-1, 1))
    reports = mechanism.randomize(np.full(SIZE, value), rng=seeded())
    e = math.exp(epsilon)
    reach = (e + 1) / (e - 1)
    assert np.allclose(np.unique(reports), [-reach, reach], rtol=1e-8)
    ups = int((reports > 0).sum())
    assert binomtest(ups, SIZE, 0.5 + value / 2 / reach).pvalue > 1e-3
    e = math.exp(epsilon * 1.01)
    if abs(value) == 1.0:
        assert binomtest(ups, SIZE, 0.5 + value * (e - 1) / (e + 1) / 2).pvalue < 1e-3


@pytest.mark.parametrize("value", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("kind", [Piecewise, SquareWave])
@pytest.mark.parametrize(
    ("size", "coarse"), [(SIZE // 10, 3), pytest.param(SIZE, 1, marks=pytest.mark.slow)], ids=["fast", "long"]
)
def test_window__follows_its_law(kind, epsilon, value, size, coarse):
    """Cells of 400 bins have their exact probabilities; those of 1.01 epsilon, or of a window moved, are rejected.

    With a tenth of the draws, mutants are three times as far off.
    """
    mechanism = kind(epsilon=epsilon, bounds=(0, 1))
    law, u = mechanism._window, round(value * mechanism._window.cells)
    cells = cells_of(mechanism, mechanism.randomize(np.full(size, value), rng=seeded()))
    assert cells.min() >= 0
    assert cells.max() < law.cells + law.width
    assert chisquare_p(cells, cell_probabilities(law, u), 0, bins=400) > 1e-3
    mutant = replace(law, rate=Rate.below(Fraction(epsilon * (1 + 0.01 * coarse))))
    inside = int(((cells >= u) & (cells < u + law.width)).sum())
    seen = [inside, size - inside]
    assert chisquare(seen, [float(law.inside) * size, float(1 - law.inside) * size]).pvalue > 1e-3
    assert chisquare(seen, [float(mutant.inside) * size, float(1 - mutant.inside) * size]).pvalue < 1e-3
    move = law.cells * coarse // 200
    moved = u + move if value < 1 else u - move
    assert chisquare_p(cells, cell_probabilities(law, moved), 0, bins=400) < 1e-3


def test_window__follows_its_law_to_the_last_bit_of_a_cell():
    """Low bits of the cells inside and outside are uniform."""
    mechanism = Piecewise(epsilon=1.0, bounds=(0, 1))
    law, u = mechanism._window, mechanism._window.cells // 3
    cells = cells_of(mechanism, mechanism.randomize(np.full(SIZE, u / law.cells), rng=seeded(6)))
    for part in (cells[(cells >= u) & (cells < u + law.width)] - u, cells[cells < u], cells[cells >= u + law.width]):
        assert chisquare(np.bincount(part & 255, minlength=256)).pvalue > 1e-3


@pytest.mark.parametrize("epsilon", [0.7, 1.5, 4.0])
def test_hybrid__mixes_in_its_proportion(epsilon):
    mechanism = Hybrid(epsilon=epsilon, bounds=(-1, 1))
    reports = mechanism.randomize(np.full(SIZE, 0.2), rng=seeded())
    law = mechanism._kernel[0]
    ups, downs = int((reports == law.plus).sum()), int((reports == law.minus).sum())
    share = mechanism.share
    assert share == pytest.approx(1 - math.exp(-epsilon / 2), abs=2**-17)
    assert binomtest(ups + downs, SIZE, 1 - share).pvalue > 1e-3
    assert binomtest(ups + downs, SIZE, 1 - share * 1.005).pvalue < 1e-3
    assert binomtest(ups, ups + downs, 0.5 + 0.1 * (1 - 2 * float(mechanism._two_point.q))).pvalue > 1e-3
    others = cells_of(mechanism, reports[(reports != law.plus) & (reports != law.minus)])
    u = round(0.6 * mechanism._window.cells)
    assert chisquare_p(others, cell_probabilities(mechanism._window, u), 0, bins=400) > 1e-3


def test_hybrid__is_duchi_for_small_epsilon():
    assert pytest.approx(0.6093525, abs=1e-7) == HYBRID_FROM
    values = np.linspace(-1, 1, 5_000)
    for epsilon in (0.1, 0.6):
        mechanism = Hybrid(epsilon=epsilon, bounds=(-1, 1))
        assert mechanism.share == 0
        expected = Duchi(epsilon=epsilon, bounds=(-1, 1)).randomize(values, rng=seeded())
        assert np.array_equal(mechanism.randomize(values, rng=seeded()), expected)
    assert Hybrid(epsilon=0.62, bounds=(-1, 1)).share > 0.26


def closed_form(kind, epsilon: float, t: float) -> float:
    """Variances of the literature, for bounds (-1, 1)."""
    e, h = math.exp(epsilon), math.exp(epsilon / 2)
    two_point = ((e + 1) / (e - 1)) ** 2 - t**2
    window = t**2 / (h - 1) + (h + 3) / (3 * (h - 1) ** 2)
    share = {Duchi: 0.0, Piecewise: 1.0, Hybrid: 1 - 1 / h if epsilon > 0.6093525 else 0.0}[kind]
    return (1 - share) * two_point + share * window


@each_mean
def test_variance__meets_the_closed_form(kind):
    """Up to the rounding of the window to whole cells, and of the hybrid's share to 2**-16."""
    for epsilon in (2.0**-8, 0.3, 1.0, 2.0, 4.0, 10.0):
        mechanism = kind(epsilon=epsilon, bounds=(-1, 1))
        for t in (-1.0, -0.4, 0.0, 0.7, 1.0):
            assert mechanism.variance(1, t) == pytest.approx(
                closed_form(kind, epsilon, t), rel=1e-3 if kind is Hybrid else 3e-4
            )
        assert mechanism.variance(1) == max(mechanism.variance(1, t) for t in (0, 1))
        shifted = kind(epsilon=epsilon, bounds=(10, 30))
        assert shifted.variance(50, 27) == pytest.approx(2 * mechanism.variance(1, 0.7), rel=1e-12)
        assert shifted.variance(50, 1e9) == shifted.variance(50, 30)
    for n, value in ((0, 0), (-1, 0), (1.5, 0), (True, 0), (1, math.nan), (1, "0"), (1, True)):
        with pytest.raises(fd.ParameterError, match=kind.__name__):
            kind(epsilon=1.0, bounds=(-1, 1)).variance(n, value)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@each_mean
def test_estimate__is_unbiased_with_its_variance(kind, epsilon):
    """8,000 runs of 500: mean and variance within three standard errors; 1.1 epsilon and a contrast off 2 % are not."""
    mechanism, runs, n, worst = kind(epsilon=epsilon, bounds=(-1, 1)), 8_000, 500, 0.0
    for t in (-0.6, 0.0, 1.0):
        means = mechanism.randomize(np.full(runs * n, t), rng=seeded(8)).reshape(runs, n).mean(axis=1)
        variance = closed_form(kind, epsilon, t) / n
        error = math.sqrt(variance / runs)
        assert abs(means.mean() - t) < 3 * error
        if t == 1.0:
            assert abs(means.mean() * 1.02 - t) > 3 * error
        assert abs(means.var() / variance - 1) < 3 * math.sqrt(2 / runs)
        worst = max(worst, abs(means.var() / closed_form(kind, epsilon * 1.1, t) * n - 1))
    assert worst > 3 * math.sqrt(2 / runs)


@each_kind
def test_randomize__does_not_depend_on_threads_or_batches(kind, threads):
    mechanism, values = kind(epsilon=1.0, bounds=(-1, 1)), np.random.default_rng(2).uniform(-1.2, 1.2, 300_000)
    report_checks.check_same_in_parts(mechanism, values, threads)


@each_kind
def test_randomize__takes_every_type_and_container(kind):
    """The same values give the same reports; float32 ones are those of float64, rounded; integers become float64."""
    mechanism, values = kind(epsilon=1.0, bounds=(0, 12)), np.arange(1_200) % 15 - 1
    plain = mechanism.randomize(values.astype(np.float64), rng=seeded())
    assert plain.dtype == np.float64
    for dtype in (np.int8, np.int32, np.int64, ">i4", ">f8"):
        out = mechanism.randomize(values.astype(dtype), rng=seeded())
        assert out.dtype == np.float64
        assert np.array_equal(out, plain)
    single = mechanism.randomize(values.astype(np.float32), rng=seeded())
    assert single.dtype == np.float32
    assert np.array_equal(single, plain.astype(np.float32))
    square = np.asfortranarray(values.reshape(-1, 4).astype(np.float64))
    out = mechanism.randomize(square, rng=seeded())
    assert out.shape == square.shape
    assert np.array_equal(out.ravel(), plain)
    for container in (list, tuple):
        out = mechanism.randomize(container(values.tolist()), rng=seeded())
        assert type(out) is container
        assert np.array_equal(out, plain)
    for arrow in (pa.array(values, pa.float64()), pa.array(values, pa.int16()), pa.array(values).dictionary_encode()):
        out = mechanism.randomize(arrow, rng=seeded())
        out.validate(full=True)
        assert out.type == pa.float64()
        assert np.array_equal(out.to_numpy(), plain)
    chunked = pa.chunked_array([pa.array(values[:10], pa.float32()), pa.array(values[10:], pa.float32())])
    out = mechanism.randomize(chunked, rng=seeded())
    assert out.type == pa.float32()
    assert np.array_equal(out.to_numpy(), single)
    assert type(mechanism.randomize(3.0)) is float
    assert type(mechanism.randomize(np.float32(3))) is np.float32
    for empty in (np.zeros(0), np.zeros((3, 0)), np.zeros(0, np.float32)):
        assert mechanism.randomize(empty).shape == empty.shape
    assert mechanism.randomize([]) == []


@each_kind
def test_randomize__counts_values_beyond_the_bounds_as_the_bounds(kind):
    mechanism = kind(epsilon=1.0, bounds=(-2, 3))
    wild = np.array([-math.inf, -1e300, -2.5, math.inf, 1e300, 3.5] * 500)
    expected = mechanism.randomize(np.clip(wild, -2, 3), rng=seeded())
    assert np.array_equal(mechanism.randomize(wild, rng=seeded()), expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@each_kind
def test_randomize__refuses_nan_without_showing_values(kind, dtype):
    mechanism = kind(epsilon=1.0, bounds=(0, 1))
    for at in (0, 17, 4_999):
        values = np.full(5_000, 0.123456789, dtype)
        values[at] = math.nan
        with pytest.raises(fd.DomainError, match="NaN") as caught:
            mechanism.randomize(values)
        assert "0.1234" not in str(caught.value)


@each_kind
def test_randomize__keeps_public_nulls_and_hides_what_lies_under_them(kind):
    mechanism = kind(epsilon=1.0, bounds=(5, 9))
    missing = np.arange(4_000) % 3 == 0
    masked = pa.array(np.full(4_000, 7.5), mask=missing)
    with pytest.raises(fd.DomainError, match="nulls"):
        mechanism.randomize(masked)
    out = mechanism.randomize(masked, nulls="public")
    assert np.array_equal(out.is_null().to_numpy(zero_copy_only=False), missing)
    assert not np.frombuffer(out.buffers()[1], np.float64)[missing].any()


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, True, "1", None, [1.0], 20.5, 2.0**-21])
@each_kind
def test_epsilon__is_refused_when_bad(kind, epsilon):
    with pytest.raises(fd.ParameterError, match="epsilon"):
        kind(epsilon=epsilon, bounds=(0, 1))


@pytest.mark.parametrize(
    "bounds",
    [None, 1, "ab", (1,), (1, 1), (2, 1), (0, math.inf), (math.nan, 1), (0, True, 2), ("0", "1"), (0, 1e-300),
     (-1e308, 1e308), (1e15, 1e15 + 1)],
)  # fmt: skip
@each_kind
def test_bounds__are_refused_when_bad(kind, bounds):
    with pytest.raises(fd.ParameterError, match="bounds"):
        kind(epsilon=1.0, bounds=bounds)


@each_kind
def test_bounds__that_a_narrower_type_cannot_hold_are_refused(kind):
    for bounds in ((0, 1e38), (1e6, 1e6 + 1)):
        mechanism = kind(epsilon=0.001, bounds=bounds)
        mechanism.randomize(np.zeros(3))
        if bounds[0] or kind is not SquareWave:  # whose reports reach half a width beyond the bounds only
            with pytest.raises(fd.ParameterError, match="float32"):
                mechanism.randomize(np.zeros(3, np.float32))


@each_kind
def test_mechanism__is_an_immutable_value(kind):
    mechanism = kind(epsilon=1, bounds=[0, 1])
    with pytest.raises(AttributeError):
        mechanism.epsilon = 2.0
    assert mechanism == kind(epsilon=1.0, bounds=(0.0, 1.0))
    assert mechanism != kind(epsilon=1.0, bounds=(0.0, 2.0))
    assert hash(mechanism) == hash(kind(epsilon=1.0, bounds=(0.0, 1.0)))
    assert repr(mechanism).startswith(f"{kind.__name__}(epsilon=1.0, bounds=(0.0, 1.0)")
    for bad in (np.array(["a"]), "abc", None, {}, np.array([True])):
        with pytest.raises(fd.SchemaError, match=kind.__name__):
            mechanism.randomize(bad)
    with pytest.raises(fd.ParameterError, match="rng"):
        mechanism.randomize([0.5], rng=np.random.default_rng())


@each_mean
def test_sums__of_batches_add_up(kind):
    mechanism = kind(epsilon=2.0, bounds=(1e6, 1e6 + 10))
    values = 1e6 + np.random.default_rng(3).uniform(2, 4, 400_000)
    reports = mechanism.randomize(values, rng=seeded())
    whole = mechanism.aggregate(reports)
    parts = mechanism.aggregate(reports[:1000]) + mechanism.aggregate(pa.array(reports[1000:]))
    assert whole.n == parts.n == 400_000
    assert whole.total == pytest.approx(parts.total, rel=1e-12)
    assert whole.squares == pytest.approx(parts.squares, rel=1e-12)
    estimate = mechanism.estimate(parts)
    assert estimate.mean == pytest.approx(reports.mean(), rel=1e-12)
    assert estimate.std_error == pytest.approx(reports.std(ddof=1) / math.sqrt(reports.size), rel=1e-6)
    low, high = estimate.interval(0.999)
    assert low < values.mean() < high
    assert high - low == pytest.approx(2 * 3.2905267 * estimate.std_error, rel=1e-6)
    assert mechanism.estimate(reports.astype(np.float32)).mean == pytest.approx(estimate.mean, rel=1e-6)
    with pytest.raises(fd.ParameterError, match="Sums"):
        _ = whole + kind(epsilon=2.0, bounds=(0, 10)).aggregate([1.0, 2.0])
    with pytest.raises(fd.ParameterError, match="other bounds"):
        kind(epsilon=2.0, bounds=(0, 10)).estimate(whole)


@each_mean
def test_estimate__of_few_reports(kind):
    mechanism = kind(epsilon=1.0, bounds=(-1, 1))
    with pytest.raises(fd.ParameterError, match="no reports"):
        mechanism.estimate([])
    one = mechanism.randomize([0.5], rng=seeded())
    assert mechanism.estimate(one) == MeanEstimate(one[0], math.sqrt(mechanism.variance(1)), 1)
    assert mechanism.estimate(Sums(0.0, 8.0, 2)).std_error == 2.0
    for level in (0, 1, math.nan, "0.9"):
        with pytest.raises(fd.ParameterError, match="level"):
            mechanism.estimate(one).interval(level)


@each_kind
def test_aggregate__refuses_what_cannot_be_a_report(kind):
    mechanism = kind(epsilon=1.0, bounds=(-1, 1))
    for bad in (math.nan, math.inf, 1e9, -77.0):
        for place in (0, 40, 99):
            reports = np.zeros(100)
            reports[place] = bad
            with pytest.raises(fd.DomainError, match="cannot have reported") as caught:
                mechanism.aggregate(reports)
            assert "77" not in str(caught.value)


@pytest.mark.parametrize(("epsilon", "bins"), [(0.5, 32), (2.0, 256), (4.0, 100)])
def test_piecewise__reports_fall_in_the_bins_of_its_channel(epsilon, bins):
    """Values spread over one bin: the outputs follow that bin's row; the row of a larger epsilon is rejected."""
    mechanism, low, high, chosen = Piecewise(epsilon=epsilon, bounds=(-3.0, 5.0)), -3.0, 5.0, bins // 3
    width = (high - low) / bins
    values = np.random.default_rng(1).uniform(low + chosen * width, low + (chosen + 1) * width, 2_000_000)
    counts = mechanism.count_outputs(mechanism.randomize(values, rng=fd.Rng.unsafe_seed(4)), bins)
    channel = mechanism.channel(bins)
    assert counts.sum() == values.size
    assert channel.epsilon() == pytest.approx(epsilon, rel=1e-8)
    assert chisquare(counts, channel.row(chosen) * values.size).pvalue > 1e-3
    mutant = WindowChannel(bins, channel_span(epsilon, bins), *densities(epsilon * 1.05, epsilon, bins)).row(chosen)
    assert chisquare(counts, mutant / mutant.sum() * values.size).pvalue < 1e-6


def channel_span(epsilon, bins):
    return Fraction(math.exp(-epsilon / 2)) * bins


def densities(growth, epsilon, bins):
    """Densities in and out of the window of the mechanism for ``epsilon``, with their ratio e**growth."""
    span = math.exp(-epsilon / 2) * bins
    q = 1 / (math.exp(growth) * span + bins)
    return math.exp(growth) * q, q
