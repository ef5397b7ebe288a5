"""Nothing that the data hold makes a release fail: fuzzed columns of odd values, keys and persons."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd

ATOMS = [
    0.0, -0.0, 1.0, math.nan, math.inf, -math.inf, 5e-324, -5e-324, 2.2e-308, 1.8e308, -1.8e308, 2.0**53, -(2.0**63),
    9.3e18, 1e-300,
]  # fmt: skip
EDGES = [0, -1, 1, 2**63 - 1, -(2**63), 2**53 + 1, 2**31, -(2**31) - 1]
TEXTS = ["", "a", "\0", "a\0b", "ß", "\U0001f600", "x" * 300, "null", "NaN", "\x1b[31m", "'; drop", "A", "a "]


def column(source, size):
    kind = source.integers(0, 5)
    if kind == 0:
        return pa.array(source.choice(ATOMS, size))
    if kind == 1:
        return pa.array(np.full(size, source.choice(ATOMS)))
    if kind == 2:
        return pa.array([int(EDGES[i]) for i in source.integers(0, len(EDGES), size)], pa.int64())
    if kind == 3:
        return pa.array(source.normal(0, 10.0 ** source.integers(-300, 300), size), mask=source.random(size) < 0.3)
    return pa.array(source.integers(0, 2, size).astype(bool))


def names(source, size):
    if source.random() < 0.5:
        chosen = [TEXTS[i] for i in source.integers(0, len(TEXTS), size)]
        return pa.array([None if source.random() < 0.1 else one for one in chosen], pa.string())
    return pa.array([int(EDGES[i]) for i in source.integers(0, len(EDGES), size)], pa.int64())


def one_release(seed):
    source = np.random.default_rng(seed)
    size = int(source.choice([0, 1, 2, 7, 40]))
    data = pa.table({"v": column(source, size), "k": names(source, size), "u": names(source, size)})
    person = bool(source.integers(0, 2))
    bounds = [(0, 1), (-1e6, 3), (-0.001, 0.001), (1e9, 1e9 + 1)][source.integers(0, 4)]
    keys = (
        "select" if source.random() < 0.6 else ["a", ""] if pa.types.is_string(data.schema.field("k").type) else [0, 1]
    )
    queries = [
        {
            "name": "g",
            "group_by": "k",
            "keys": keys,
            "answers": ["count", "sum(v)", "variance(v)", "count(v)", "median(v)", "distinct(u)"],
        },
        {"name": "a", "answers": ["mean(v)", "quantiles(v, .1 .5 .9)", "distinct(k)"]},
        {"name": "h", "histogram": "v", "edges": [-1.0, 0.0, 5.0]},
    ]
    budget = {"rho": 0.5} if source.random() < 0.5 else {"epsilon": 2.0}
    if keys == "select":
        budget["delta"] = 1e-6
    limits = {"person": "u", "max_groups": 2, "max_rows": 3} if person else {}
    if source.random() < 0.3:
        limits["neighbours"] = "replace"
    nulls = ["drop", "lower", "upper"][source.integers(0, 3)]
    declared = "private" if source.random() < 0.1 else bounds
    plan = fd.ReleasePlan(
        queries=queries, budget=budget, source=limits, columns={"v": {"bounds": declared, "nulls": nulls}}
    )
    found = plan.run(data, rng=fd.Rng.unsafe_seed(seed))
    for answers in found.values():
        for answer in answers.values():
            assert np.isfinite(np.asarray(answer.values, float)).all()
    table = found.to_arrow()
    for name in ("low", "high"):
        numbers = np.array([one for one in table[name].to_pylist() if one is not None])
        assert np.isfinite(numbers).all()


@pytest.mark.parametrize("block", range(4))
def test_release__never_fails_because_of_the_data(block):
    for seed in range(10 * block, 10 * block + 10):
        one_release(seed)


@pytest.mark.slow
@pytest.mark.parametrize("block", range(100))
def test_release__never_fails_because_of_the_data__a_hundred_thousand_columns(block):
    """Three columns each, so that 33,400 tables are 1e5 columns."""
    for seed in range(1000 + 334 * block, 1000 + 334 * (block + 1)):
        one_release(seed)
