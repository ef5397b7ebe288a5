"""The figures of classes against their definitions, from exact fractions; a mutant of each is found out."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest

from fastdp.anonymity.coding.grouping import Entries, Shares, Table
from fastdp.kernels.classes import diversity as places
from fastdp.kernels.classes.diversity import FIGURES, distance_between, measure_class
from tests.anonymity.reference import figures, one_class, recursive

RNG = np.random.default_rng(3)


def random_table(rows: int, keys: int, values: int) -> tuple[list[tuple], list[int]]:
    secrets = [*range(values), *RNG.integers(0, values, rows - values).tolist()]
    return [(int(key),) for key in RNG.integers(0, keys, rows)], secrets


def both(rows, secrets):
    """The same table as a direct table and as entries."""
    keys = sorted(set(rows))
    table = np.zeros((len(keys) + 2, max(secrets) + 1), np.uint32)
    for row, secret in zip(rows, secrets, strict=True):
        table[keys.index(row) + 1, secret] += 1
    present = table[table.any(axis=1)]
    owner, values = np.nonzero(present)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(owner))])
    return Table(table), Entries(offsets, values, present[owner, values].astype(np.int64))


PLACES = {
    "k": places.SIZE, "distinct_l": places.DISTINCT, "alpha": places.ALPHA, "t_equal": places.EQUAL,
    "t_ordered": places.ORDERED, "beta": places.BETA, "homogeneous": places.HOMOGENEOUS, "classes": places.CLASSES,
}  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "keys", "values"), [(1, 1, 1), (40, 6, 2), (300, 40, 5), (200, 100, 40), (500, 4, 90)]
)
def test_folds__agree_with_the_definitions(rows, keys, values):
    table = random_table(rows, keys, values)
    expected = figures(*table)
    shares = Shares.of(np.bincount(table[1]))
    for grouping in both(*table):
        summary = grouping.fold(shares, 0)
        for name, place in PLACES.items():
            assert summary[place] == pytest.approx(expected[name], rel=1e-12, abs=1e-14), name
        assert math.exp(summary[places.ENTROPY]) == pytest.approx(expected["entropy_l"], rel=1e-12)
        assert summary[places.RIGHT] == pytest.approx(expected["guessed"] * rows)
        assert (summary[places.MISSING] == 1) == math.isinf(expected["delta"])
        if not math.isinf(expected["delta"]):
            assert summary[places.DELTA] == pytest.approx(expected["delta"], rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("counts", [(9, 1), (5, 3, 2), (4,), (1, 1, 1, 1), (3, 9, 1, 9, 2)])
def test_recursive__is_the_ratio_of_the_definition(counts):
    shares = Shares.of(np.array(counts))
    for depth in range(1, 7):
        found = measured(counts, depth, shares)[places.RECURSIVE]
        assert found == pytest.approx(recursive(Counter(dict(enumerate(counts))), depth))


def measured(counts, depth, shares):
    out = np.empty(FIGURES)
    values = np.arange(len(counts))
    measure_class(
        values, np.array(counts), 0, len(counts), depth, shares.shares, shares.logs, shares.below, shares.area,
        np.empty(max(depth, 1), np.int64), out,
    )  # fmt: skip
    return out


@pytest.mark.parametrize(("begin", "end"), [(0, 0), (0, 5), (3, 40), (0, 60), (59, 60)])
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_distance_between__is_the_plain_sum(begin, end, share):
    shares = Shares.of(RNG.integers(1, 20, 60))
    expected = sum(abs(share - below) for below in shares.below[begin:end])
    assert distance_between(share, begin, end, shares.below, shares.area) == pytest.approx(expected, abs=1e-12)


def test_ordered__is_not_the_equal_distance():
    """A class at the end of the order and one in the middle: only the order tells them apart."""
    whole = Counter({0: 4, 1: 4, 2: 4})
    p = {s: count / 12 for s, count in whole.items()}
    shares = Shares.of(np.array([4, 4, 4]))
    ends = [one_class(Counter({s: 4}), p, [0, 1, 2])["t_ordered"] for s in range(3)]
    found = []
    for s in range(3):
        summary = Entries(np.array([0, 1]), np.array([s]), np.array([4])).fold(shares, 0)
        found.append(summary[places.ORDERED])
        assert summary[places.EQUAL] == pytest.approx(2 / 3)
    assert found == pytest.approx(ends)
    assert len(set(np.round(found, 6))) == 2
    assert not any(math.isclose(a, 2 / 3) for a, _ in itertools.product(found[1:2], range(1)))


def test_check_entries__knows_each_limit():
    from fastdp.anonymity.requirements import Requirement, fitting

    entries = Entries(np.array([0, 2, 3]), np.array([0, 1, 0]), np.array([3, 2, 5]))
    shares = Shares.of(np.array([8, 2]))
    for asked, expected in [
        ({"k": 5}, [True, True]),
        ({"k": 6}, [False, False]),
        ({"k": 1, "l": 2}, [True, False]),
        ({"k": 1, "alpha": 0.6}, [True, False]),
        ({"k": 1, "alpha": 0.59}, [False, False]),
        ({"k": 1, "t": 0.2}, [True, True]),
        ({"k": 1, "t": 0.19}, [False, False]),
        ({"k": 1, "l": 2, "l_model": "recursive", "c": 1.5}, [False, False]),  # 3 < 1.5 * 2 is false
        ({"k": 1, "l": 2, "l_model": "recursive", "c": 1.51}, [True, False]),
        ({"k": 1, "beta": 1.0}, [True, True]),
        ({"k": 1, "beta": 0.9}, [False, True]),
        ({"k": 1, "delta": 1.0}, [True, False]),
    ]:
        assert fitting(entries, shares, Requirement(**asked)).tolist() == expected, asked
