"""Distances between distributions, against scipy, closed forms and the laws they obey."""

from __future__ import annotations

import math
import sys
import types

import numpy as np
import pytest
from scipy import stats

import fastdp as fd
from fastdp import optional
from fastdp.measures import kl_divergence, mean_squared_error, total_variation, transport, wasserstein

SEEDS = range(12)


def pair(seed, size=None):
    source = np.random.default_rng(seed)
    size = size or int(source.integers(1, 40))
    return source.dirichlet(np.full(size, 0.5)), source.dirichlet(np.full(size, 0.5))


def grid(rows, columns, step=1.0):
    return np.array([(step * x, step * y) for x in range(rows) for y in range(columns)])


class TestTotalVariation:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_is_the_largest_difference_of_an_event(self, seed):
        """Over all events of up to eight values."""
        p, q = pair(seed, 8)
        events = (np.arange(256)[:, None] >> np.arange(8)) & 1
        assert total_variation(p, q) == pytest.approx((events @ (p - q)).max(), abs=1e-14)

    def test_closed_forms(self):
        assert total_variation([1, 0], [0, 1]) == 1
        assert total_variation([0.2, 0.8], [0.2, 0.8]) == 0
        for k, n in ((2, 5), (3, 30)):
            narrow = np.where(np.arange(n) < k, 1 / k, 0.0)
            assert total_variation(narrow, np.full(n, 1 / n)) == pytest.approx(1 - k / n)


class TestKL:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_agrees_with_scipy(self, seed):
        p, q = pair(seed)
        assert kl_divergence(p, q) == pytest.approx(stats.entropy(p, q), rel=1e-11, abs=1e-15)

    def test_is_infinite_only_where_q_alone_is_zero(self):
        assert kl_divergence([0.5, 0.5, 0], [0.5, 0, 0.5]) == math.inf
        assert kl_divergence([0.0, 1.0], [0.5, 0.5]) == pytest.approx(math.log(2))
        assert kl_divergence([0.5, 0.5, 0], [0.5, 0.5, 0]) == 0
        assert kl_divergence([1 - 1e-320, 1e-320], [1, 1e-322]) == pytest.approx(0, abs=1e-300)

    def test_bernoulli_closed_form_is_not_symmetric(self):
        for a, b in ((0.1, 0.4), (0.5, 0.9), (0.3, 0.301)):
            expected = a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))
            assert kl_divergence([a, 1 - a], [b, 1 - b]) == pytest.approx(expected, rel=1e-9)
        assert kl_divergence([0.1, 0.9], [0.4, 0.6]) != pytest.approx(kl_divergence([0.4, 0.6], [0.1, 0.9]), rel=1e-2)

    @pytest.mark.parametrize("epsilon", [0.5, 2.0])
    def test_is_at_most_epsilon_between_rows_of_a_private_channel(self, epsilon):
        channel = fd.KRR(epsilon=epsilon, domain=6).channel()
        value = kl_divergence(channel.row(0), channel.row(4))
        e = math.exp(epsilon)
        assert value == pytest.approx(epsilon * (e - 1) / (e + 5), rel=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
def test_laws(seed):
    """Pinsker; a channel brings distributions closer; on unit steps, TV <= W <= (n - 1) TV; triangle inequality."""
    p, q = pair(seed, 9)
    r, _ = pair(seed + 100, 9)
    channel = np.random.default_rng(seed).dirichlet(np.ones(5), 9)
    assert kl_divergence(p, q) >= 2 * total_variation(p, q) ** 2
    assert total_variation(p @ channel, q @ channel) < total_variation(p, q)
    assert kl_divergence(p @ channel, q @ channel) < kl_divergence(p, q)
    assert total_variation(p, q) <= wasserstein(p, q) <= 8 * total_variation(p, q)
    for distance in (total_variation, wasserstein):
        assert distance(p, q) == pytest.approx(distance(q, p), rel=1e-14)
        assert distance(p, r) <= distance(p, q) + distance(q, r) + 1e-14
        assert distance(p, p) == 0


def test_mean_squared_error__is_per_entry():
    assert mean_squared_error([1, 2, 3], [1, 2, 6]) == 3
    assert mean_squared_error([1.1, -0.1], [1, 0]) == pytest.approx(0.01)


class TestWassersteinOnALine:
    @pytest.mark.parametrize("seed", SEEDS)
    def test_agrees_with_scipy(self, seed):
        """Positions neither sorted nor equidistant, some of them equal."""
        p, q = pair(seed)
        places = np.random.default_rng(seed).integers(-20, 20, p.size) * 0.7
        expected = stats.wasserstein_distance(places, places, p, q)
        assert wasserstein(p, q, positions=places) == pytest.approx(expected, abs=1e-12)
        assert wasserstein(p, q, positions=places[:, None]) == pytest.approx(expected, abs=1e-12)
        numbers = np.arange(p.size)
        assert wasserstein(p, q) == pytest.approx(stats.wasserstein_distance(numbers, numbers, p, q), abs=1e-12)

    @pytest.mark.parametrize("shift", [1, 3, 17])
    def test_a_shift_costs_its_length(self, shift):
        p = np.pad(np.random.default_rng(shift).dirichlet(np.ones(20)), (0, 20))
        assert wasserstein(p, np.roll(p, shift)) == pytest.approx(shift)
        assert wasserstein(p, np.roll(p, shift), positions=0.25 * np.arange(40)) == pytest.approx(shift / 4)

    def test_orders_what_total_variation_does_not(self):
        """A mutant that ignores the distance would give all of these the same."""
        p = np.eye(5)
        assert [wasserstein(p[0], p[x]) for x in range(5)] == [0, 1, 2, 3, 4]
        assert [total_variation(p[0], p[x]) for x in range(5)] == [0, 1, 1, 1, 1]

    def test_a_million_values_take_no_time(self):
        p = np.random.default_rng(0).dirichlet(np.ones(1_000_000))
        assert wasserstein(p, p[::-1].copy()) == pytest.approx(abs(np.cumsum(p) - np.cumsum(p[::-1])).sum(), rel=1e-9)


SOLVERS = ["scipy", "ot"]


@pytest.fixture(params=SOLVERS)
def solver(request, monkeypatch):
    """Each solver of the linear program in turn; POT where it is installed."""
    if request.param == "ot":
        pytest.importorskip("ot")
    else:
        monkeypatch.setattr(optional, "is_installed", lambda name: name != "ot")
    return request.param


class TestWassersteinElsewhere:
    @pytest.mark.parametrize("seed", range(4))
    def test_agrees_with_scipy(self, seed, solver):
        cells = grid(3, 4, 1.5)
        p, q = pair(seed, 12)
        expected = stats.wasserstein_distance_nd(cells, cells, p, q)
        assert wasserstein(p, q, positions=cells) == pytest.approx(expected, abs=1e-9)
        distance = np.hypot(*(cells[:, None] - cells[None]).transpose(2, 0, 1))
        assert wasserstein(p, q, distance=distance) == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("seed", range(4))
    def test_a_line_is_a_special_case(self, seed, solver):
        """Points on a slope, and the matrix of distances of the line."""
        p, q = pair(seed, 30)
        places = np.sort(np.random.default_rng(seed).random(30))
        expected = wasserstein(p, q, positions=5 * places)
        assert wasserstein(p, q, positions=np.outer(places, [3.0, 4.0])) == pytest.approx(expected, abs=1e-9)
        distance = 5 * np.abs(np.subtract.outer(places, places))
        assert wasserstein(p, q, distance=distance) == pytest.approx(expected, abs=1e-9)

    @pytest.mark.parametrize("step", [(1, 0), (2, 3), (0, 4)])
    def test_a_shift_costs_its_length(self, step, solver):
        block = np.random.default_rng(1).dirichlet(np.ones(16)).reshape(4, 4)
        p, q = np.zeros((8, 8)), np.zeros((8, 8))
        p[:4, :4] = block
        q[step[0] : step[0] + 4, step[1] : step[1] + 4] = block
        assert wasserstein(p.ravel(), q.ravel(), positions=grid(8, 8)) == pytest.approx(math.hypot(*step), abs=1e-9)

    def test_the_discrete_metric_is_total_variation(self, solver):
        for seed in range(4):
            p, q = pair(seed, 10)
            assert wasserstein(p, q, distance=1 - np.eye(10)) == pytest.approx(total_variation(p, q), abs=1e-9)

    def test_costs_go_from_p_to_q(self, solver):
        """A matrix that is not symmetric, and not a metric: nothing may stay where it is for free."""
        cost = np.array([[7.0, 1.0], [3.0, 5.0]])
        assert wasserstein([1, 0], [0, 1], distance=cost) == pytest.approx(1)
        assert wasserstein([0, 1], [1, 0], distance=cost) == pytest.approx(3)
        assert wasserstein([0.5, 0.5], [0.5, 0.5], distance=cost) == pytest.approx(2)

    def test_equal_distributions_are_at_0(self, solver):
        p, _ = pair(3, 16)
        assert wasserstein(p, p, positions=grid(4, 4)) == 0
        off = p * (1 + 1e-12 * np.arange(16))
        assert wasserstein(p, off / off.sum(), positions=grid(4, 4)) == pytest.approx(0, abs=1e-10)

    def test_too_many_pairs_are_refused_before_memory_is(self, solver, monkeypatch):
        monkeypatch.setattr(transport, "LARGEST_NETWORK", 20)
        monkeypatch.setattr(transport, "LARGEST_PROGRAM", 20)
        p, q = pair(0, 25)
        way_out = "coarser cells" if solver == "ot" else r"pip install 'fastdp\[transport\]'"
        with pytest.raises(fd.ParameterError, match=f"wasserstein: .* pairs .*at most 20 fit; .*{way_out}"):
            wasserstein(p, q, positions=grid(5, 5))

    def test_a_solver_that_gives_up_is_no_answer(self, monkeypatch):
        """Its best value so far is above the distance."""
        stopped = types.SimpleNamespace(emd2=lambda *args, **options: (7.0, {"warning": "iterations used up"}))
        monkeypatch.setitem(sys.modules, "ot", stopped)
        monkeypatch.setattr(optional, "is_installed", lambda name: True)
        with pytest.raises(fd.FastDPError, match="wasserstein: .*stopped early: iterations used up"):
            wasserstein([1.0, 0.0], [0.0, 1.0], positions=grid(1, 2))

    def test_no_solver_says_what_to_install(self, monkeypatch):
        for name in ("ot", "scipy"):
            monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(fd.MissingPackageError, match=r"wasserstein: needs ot; .*pip install 'fastdp\[transport\]'"):
            wasserstein([1.0, 0.0], [0.0, 1.0], positions=grid(1, 2))
        assert wasserstein([1.0, 0.0], [0.0, 1.0]) == 1


@pytest.mark.parametrize("distance", [total_variation, kl_divergence, wasserstein])
def test_distances__need_two_distributions(distance):
    for p, q, says in (
        ([0.5, 0.5], [1.0], "same length, got 2 and 1"), ([0.5, 0.6], [0.5, 0.5], "p must sum to 1"),
        ([0.5, 0.5], [1.5, -0.5], "q must hold probabilities"), ([0.5, np.nan], [0.5, 0.5], "p must hold finite"),
        ("ab", [0.5, 0.5], "p must be a 1-dimensional"), ([], [], "not empty"),
    ):  # fmt: skip
        with pytest.raises(fd.ParameterError, match=f"{distance.__name__}: .*{says}"):
            distance(p, q)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"positions": [0, 1, 2]}, "positions must have 2 entries"), ({"positions": [0, np.inf]}, "finite"),
        ({"positions": np.zeros((2, 2, 2))}, "1-dimensional or 2-dimensional"),
        ({"distance": np.zeros((2, 3))}, "2 x 2 matrix"), ({"distance": [[0, -1], [1, 0]]}, "numbers >= 0"),
        ({"distance": np.zeros((2, 2)), "positions": [0, 1]}, "not both"),
    ],
)  # fmt: skip
def test_wasserstein__refuses(options, says):
    with pytest.raises(fd.ParameterError, match=f"wasserstein: .*{says}"):
        wasserstein([0.5, 0.5], [1.0, 0.0], **options)


def test_mean_squared_error__needs_equal_lengths():
    with pytest.raises(fd.ParameterError, match="same length, got 2 and 1"):
        mean_squared_error([1, 2], [1])
