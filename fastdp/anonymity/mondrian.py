"""Strict Mondrian: parts of at least k rows, cut at medians. [LeFevre, DeWitt, Ramakrishnan 2006]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.anonymity.codes import Codes
from fastdp.anonymity.grouping import Shares
from fastdp.anonymity.requirements import Requirement
from fastdp.kernels.classes.diversity import FIGURES
from fastdp.kernels.classes.mondrian import cut_parts


@dataclass(frozen=True, slots=True)
class Parts:
    """The part of every row, and the least and largest code of each column in each part."""

    part: np.ndarray
    sizes: np.ndarray
    low: np.ndarray
    high: np.ndarray


def partition(
    columns: Sequence[Codes], sensitive: Codes | None, shares: Shares | None, requirement: Requirement
) -> Parts:
    """Cut the rows into parts that all meet the requirement, as the whole does; codes are ranks of values."""
    rows, width = columns[0].codes.size, len(columns)
    every = [*columns, sensitive] if sensitive is not None else list(columns)
    widest = max(column.size for column in every)
    records = np.empty((rows, len(every)), np.uint16 if widest <= 1 << 16 else np.uint32)
    for j, column in enumerate(every):
        records[:, j] = column.codes
    index = np.arange(rows, dtype=np.uint32 if rows < 1 << 32 else np.int64)
    low, high = requirement.limits()
    known = 0 if sensitive is None else sensitive.size
    distribution = _as_rows(shares)
    ends = np.empty(rows // requirement.k + 1, np.int64)
    widths = np.array([max(column.size - 1, 1) for column in columns], float)
    found = cut_parts(
        records, index, requirement.k, width, widths, known, low, high, requirement.depth, distribution,
        np.empty((rows // requirement.k + 2, 2), np.int64), np.empty((width, 2), np.int64), np.empty(width, np.int64),
        np.empty(widest + 1, np.int64), np.empty(max(known, 1), np.int64), np.empty(max(known, 1), np.int64),
        np.empty(max(known, 1), np.int64), np.empty(max(requirement.depth, 1), np.int64), np.empty(FIGURES), ends,
    )  # fmt: skip
    return _describe(records[:, :width], index, ends[:found])


def _as_rows(shares: Shares | None) -> Any:
    if shares is None:
        return tuple(np.zeros(2) for _ in range(4))
    return shares.shares, shares.logs, shares.below, shares.area


def _describe(records: np.ndarray, index: np.ndarray, ends: np.ndarray) -> Parts:
    starts = np.concatenate([[0], ends[:-1]])
    sizes = ends - starts
    part = np.empty(index.size, np.uint32)
    part[index] = np.repeat(np.arange(ends.size, dtype=np.uint32), sizes)
    return Parts(part, sizes, np.minimum.reduceat(records, starts), np.maximum.reduceat(records, starts))
