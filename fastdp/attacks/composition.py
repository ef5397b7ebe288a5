"""Composition: two k-anonymous tables of the same people, whose classes meet in one person. [Ganta et al. 2008]"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from fastdp.attacks.attack import Attack
from fastdp.attacks.keys import join_keys, number, publish, read_table
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Table

OWNER = "attacks.composition"
DEFENCE = "guarantees that add up, such as differential privacy with a ledger; k-anonymity does not compose"


def composition(
    first: Table, second: Table, *, on_first: Sequence[str] | None = None, on_second: Sequence[str] | None = None,
    release: Callable[[pa.Table], Table] | None = None,
) -> Attack:  # fmt: skip
    """The k that is left when two releases of the same people are read together.

    Rows of the two tables are the same people in the same order; the attacker knows in which class of each table a
    person is. The closed form is for classes that are independent of one another.

    Parameters
    ----------
    first, second
        The two releases.
    on_first, on_second
        The columns whose combinations are the classes of each; all of its columns by default.
    release
        None for tables that are published as they are; or a callable that takes each table and returns what is
        published of it, row by row. The attacker runs it once more, to learn in which class a person would be.

    >>> ages, weights = [30, 30, 40, 40, 50, 50], [60, 90, 90, 100, 60, 100]
    >>> found = composition({"age": ages}, {"weight": weights})
    >>> found.success, found.details["k"], found.details["k_joined"]
    (1.0, [2, 2], 1)
    """
    tables = [read_table(OWNER, "first", first), read_table(OWNER, "second", second)]
    if len(tables[0]) != len(tables[1]):
        raise SchemaError(f"{OWNER}: the two tables must have one row for each person, in the same order")
    if not len(tables[0]):
        raise ParameterError(f"{OWNER}: the tables need rows")
    classes, expected_in = [], np.ones(len(tables[0]), bool)
    for table, on in zip(tables, (on_first, on_second), strict=True):
        true = table if on is None else table.select(_known(table, on))
        runs = [true] if release is None else [publish(OWNER, release, true) for _ in range(2)]
        if any(len(run) != len(table) for run in runs):
            raise ParameterError(f"{OWNER}: release must return one row for each row of the table")
        keys = join_keys(OWNER, runs, runs[0].column_names)
        classes.append(number(keys[0]))
        expected_in &= keys[0] == keys[-1]
    joined = number(classes[0] * (int(classes[1].max()) + 1) + classes[1])
    sizes = [np.bincount(keys)[keys] for keys in (*classes, joined)]
    n = joined.size
    details = {"k": [int(size.min()) for size in sizes[:2]], "k_joined": int(sizes[2].min()), "rows": n}
    return Attack(
        "composition", "people alone in both classes together", float(((sizes[2] == 1) & expected_in).mean()),
        None if release else _alone(sizes[0], sizes[1], n), float(((sizes[0] == 1) | (sizes[1] == 1)).mean()), n,
        "C(n - k1, k2 - 1) / C(n - 1, k2 - 1), for independent classes,", DEFENCE, details,
    )  # fmt: skip


def _alone(first: np.ndarray, second: np.ndarray, n: int) -> float:
    """The mean probability that nobody of one class is in the other, over pairs of sizes."""
    pairs, counts = np.unique(np.stack([first, second]), axis=1, return_counts=True)
    total = 0.0
    for (a, b), times in zip(pairs.T.tolist(), counts.tolist(), strict=True):
        if b - 1 <= n - a:
            logs = math.lgamma(n - a + 1) - math.lgamma(n - a - b + 2) - math.lgamma(n) + math.lgamma(n - b + 1)
            total += times * math.exp(logs)
    return min(1.0, total / n)


def _known(table: pa.Table, on: Sequence[str]) -> list[str]:
    for name in on:
        if name not in table.column_names:
            raise SchemaError(f"{OWNER}: there is no column {name!r}")
    return list(on)
