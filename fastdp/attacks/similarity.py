"""Linkage by similarity on sparse records: a few films find one person among all. [Narayanan, Shmatikov 2008]"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa

from fastdp import validation
from fastdp.attacks.attack import Attack
from fastdp.attacks.keys import join_keys, publish, read_table
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Table

OWNER = "attacks.similarity"
DEFENCE = "aggregates of one budget instead of records; sparse records are unique whatever is removed from them"
MOST_TARGETS = 1000


def similarity(
    release: Table | Callable[[pa.Table], Table],
    auxiliary: Table,
    *,
    person: str = "person",
    item: str = "item",
    value: str | None = None,
    tolerance: float = 0.0,
    eccentricity: float = 1.5,
    known: int = 8,
    records: Table | None = None,
) -> Attack:
    """Find people in a release of sparse records by a few items that are known of them.

    Everyone in the release is scored by the items shared with what is known, each weighted by 1 / ln(how many people
    have it); the best is named if it stands out from the second by ``eccentricity`` standard deviations.

    Parameters
    ----------
    release
        Rows of a person and an item, such as a film that was rated; persons are pseudonyms. Or a
        callable that takes the true rows and returns those that are published, of the same persons.
    auxiliary
        What is known: rows of the same columns. A row's person is the true one, and tells whether a guess is right.
    person, item
        The names of these columns.
    value
        A column of numbers, such as ratings, that must agree within ``tolerance``.
    tolerance
        How far values may differ.
    eccentricity
        How far the best must stand out.
    known
        Items used per person, at most.
    records
        The true rows, for a callable.

    >>> films = {"person": [0, 0, 1, 1, 2, 2], "item": [1, 2, 2, 3, 3, 4]}
    >>> similarity(films, films).success
    1.0
    """
    made = publish(OWNER, release, records) if callable(release) else read_table(OWNER, "release", release)
    tables = [made, read_table(OWNER, "auxiliary", auxiliary)]
    if not all(len(table) for table in tables):
        raise ParameterError(f"{OWNER}: both tables need rows")
    known = validation.positive_integer(OWNER, "known", known)
    people, targets = join_keys(OWNER, tables, [person])
    items, asked = join_keys(OWNER, tables, [item])
    values = [None, None] if value is None else [_numbers(table, value) for table in tables]
    n, kinds = int(people.max()) + 1, int(max(items.max(), asked.max())) + 1
    order = np.argsort(items, kind="stable")
    starts = np.searchsorted(items[order], np.arange(kinds + 1))
    support = np.diff(starts)
    weights = 1 / np.log(np.maximum(support, 2) + 1.0)
    by_target = np.argsort(targets, kind="stable")
    names, firsts = np.unique(targets[by_target], return_index=True)
    ends = [*firsts[1:], targets.size]
    chosen = np.unique(np.linspace(0, names.size - 1, min(names.size, MOST_TARGETS)).astype(np.int64))
    right = wrong = 0
    alone = []
    scores = np.zeros(max(n, int(names.max()) + 1))
    for place in chosen.tolist():
        rows = by_target[firsts[place] : ends[place]]
        rows = rows[np.argsort(support[asked[rows]], kind="stable")][:known]  # the rarest tell most
        for row in rows.tolist():
            holders = order[starts[asked[row]] : starts[asked[row] + 1]]
            if values[0] is not None and values[1] is not None:
                holders = holders[np.abs(values[0][holders] - values[1][row]) <= tolerance]
            scores[people[holders]] += weights[asked[row]]  # once per person and item
        found = _stands_out(scores, n, eccentricity)
        scores[:] = 0.0
        right += int(found == names[place])
        wrong += int(found is not None and found != names[place])
        alone.append(_expected_alone(support[asked[rows]], n))
    trials = chosen.size
    details = {"people": n, "wrong": wrong, "known": known}
    return Attack(
        "similarity", "people found", right / trials, float(np.mean(alone)), 1 / n, trials,
        "exp(-n prod(support / n)), for independent items,", DEFENCE, details,
    )  # fmt: skip


def _stands_out(scores: np.ndarray, n: int, eccentricity: float) -> int | None:
    """The best of all people, if far enough from the second in standard deviations of the scores."""
    best = int(np.argmax(scores))
    top = float(scores[best])
    scores[best] = 0.0
    second = float(scores.max())
    scores[best] = top
    spread = math.sqrt(max(float(scores @ scores) / n - (float(scores.sum()) / n) ** 2, 1e-30))
    return best if top - second > eccentricity * spread or (top > second and n < 10) else None


def _expected_alone(supports: Sequence[int] | np.ndarray, n: int) -> float:
    """The probability that nobody else has all of the items."""
    return math.exp(-n * math.exp(float(np.log(np.maximum(supports, 1) / n).sum())))


def _numbers(table: object, name: str) -> np.ndarray:
    if name not in table.column_names:  # type: ignore[attr-defined]
        raise SchemaError(f"{OWNER}: there is no column {name!r}")
    return validation.floats(OWNER, name, table[name].to_numpy())  # type: ignore[index]
