"""Vulnerability, leakage and capacity, against closed forms, loops and the inequalities that tie them together."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp import measures
from fastdp.measures import additive_leakage, min_entropy_leakage, multiplicative_leakage, posterior_vulnerability
from tests.measures import naive

EPSILONS = [0.3, 1.0, 2.5]
CLOSE = {"rel": 1e-6}  # samplers round epsilon down by up to a millionth


def uniform(k):
    return np.full(k, 1 / k)


class TestClosedForms:
    """Uniform prior: what one report tells."""

    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("k", [2, 5, 100])
    def test_krr(self, k, epsilon):
        channel, e = fd.KRR(epsilon=epsilon, domain=k).channel(), math.exp(epsilon)
        p = e / (e + k - 1)
        assert posterior_vulnerability(channel, uniform(k)) == pytest.approx(p, **CLOSE)
        assert measures.multiplicative_capacity(channel) == pytest.approx(k * p, **CLOSE)
        bits = math.log2(k) + p * math.log2(p) + (1 - p) * math.log2(p / e)
        assert measures.shannon_leakage(channel, uniform(k)) == pytest.approx(bits, rel=2e-6)
        assert min_entropy_leakage(channel, uniform(k)) == pytest.approx(math.log2(k * p), rel=2e-6)

    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("k", [2, 6, 9])
    def test_subset_selection(self, k, epsilon):
        mechanism, e = fd.SubsetSelection(epsilon=epsilon, domain=k), math.exp(epsilon)
        size = mechanism.size
        expected = e / (size * e + k - size)
        assert posterior_vulnerability(mechanism.channel(), uniform(k)) == pytest.approx(expected, **CLOSE)
        assert measures.multiplicative_capacity(mechanism.channel()) == pytest.approx(k * expected, **CLOSE)

    @pytest.mark.parametrize("optimized", [True, False])
    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("k", [2, 5, 8])
    def test_unary(self, k, epsilon, optimized):
        mechanism = fd.UnaryEncoding(epsilon=epsilon, domain=k, optimized=optimized)
        p, q = mechanism.p, mechanism.q
        expected = p * (1 - (1 - q) ** k) / (k * q) + (1 - p) * (1 - q) ** (k - 1) / k
        assert posterior_vulnerability(mechanism.channel(), uniform(k)) == pytest.approx(expected, rel=1e-9)

    @pytest.mark.parametrize("epsilon", EPSILONS)
    @pytest.mark.parametrize("n", [2, 3, 50])
    def test_truncated_geometric(self, n, epsilon):
        channel, a = fd.Geometric(epsilon=epsilon, bounds=(0, n - 1)).channel(), math.exp(-epsilon)
        assert measures.multiplicative_capacity(channel) == pytest.approx((2 + (n - 2) * (1 - a)) / (1 + a), **CLOSE)

    def test_two_coins(self):
        """ln 3: 3/4 against 1/4."""
        channel = fd.RandomizedResponse.two_coins().channel()
        assert posterior_vulnerability(channel, uniform(2)) == pytest.approx(0.75, **CLOSE)
        assert measures.shannon_leakage(channel, uniform(2)) == pytest.approx(1 - naive.entropy([0.25, 0.75]), **CLOSE)

    @pytest.mark.parametrize("k", [1, 3, 20])
    def test_ends(self, k):
        """The identity tells everything, a single output nothing."""
        prior = np.arange(1, k + 1) / (k * (k + 1) / 2)
        assert posterior_vulnerability(np.eye(k), prior) == pytest.approx(1)
        assert measures.shannon_leakage(np.eye(k), prior) == pytest.approx(naive.entropy(prior), abs=1e-14)
        assert measures.multiplicative_capacity(np.eye(k)) == k
        nothing = np.full((k, 4), 0.25)
        assert additive_leakage(nothing, prior) == pytest.approx(0, abs=1e-15)
        assert multiplicative_leakage(nothing, prior) == pytest.approx(1)
        assert min_entropy_leakage(nothing, prior) == pytest.approx(0, abs=1e-14)
        assert measures.shannon_leakage(nothing, prior) == pytest.approx(0, abs=1e-14)
        assert measures.multiplicative_capacity(nothing) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(40))
def test_measures__agree_with_loops(seed):
    """Channels and priors with and without zeros; gains of any sign."""
    channel, prior = naive.random_case(seed, zeros=seed % 2 == 0)
    k = prior.size
    source = np.random.default_rng(seed + 500)
    gain = source.normal(size=(source.integers(1, 5), k))
    before, after = naive.vulnerability(np.ones((k, 1)), prior, gain), naive.vulnerability(channel, prior, gain)
    assert measures.prior_vulnerability(prior, gain) == pytest.approx(before, abs=1e-14)
    assert posterior_vulnerability(channel, prior, gain) == pytest.approx(after, abs=1e-14)
    assert additive_leakage(channel, prior, gain) == pytest.approx(after - before, abs=1e-14)
    factor = naive.vulnerability(channel, prior, abs(gain)) / naive.vulnerability(np.ones((k, 1)), prior, abs(gain))
    assert multiplicative_leakage(channel, prior, abs(gain)) == pytest.approx(factor, rel=1e-13)
    bayes = naive.vulnerability(channel, prior, np.eye(k))
    assert posterior_vulnerability(channel, prior) == pytest.approx(bayes, rel=1e-13)
    assert min_entropy_leakage(channel, prior) == pytest.approx(math.log2(bayes / prior.max()), abs=1e-13)
    assert measures.shannon_leakage(channel, prior) == pytest.approx(
        naive.mutual_information(channel, prior), abs=1e-13
    )


def test_gain__by_function_sees_guess_first():
    """A gain that is not symmetric: worth more when the guess is not above the truth."""
    channel, prior = naive.random_case(11, inputs=5, outputs=4)
    matrix = [[1.0 + w if w <= x else 0.0 for x in range(5)] for w in range(5)]
    of_function = posterior_vulnerability(channel, prior, lambda w, x: np.where(w <= x, 1.0 + w, 0.0))
    assert of_function == pytest.approx(naive.vulnerability(channel, prior, matrix))
    assert of_function != pytest.approx(naive.vulnerability(channel, prior, np.transpose(matrix)), rel=1e-3)
    identity = posterior_vulnerability(channel, prior, lambda w, x: (w == x) * 1.0)
    assert identity == pytest.approx(posterior_vulnerability(channel, prior))
    assert measures.prior_vulnerability(prior, lambda w, x: (w == x) * 1.0) == pytest.approx(prior.max())


def test_processing__never_leaks_more():
    """Data processing: every measure of C D is at most that of C, and for some of them clearly less."""
    drops = []
    for seed in range(60):
        channel, prior = naive.random_case(seed, inputs=4, zeros=seed % 3 == 0)
        source = np.random.default_rng(seed + 1)
        later = channel @ source.dirichlet(np.ones(source.integers(1, 6)), channel.shape[1])
        gain = source.normal(size=(3, 4))
        drops.append([
            posterior_vulnerability(channel, prior) - posterior_vulnerability(later, prior),
            posterior_vulnerability(channel, prior, gain) - posterior_vulnerability(later, prior, gain),
            measures.shannon_leakage(channel, prior) - measures.shannon_leakage(later, prior),
            min_entropy_leakage(channel, prior) - min_entropy_leakage(later, prior),
            measures.multiplicative_capacity(channel) - measures.multiplicative_capacity(later),
        ])  # fmt: skip
    assert np.min(drops) > -1e-13
    assert (np.max(drops, axis=0) > 0.01).all()


def test_capacity__bounds_every_prior_and_gain():
    """The miracle theorem: for all gains >= 0; the uniform prior and the identity gain attain it."""
    for seed in range(60):
        channel, prior = naive.random_case(seed, zeros=seed % 2 == 0)
        gain = np.random.default_rng(seed + 9).exponential(size=(4, prior.size)) ** 3
        capacity = measures.multiplicative_capacity(channel)
        assert multiplicative_leakage(channel, prior, gain) <= capacity + 1e-12
        assert multiplicative_leakage(channel, prior) <= capacity + 1e-12
        assert multiplicative_leakage(channel, uniform(prior.size)) == pytest.approx(capacity)
        assert min_entropy_leakage(channel, prior) <= math.log2(capacity) + 1e-12
        assert measures.shannon_leakage(channel, prior) <= math.log2(capacity) + 1e-12


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_epsilon__bounds_leakage(epsilon):
    """Of local DP: a factor of e**epsilon at most, and epsilon / ln 2 bits."""
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    for mechanism in (
        fd.KRR(epsilon=epsilon, domain=4), fd.SubsetSelection(epsilon=epsilon, domain=4),
        fd.UnaryEncoding(epsilon=epsilon, domain=4), fd.HadamardResponse(epsilon=epsilon, domain=4),
    ):  # fmt: skip
        channel = mechanism.channel()
        assert 1 < measures.multiplicative_capacity(channel) <= math.exp(epsilon) * (1 + 1e-9)
        assert 0 < measures.shannon_leakage(channel, prior) <= epsilon / math.log(2)


def test_shannon__stays_finite_at_tiny_probabilities():
    """Entries near the end of the floats; outputs that a product by fast transforms would round to 0 or below."""

    class Rounded(fd.Channel):
        shape = (2, 3)

        def row(self, x):
            return np.array([[1 - 1e-30, 1e-30, 0.0], [1 - 1e-300, 0.0, 1e-300]][x])

        def forward(self, p):
            return super().forward(p) - np.array([0.0, 1e-18, 1e-18])

    assert 0 <= measures.shannon_leakage(Rounded(), [0.5, 0.5]) < 1e-15
    certain = np.array([[1.0, 0.0], [1e-320, 1.0]])
    assert measures.shannon_leakage(certain, [0.5, 0.5]) == pytest.approx(1)
    assert measures.shannon_leakage(certain, [1 - 1e-310, 1e-310]) == pytest.approx(0, abs=1e-300)


@pytest.mark.parametrize(
    ("gain", "says"),
    [
        ("bayes", "'identity', a function or a matrix"), (np.zeros((2, 3)), "a column per input, 2 of them"),
        ([[np.nan, 0.0]], "finite"), ([[-1.0, 2.0]], ">= 0 everywhere"), ([[0.0, 0.0]], "> 0 for some guess"),
        (lambda w, x: 1 if w == x else 0, "numpy.vectorize"), (None, "2-dimensional array"),
    ],
)  # fmt: skip
def test_gain__refuses(gain, says):
    with pytest.raises(fd.ParameterError, match=f"multiplicative_leakage: .*{says}"):
        multiplicative_leakage(np.eye(2), [0.5, 0.5], gain)


@pytest.mark.parametrize(
    "measure",
    [posterior_vulnerability, additive_leakage, multiplicative_leakage, min_entropy_leakage, measures.shannon_leakage],
)  # fmt: skip
def test_prior__must_be_a_distribution(measure):
    for prior in ([0.5, 0.6], [0.5, 0.5, 0.0], [1.5, -0.5], [np.nan, 1.0], "uniform"):
        with pytest.raises(fd.ParameterError, match=f"{measure.__name__}: prior must"):
            measure(np.eye(2), prior)
    with pytest.raises(fd.ParameterError, match="prior_vulnerability: prior must sum to 1"):
        measures.prior_vulnerability([0.5, 0.6])
