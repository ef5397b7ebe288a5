"""Linkage: rows without names, joined with a register on what both have. [Sweeney 2002]"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastdp.attacks.attack import Attack
from fastdp.attacks.keys import join_keys, read_table
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Numbers, Table

OWNER = "attacks.linkage"
DEFENCE = "no quasi-identifiers in the release, or reports of them that are differentially private"


def linkage(release: Table, register: Table, *, on: Sequence[str], truth: Numbers | None = None) -> Attack:
    """Name the rows of a release by a register: those whose quasi-identifiers exactly one person of it has.

    Parameters
    ----------
    release
        The table without names.
    register
        The table with names, one row per person.
    on
        The columns that both have.
    truth
        For each row of the release the number of its row in the register; the success then counts right names alone.

    >>> people = {"zip": [1, 1, 2], "age": [30, 30, 40]}
    >>> linkage(people, people, on=["zip", "age"], truth=[0, 1, 2]).success
    0.3333333333333333
    """
    tables = [read_table(OWNER, "release", release), read_table(OWNER, "register", register)]
    if not all(len(table) for table in tables):
        raise ParameterError(f"{OWNER}: both tables need rows")
    rows, known = join_keys(OWNER, tables, on)
    sizes = np.bincount(known, minlength=int(max(rows.max(), known.max())) + 1)
    holder = np.full(sizes.size, -1, np.int64)
    holder[known] = np.arange(known.size)
    named = sizes[rows] == 1
    right = named
    if truth is not None:
        own: Any = np.asarray(truth)
        if own.shape != rows.shape or own.dtype.kind not in "iu":
            raise SchemaError(f"{OWNER}: truth must be one row number of the register for each row of the release")
        right = named & (holder[rows] == own)
    unique = float((sizes[known] == 1).mean())
    details = {"named": int(named.sum()), "rows": rows.size, "unique_in_register": unique}
    formula = "the share of the register that is unique on these columns"
    return Attack(
        "linkage", "rows named", float(right.mean()), unique, 1 / known.size, rows.size, formula, DEFENCE, details
    )
