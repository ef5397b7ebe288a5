"""The four filters: what they let through, against exact curves and against what an adaptive analyst would do."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.accounting.ledger import Ledger, costs
from fastdp.accounting.ledger.costs import ATTO, NANO, Cost, mu_of_epsilon
from fastdp.accounting.ledger.filters import Total, allows, charge
from fastdp.accounting.ledger.limits import Limit, gaussian_delta
from fastdp.privacy import Privacy


def exact_gaussian_delta(mu, epsilon):
    with mpmath.workdps(40):
        mu, epsilon = mpmath.mpf(mu), mpmath.mpf(epsilon)
        return mpmath.ncdf(-epsilon / mu + mu / 2) - mpmath.exp(epsilon) * mpmath.ncdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize(
    ("mu", "epsilon"), [(1, 4.886554117462212), (0.5, 3.099430330243196), (0.1, 1.1), (2, 0.5), (3, 20)]
)
def test_gaussian_delta__is_an_upper_bound(mu, epsilon):
    exact = exact_gaussian_delta(mu, epsilon)
    assert 0 <= gaussian_delta(mu, epsilon) - exact <= 1e-9 * exact


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (2.0, 1e-9), (0.1, 1e-5), (8.0, 1e-12)])
def test_gaussian_limit__is_the_largest_that_keeps_the_promise(epsilon, delta):
    limit = Limit.read("gaussian", epsilon, None, delta).total
    whole = exact_gaussian_delta(math.sqrt(limit.amount / NANO), epsilon) + mpmath.mpf(limit.delta) / ATTO
    assert whole <= delta
    assert exact_gaussian_delta(math.sqrt((limit.amount + 2) / NANO), epsilon) > delta / 2 * (1 - 1e-6)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (2.0, 1e-9), (0.5, 1e-5), (8.0, 1e-12)])
def test_approx_limit__is_the_largest_that_keeps_the_promise(epsilon, delta):
    """And no smaller than what the closed form of Whitehouse et al. 2023 allows."""
    limit = Limit.read("approx", epsilon, None, delta).total
    assert Privacy(rho=limit.amount / NANO).epsilon_at(delta / 2 * (1 + 1e-12)) <= epsilon
    assert Privacy(rho=(limit.amount + 2) / NANO).epsilon_at(delta / 2) > epsilon
    slope = math.sqrt(2 * math.log(2 / delta))
    closed = ((math.sqrt(slope**2 + 2 * epsilon) - slope) ** 2) / 2  # rho = sum of epsilon**2 / 2
    assert limit.amount >= closed * NANO - 1


@pytest.mark.parametrize("epsilon", [1e-9, 0.01, 0.1, 1.0, 5.0, 12.0])
@mpmath.workdps(40)
def test_mu_of_epsilon__dominates_randomized_response(epsilon):
    """The trade-off curve of mu-Gaussian-DP is below that of epsilon-DP everywhere, and touches it at the kink."""
    mu = mu_of_epsilon(epsilon)
    kink = 1 / (1 + mpmath.exp(mpmath.mpf(epsilon)))
    z = mpmath.erfinv(1 - 2 * kink) * mpmath.sqrt(2)
    assert mu >= 2 * z
    assert mu - 2 * z <= 2e-14 + 1e-11 * z
    for alpha in np.linspace(0.001, 0.999, 101):
        pure = max(0, 1 - math.exp(epsilon) * alpha, math.exp(-epsilon) * (1 - alpha))
        normal = mpmath.erfinv(1 - 2 * mpmath.mpf(alpha)) * mpmath.sqrt(2)
        assert mpmath.ncdf(normal - mu) <= pure + 1e-15


def worst_adaptive_delta(budget, steps, epsilon_total):
    """The largest delta that an analyst reaches who picks each epsilon after seeing the losses so far.

    Randomized response dominates every epsilon-DP release, so that choosing among a few of its epsilons, or to stop, by
    dynamic programming over the realised loss and what is left, is the worst case on that menu.
    """
    menu = [Fraction(1, 4), Fraction(1, 2)]
    unit = Fraction(1, 32)  # rho of the smaller
    charges = {step: int(step**2 / 2 / unit) for step in menu}
    left_units = int(Fraction(budget) / unit)
    memo: dict = {}

    def best(loss, left, rounds):
        key = (loss, left, rounds)
        if key in memo:
            return memo[key]
        value = max(0.0, 1 - math.exp(epsilon_total - float(loss)))
        if rounds:
            for step in menu:
                if charges[step] <= left:
                    keep = 1 / (1 + math.exp(-float(step)))
                    up = best(loss + step, left - charges[step], rounds - 1)
                    down = best(loss - step, left - charges[step], rounds - 1)
                    value = max(value, keep * up + (1 - keep) * down)
        memo[key] = value
        return value

    return best(Fraction(0), left_units, steps)


def test_l5_adaptive_analyst__gets_no_more_than_the_approx_filter_promises():
    """The best strategy over all adaptive choices and stops stays within delta."""
    budget = Fraction(1, 2)
    for epsilon in (1.0, 2.0, 3.0):
        promised = [10.0**-k for k in range(1, 9) if Privacy(rho=float(budget)).epsilon_at(10.0**-k) <= epsilon]
        if promised:
            assert worst_adaptive_delta(budget, 16, epsilon) <= min(promised)


def test_l5_filters__are_sums_and_no_curve():
    """Whether a release fits depends on sums of integers alone, whatever their order."""
    parts = [Total(3, 1), Total(5, 0), Total(2, 4)]
    limit = Total(10, 5)
    spent = Total(0, 0)
    for part in parts:
        assert allows(spent, part, limit)
        spent += part
    assert not allows(spent, Total(1, 0), limit)
    assert not allows(Total(0, 5), Total(0, 1), limit)


def test_charges__of_each_policy():
    limit = Total(10**9, 10**12)
    both = Cost.of(Privacy(epsilon=0.5, delta=1e-9))
    assert charge("pure", both, limit) == Total(500_000_000, 10**9 + 1)
    assert charge("approx", both, limit).amount == pytest.approx(125_000_000, abs=1)
    assert charge("approx", both, limit).delta == 10**9 + 1
    assert charge("zcdp", both, limit) == charge("approx", both, limit)
    assert charge("gaussian", both, limit).amount == pytest.approx(mu_of_epsilon(0.5) ** 2 * 1e9, abs=2)
    rho = Cost.of(Privacy(rho=0.1))
    assert charge("approx", rho, limit) == Total(100_000_001, 1)
    with pytest.raises(fd.ParameterError, match="no mu"):
        charge("gaussian", rho, limit)


@pytest.mark.parametrize("policy", ["approx", "gaussian"])
def test_small_releases__cost_less_than_their_sum(tmp_path, policy):
    """A hundred releases of 0.05 fit into epsilon 3, where their plain sum is 5."""
    ledger = Ledger.create(tmp_path / "x.ledger", epsilon=3.0, delta=1e-6, policy=policy)
    ledger.spend(fd.Laplace(epsilon=0.05, sensitivity=1.0), times=1)
    for _ in range(99):
        ledger.spend(Privacy(epsilon=0.05))
    with pytest.raises(fd.BudgetExceededError, match=r"the limit is epsilon 3 and delta 0\.000001"):
        ledger.spend(Privacy(epsilon=3.0))


def test_mutant__round_instead_of_ceil_is_caught(monkeypatch):
    """Rounding to the nearest would charge nothing for a cost below half a unit."""

    def is_never_below(cost=Cost.of):
        return all(
            Fraction(cost(Privacy(epsilon=e)).epsilon, NANO) >= Fraction(e) for e in (1e-10, 0.1, 0.3, 1 / 3, 1e-9)
        )

    assert is_never_below()
    monkeypatch.setattr(costs.math, "ceil", round)
    assert not is_never_below()


@pytest.mark.parametrize(("rho", "records"), [(0.005, None), (0.02, None), (0.005, 3)])
def test_gaussian_policy__charges_the_noise_its_own_mu(tmp_path, rho, records):
    """Gaussian noise of sigma costs (sensitivity / sigma)**2, not what its (epsilon, delta) would allow."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6, policy="gaussian")
    noise = fd.Gaussian(rho=rho, sensitivity=1.0)
    added = ledger.cost(noise, records=records)
    exact = 2 * Fraction(rho) * (records or 1) ** 2 * NANO
    assert 0.999_999 * exact <= added.amount <= exact + 1
    assert 1 <= added.delta <= 100


def test_gaussian_policy__is_spent_to_the_end_and_keeps_the_promise(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=2.0, delta=1e-6, policy="gaussian")
    noise, count = fd.Gaussian(rho=0.01, sensitivity=1.0), 0
    while allows(ledger.spent, ledger.cost(noise), ledger.limit):
        ledger.spend(noise)
        count += 1
    with pytest.raises(fd.BudgetExceededError):
        ledger.spend(noise)
    exact = exact_gaussian_delta(math.sqrt(2 * 0.01 * count), 2.0)
    assert exact <= 1e-6
    assert exact_gaussian_delta(math.sqrt(2 * 0.01 * (count + 1)), 2.0) > 0.4e-6  # half of delta is for sums


def test_gaussian_policy__mixed_with_pure_releases(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6, policy="gaussian")
    laplace = ledger.cost(fd.Laplace(epsilon=0.1, sensitivity=1.0))
    assert laplace.amount == math.ceil(Fraction(mu_of_epsilon(0.1) ** 2) * NANO)
