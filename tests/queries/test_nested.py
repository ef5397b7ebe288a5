"""Quantiles and distinct values of groups: whose rows count, what one unit moves, and that each group has its own."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.errors import ParameterError
from fastdp.kernels.persons.steps import NULL
from fastdp.queries.answers.noise import Spend
from fastdp.queries.data.keys import ColumnKeys
from fastdp.queries.data.nested import NestedRows
from fastdp.queries.data.persons import EACH, Limits
from fastdp.queries.data.tally import Persons
from fastdp.queries.order_statistics import OrderStatistics, SortedRows
from fastdp.queries.quantiles import QuantileNoise, draw_brackets, draw_quantiles
from fastdp.queries.unit import Range, Unit

SCHEMA = pa.schema({"k": pa.int64(), "u": pa.int64()})
UNITS = [("add/remove", 1, 1), ("add/remove", 2, 2), ("replace", 2, 1), ("replace", 2, 2)]


def kept(people, keys, steps, groups, rows, *, distinct=False, batches=1, tags=None):
    """What counts, as (group, step) pairs."""
    named = ColumnKeys("t", SCHEMA, ["k"], 5, sorted(set(keys)) or [0])
    collected = NestedRows(
        named, Persons("t", SCHEMA, "u", 6), Limits(groups, rows, EACH), fd.Rng.unsafe_seed(3), 100, distinct=distinct
    )
    table = pa.table({"k": pa.array(keys, pa.int64()), "u": pa.array(people, pa.int64())})
    steps = np.asarray(steps, np.int32)
    for chosen in np.array_split(np.arange(len(keys)), batches):
        batch = table.take(chosen).combine_chunks().to_batches()
        for one in batch:
            collected.add(one, named.find(one), steps[chosen])
    codes, found = collected.finish(tags)
    return list(zip((named.labels()["k"].to_numpy()[codes]).tolist(), found.tolist(), strict=True))


def test_rows__are_bounded_per_person_and_group_in_any_order_and_batches():
    source = np.random.default_rng(1)
    people, keys, steps = (source.integers(0, top, 3000) for top in (60, 8, 50))
    first = kept(people, keys, steps, 3, 2)
    order = source.permutation(3000)
    assert sorted(first) == sorted(kept(people[order], keys[order], steps[order], 3, 2, batches=7))
    of = {tuple(pair) for pair in zip(keys.tolist(), steps.tolist(), strict=True)}
    assert set(first) <= of
    assert 60 * 3 * 2 - 10 <= len(first) <= 60 * 3 * 2  # nearly everybody has more of both


@pytest.mark.parametrize("distinct", [False, True])
def test_rows__of_few_are_all_kept(distinct):
    people, keys, steps = [1, 1, 1, 2, 2], [0, 0, 1, 0, 1], [4, 4, NULL, 9, 7]
    found = kept(people, keys, steps, 2, 2, distinct=distinct)
    assert sorted(found) == [(0, 4), (0, 9), (1, 7)] if distinct else [(0, 4), (0, 4), (0, 9), (1, 7)]


def test_rows__a_person_keeps_are_its_own_affair():
    """Who else is there, and what they hold, moves nothing; so is a person with thousands of rows."""
    source = np.random.default_rng(2)
    mine = [(7, int(key), int(step)) for key, step in source.integers(0, 40, (5000, 2))]
    others = [(int(person), int(key), 1000) for person, key in source.integers(100, 140, (900, 2))]
    alone = kept(*zip(*mine, strict=True), 5, 3)
    everyone = kept(*zip(*[*others, *mine], strict=True), 5, 3)
    assert len(alone) == 15
    assert sorted(alone) == sorted(pair for pair in everyone if pair[1] != 1000)


@pytest.mark.parametrize(("neighbours", "groups", "rows"), UNITS)
def test_sensitivities__by_enumeration(neighbours, groups, rows):
    """All persons of up to four rows in three groups: what they move, through the real code."""
    unit = Unit(person="u", neighbours=neighbours, max_groups=groups, max_rows=rows)
    kinds = list(itertools.product(range(3), (0, 2)))
    people = [one for size in range(5) for one in itertools.combinations_with_replacement(kinds, size)]
    numbered = [(number, key + 3 * number, step) for number, rows_of in enumerate(people) for key, step in rows_of]
    by_person = {distinct: defaultdict(list) for distinct in (False, True)}
    for distinct, found in by_person.items():
        for key, step in kept(*zip(*numbered, strict=True), groups, rows, distinct=distinct):
            found[key // 3].append((key % 3, step))

    def counts(one):
        return np.bincount([key for key, _ in one], minlength=3)

    def scores(one, numerator, denominator):
        """Of the candidate 1: denominator * rows below it - numerator * all rows, by group."""
        below = np.bincount([key for key, step in one if step < 1], minlength=3)
        return denominator * below - numerator * counts(one)

    everyone = range(len(people))
    pairs = [(a, 0) for a in everyone] if neighbours == "add/remove" else list(itertools.product(everyone, everyone))
    limits = Limits(groups, rows, EACH)
    moved = [counts(by_person[True][a]) - counts(by_person[True][b]) for a, b in pairs]
    stated = unit.sensitivity(Range(0, rows), limits, 3)
    assert max(np.abs(one).sum() for one in moved) == stated.l1
    assert max((one**2).sum() for one in moved) <= stated.l2_squared
    for numerator, denominator in ((1, 2), (1, 4)):
        # each group's choice pays its part of epsilon in proportion; together they may pay for `groups` whole ones
        of = [scores(by_person[False][one], numerator, denominator) for one in everyone]
        worst = max(np.abs(of[a] - of[b]).sum() for a, b in pairs)
        assert worst <= groups * unit.nested_rank(numerator, denominator)
        if neighbours == "add/remove":
            assert worst == groups * unit.nested_rank(numerator, denominator)


@pytest.mark.parametrize("budget", [Spend(epsilon=Fraction(1)), Spend(rho=Fraction(1, 10))])
def test_noise__of_groups_costs_what_is_spent(budget):
    noise = QuantileNoise.of(budget, 3, Unit(), 4)
    cost = noise.cost(pure=budget.is_pure)
    spent, asked = (cost.epsilon, budget.epsilon) if budget.is_pure else (cost.rho, budget.rho)
    assert float(asked) * (1 - 1e-9) <= float(spent) <= float(asked) * (1 + 1e-15)
    alone = QuantileNoise.of(budget, 3, Unit())
    assert math.isclose(alone.epsilon / noise.epsilon, 4 if budget.is_pure else 2, rel_tol=1e-9)


@pytest.mark.parametrize("size", [0, 1, 5, 300])
def test_sorted_rows__choose_as_order_statistics_do(size):
    """The same draws from the same rows: what is left out weighs nothing."""
    source = np.random.default_rng(size)
    width = 1 << 20
    noise = QuantileNoise.of(Spend(epsilon=Fraction(8)), 3, Unit())
    steps = np.sort(source.integers(0, width, size).astype(np.int32))
    wanted = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]
    for seed in range(20):
        rows = SortedRows(steps, width), OrderStatistics([steps], width)
        both = [draw_quantiles(one, wanted, noise, width, fd.Rng.unsafe_seed(seed)) for one in rows]
        assert (np.diff(both[0]) >= 0).all()
        for one in both:
            assert ((one >= 0) & (one <= width)).all()
        brackets = [draw_brackets(one, wanted, noise, width, fd.Rng.unsafe_seed(seed), 0.9) for one in rows]
        assert all((low <= middle).all() and (middle <= high).all() for middle, low, high in brackets)


def test_sorted_rows__have_the_law_of_the_mechanism():
    """A median of {1, 3, 3, 3, 6} among 0..7, against the weights by hand."""
    width, rows = 7, np.array([1, 3, 3, 3, 6], np.int32)
    noise = QuantileNoise.of(Spend(epsilon=Fraction(1)), 1, Unit(), 1)
    rng = fd.Rng.unsafe_seed(9)
    half = [Fraction(1, 2)]
    drawn = [int(draw_quantiles(SortedRows(rows, width), half, noise, width, rng)[0]) for _ in range(4000)]
    off = [max(2.5 - np.sum(rows <= x), np.sum(rows < x) - 2.5, 0) for x in range(8)]
    weights = np.exp(-np.array(off))  # epsilon / (2 * 1/2) per row
    assert chisquare(np.bincount(drawn, minlength=8), 4000 * weights / weights.sum()).pvalue > 1e-3
    tilted = np.exp(-1.3 * np.array(off))
    assert chisquare(np.bincount(drawn, minlength=8), 4000 * tilted / tilted.sum()).pvalue < 1e-3  # epsilon * 1.3


@pytest.mark.parametrize("keys", ["select", [3, 1, 7]])
@pytest.mark.parametrize("budget", [{"epsilon": 12.0}, {"rho": 4.0}])
def test_release__answers_each_group_from_its_own_rows(keys, budget):
    source = np.random.default_rng(4)
    table = {"k": np.repeat([1, 2, 3], 4000), "u": np.arange(12_000) % 3000}
    table["v"] = table["k"] * 10.0 + source.random(12_000)
    table["w"] = np.where(table["k"] == 2, table["u"] % 7, table["u"] % 500)
    budget = budget | ({"delta": 1e-6} if keys == "select" else {})
    found = fd.release.group_by(
        table, "k", {"n": "persons", "at": "quantiles(v, .25 .75)", "m": "median(v)", "d": "distinct(w)"}, keys=keys,
        bounds={"v": (0, 100)}, person="u", max_groups=3, max_rows=4, rng=fd.Rng.unsafe_seed(5), interval=0.9, **budget,
    )  # fmt: skip
    assert list(found) == ["n", "at_0.25", "at_0.75", "m", "d"]
    names = found.keys_table["k"].to_pylist()
    assert names == ([1, 2, 3] if keys == "select" else keys)
    for place, name in enumerate(names):
        if name == 7:  # an empty group has an answer too
            continue
        low, high = found["m"].interval(0.9)
        assert low[place] <= name * 10 + 0.5 <= high[place]
        assert name * 10 <= found["at_0.25"].values[place] <= found["at_0.75"].values[place] <= name * 10 + 1
        assert abs(found["d"].values[place] - (7 if name == 2 else 500)) <= 60
    assert found.to_arrow(0.9).num_rows == len(names)
    total = found.privacy
    asked = budget.get("epsilon")
    assert total.epsilon <= asked if asked else total.rho is None or total.rho <= 4.0


def test_release__refuses_what_has_no_bounds_or_the_same_name_twice():
    table = {"k": [1], "v": [1.0]}
    with pytest.raises(ParameterError, match="'v' has no bounds"):
        fd.release.group_by(table, "k", ["median(v)"], keys=[1], epsilon=1.0)
    with pytest.raises(ParameterError, match="same name"):
        fd.release.group_by(
            table, "k", {"a": "quantiles(v, .2 .4)", "a_0.2": "count"}, keys=[1], bounds={"v": (0, 1)}, epsilon=1.0
        )


def test_explain__tells_ranks_and_widths_before_any_data():
    plan = fd.ReleasePlan(
        queries=[{"name": "g", "group_by": "k", "keys": ["a"], "answers": ["median(v)", "distinct(w)"]}],
        budget={"epsilon": 1.0}, columns={"v": {"bounds": [0, 10]}},
    )  # fmt: skip
    lines = plan.explain(pa.schema({"k": pa.string(), "v": pa.float64(), "w": pa.string()}).empty_table())
    assert "ranks are off by at most" in lines[0]["of"]
    assert lines[1]["half_width"] > 0
