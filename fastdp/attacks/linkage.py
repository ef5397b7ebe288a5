"""Linkage: rows without names, joined with a register on what both have. [Sweeney 2002]"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from fastdp.attacks.attack import Attack
from fastdp.attacks.keys import join_keys, publish, read_table
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Numbers, Table

OWNER = "attacks.linkage"
DEFENCE = "no quasi-identifiers in the release, or reports of them that are differentially private"


def linkage(
    release: Table | Callable[[pa.Table], Table], register: Table, *, on: Sequence[str], truth: Numbers | None = None,
    records: Table | None = None,
) -> Attack:  # fmt: skip
    """Name the rows of a release by a register: those whose quasi-identifiers exactly one person of it has.

    Parameters
    ----------
    release
        The table without names; or a callable that takes the columns ``on`` of the true table and returns what is
        published of them, row by row. The register is then read as it is and as the release would make it, and the
        better attack counts.
    register
        The table with names, one row per person.
    on
        The columns that both have.
    truth
        For each row of the release the number of its row in the register; the success then counts right names alone.
        For a callable by default the rows of the register that the true records name.
    records
        The true table, for a callable.

    >>> people = {"zip": [1, 1, 2], "age": [30, 30, 40]}
    >>> linkage(people, people, on=["zip", "age"], truth=[0, 1, 2]).success
    0.3333333333333333
    """
    people = read_table(OWNER, "register", register)
    if not callable(release):
        return _join(read_table(OWNER, "release", release), people, on, truth)
    true = read_table(OWNER, "records", records if records is not None else {})
    join_keys(OWNER, [true, people], on)  # columns are checked before anything is released
    published = publish(OWNER, release, true.select(list(on)))
    own = named_rows(true, people, on) if truth is None else truth
    if len(published) != len(true):
        raise ParameterError(f"{OWNER}: release must return one row for each of the true records")
    registers = (people, publish(OWNER, release, people.select(list(on))))
    return max((_join(published, one, on, own) for one in registers), key=lambda found: found.success)


def named_rows(rows: pa.Table, register: pa.Table, on: Sequence[str]) -> np.ndarray:
    """For each row the one row of the register with the same values; -1 where there are none or several."""
    keys, known = join_keys(OWNER, [rows, register], on)
    sizes = np.bincount(known, minlength=int(max(keys.max(initial=0), known.max(initial=0))) + 1)
    holder = np.full(sizes.size, -1, np.int64)
    holder[known] = np.arange(known.size)
    return np.where(sizes[keys] == 1, holder[keys], -1)


def _join(release: pa.Table, register: pa.Table, on: Sequence[str], truth: Any) -> Attack:
    tables = [release, register]
    if not all(len(table) for table in tables):
        raise ParameterError(f"{OWNER}: both tables need rows")
    rows, known = join_keys(OWNER, tables, on)
    sizes = np.bincount(known, minlength=int(max(rows.max(), known.max())) + 1)
    names = named_rows(release, register, on)
    named = names >= 0
    right = named
    if truth is not None:
        own: Any = np.asarray(truth)
        if own.shape != rows.shape or own.dtype.kind not in "iu":
            raise SchemaError(f"{OWNER}: truth must be one row number of the register for each row of the release")
        right = named & (names == own)
    unique = float((sizes[known] == 1).mean())
    details = {"named": int(named.sum()), "rows": rows.size, "unique_in_register": unique}
    formula = "the share of the register that is unique on these columns"
    return Attack(
        "linkage", "rows named", float(right.mean()), unique, 1 / known.size, rows.size, formula, DEFENCE, details
    )
