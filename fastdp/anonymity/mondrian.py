"""Strict Mondrian: parts of at least k rows, cut at medians. [LeFevre, DeWitt, Ramakrishnan 2006]"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastdp.anonymity.coding.codes import Codes
from fastdp.anonymity.coding.grouping import Shares, lay_out
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
    columns: Sequence[Codes], sensitive: Sequence[Codes], shares: Sequence[Shares], requirement: Requirement
) -> Parts:
    """Cut the rows into parts that all meet the requirement, as the whole does; codes are ranks of values."""
    rows, width = columns[0].codes.size, len(columns)
    every = [*columns, *sensitive]
    records = np.empty((len(every), rows), np.uint16 if max(one.size for one in every) <= 1 << 16 else np.uint32)
    for row, column in zip(records, every, strict=True):
        row[:] = column.codes
    index = np.arange(rows, dtype=np.uint32 if rows < 1 << 32 else np.int64)
    low, high = requirement.limits()
    starts, laid_out = lay_out(shares)
    known, places = max((one.size for one in sensitive), default=1), rows // requirement.k + 2
    ends = np.empty(places, np.int64)
    found = cut_parts(
        records, index, requirement.k, width, np.array([max(column.size - 1, 1) for column in columns], float), starts,
        low, high, requirement.depth, laid_out, np.empty((places, 2), np.int64), np.ones((places, width), np.uint8),
        np.empty((width, 2), np.int64), np.empty(width, np.int64), np.empty(rows + 256, np.int64),
        np.empty(rows, np.uint8), np.empty(rows, records.dtype), np.empty(rows, index.dtype), np.empty(known, np.int64),
        np.empty(known, np.int64), np.empty(known, np.int64), np.empty(max(requirement.depth, 1), np.int64),
        np.empty(FIGURES), ends,
    )  # fmt: skip
    return _describe(records[:width], index, ends[:found])


def _describe(records: np.ndarray, index: np.ndarray, ends: np.ndarray) -> Parts:
    starts = np.concatenate([[0], ends[:-1]])
    sizes = ends - starts
    part = np.empty(index.size, np.uint32)
    part[index] = np.repeat(np.arange(ends.size, dtype=np.uint32), sizes)
    low, high = (of.reduceat(records, starts, axis=1).T for of in (np.minimum, np.maximum))
    return Parts(part, sizes, low, high)
