"""Which candidates held-out reports find credible, and what part each has in the estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fastdp.channels import GeometricChannel, KRRChannel
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.smoothing import cross_validation as held_out
from fastdp.estimators.smoothing.candidates import Candidate, Ladder, inverter
from fastdp.estimators.smoothing.regularize import fit_regularised
from fastdp.estimators.smoothing.work import Allowance


def steps(number):
    return Candidate("steps", number)


def credibility(scores, typical=None):
    search = held_out._Search(None, [])
    search.scores = {Candidate(kind, number): score for (kind, number), score in scores.items()}
    return search.credibility(typical)


def test_credibility__is_the_root_of_the_likelihood():
    found = credibility({("steps", 0): 0.0, ("steps", 5): 2 * math.log(3), ("steps", 12): -30.0, ("sparse", 2): 0.0})
    assert found == pytest.approx({steps(5): 0.6, steps(0): 0.2, Candidate("sparse", 2): 0.2})


def test_credibility__is_of_few_numbers_of_steps():
    """Neighbours would say the same; the end of a path is tried, whatever its number."""
    search = held_out._Search(None, [])
    search.scores = {steps(number): 0.0 for number in (4, 5, 6, 38)}
    search.reached["steps"] = 38
    assert set(search.credibility(None)) == {steps(5), steps(38)} | {search.best}
    search.scores[steps(6)] = 1.0
    assert set(search.credibility(None)) == {steps(5), steps(6), steps(38)}


@pytest.mark.parametrize(
    ("kind", "number", "expected"),
    [
        ("averaged", 10, 0.0), ("averaged", 20, -2 * math.log(2)), ("averaged", 5, -0.5 * math.log(2)),
        ("averaged", 0, -0.5 * math.log(20)), ("steps", 10, -2.0), ("sparse", 2, -2.0),
    ],
)  # fmt: skip
def test_prior__is_the_law_of_typical_steps_on_maps(kind, number, expected):
    assert held_out._log_prior(Candidate(kind, number), 10.0) == pytest.approx(expected)
    assert held_out._log_prior(Candidate(kind, number), None) == 0.0


def test_parts__are_of_rules_that_lose_least():
    """A rule ten times as far as the best rival under a truth half credible loses to one that is a little off twice."""
    rules = [steps(0), steps(5), steps(50)]
    far = np.array([[0.0, 1.0], [0.11, 0.11], [1.0, 0.1]])
    assert held_out._parts(rules, far, np.array([0.5, 0.5])) == {steps(5): 1.0}
    assert held_out._parts(rules, far, np.array([1.0, 0.0])) == {steps(0): 1.0}
    assert held_out._parts(rules, far, np.array([0.0, 1.0]))[steps(50)] > 0.9


def test_parts__of_rules_alike_are_alike():
    found = held_out._parts([steps(4), steps(5), steps(50)], np.array([[0.1], [0.1], [0.3]]), np.ones(1))
    assert found == pytest.approx({steps(4): 0.5, steps(5): 0.5})


def test_parts__of_all_rules_follow_what_is_credible():
    """The mutant, which takes what is most credible for the best rule, chooses spikes; the risk chooses the hill."""
    channel = GeometricChannel(64, 0.2)
    truth = np.exp(-(((np.arange(64) - 30) / 8) ** 2))
    counts = np.random.default_rng(11).multinomial(3_000, channel.forward(truth / truth.sum()))
    found = fit_regularised(Problem("test", [(channel, counts)]), "cv")
    assert np.abs(found.distribution - truth / truth.sum()).sum() / 2 < 0.1


class TestLadder:
    CHANNEL = KRRChannel(6, 0.5, 0.1)
    PROBLEM = Problem("test", [(CHANNEL, [500, 300, 120, 130, 90, 60])])

    def ladder(self, **most):
        return Ladder(self.PROBLEM, None, inverter(self.PROBLEM), most)

    def test_walk__is_of_rows_as_of_each_alone(self):
        ladder = self.ladder(steps=20, sparse=1)
        both = np.array([[500.0, 300, 120, 130, 90, 60], [10, 20, 30, 40, 0, 0]])
        alone = [{one: rows.whole(points)[0] for one, points, _, rows in ladder.walk([row[None]])} for row in both]
        seen = 0
        for one, points, chances, rows in ladder.walk([both]):
            found = rows.whole(points)
            for row, other in zip(found, alone, strict=True):
                np.testing.assert_allclose(row, other[one], atol=1e-12)
            np.testing.assert_allclose(found.sum(axis=1), 1)
            np.testing.assert_allclose(rows.folded([both])[0].sum(axis=1), both.sum(axis=1))
            assert len(chances) == 1
            seen += 1
        assert seen == len(alone[0]) == 15 + 1 + 3  # 0 to 19 and 23 steps, inversion, three values and fewer

    def test_sparse__keeps_the_largest(self):
        rows = [np.array([[500.0, 300, 120, 130, 90, 60]])]
        found = {one: points[0] for one, points, _, _ in self.ladder(steps=50, sparse=1).walk(rows)}
        for kept in (3, 2, 1):
            assert (found[Candidate("sparse", kept)] > 1e-9).sum() == kept
        assert found[Candidate("sparse", 2)][:2].sum() == pytest.approx(1)

    def test_paths__that_are_not_named_are_left_out(self):
        rows = [np.array([[500.0, 300, 120, 130, 90, 60]])]
        assert [one.number for one, *_ in self.ladder(steps=3).walk(rows)] == [0, 1, 2, 3]
        assert list(self.ladder(averaged=3).walk(rows)) == []


def test_refit__of_the_counts_is_the_estimate():
    channel = GeometricChannel(40, 0.4)
    counts = np.random.default_rng(2).multinomial(
        2_000, channel.forward(np.random.default_rng(3).dirichlet(np.ones(40)))
    )
    problem = Problem("test", [(channel, counts)])
    fit = held_out.fit_held_out(problem, None, Allowance.of([channel]), None, False)
    again = fit.refit([np.array([counts, counts[::-1]], float)])
    np.testing.assert_allclose(again[0], fit.distribution, atol=1e-12)
    assert again.sum(axis=1) == pytest.approx([1, 1])
