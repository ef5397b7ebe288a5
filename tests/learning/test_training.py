"""Poisson samples, the cost of a training, and budgets that end it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom, chisquare

import fastdp as fd
from fastdp.learning import GradientSum, pay_for_training, poisson_sample, train, training_cost


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.999])
def test_sample__holds_each_record_with_the_rate(rate):
    size = 300_000
    chosen = poisson_sample(size, rate, rng=fd.Rng.unsafe_seed(1))
    assert 1e-3 < binom.cdf(chosen.size, size, rate) < 1 - 1e-3
    assert not 1e-3 < binom.cdf(chosen.size, size, min(rate * 1.1, 0.9999)) < 1 - 1e-3  # another rate is seen
    tenths = np.bincount(chosen // (size // 10), minlength=10)
    assert chisquare(tenths).pvalue > 1e-3
    assert (np.diff(chosen) > 0).all()


def test_sample__does_not_depend_on_threads(threads):
    found = []
    for count in (1, 3):
        threads(count)
        found.append(poisson_sample(400_000, 0.2, rng=fd.Rng.unsafe_seed(3)))
    assert np.array_equal(*found)


def test_sample__of_everything_is_everything():
    assert poisson_sample(5, 1.0).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("rate", [0, -1, 1.1, float("nan"), 1e-60, "x", None])
def test_sample__refuses_bad_rates(rate):
    with pytest.raises(fd.ParameterError, match="rate"):
        poisson_sample(5, rate)


def test_cost__is_that_of_the_sampled_gaussian():
    """Against the composed curve of the law itself."""
    mean = GradientSum(clip=1.0, noise_multiplier=2.0, batch=1, shapes=((10,),))
    found = training_cost(mean, rate=0.1, steps=100).epsilon(delta=1e-5)
    law = fd.compose([(fd.sampled(fd.Gaussian(scale=2.0, sensitivity=1.0), rate=0.1), 100)], width=1e-4).epsilon(
        delta=1e-5
    )
    assert found.upper == pytest.approx(law.upper, rel=1e-3)
    assert found.upper >= law.lower
    whole = training_cost(mean, rate=1.0, steps=100).epsilon(delta=1e-5)
    assert whole.upper > 2 * found.upper


def quadratic(weights, chosen):
    return (weights - 1.0) * np.ones((chosen.size, 2))


def test_train__finds_the_minimum_and_states_its_cost():
    mean = GradientSum(clip=2.0, noise_multiplier=1.0, batch=200, rng=fd.Rng.unsafe_seed(5))
    done = train(
        quadratic, np.zeros(2), records=1000, gradients=mean, rate=0.2, steps=30, learning_rate=0.3, delta=1e-6,
        rng=fd.Rng.unsafe_seed(6),
    )  # fmt: skip
    assert np.abs(done.parameters - 1).max() < 0.05
    assert done.steps == 30
    assert done.privacy.epsilon == training_cost(mean, rate=0.2, steps=30).epsilon(delta=1e-6).upper


@pytest.mark.parametrize("policy", ["zcdp", "approx", "gaussian", "pure"])
def test_train__stops_at_the_budget_of_a_ledger(tmp_path, policy):
    limit = {"rho": 0.105} if policy == "zcdp" else {"epsilon": 1.5, "delta": 1e-5}
    ledger = fd.Ledger.create(tmp_path / "a.ledger", policy=policy, **limit)
    mean = GradientSum(clip=2.0, rho=0.01, batch=1000, shapes=((2,),), rng=fd.Rng.unsafe_seed(5))
    made = []
    done = train(
        lambda w, i: made.append(1) or quadratic(w, i), np.zeros(2), records=1000, gradients=mean, rate=1.0, steps=100,
        learning_rate=0.3, delta=1e-6, ledger=ledger,
    )  # fmt: skip
    assert len(made) == done.steps < 100
    if policy == "zcdp":
        assert done.steps == 10
    with pytest.raises(fd.BudgetExceededError):  # not even one more
        pay_for_training(ledger, mean, rate=1.0, steps=1, delta=1e-6)


def test_train__on_samples_is_paid_for_at_once(tmp_path):
    ledger = fd.Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-5)
    mean = GradientSum(clip=2.0, noise_multiplier=1.0, batch=10, shapes=((2,),))
    steps = pay_for_training(ledger, mean, rate=0.01, steps=1000, delta=1e-6)
    spent = ledger.spent.amount / 1e9
    assert spent <= 1.0 < training_cost(mean, rate=0.01, steps=steps + 1).epsilon(delta=1e-6).upper
    assert len(ledger.entries()) == 2
