"""Defects of other libraries, one by one: what went wrong there must not go wrong here."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.queries.plans.sql import read_sql


def seeded(seed=1):
    return fd.Rng.unsafe_seed(seed)


def test_opendp_2922__a_key_with_one_person_is_kept_at_most_with_delta():
    """There: ≥ for >, and three times the stated delta. The rate of unit counts, exact from the table and measured."""
    selection = fd.KeySelection(epsilon=1.0, delta=0.01)
    exact = selection.keep_probability(1)
    assert exact <= 0.01
    kept = selection.select(np.ones(200_000, np.int64), rng=seeded()).indices.size / 200_000
    assert abs(kept - exact) < 4 * math.sqrt(exact / 200_000)
    assert selection.keep_probability(2) > 0.01 > exact  # the mutant, ≥, keeps a count of 1 like one of 2


def test_opendp_2935__nan_is_never_zero_plus_noise():
    """NaN is an error of the mechanism; a release drops it, or takes it as the bound that was declared."""
    with pytest.raises(fd.DomainError):
        fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize([math.nan])
    values = [math.nan] * 1000 + [5.0] * 1000
    for nulls, truth in (("drop", 5.0), ("lower", 2.5), ("upper", 7.5)):
        answer = fd.release.mean(values, bounds=(0, 10), nulls=nulls, epsilon=5.0, rng=seeded())
        assert abs(answer.value - truth) < 0.2


def test_opendp_2911__only_the_exponential_mechanism_claims_an_eighth():
    assert math.isclose(fd.ExponentialMechanism(epsilon=2.0).privacy.rho, 0.5, rel_tol=1e-6)
    assert math.isclose(fd.PermuteAndFlip(epsilon=2.0).privacy.rho, 2.0, rel_tol=1e-6)
    # (1, -1) against (0, 0) at rate 1: a divergence of 1.3769 at order 2, above 2 * eps**2 / 8 = 1 (the mutant).
    assert 2 * fd.ExponentialMechanism(epsilon=2.0).privacy.rho < 1.3769187396
    assert 2 * fd.PermuteAndFlip(epsilon=2.0).privacy.rho >= 1.3769187396


def test_opendp_2949__bounds_are_applied_to_what_enters_the_sum():
    """Values far outside, of any size, move a sum by no more than the bounds say."""
    base = fd.release.sum([1.0] * 100, bounds=(0, 1), epsilon=30.0, rng=seeded()).value
    for wild in (1e308, math.inf, 2**60):
        moved = fd.release.sum([1.0] * 100 + [float(wild)], bounds=(0, 1), epsilon=30.0, rng=seeded()).value
        assert moved - base == 1.0


def test_opendp_group_bounds__compose():
    """Rows per group and groups per person in one release; there: "multiple fields with name 'k'"."""
    data = {"k": ["a", "b", "c", "d"] * 500, "u": np.repeat(np.arange(100), 20)}
    found = fd.release.group_by(
        data, "k", ["count"], keys=list("abcd"), epsilon=30.0, person="u", max_groups=2, max_rows=3, rng=seeded()
    )
    assert abs(found["count"].value.sum() - 100 * 2 * 3) < 20


def test_ibm_105_and_110__sensitivity_comes_from_both_ends():
    """Bounds (-100, 3) have sensitivity 100, not 3; bounds (0, 100) not 0."""
    for bounds in ((-100, 3), (0, 100)):
        answer = fd.release.sum([0.0], bounds=bounds, epsilon=1.0)
        assert math.isclose(answer.std_error, 100 * math.sqrt(2), rel_tol=1e-3)


def test_ibm_104__what_parts_cost_adds_up_to_the_receipt():
    data = pa.table({"k": ["a", "b"] * 50, "v": np.linspace(0, 1, 100)})
    queries = [
        {"name": "g", "group_by": "k", "keys": ["a", "b"], "answers": ["count", "sum(v)", "variance(v)"]},
        {"name": "q", "answers": ["quantiles(v, .25 .5)", "distinct(k)"]},
    ]
    columns = {"v": {"bounds": [0, 1]}}
    for budget in ({"epsilon": 1.0}, {"rho": 0.3}):
        found = fd.ReleasePlan(queries=queries, budget=budget, columns=columns).run(data)
        ((name, whole),) = budget.items()
        total = sum(getattr(answers.privacy, name) for answers in found.values())
        assert 0.999 * whole < total <= whole * (1 + 1e-9)
        assert 0.999 * whole < getattr(found.privacy, name) <= whole


@pytest.mark.parametrize("count", [0, 1, 1491, 1492, 3000])
def test_smartnoise_572_and_580__private_bounds_never_fail(count):
    """Zeros, NaN, infinities, values below the lowest candidate: 1,492 zeros crashed there."""
    for odd in (np.zeros(count), np.full(count, np.nan), np.full(count, -np.inf), np.full(count, 5e-324)):
        answer = fd.release.mean(odd, bounds="private", epsilon=1.0, rng=seeded(count))
        assert math.isfinite(answer.value)


def test_smartnoise_317__no_bounds_is_an_error_that_names_the_column():
    with pytest.raises(fd.ParameterError, match="'income' has no bounds"):
        fd.release.mean({"income": [1.0]}, column="income", epsilon=1.0)


def test_smartnoise_344__count_and_distinct_are_two_numbers():
    data = {"k": ["a", "b", "c"] * 300}
    assert abs(fd.release.count(data, epsilon=20.0).value - 900) < 5
    assert abs(fd.release.distinct(data, column="k", epsilon=20.0).value - 3) < 5


def test_smartnoise_201__expressions_inside_aggregates_are_refused():
    pytest.importorskip("sqlglot")
    with pytest.raises(fd.ParameterError, match="only names of columns"):
        read_sql("select sum(income * 1000) from t")


def test_smartnoise_202__a_mean_pays_for_two_sums():
    answer = fd.release.mean([0.5] * 10, bounds=(0, 1), epsilon=1.0)
    ratio = answer.errors
    assert ratio.noise.cost.epsilon + ratio.count_noise.cost.epsilon <= 1
    assert min(ratio.noise.cost.epsilon, ratio.count_noise.cost.epsilon) > 0.1


def test_smartnoise_core_356__the_count_under_a_mean_is_noisy_or_public():
    """Under add/remove it gets noise; under replace, without nulls, it is public and all is spent on the sum."""
    for neighbours, public in (("add/remove", False), ("replace", True)):
        answer = fd.release.mean([0.5] * 10, bounds=(0, 1), epsilon=1.0, nulls="lower", neighbours=neighbours)
        assert (answer.errors.count_noise.law is None) == public


def test_google_84__distinct_values_are_bounded_per_person_first():
    """Each of 100 persons has the same 50 values: with one value each, at most 50 are counted, and not 1."""
    data = {"k": np.tile(np.arange(50), 100), "u": np.repeat(np.arange(100), 50)}
    answer = fd.release.distinct(data, column="k", person="u", max_groups=1, epsilon=30.0, rng=seeded())
    assert 25 < answer.value <= 52
    assert answer.errors.noise.sensitivity.l1 == 1


def test_google_126__sums_are_the_same_in_any_order():
    source = np.random.default_rng(1)
    values = source.normal(0, 1, 5000) * 10.0 ** source.integers(-8, 8, 5000)
    first = fd.release.sum(values, bounds=(-1e6, 1e6), epsilon=1.0, rng=seeded()).value
    assert fd.release.sum(source.permutation(values), bounds=(-1e6, 1e6), epsilon=1.0, rng=seeded()).value == first


def test_persons__of_texts_that_share_a_hash_stay_two(monkeypatch):
    """A person by its 64-bit hash would merge them: here all texts share one tag (the planted collision)."""
    from fastdp.queries.data.codes import TextTable

    monkeypatch.setattr(TextTable, "tags", property(lambda self: np.zeros(self.used, np.uint64)))
    data = {"k": ["a"] * 200, "u": [f"person {i}" for i in range(200)]}
    found = fd.release.group_by(
        data, "k", ["persons"], keys=["a"], epsilon=30.0, person="u", max_groups=1, max_rows=1, rng=seeded()
    )
    assert abs(found["persons"].value[0] - 200) < 3
