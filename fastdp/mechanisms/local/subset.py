"""Subset selection."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np

from fastdp.channels import DenseChannel
from fastdp.columns.categories import out_of_domain
from fastdp.columns.domain import Domain
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import ReportBlock
from fastdp.errors import InputCorruptError, ParameterError
from fastdp.kernels.local.subset import count_subsets, fill_subset
from fastdp.kernels.memory import empty_aligned
from fastdp.laws.coins import resolvable_epsilon
from fastdp.laws.local.subset import SubsetLaw, best_size, steps
from fastdp.laws.rate import Rate
from fastdp.mechanisms.annotations import DeclaredDomain, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.encoded import EncodedReports
from fastdp.mechanisms.local.frequencies import Counts, LawProtocol
from fastdp.threads import BLOCK
from fastdp.typing import Column

LARGEST_DOMAIN = 1 << 16
"""A report then takes 8 KiB."""
LARGEST_CHANNEL = 20_000
"""Sets of a channel that is written out in full."""

_BITS = np.unpackbits(np.arange(256, dtype=np.uint8), bitorder="little").reshape(256, 8)
_SPREAD, _ONES = _BITS.view(np.uint64).reshape(-1), _BITS.sum(axis=1, dtype=np.uint8)


@frozen()
class SubsetSelection(EncodedReports, LawProtocol):
    """Report a set of values that holds the true one with probability p, the others uniform.

    epsilon-local DP for one report per person. A set has w = k / (e**epsilon + 1) values, rounded and at least 1, and
    p = w e**epsilon / (w e**epsilon + k - w), which is as accurate as any protocol can be for large k, whatever epsilon
    is. A report is the set itself, as k packed bits without any order: value v is bit v % 8 of byte v // 8. ``domain``
    is the number of codes, or the labels in a public order.

    2 random bytes per report, and 2 or (in domains of more than about 200 values) 4 for every value of the set.
    [Ye and Barg 2018; Wang et al. 2016]

    Parameters
    ----------
    epsilon
        The privacy of one report; it also fixes how many values a report holds.
    domain
        The number of codes, or the labels in a public order.

    >>> import fastdp as fd
    >>> mechanism = SubsetSelection(epsilon=1.0, domain=["cold", "flu", "none", "other"])
    >>> mechanism.size, round(mechanism.p, 6), round(mechanism.q, 6)
    (1, 0.475367, 0.174878)
    >>> mechanism.randomize(["flu", "none", "flu"], rng=fd.Rng.unsafe_seed(7)).tolist()
    [[2], [1], [1]]
    """

    epsilon: float
    domain: DeclaredDomain
    _law: SubsetLaw = computed()

    def __post_init__(self) -> None:
        epsilon = resolvable_epsilon("SubsetSelection", self.epsilon)
        hint = "; for more, use local hashing or Hadamard response"
        domain = Domain.read("SubsetSelection", self.domain, most=LARGEST_DOMAIN, hint=hint)
        law = SubsetLaw(Rate.below(Fraction(epsilon)), domain.size, best_size(epsilon, domain.size))
        set_fields(self, epsilon=epsilon, domain=domain, _law=law)

    @property
    def size(self) -> int:
        """The number of values in a report."""
        return self._law.size

    @property
    def report_type(self) -> ReportType:
        """The set as k packed bits."""
        return ReportType((Field.packed("subset", self.domain.size),))

    def sets(self) -> np.ndarray:
        """Every set that a report can be, one row of values each, in the order of the channel's outputs."""
        number = math.comb(self.domain.size, self.size)
        if number > LARGEST_CHANNEL:
            raise ParameterError(
                f"SubsetSelection: the channel has {number:.3g} outputs; it is written out for up to {LARGEST_CHANNEL}"
            )
        return np.array(list(combinations(range(self.domain.size), self.size)))

    def channel(self) -> DenseChannel:
        """The channel from the values of the domain to the sets, where there are few enough."""
        sets, k, size = self.sets(), self.domain.size, self.size
        matrix = np.full((k, len(sets)), float((1 - self._law.p) / math.comb(k - 1, size)))
        for values in sets.T:
            matrix[values, np.arange(len(sets))] = float(self._law.p / math.comb(k - 1, size - 1))
        return DenseChannel(matrix)

    def _block(self) -> ReportBlock:
        k = self.domain.size
        high, low = self._law.odds.words
        bits, uneven = steps(k, self.size)

        def block(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: Parts) -> None:
            codes = values.astype(np.int64)  # one kernel for all types: the copy is a part in 500 of the work
            sets = empty_aligned(16 * ((k + 31) // 32), np.uint32)
            if fill_subset(key, slot, high, low, k, bits, uneven, codes, memory.scratch, sets, result[0]):
                raise out_of_domain("SubsetSelection")

        return block

    def aggregate(self, reports: Column) -> Counts:
        """How many reports hold each value, in one pass; counts of batches add up."""
        k, width = self.domain.size, (self.domain.size + 7) // 8
        lanes, counts, n = np.zeros(width, np.uint64), np.zeros(8 * width, np.int64), 0
        for (flat,) in self.report_type.read("SubsetSelection", reports):
            for start in range(0, flat.size, BLOCK * width):
                wrong = count_subsets(flat[start : start + BLOCK * width], self.size, _SPREAD, _ONES, lanes, counts)
                if wrong or counts[k:].any():
                    raise InputCorruptError(
                        f"SubsetSelection: the reports hold a set that is not of {self.size} values of the domain; "
                        "they are not of this mechanism"
                    )
            n += flat.size // width
        return Counts(counts[:k].copy(), n)
