"""The two theorems of the lectures: one mechanism serves every user of a count, and no other query has such a one."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fastdp as fd
from fastdp.measures import expected_loss, optimal_remap
from tests.measures.linear_program import cost, cycle, least_cost, least_cost_for_both, path, sums

LOSSES = ("absolute", "squared", "zero-one")
WITHIN = 1e-8  # the solver's tolerance, times what it sums


def loss_matrix(name, size):
    distance = np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float)
    return {"absolute": distance, "squared": distance**2, "zero-one": np.sign(distance)}[name]


def priors(size):
    """Flat, random, spiky, with impossible values, and one where the last value is nearly certain."""
    source = np.random.default_rng(size)
    holes = np.where(np.arange(size) % 2, 0.0, 1.0)
    last = np.append(np.full(size - 1, 0.01 / (size - 1)), 0.99)
    return [
        np.full(size, 1 / size), source.dirichlet(np.ones(size)), source.dirichlet(np.full(size, 0.3)),
        holes / holes.sum(), last,
    ]  # fmt: skip


def test_oracle__geometric_attains_the_linear_program():
    """n = 8, epsilon = 0.7, uniform prior, absolute loss."""
    channel, prior = fd.Geometric(epsilon=0.7, bounds=(0, 7)).channel(), np.full(8, 1 / 8)
    optimum = least_cost(path(8), 0.7, cost(prior, loss_matrix("absolute", 8)))
    assert optimum == pytest.approx(0.9921304, abs=5e-8)
    assert expected_loss(channel, prior, "absolute") == pytest.approx(optimum, abs=WITHIN)
    assert expected_loss(channel, prior, "absolute", remap="optimal") == pytest.approx(optimum, abs=WITHIN)


@pytest.mark.parametrize("epsilon", [0.2, 0.7, 1.6])
@pytest.mark.parametrize("size", range(2, 9))
def test_geometric__is_optimal_for_every_count(size, epsilon):
    """Ghosh, Roughgarden, Sundararajan 2009: after the optimal remap, for every prior and every monotone loss."""
    channel = fd.Geometric(epsilon=epsilon, bounds=(0, size - 1)).channel()
    for prior, name in itertools.product(priors(size), LOSSES):
        optimum = least_cost(path(size), epsilon, cost(prior, loss_matrix(name, size)))
        assert expected_loss(channel, prior, name, remap="optimal") == pytest.approx(optimum, abs=WITHIN)


def test_geometric__is_optimal_for_a_monotone_loss_that_is_not_symmetric():
    """The loss may depend on the truth, as long as it grows with the distance from it."""
    size, epsilon = 6, 0.5
    channel = fd.Geometric(epsilon=epsilon, bounds=(0, size - 1)).channel()

    def loss(guess, truth):
        return (1 + truth) * np.where(guess > truth, 3.0, 1.0) * np.abs(guess - truth)

    matrix = np.array([[loss(w, x) for x in range(size)] for w in range(size)])
    for prior in priors(size):
        optimum = least_cost(path(size), epsilon, cost(prior, matrix))
        assert expected_loss(channel, prior, loss, remap="optimal") == pytest.approx(optimum, abs=WITHIN)


def no_remap(channel, prior, loss):
    return np.arange(channel.shape[1])


def remap_without_prior(channel, prior, loss):
    return optimal_remap(channel, np.full(prior.size, 1 / prior.size), loss)


def remap_for_another_loss(channel, prior, loss):
    return optimal_remap(channel, prior, {"absolute": "squared", "squared": "zero-one", "zero-one": "absolute"}[loss])


@pytest.mark.parametrize("wrong", [no_remap, remap_without_prior, remap_for_another_loss])
def test_geometric__needs_the_remap_of_its_prior_and_loss(wrong):
    """What the theorem's test would say of a remap that ignores the prior or the loss: far above the optimum."""
    size, epsilon = 6, 0.7
    channel = fd.Geometric(epsilon=epsilon, bounds=(0, size - 1)).channel()
    excess = [
        expected_loss(channel, prior, name, remap=wrong(channel, prior, name))
        - least_cost(path(size), epsilon, cost(prior, loss_matrix(name, size)))
        for prior, name in itertools.product(priors(size), LOSSES)
    ]
    assert min(excess) > -WITHIN
    assert max(excess) > 0.05


def test_krr__is_not_optimal_for_counts():
    """As private as the geometric, and worse: the test of optimality can tell."""
    size, epsilon = 6, 0.7
    channel, prior = fd.KRR(epsilon=epsilon, domain=size).channel(), np.full(size, 1 / size)
    optimum = least_cost(path(size), epsilon, cost(prior, loss_matrix("absolute", size)))
    assert expected_loss(channel, prior, "absolute", remap="optimal") > optimum + 0.05


# A query's graph joins the answers that one person can turn into each other. Per graph: two sets of answers, each
# user's prior being uniform on one of them, and a loss.
OTHER_QUERIES = {
    "sum of values in {0, 1, 2}": (sums(5, 2), (0, 3), (1, 2), "absolute"),
    "sum of values in {0, 1, 2}, zero-one": (sums(5, 2), (0, 3), (1, 2), "zero-one"),
    "cycle of 4": (cycle(4), (0, 2), (1, 3), "zero-one"),
    "cycle of 5": (cycle(5), (0, 3), (1, 2, 4), "zero-one"),
    "triangle (a histogram of one person)": (cycle(3), (0, 1), (0, 1, 2), "zero-one"),
    "triangle with a tail": ([*cycle(3), (2, 3)], (0, 1), (0, 1, 2), "zero-one"),
}


def uniform_on(some, size):
    return np.isin(np.arange(size), some) / len(some)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
@pytest.mark.parametrize("query", OTHER_QUERIES)
def test_other_queries__have_no_mechanism_for_everybody(query, epsilon):
    """Brenner, Nissim 2010: two users, and no mechanism that is optimal for both after their own remaps."""
    edges, first, second, name = OTHER_QUERIES[query]
    size = 1 + max(max(edge) for edge in edges)
    one, other = (cost(uniform_on(some, size), loss_matrix(name, size)) for some in (first, second))
    apart = least_cost(edges, epsilon, one) + least_cost(edges, epsilon, other)
    together = least_cost_for_both(edges, epsilon, one, other)
    assert together > apart + 0.01

    # The same users asking a counting query are both served, so it is the graph that stands in the way.
    apart = least_cost(path(size), epsilon, one) + least_cost(path(size), epsilon, other)
    assert least_cost_for_both(path(size), epsilon, one, other) == pytest.approx(apart, abs=WITHIN)
    geometric = fd.Geometric(epsilon=epsilon, bounds=(0, size - 1)).channel()
    served = [expected_loss(geometric, uniform_on(some, size), name, remap="optimal") for some in (first, second)]
    assert sum(served) == pytest.approx(apart, abs=WITHIN)


def test_triangle__optima_have_closed_forms():
    """k-RR on the answers that a user thinks possible loses 1 / (1 + e), or 2 / (2 + e); none does both."""
    zero_one = loss_matrix("zero-one", 3)
    one, other = cost(uniform_on((0, 1), 3), zero_one), cost(uniform_on((0, 1, 2), 3), zero_one)
    assert least_cost(cycle(3), 1.0, one) == pytest.approx(1 / (1 + np.e), abs=WITHIN)
    assert least_cost(cycle(3), 1.0, other) == pytest.approx(2 / (2 + np.e), abs=WITHIN)
    krr = fd.KRR(epsilon=1.0, domain=3).channel()
    assert expected_loss(krr, uniform_on((0, 1, 2), 3), "zero-one", remap="optimal") == pytest.approx(2 / (2 + np.e))
    assert expected_loss(krr, uniform_on((0, 1), 3), "zero-one", remap="optimal") > 1 / (1 + np.e) + 0.01
