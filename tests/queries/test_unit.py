"""Sensitivities by enumeration: all data sets of up to four persons with up to three rows in three keys.

A person is moved through the real bounding code, so that what is enumerated is what is released.
"""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest

import fastdp as fd
from fastdp.errors import ParameterError
from fastdp.kernels.persons.bounding import add_kept
from fastdp.queries.data.persons import Limits, PersonRows
from fastdp.queries.unit import LARGEST_GROUPS, Range, Unit

KEYS, ROWS = 3, 3
VALUES = (-2, 5)


@cache
def vectors(groups: int, rows: int, mode: str, valued: bool) -> frozenset[tuple[tuple[int, ...], ...]]:
    """What each possible person adds to the sums: one vector per aggregate (persons, rows, steps), over the keys.

    All persons are bounded in one pass, under numbers of their own: one person's contribution is its own affair.
    """
    kinds = [(key, value) for key in range(KEYS) for value in (VALUES if valued else (1,))]
    people = [person for size in range(1, ROWS + 1) for person in itertools.combinations_with_replacement(kinds, size)]
    found = set()
    limits = Limits(groups, rows, mode)
    collected: list[np.ndarray] = []
    rows_of = PersonRows(fd.Rng.unsafe_seed(1), np.array([1]), expected_rows=100)
    for number, person in enumerate(people):
        codes = np.array([key + KEYS * number for key, _ in person], np.int32)
        steps = np.array([[value for _, value in person]], np.int32)
        ids = np.full(len(person), number, np.uint64)
        rows_of.add(ids, codes, steps)
    sums = np.zeros((KEYS * len(people), 3), np.int64)
    rows_of.bounded(limits, lambda _thread, kept, count: (collected.append(kept), add_kept(kept, count, sums))[0])
    for number in range(len(people)):
        mine = sums[KEYS * number : KEYS * (number + 1)]
        found.add(tuple(tuple(int(value) for value in mine[:, place]) for place in range(3)))
    return frozenset(found)


def distance(a, b, norm):
    apart = [abs(x - y) for x, y in zip(a, b, strict=False)]
    return sum(apart) if norm == 1 else sum(x * x for x in apart) if norm == 2 else max(apart)


def worst(found, place, neighbours, norm):
    """The largest distance between two sums of neighbouring data sets: other persons cancel in integers."""
    mine = {vector[place] for vector in found}
    if neighbours == "add/remove":
        return max(distance(vector, (0,) * KEYS, norm) for vector in mine)
    return max(distance(a, b, norm) for a in mine for b in mine)


CASES = list(itertools.product((1, 2, 3), (1, 2, 3), ("add/remove", "replace")))


@pytest.mark.parametrize(("groups", "rows", "neighbours"), CASES)
def test_sensitivity__is_the_largest_distance_and_attained(groups, rows, neighbours):
    unit = Unit(person="p", neighbours=neighbours, max_groups=groups, max_rows=rows, bound="sample")
    limits = unit.limits("release", KEYS, "L1")
    found = vectors(groups, rows, "sample", True)
    amounts = {0: unit.persons(), 1: unit.count(limits), 2: unit.total(*VALUES)}
    for place, amount in amounts.items():
        stated = unit.sensitivity(amount, limits, KEYS)
        seen = [worst(found, place, neighbours, norm) for norm in (1, 2, 0)]
        said = [stated.l1, stated.l2_squared, stated.largest]
        assert all(one <= other for one, other in zip(seen, said, strict=False)), (place, seen, said)
        # Three rows fill at most three group-rows: then what is said is attained.
        if groups * rows <= ROWS:
            assert seen == said, (place, seen, said)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
def test_sensitivity__of_one_group_that_all_are_in(rows, neighbours):
    """Under replace the number of persons is public, and so is that of rows if each person has one."""
    unit = Unit(person="p", neighbours=neighbours, max_rows=rows)
    limits = unit.limits("release", 1, "L2")
    people = [values for size in range(1, rows + 1) for values in itertools.combinations_with_replacement(VALUES, size)]
    for amount, of in (
        (unit.persons(), lambda values: 1),
        (unit.count(limits), len),
        (unit.total(*VALUES), sum),
    ):
        mine = [of(values) for values in people]
        seen = max(map(abs, mine)) if neighbours == "add/remove" else max(mine) - min(mine)
        stated = unit.sensitivity(amount, limits, 1, always=True)
        assert (stated.l1, stated.l2_squared) == (seen, seen**2)
    assert unit.sensitivity(unit.persons(), limits, 1, always=True).is_zero == (neighbours == "replace")


@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
@pytest.mark.parametrize("mode", ["L1", "L2"])
@pytest.mark.parametrize("groups", [1, 2])
def test_sensitivity__bounds_scaled_persons(neighbours, mode, groups):
    unit = Unit(person="p", neighbours=neighbours, max_groups=groups, max_rows=2, bound="scale")
    limits = unit.limits("release", None, mode)
    assert limits.mode == mode
    found = vectors(groups, 2, mode, True)
    for place, amount in ((1, unit.count(limits)), (2, unit.total(*VALUES))):
        stated = unit.sensitivity(amount, limits, None)
        if mode == "L1":
            assert worst(found, place, neighbours, 1) <= stated.l1
        else:
            assert worst(found, place, neighbours, 2) <= stated.l2_squared
    persons = unit.sensitivity(unit.persons(), Limits(groups, 2), None)
    assert worst(found, 0, neighbours, 1) <= persons.l1


@pytest.mark.parametrize("ends", [(0, 7), (-7, 7), (-3, 7), (-6, 7)])
def test_sensitivity__of_replaced_scaled_persons__holds_for_any_numbers_of_groups(ends):
    """Two persons with g and h groups of which o are common, with opposite signs there: the worst of all."""
    unit = Unit(person="p", neighbours="replace", max_groups=4, max_rows=1)
    stated = unit.sensitivity(Range(*ends), Limits(4, 1, "L2"), None)
    small, large = sorted(map(abs, ends))
    for g, h in itertools.product(range(1, 60), repeat=2):
        f, e = (min(1.0, math.sqrt(4 / count)) for count in (g, h))
        for common in {0, min(g, h) // 2, min(g, h)}:
            squared = common * (f * large + e * small) ** 2 + (g - common) * (f * large) ** 2
            squared += (h - common) * (e * large) ** 2
            assert squared <= stated.l2_squared + 1e-9


def test_distinct__moves_by_the_groups_of_one_unit():
    """All pairs of sets of up to two values, beside a third person's: the number of distinct values."""
    unit = Unit(person="p", neighbours="replace", max_groups=2, max_rows=1)
    sets = [set(one) for size in (1, 2) for one in itertools.combinations(range(5), size)]
    seen = max(abs(len(a | c) - len(b | c)) for a in sets for b in sets for c in [set(), *sets])
    assert seen <= 2
    assert unit.distinct(Limits(2, 1)).l1 == 2
    added = max(len(a | c) - len(c) for a in sets for c in [set(), *sets])
    assert added == 2


@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
@pytest.mark.parametrize(("numerator", "denominator"), [(1, 2), (1, 4), (9, 10), (0, 1)])
def test_rank__bounds_every_score(neighbours, numerator, denominator):
    """Scores of all candidates, for all data sets of up to three rows of five values, by enumeration."""

    def scores(rows):
        below = [sum(row < candidate for row in rows) for candidate in range(5)]
        upto = [sum(row <= candidate for row in rows) for candidate in range(5)]
        target = numerator * len(rows)
        return [max(denominator * b - target, target - denominator * u, 0) for b, u in zip(below, upto, strict=False)]

    unit = Unit(neighbours=neighbours)
    seen = 0
    for size in range(4):
        for rows in itertools.combinations_with_replacement(range(5), size):
            for row in range(5):
                if neighbours == "add/remove":
                    pairs = [(rows, (*rows, row))]
                else:
                    pairs = [((*rows, other), (*rows, row)) for other in range(5)]
                for a, b in pairs:
                    seen = max(seen, *(abs(x - y) for x, y in zip(scores(a), scores(b), strict=False)))
    assert seen == unit.rank(numerator, denominator)


@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
@pytest.mark.parametrize("sizes", [[], [2], [3], [2, 3], [2, 2, 4]])
def test_residual__is_the_largest_distance(sizes, neighbours):
    """Every pair of rows, of which one may lie outside the domains."""
    from fastdp.queries.tasks.marginals import contrast

    cells = list(itertools.product(*map(range, sizes)))
    tables = []
    for cell in cells:
        table = np.zeros(sizes, np.int64)
        table[cell] = 1
        tables.append(contrast(table, range(len(sizes))))
    nothing = np.zeros(sizes, np.int64)
    pairs = [(table, nothing) for table in tables]
    if neighbours == "replace":
        pairs += list(itertools.product(tables, tables))
    seen = max(int(((a - b) ** 2).sum()) for a, b in pairs)
    assert Unit(neighbours=neighbours).residual(sizes).l2_squared == seen


@pytest.mark.parametrize(("groups", "branching", "levels"), [(1, 2, 3), (2, 2, 3), (3, 2, 3), (4, 3, 3)])
def test_tree__is_the_largest_distance(groups, branching, levels):
    from fastdp.queries.tasks.trees import node_sums

    leaves = branching ** (levels - 1)
    seen = [0, 0]
    for chosen in itertools.combinations(range(leaves), groups):
        counts = np.zeros(leaves, np.int64)
        counts[list(chosen)] = 2
        nodes = np.concatenate(node_sums(counts, branching, levels))
        seen = [max(seen[0], int(nodes.sum())), max(seen[1], int((nodes**2).sum()))]
    unit = Unit(person="p", max_groups=groups, max_rows=2)
    stated = unit.tree(Limits(groups, 2), branching, levels)
    assert [stated.l1, stated.l2_squared] == seen


def test_unit__names_what_is_missing():
    read = {"neighbours": "add/remove", "max_groups": None, "max_rows": None, "bound": None}
    with pytest.raises(ParameterError, match="max_rows is missing"):
        Unit.read("release", person="p", **read)
    with pytest.raises(ParameterError, match="max_groups is missing"):
        Unit(person="p", max_rows=1).groups("release", None)
    with pytest.raises(ParameterError, match="say who"):
        Unit.read("release", person=None, **{**read, "max_rows": 2})
    with pytest.raises(ParameterError, match="at most"):
        Unit.read("release", person="p", **{**read, "max_rows": 1, "max_groups": LARGEST_GROUPS + 1})
