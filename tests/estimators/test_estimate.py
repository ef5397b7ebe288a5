"""From the reports of mechanisms to estimates, and what an estimate can do."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.channels import DenseChannel, GridChannel, KRRChannel
from fastdp.estimators import Estimate, estimate, ibu, invert

N = 30_000
TRUTH = np.array([0.5, 0.3, 0.15, 0.05])

PROTOCOLS = [
    fd.KRR(epsilon=1.5, domain=4),
    fd.UnaryEncoding(epsilon=1.5, domain=4),
    fd.LocalHashing(epsilon=1.5, domain=4),
    fd.SubsetSelection(epsilon=1.5, domain=4),
    fd.HadamardResponse(epsilon=1.5, domain=4),
]


@pytest.fixture(scope="module")
def codes():
    return np.random.default_rng(1).choice(4, size=N, p=TRUTH)


@pytest.mark.parametrize("mechanism", PROTOCOLS, ids=lambda mechanism: type(mechanism).__name__)
def test_local_protocols(mechanism, codes, rng):
    found = estimate(mechanism, mechanism.randomize(codes, rng=rng))
    assert np.abs(found.distribution - TRUTH).sum() / 2 < 0.05
    assert found.distribution.min() >= 0
    assert found.distribution.sum() == pytest.approx(1)
    assert found.n == N
    assert (np.abs(found.distribution - TRUTH) < 5 * found.std_error).all()


@pytest.mark.parametrize("mechanism", PROTOCOLS, ids=lambda mechanism: type(mechanism).__name__)
def test_counts__of_batches_give_the_same(mechanism, codes, rng):
    reports = mechanism.randomize(codes, rng=rng)
    counts = mechanism.aggregate(reports[:1000]) + mechanism.aggregate(reports[1000:])
    given = (mechanism, counts)
    if hasattr(mechanism, "count_outputs") and getattr(mechanism, "cohorts", 1):  # support tells less than outputs
        outputs = mechanism.count_outputs(reports[:1000]) + mechanism.count_outputs(reports[1000:])
        given = (mechanism.channel(), outputs)
    assert np.array_equal(estimate(*given).distribution, estimate(mechanism, reports).distribution)


def test_randomized_response(rng):
    mechanism = fd.RandomizedResponse.two_coins()
    truth = np.random.default_rng(1).random(N) < 0.3
    found = estimate(mechanism, mechanism.randomize(truth, rng=rng))
    assert found.distribution[1] == pytest.approx(0.3, abs=0.03)
    assert "regular" in found.method


@pytest.mark.parametrize("boundary", ["clamp", "fold", "resample"])
def test_geometric__counts_integers_of_any_container(boundary, rng):
    mechanism = fd.Geometric(epsilon=0.5, bounds=(-5, 20), boundary=boundary)
    truth = np.random.default_rng(1).binomial(15, 0.5, size=N)
    reports = mechanism.randomize(truth, rng=rng)
    found = estimate(mechanism, reports)
    assert list(found.values) == list(range(-5, 21))
    assert found.distribution @ np.arange(-5, 21) == pytest.approx(truth.mean(), abs=0.15)
    exact = np.bincount(truth + 5, minlength=26) / N
    assert np.abs(found.distribution - exact).sum() / 2 < 0.15
    chunked = pa.chunked_array([reports[:7], reports[7:]])
    for same in (reports.tolist(), pa.array(reports), chunked, reports.astype(np.int16)):
        assert np.array_equal(estimate(mechanism, same).distribution, found.distribution)


def test_integers__outside_the_bounds_are_refused():
    with pytest.raises(fd.DomainError, match="bounds"):
        estimate(fd.Geometric(epsilon=0.5, bounds=(0, 9)), [1, 2, 10])


def test_square_wave__has_bins(rng):
    mechanism = fd.SquareWave(epsilon=2.0, bounds=(0, 10), bins=64)
    truth = np.random.default_rng(1).beta(3, 6, size=N) * 10
    found = estimate(mechanism, mechanism.randomize(truth, rng=rng))
    exact = np.histogram(truth, bins=64, range=(0, 10))[0] / N
    assert np.abs(found.distribution - exact).sum() / 2 < 0.15
    assert found.distribution @ found.values == pytest.approx(truth.mean(), abs=0.1)


def test_labels__name_the_entries(rng):
    mechanism = fd.KRR(epsilon=2.0, domain=["cold", "flu", "none"])
    found = estimate(mechanism, mechanism.randomize(["flu"] * 500 + ["none"] * 500, rng=rng))
    assert found.values == ("cold", "flu", "none")
    assert "flu: 0." in repr(found)
    table = found.to_arrow()
    assert table["value"].to_pylist() == ["cold", "flu", "none"]


@pytest.mark.parametrize("mechanism", [fd.Laplace(epsilon=1.0, sensitivity=1.0), 7, None])
def test_mechanism__without_a_channel_is_refused(mechanism):
    with pytest.raises(fd.ParameterError, match="channel"):
        estimate(mechanism, [1, 2])


def test_mechanism__of_numbers_is_refused():
    mechanism = fd.Duchi(epsilon=1.0, bounds=(0, 1))
    with pytest.raises(fd.ParameterError, match="frequencies"):
        estimate(mechanism, mechanism.randomize([0.5, 0.2], rng=fd.Rng.unsafe_seed(1)))


@pytest.mark.parametrize(
    "options",
    [{"regularize": "ridge"}, {"regularize": True}, {"tolerance": 0}, {"tolerance": -1}, {"max_iterations": 0}],
)
def test_options__are_checked(options):
    with pytest.raises(fd.ParameterError, match=next(iter(options))):
        estimate(KRRChannel(2, 0.75, 0.25), [60, 40], **options)


def test_pairs__of_mechanisms_are_one_estimate(codes, rng):
    strict, lax = fd.KRR(epsilon=0.5, domain=4), fd.KRR(epsilon=2.0, domain=4)
    pairs = [(strict, strict.randomize(codes[:10_000], rng=rng)), (lax, lax.randomize(codes[10_000:], rng=rng))]
    found = estimate(pairs)
    assert found.n == N
    assert np.abs(found.distribution - TRUTH).sum() / 2 < 0.03
    assert (found.std_error < estimate(*pairs[0]).std_error).all()
    with pytest.raises(fd.ParameterError, match="pairs"):
        estimate([strict])
    unary = fd.UnaryEncoding(epsilon=1.0, domain=4)
    with pytest.raises(fd.ParameterError, match="alone"):
        estimate([*pairs, (unary, unary.randomize(codes[:5], rng=rng))])


def test_grid__is_smoothed_along_both_axes():
    channel = GridChannel.geometric(1.0, (6, 5))
    counts = np.zeros(30)
    counts[12] = 1000
    found = estimate(channel, counts, regularize="smooth").distribution.reshape(6, 5)
    np.testing.assert_allclose(found, found[:, ::-1], atol=1e-9)
    assert found[1, 2] > 0.02


class TestEstimate:
    FOUND = ibu(KRRChannel(3, 0.6, 0.2), [500, 300, 200])

    def test_is_frozen(self):
        with pytest.raises(dataclasses.FrozenInstanceError):
            self.FOUND.gap = 0.0

    def test_to_arrow(self):
        table = self.FOUND.to_arrow(0.9)
        assert table.column_names == ["value", "probability", "spread", "low", "high"]
        np.testing.assert_array_equal(table["probability"], self.FOUND.distribution)
        np.testing.assert_array_equal(table["low"], self.FOUND.interval(0.9)[0])
        assert float(table.schema.metadata[b"gap"]) == self.FOUND.gap
        assert float(table.schema.metadata[b"n"]) == 1000

    def test_repr__is_short_for_many_values(self):
        found = ibu(KRRChannel(1000, 0.5, 0.5 / 999), np.arange(1000))
        assert repr(found).count("\n") == 7
        assert "1,000 values" in repr(found)

    def test_without_counts__there_are_no_errors(self):
        with pytest.raises(fd.NotIdentifiableError, match="standard errors"):
            _ = Estimate(np.ones(1), 0.0, 0.0, 0, "by hand", 1.0).std_error

    def test_matches_inversion_inside_the_simplex(self):
        np.testing.assert_allclose(
            self.FOUND.distribution, invert(KRRChannel(3, 0.6, 0.2), [500, 300, 200]), atol=1e-14
        )


class TestRegularised:
    def test_default__is_not_the_likeliest_where_that_overfits(self):
        channel = fd.Geometric(epsilon=0.1, bounds=(0, 499)).channel()
        places = np.arange(500)
        truth = np.exp(-(((places - 180) / 50) ** 2))
        truth /= truth.sum()
        chances = channel.forward(truth)
        counts = np.random.default_rng(3).multinomial(10_000, chances / chances.sum())
        found, likeliest = estimate(channel, counts), estimate(channel, counts, regularize=None)
        assert np.abs(found.distribution - truth).sum() / 2 < 0.05
        assert np.abs(likeliest.distribution - truth).sum() / 2 > 0.5
        assert found.log_likelihood < likeliest.log_likelihood
        assert "held-out" in found.method
        assert found.gap >= (likeliest.log_likelihood - found.log_likelihood) / 10_000 - 1e-6

    def test_default__is_the_likeliest_where_that_is_regular(self):
        found = estimate(KRRChannel(3, 0.6, 0.2), [50_000, 30_000, 20_000])
        np.testing.assert_allclose(found.distribution, [0.75, 0.25, 0.0], atol=0.01)
        regular = estimate(KRRChannel(3, 0.6, 0.2), [45_000, 30_000, 25_000])
        np.testing.assert_allclose(regular.distribution, [0.625, 0.25, 0.125], atol=1e-9)

    @pytest.mark.parametrize("regularize", ["cv", "early", "smooth", None])
    def test_same_counts__same_estimate(self, regularize):
        channel = fd.Geometric(epsilon=0.3, bounds=(0, 29)).channel()
        counts = np.random.default_rng(1).poisson(20, size=30)
        one, other = (estimate(channel, counts, regularize=regularize) for _ in range(2))
        assert np.array_equal(one.distribution, other.distribution)
        assert one.distribution.sum() == pytest.approx(1)

    def test_smooth__along_both_axes(self):
        channel = KRRChannel(12, 0.45, 0.05)
        counts = np.zeros(12)
        counts[5] = 100
        flat = estimate(channel, counts, regularize="smooth", shape=(3, 4)).distribution.reshape(3, 4)
        assert (flat[1] > flat[0]).all()
        np.testing.assert_allclose(flat[0], flat[2], atol=1e-12)
        with pytest.raises(fd.ParameterError, match="shape"):
            estimate(channel, counts, regularize="smooth", shape=(3, 5))

    @pytest.mark.parametrize(
        "counts", [[1, 0, 0], [1, 1, 0], [0.2, 0.3, 0.1], [1e12, 2e12, 1], [0.5, 0, 0], [1e200, 3e199, 1]]
    )
    @pytest.mark.parametrize("regularize", ["cv", "early", "smooth"])
    def test_few_reports__or_many(self, counts, regularize):
        found = estimate(KRRChannel(3, 0.5, 0.25), counts, regularize=regularize)
        assert np.isfinite(found.distribution).all()
        assert found.distribution.sum() == pytest.approx(1)
        assert math.isfinite(found.gap)
        assert np.isfinite(found.std_error).all()

    def test_krr__by_groups_of_equal_counts_is_the_same(self):
        channel = KRRChannel(100, 0.06, 0.94 / 99)
        chances = channel.forward(np.random.default_rng(0).dirichlet(np.full(100, 0.1)))
        counts = np.random.default_rng(1).multinomial(5000, chances)
        grouped, whole = estimate(channel, counts), estimate(DenseChannel(channel.dense()), counts)
        assert grouped.iterations == whole.iterations > 0
        np.testing.assert_allclose(grouped.distribution, whole.distribution, atol=1e-10)

    def test_many_steps__where_the_data_bear_them(self):
        """With plenty of reports the estimate goes as far as the likeliest."""
        channel = KRRChannel(400, 0.5, 0.5 / 399)
        truth = np.random.default_rng(0).dirichlet(np.full(400, 0.3))
        counts = np.random.default_rng(1).multinomial(10**8, channel.forward(truth))
        found = estimate(channel, counts)
        assert np.abs(found.distribution - truth).sum() / 2 < 0.005


@pytest.mark.parametrize(
    "mechanism",
    [
        fd.HadamardResponse(epsilon=1.0, domain=20),
        fd.LocalHashing(epsilon=1.0, domain=20, cohorts=64),
        fd.LocalHashing(epsilon=1.0, domain=20),
        fd.SubsetSelection(epsilon=1.0, domain=20),
    ],
    ids=lambda mechanism: f"{type(mechanism).__name__}-{getattr(mechanism, 'cohorts', None)}",
)
def test_estimate__takes_reports_and_counts_of_protocols(mechanism):
    """By the channel where its outputs are counted, else by unbiased frequencies; both are near the truth."""
    values = np.minimum(np.random.default_rng(0).geometric(0.2, 200_000) - 1, 19)
    truth = np.bincount(values, minlength=20) / values.size
    reports = mechanism.randomize(values, rng=fd.Rng.unsafe_seed(1))
    counted = hasattr(mechanism, "count_outputs") and getattr(mechanism, "cohorts", 1) is not None
    for given, projected in ((reports, not counted), (mechanism.aggregate(reports), True)):
        found = fd.estimate(mechanism, given)
        assert ("projected" in found.method) == projected
        collide = projected and getattr(mechanism, "cohorts", None)  # few public hash functions, taken for random ones
        assert np.abs(found.distribution - truth).sum() / 2 < (0.25 if collide else 0.06)
