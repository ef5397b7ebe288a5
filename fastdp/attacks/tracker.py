"""Trackers: a rule that every answer is about at least k people, undone by two such answers. [Denning, Denning 1979]"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, read_bits
from fastdp.attacks.differencing import success_of
from fastdp.attacks.keys import join_keys, read_table
from fastdp.errors import ParameterError, SchemaError
from fastdp.mechanisms.base import ColumnMechanism
from fastdp.typing import Numbers, Table

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.tracker"
DEFENCE = "noise of one budget on every answer; a smallest size of the answers is no guarantee"
Answer = Callable[[np.ndarray], float | None]
MOST_TARGETS = 1000


def tracker(
    table: Table,
    values: Numbers,
    *,
    on: Sequence[str],
    k: int = 10,
    release: ColumnMechanism | Answer | None = None,
    rng: Rng | None = None,
) -> Attack:
    """Read the bits of people who are unique on some columns, by counts of which each is about at least k people.

    A person's bit is the count over everyone less the count over everyone who differs from the person in these columns.
    Both are about many people, so a rule that refuses small sets answers both.

    Parameters
    ----------
    table
        What the attacker knows of everyone.
    values
        One bit per person, which only counts of it are published of.
    on
        The columns that the attacker knows of the target.
    k
        The smallest set that is answered.
    release
        What answers: None for exact counts; a mechanism that adds noise to each; or a callable that takes a mask of
        rows and returns the count, or None if it refuses.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> tracker({"age": list(range(30))}, [0, 1, 1] * 10, on=["age"]).success
    1.0
    """
    bits, k = read_bits(OWNER, "values", values), validation.positive_integer(OWNER, "k", k)
    known = read_table(OWNER, "table", table)
    if len(known) != bits.size:
        raise SchemaError(f"{OWNER}: values must be one bit for each row of the table")
    (keys,) = join_keys(OWNER, [known], on)
    alone = np.flatnonzero(np.bincount(keys)[keys] == 1)
    n = bits.size
    if n - 1 < k:
        raise ParameterError(f"{OWNER}: the table needs more than k rows")
    places = np.linspace(0, max(alone.size - 1, 0), min(alone.size, MOST_TARGETS))
    targets = alone[np.unique(places.astype(np.int64))]
    found = np.array([_difference(bits, int(target), release, rng) for target in targets.tolist()])
    right = (found > 0.5) == (bits[targets] > 0.5)
    answered = np.isfinite(found)
    reached = alone.size / n
    success = float((right & answered).mean()) * reached if targets.size else 0.0
    rate = success_of(release) if release is None or isinstance(release, ColumnMechanism) else None
    expected = None if rate is None else rate * reached
    details = {"unique": int(alone.size), "rows": n, "k": k}
    formula = "the share that is unique" + (" times that of differencing" if release is not None else "")
    return Attack("tracker", "people whose bit is read", success, expected, 0.0, n, formula, DEFENCE, details)


def _difference(bits: np.ndarray, target: int, release: ColumnMechanism | Answer | None, rng: Rng | None) -> float:
    """The count over everyone less the count over all but the target; NaN where an answer is refused."""
    if release is None or isinstance(release, ColumnMechanism):
        total = float(bits.sum())
        counts = np.array([total, total - bits[target]])
        if release is None:
            return float(counts[0] - counts[1])
        whole = getattr(release, "number_kind", "float") == "integer"
        noisy = np.asarray(release.randomize(counts.astype(np.int64) if whole else counts, rng=rng), float)
        return float(noisy[0] - noisy[1])
    mask = np.ones(bits.size, bool)
    first = release(mask)
    mask[target] = False
    second = release(mask)
    return float("nan") if first is None or second is None else float(first) - float(second)
