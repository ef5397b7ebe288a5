"""The marginals that a synthetic table is judged by, and what is declared empty."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.synthesis.columns import ColumnDomain
from fastdp.synthesis.fitting.axes import Columns

MOST_CELLS = 1 << 24
"""Cells of one marginal: 128 MiB of counts."""
MOST_MARGINALS = 20_000


def read_workload(owner: str, domains: Sequence[ColumnDomain], ways: int, listed: Any) -> list[Columns]:
    """The marginals of the workload: those listed, or all 2- to ``ways``-way ones."""
    names = [domain.name for domain in domains]
    if listed is None:
        most = validation.positive_integer(owner, "ways", ways)
        if len(names) == 1:
            return [(0,)]
        sizes = range(min(2, most), min(most, len(names)) + 1)
        if sum(math.comb(len(names), size) for size in sizes) > MOST_MARGINALS:
            raise ParameterError(
                f"{owner}: the workload has more than {MOST_MARGINALS:,} marginals; list those you need"
            )
        found = [subset for size in sizes for subset in itertools.combinations(range(len(names)), size)]
        return [subset for subset in found if cells_of(domains, subset) <= MOST_CELLS]
    if not isinstance(listed, list | tuple) or not listed:
        raise ParameterError(f"{owner}: workload must list marginals, each a list of columns")
    chosen = []
    for one in listed:
        if not isinstance(one, list | tuple) or not one or len(set(one)) < len(one):
            raise ParameterError(f"{owner}: workload: each marginal is a list of different columns")
        subset = _read_subset(f"{owner}: workload", names, one)
        if cells_of(domains, subset) > MOST_CELLS:
            raise ParameterError(
                f"{owner}: workload: the marginal of {', '.join(one)} has {cells_of(domains, subset):,} cells, above "
                f"{MOST_CELLS:,}; leave it out or use fewer bins"
            )
        chosen.append(subset)
    return list(dict.fromkeys(chosen))


def _read_subset(owner: str, names: Sequence[str], given: Iterable[str]) -> Columns:
    """The numbers of the columns with these names, ascending."""
    given = tuple(given)
    validation.all_known(owner, "column", given, names)
    return tuple(sorted(map(names.index, given)))


def cells_of(domains: Sequence[ColumnDomain], subset: Columns) -> int:
    """The cells of a marginal."""
    return math.prod(domains[column].size for column in subset)


def candidate_weights(workload: Sequence[Columns]) -> dict[Columns, int]:
    """Every marginal inside one of the workload, weighted by the columns that it shares with all of them."""
    inside = {
        subset for one in workload for size in range(1, len(one) + 1) for subset in itertools.combinations(one, size)
    }
    ordered = sorted(inside, key=lambda subset: (len(subset), subset))
    masks = np.zeros((max((max(one) for one in workload), default=0) + 1, len(workload)), np.int64)
    for number, one in enumerate(workload):
        masks[list(one), number] = 1
    return {subset: int(masks[list(subset)].sum()) for subset in ordered}


def read_empty(owner: str, domains: Sequence[ColumnDomain], listed: Any) -> dict[Columns, np.ndarray]:
    """Masks of the cells that are declared empty, by marginal; each rule names a value, or several, per column."""
    if listed is None:
        return {}
    if not isinstance(listed, list | tuple):
        raise ParameterError(f"{owner}: zeros must list rules, each a table of values by column")
    names = [domain.name for domain in domains]
    masks: dict[Columns, np.ndarray] = {}
    for rule in listed:
        if not isinstance(rule, Mapping) or len(rule) < 1:
            raise ParameterError(f"{owner}: zeros: each rule is a table of values by column")
        subset = _read_subset(f"{owner}: zeros", names, rule)
        if cells_of(domains, subset) > MOST_CELLS:
            raise ParameterError(f"{owner}: zeros: the rule about {', '.join(rule)} has too many cells")
        mask = np.ones([domains[column].size for column in subset], bool)
        for axis, column in enumerate(subset):
            chosen = _codes(owner, domains[column], rule[names[column]])
            shape = [1] * len(subset)
            shape[axis] = -1
            mask &= chosen.reshape(shape)
        flat = mask.reshape(-1)
        masks[subset] = masks[subset] | flat if subset in masks else flat
        if masks[subset].all():
            raise ParameterError(f"{owner}: zeros: the rules about {', '.join(rule)} leave no cell")
    return masks


def _codes(owner: str, domain: ColumnDomain, value: Any) -> np.ndarray:
    """Which codes a rule names: values, bins by their number, or the null as None or "null"."""
    wanted = value if isinstance(value, list | tuple) else [value]
    chosen = np.zeros(domain.size, bool)
    for one in wanted:
        if (one is None or one == "null") and domain.nulls:
            chosen[-1] = True
        elif domain.values is not None and one in domain.values:
            chosen[domain.values.index(one)] = True
        elif domain.values is None and isinstance(one, int) and 0 <= one < domain.size - domain.nulls:
            chosen[one] = True
        else:
            raise ParameterError(
                f"{owner}: zeros: column {domain.name!r} has no such value; name declared values, or bins by their "
                "number from 0"
            )
    return chosen
