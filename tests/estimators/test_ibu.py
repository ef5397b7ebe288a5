"""Maximum likelihood: closed forms, an independent solver, certificates, bounds of the search."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize

import fastdp as fd
from fastdp.channels import DenseChannel, GeometricChannel, KRRChannel
from fastdp.estimators import estimate, ibu
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.likelihood.search import Run, StopRun, certificate
from tests.estimators.cases import mean_log_likelihood, random_case, random_channel

METHODS = ["auto", "em", "nesterov", "second-order"]


def random_dense(n, m, seed):
    return DenseChannel(np.random.default_rng(seed).dirichlet(np.full(m, 0.5), size=n))


def sorted_krr(counts, p, q):
    """The closed form by sorting, as in the oracles: drop the smallest while the rest would make it negative."""
    shares = counts / counts.sum()
    order = np.argsort(shares)
    mass, dropped = 1.0, 0
    while q * mass > (1 - dropped * q) * shares[order[dropped]]:
        mass -= shares[order[dropped]]
        dropped += 1
    result = ((1 - dropped * q) * shares - mass * q) / (mass * (p - q))
    result[order[:dropped]] = 0
    return result


class TestClosedForms:
    @pytest.mark.parametrize(("k", "epsilon", "n"), [(2, 0.3, 20), (7, 1.0, 50), (100, 2.0, 10**4), (1000, 4.0, 10**6)])
    def test_krr__is_the_sort_formula(self, k, epsilon, n):
        channel = fd.KRR(epsilon=epsilon, domain=k).channel()
        row = channel.row(0)
        source = np.random.default_rng(k)
        counts = source.multinomial(n, channel.forward(source.dirichlet(np.full(k, 0.3))))
        found = ibu(channel, counts)
        np.testing.assert_allclose(found.distribution, sorted_krr(counts, row[0], row[1]), atol=1e-12)
        assert found.gap < 1e-12
        assert found.distribution.sum() == pytest.approx(1, abs=1e-12)
        mean = mean_log_likelihood(channel.dense(), counts, found.distribution)
        assert found.log_likelihood == pytest.approx(n * mean, rel=1e-12)

    def test_krr__is_what_the_iterations_converge_to(self):
        channel = KRRChannel(30, 0.2, 0.8 / 29)
        counts = np.random.default_rng(0).poisson(8, size=30)
        slow = ibu(DenseChannel(channel.dense()), counts, tolerance=1e-12)
        np.testing.assert_allclose(ibu(channel, counts).distribution, slow.distribution, atol=1e-8)

    @pytest.mark.parametrize("p", [0.1, 0.25])
    def test_krr__that_lies_more_than_it_tells(self, p):
        """No closed form there; equal rows give back the start."""
        channel = KRRChannel(4, p, (1 - p) / 3)
        found = ibu(channel, [10, 20, 30, 40])
        assert found.gap <= 1e-6
        if p == 0.25:
            assert found.distribution.tolist() == [0.25] * 4

    @pytest.mark.parametrize("method", METHODS)
    def test_identity__gives_the_shares(self, method):
        counts = np.array([5, 0, 3, 2])
        found = ibu(DenseChannel(np.eye(4)), counts, method=method, tolerance=1e-12)
        np.testing.assert_allclose(found.distribution, counts / 10, atol=1e-9)

    @pytest.mark.parametrize("method", METHODS)
    def test_equal_rows__give_back_the_start(self, method):
        channel = DenseChannel(np.tile([0.2, 0.3, 0.5], (4, 1)))
        start = [0.1, 0.2, 0.3, 0.4]
        found = ibu(channel, [3, 9, 1], start=start, method=method, max_iterations=7 if method == "em" else None)
        np.testing.assert_allclose(found.distribution, start, atol=1e-14)
        assert found.gap == pytest.approx(0, abs=1e-14)

    def test_one_input(self):
        found = ibu(DenseChannel([[0.5, 0.5]]), [3, 4])
        assert found.distribution.tolist() == [1.0]


class TestIndependentSolver:
    """The same likelihood as scipy's, to 1e-8."""

    @pytest.mark.parametrize("seed", range(8))
    def test_agreement(self, seed):
        source = np.random.default_rng(seed)
        n, m = (int(v) for v in source.integers(2, 12, size=2))
        channel = random_dense(n, m, seed + 100)
        matrix = channel.dense()
        counts = source.multinomial(500, channel.forward(source.dirichlet(np.ones(n))))
        shares = counts / counts.sum()
        seen = shares > 0

        def fall(p):
            return -float(shares[seen] @ np.log((p @ matrix)[seen]))

        def slope(p):
            return -matrix[:, seen] @ (shares[seen] / (p @ matrix)[seen])

        solved = optimize.minimize(
            fall, np.full(n, 1 / n), jac=slope, method="SLSQP", bounds=[(0, 1)] * n,
            constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": lambda p: np.ones(n)},
            options={"ftol": 1e-15, "maxiter": 2000},
        )  # fmt: skip
        found = ibu(channel, counts, tolerance=1e-10)
        assert found.log_likelihood / 500 == pytest.approx(-solved.fun, abs=1e-8)
        assert found.log_likelihood / 500 >= -solved.fun - 1e-10

    @pytest.mark.parametrize("seed", range(4))
    def test_long_em__agrees(self, seed):
        _, channel, counts = random_case(9 * seed)  # the plain kind: EM is slow on the others
        slow = ibu(channel, counts, method="em", max_iterations=20_000)
        fast = ibu(channel, counts, tolerance=1e-10)
        assert fast.log_likelihood >= slow.log_likelihood - 1e-9 * counts.sum()
        assert (fast.log_likelihood - slow.log_likelihood) / counts.sum() <= slow.gap + 1e-12


class TestCertificate:
    @pytest.mark.parametrize("seed", range(20))
    def test_gap__bounds_the_distance_to_the_best(self, seed):
        """At every step of EM the best likelihood is between the point's own and the point's plus its gap."""
        _, channel, counts = random_case(seed)
        best = ibu(channel, counts, tolerance=1e-10)
        for steps in (0, 1, 5, 40):
            point = ibu(channel, counts, method="em", max_iterations=steps)
            distance = (best.log_likelihood - point.log_likelihood) / point.n
            assert -1e-9 <= distance <= point.gap + 1e-9

    def test_gap__exposes_a_wrong_gradient(self):
        """A product with one wrong column: what it calls optimal is not certified by the true channel."""

        class Mutant(DenseChannel):
            def _backward(self, w):
                w = w.copy()
                w[3] *= 1.5
                return super()._backward(w)

            def prepare(self, counts):
                from fastdp.channels.observed import Observed

                return Observed(self, counts)

        honest = random_dense(6, 8, 1)
        counts = np.random.default_rng(2).poisson(50, size=8)
        right = Problem("ibu", [(honest, counts)])
        wrong = Problem("ibu", [(Mutant(honest.dense()), counts)])
        p = np.full(6, 1 / 6)
        for _ in range(2000):
            p = p * wrong.gradient(p)[0]
            p /= p.sum()
        assert math.log(right.gradient(p)[0].max()) > 1e-3
        assert float(p @ right.gradient(p)[0]) == pytest.approx(1, abs=1e-12)  # the identity that a true G obeys
        assert abs(float(p @ wrong.gradient(p)[0]) - 1) > 1e-3

    def test_gradient__is_the_derivative(self):
        problem = Problem("ibu", [(random_dense(5, 7, 4), np.arange(7)), (KRRChannel(5, 0.4, 0.15), [3, 1, 0, 2, 9])])
        p = np.random.default_rng(0).dirichlet(np.ones(5))
        g, _ = problem.gradient(p)
        for x in range(5):
            step = np.zeros(5)
            step[x] = 1e-6
            slope = (problem.gradient(p + step)[1] - problem.gradient(p - step)[1]) / 2e-6
            assert slope == pytest.approx(g[x], rel=1e-7)


def check_convergence(seed, tolerance=1e-9):
    kind, channel, counts = random_case(seed)
    seen = []
    found = ibu(
        channel, counts, tolerance=tolerance, callback=lambda i, p, gap, ll: seen.append((ll, p.min(), p.sum()))
    )
    assert found.gap <= tolerance, (seed, kind, channel.shape, found.gap)
    assert found.distribution.min() >= 0
    assert found.distribution.sum() == pytest.approx(1, abs=1e-12)
    steps = np.array(seen).reshape(-1, 3)
    assert (np.diff(steps[:, 0]) >= -1e-14 * counts.sum() - 1e-12 * np.abs(steps[1:, 0])).all(), (seed, kind)
    assert (steps[:, 1] >= 0).all()
    assert np.allclose(steps[:, 2], 1)


@pytest.mark.parametrize("first", range(0, 90, 9))
def test_any_channel__converges(first):
    """Duplicate rows, low rank, sparse, k-RR, geometric, skewed beyond reason: gap 1e-9, monotone, on the simplex."""
    for seed in range(first, first + 9):
        check_convergence(seed)


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, 1800, 100))
def test_many_channels__converge(first):
    for seed in range(first, first + 100):
        check_convergence(seed)


@pytest.mark.parametrize(
    ("n", "epsilon", "reports"),
    [(2, 0.5, 100), (50, 1e-4, 10**6), (300, 0.05, 300), (300, 0.5, 10**5), (100, 30.0, 10**4), (1000, 0.05, 10**5)],
)
def test_geometric__converges_by_the_banded_method(n, epsilon, reports):
    channel = GeometricChannel(n, epsilon)
    chances = channel.forward(np.random.default_rng(n).dirichlet(np.full(n, 0.2)))
    counts = np.random.default_rng(1).multinomial(reports, chances / chances.sum())
    found = ibu(channel, counts, tolerance=1e-9)
    assert found.gap <= 1e-9
    assert found.iterations <= 30
    assert "line" in found.method
    if n <= 300:
        other = ibu(channel, counts, tolerance=1e-9, method="second-order")
        assert found.log_likelihood == pytest.approx(other.log_likelihood, abs=4e-9 * reports)


class TestRange:
    """Counts and entries far from 1."""

    @pytest.mark.parametrize("method", ["auto", "nesterov"])
    @pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12, 1e200])
    def test_scale__of_counts_does_not_matter(self, scale, method):
        channel = random_dense(6, 9, 2)
        counts = np.random.default_rng(1).poisson(30, size=9)
        found, scaled = (ibu(channel, counts * factor, method=method, tolerance=1e-8) for factor in (1.0, scale))
        np.testing.assert_allclose(scaled.distribution, found.distribution, atol=1e-6)
        assert math.isfinite(scaled.log_likelihood)

    @pytest.mark.parametrize("method", ["auto", "em", "nesterov"])
    def test_unbalanced_counts__stay_finite(self, method):
        channel = random_dense(5, 5, 3)
        found = ibu(channel, [1e12, 1e-12, 0, 1, 1e6], method=method, max_iterations=300)
        assert np.isfinite(found.distribution).all()
        assert math.isfinite(found.gap)

    @pytest.mark.parametrize("tiny", [1e-100, 1e-300, 5e-324])
    @pytest.mark.parametrize("method", ["auto", "em", "nesterov", "second-order"])
    def test_rare_outputs__stay_finite(self, tiny, method):
        """An output that is hardly possible, and occurred: a factor per output cancels."""
        matrix = np.array([[0.5, 0.5, tiny], [0.25, 0.75, 0.0], [0.75, 0.25, 0.0]])
        found = ibu(DenseChannel(matrix), [10, 20, 5], method=method, max_iterations=400)
        assert np.isfinite(found.distribution).all()
        assert math.isfinite(found.log_likelihood)
        assert found.distribution[0] >= 5 / 35 - 1e-6
        if method == "auto":
            assert found.gap <= 1e-6

    def test_krr__of_a_trillion(self):
        found = ibu(KRRChannel(3, 0.5, 0.25), [400_000_000_000, 350_000_000_000, 250_000_000_000])
        np.testing.assert_allclose(found.distribution, [0.6, 0.4, 0.0], atol=1e-12)


class TestBounds:
    """How long a run is, and what comes back from one that is cut."""

    def test_em__takes_exactly_the_steps_asked_for(self):
        channel = random_dense(4, 6, 1)
        counts = np.array([5, 1, 9, 2, 2, 4])
        p = np.full(4, 0.25)
        matrix = channel.dense()
        for steps in range(6):
            found = ibu(channel, counts, method="em", max_iterations=steps)
            assert found.iterations == steps
            np.testing.assert_allclose(found.distribution, p, atol=1e-15)
            p = p * (matrix @ (counts / counts.sum() / (p @ matrix)))

    def test_em__goes_on_when_it_has_converged(self):
        found = ibu(DenseChannel(np.eye(2)), [1, 1], method="em", max_iterations=9)
        assert found.iterations == 9

    @pytest.mark.parametrize("method", ["auto", "nesterov", "second-order"])
    @pytest.mark.parametrize("limit", [1, 7, 30])
    def test_limit__bounds_the_gradients(self, method, limit):
        channel = GeometricChannel(80, 0.1)
        counts = np.random.default_rng(1).poisson(20, size=80)
        calls = []
        found = ibu(
            channel, counts, method=method, tolerance=0.0, max_iterations=limit, callback=lambda *a: calls.append(a)
        )
        assert found.iterations == len(calls) <= limit
        assert found.gap == calls[-1][2]

    @pytest.mark.parametrize("method", METHODS)
    def test_interrupt__returns_the_best_so_far(self, method):
        channel = GeometricChannel(80, 0.1)
        counts = np.random.default_rng(1).poisson(20, size=80)

        def interrupt(iteration, p, gap, log_likelihood):
            if iteration == 5:
                raise KeyboardInterrupt

        found = ibu(channel, counts, method=method, tolerance=1e-12, callback=interrupt)
        assert "interrupted" in found.method
        assert found.iterations == 5
        assert 0 < found.gap < math.inf
        assert found.distribution.sum() == pytest.approx(1)

    def test_interrupt__of_quiet_steps(self, monkeypatch):
        channel, counts = random_dense(4, 6, 1), np.arange(1, 7)
        honest, calls = Problem.iterate, []

        def interrupted(problem, p, steps):
            calls.append(steps)
            if len(calls) == 4:
                raise KeyboardInterrupt
            return honest(problem, p, steps)

        monkeypatch.setattr(Problem, "iterate", interrupted)
        found = ibu(channel, counts, method="em", max_iterations=100)
        assert "interrupted" in found.method
        assert found.iterations == sum(calls[:3])
        told = ibu(channel, counts, method="em", max_iterations=found.iterations, callback=lambda *a: None)
        np.testing.assert_allclose(found.distribution, told.distribution, atol=1e-14)
        assert found.gap == pytest.approx(told.gap)

    @pytest.mark.parametrize("g", [[np.nan, 1.0], [np.inf, 1.0], [0.0, 0.0]])
    def test_gap__of_nonsense_is_no_certificate(self, g):
        assert certificate(np.array(g)) == math.inf

    def test_start__matters_only_where_it_may(self):
        channel = random_dense(5, 9, 7)
        counts = np.random.default_rng(3).poisson(30, size=9)
        one = ibu(channel, counts, tolerance=1e-11)
        other = ibu(channel, counts, start=[0.9, 0.025, 0.025, 0.025, 0.025], tolerance=1e-11)
        np.testing.assert_allclose(one.distribution, other.distribution, atol=1e-5)

    def test_best__is_kept(self):
        problem = Problem("ibu", [(random_dense(4, 6, 1), np.arange(1, 7))])
        run = Run(problem, tolerance=1e-15)
        good = ibu(problem.channels[0], problem.counts[0], tolerance=1e-3).distribution
        run.evaluate(good)
        best = run.likelihood
        run.evaluate(np.full(4, 0.25))
        assert run.likelihood == best
        assert np.array_equal(run.p, good)

    def test_run__stops_at_its_limit(self):
        problem = Problem("ibu", [(random_dense(4, 6, 1), np.arange(1, 7))])
        run = Run(problem, tolerance=1e-15, limit=1)
        run.evaluate(np.full(4, 0.25))
        with pytest.raises(StopRun):
            run.evaluate(np.full(4, 0.25))


class TestProgress:
    """A bar on standard error, for long runs on a terminal."""

    @pytest.mark.parametrize(
        ("patience", "progress", "shows"), [(-1.0, True, True), (60.0, True, False), (-1.0, None, False)]
    )
    def test_bar(self, monkeypatch, capsys, patience, progress, shows):
        from fastdp.estimators.likelihood import search as run

        monkeypatch.setattr(run, "PATIENCE_SECONDS", patience)
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
        ibu(random_dense(4, 6, 1), np.arange(1, 7), progress=progress)
        assert ("ibu" in capsys.readouterr().err) == shows

    @pytest.mark.parametrize("rule", [None, "cv"])
    def test_callback__is_called_with_what_is_done_and_the_most(self, capsys, rule):
        seen: list[tuple[int, int | None]] = []
        estimate(random_dense(4, 6, 1), np.arange(1, 7), regularize=rule, progress=lambda *both: seen.append(both))
        assert seen
        assert [done for done, _ in seen] == sorted(done for done, _ in seen)
        assert all(most is None or done <= most for done, most in seen)
        assert not capsys.readouterr().err


class TestGeneralised:
    """People with different mechanisms in one estimate."""

    def test_pairs__equal_one_stacked_channel(self):
        source = np.random.default_rng(4)
        first, second = random_dense(7, 5, 1), random_dense(7, 9, 2)
        counts = source.poisson(40, size=5), source.poisson(10, size=9)
        found = ibu([(first, counts[0]), (second, counts[1])], tolerance=1e-10)

        shares = np.array([c.sum() for c in counts]) / sum(c.sum() for c in counts)
        stacked = DenseChannel(np.hstack([shares[0] * first.dense(), shares[1] * second.dense()]))
        whole = ibu(stacked, np.concatenate(counts), tolerance=1e-10)
        assert found.n == whole.n
        np.testing.assert_allclose(found.distribution, whole.distribution, atol=1e-6)
        shift = sum(c.sum() * math.log(s) for c, s in zip(counts, shares, strict=True))
        assert found.log_likelihood + shift == pytest.approx(whole.log_likelihood, rel=1e-9)

    def test_two_epsilons__beat_either_alone(self):
        truth = np.array([0.5, 0.3, 0.15, 0.05])
        source = np.random.default_rng(0)
        channels = [fd.KRR(epsilon=e, domain=4).channel() for e in (0.5, 1.5)]
        errors = np.zeros(3)
        for _ in range(60):
            parts = [(channel, source.multinomial(3000, channel.forward(truth))) for channel in channels]
            for i, given in enumerate([parts, parts[:1], parts[1:]]):
                errors[i] += np.abs(ibu(given).distribution - truth).sum()
        assert errors[0] < errors[2] < errors[1]

    def test_different_inputs__are_refused(self):
        with pytest.raises(fd.ParameterError, match="same inputs"):
            ibu([(KRRChannel(3, 0.5, 0.25), [1, 1, 1]), (KRRChannel(4, 0.4, 0.2), [1, 1, 1, 1])])

    def test_nothing__is_refused(self):
        with pytest.raises(fd.ParameterError, match="at least one pair"):
            ibu([])


class TestRefusals:
    CHANNEL = DenseChannel([[0.5, 0.5, 0.0], [0.2, 0.8, 0.0]])

    @pytest.mark.parametrize(
        "counts",
        [[1, 2], [1, -2, 3], [1, np.nan, 0], [np.inf, 1, 0], [0, 0, 0], ["a", "b", "c"], None, 5, [True, False, True]],
    )
    @pytest.mark.parametrize("channel", [CHANNEL, KRRChannel(3, 0.5, 0.25)])
    def test_counts(self, channel, counts):
        with pytest.raises(fd.ParameterError, match="ibu: "):
            ibu(channel, counts)

    def test_impossible_output__that_occurred(self):
        with pytest.raises(fd.NotIdentifiableError, match="never gives"):
            ibu(self.CHANNEL, [1, 1, 1])
        assert ibu(self.CHANNEL, [1, 1, 0]).gap <= 1e-6

    @pytest.mark.parametrize("start", [[0.5, 0.4], [1.0, 0.0], [1.5, -0.5], [0.2, 0.3, 0.5], [np.nan, 1], "ab"])
    def test_start(self, start):
        with pytest.raises(fd.ParameterError, match="start"):
            ibu(self.CHANNEL, [1, 1, 0], start=start)

    @pytest.mark.parametrize(
        "options",
        [
            {"tolerance": -1.0}, {"tolerance": np.nan}, {"tolerance": "x"}, {"max_iterations": 0},
            {"max_iterations": 2.5}, {"max_iterations": True}, {"method": "newton"}, {"method": None},
        ],
    )  # fmt: skip
    def test_options(self, options):
        with pytest.raises(fd.ParameterError, match=next(iter(options))):
            ibu(self.CHANNEL, [1, 1, 0], **options)

    def test_channel(self):
        with pytest.raises(fd.ParameterError, match="Channel"):
            ibu("matrix", [1, 1])


def test_every_kind__is_covered_by_cases():
    """The generator of cases makes channels of each kind."""
    from tests.estimators.cases import KINDS

    for kind in KINDS:
        assert random_channel(kind, np.random.default_rng(0)).dense().min() >= 0
