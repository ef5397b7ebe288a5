"""Hadamard response."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fastdp.channels.hadamard import HadamardChannel
from fastdp.columns.categories import out_of_domain
from fastdp.columns.domain import Domain
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import ReportBlock
from fastdp.errors import InputCorruptError
from fastdp.kernels.local.hadamard import count_indices, fill_hadamard
from fastdp.kernels.products.walsh import apply_walsh
from fastdp.kernels.stream.words import COINS, WORDS
from fastdp.laws.coins import Odds, resolvable_epsilon
from fastdp.laws.loss_atoms import atomic, symmetric_pairs
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import DeclaredDomain, computed, frozen
from fastdp.mechanisms.base import FiniteMechanism, set_fields
from fastdp.mechanisms.encoded import EncodedReports
from fastdp.mechanisms.local.frequencies import Counts
from fastdp.privacy import Privacy
from fastdp.threads import BLOCK
from fastdp.typing import Column

LARGEST_DOMAIN = (1 << 24) - 1
"""The server's histogram then takes 128 MiB."""
LARGEST_NARROW = 1 << 16


@frozen()
class HadamardResponse(EncodedReports, FiniteMechanism):
    """Report an index at which the true value's row of a Hadamard matrix is 1 with probability p, else one of the rest.

    epsilon-local DP for one report per person, with p = e**epsilon / (e**epsilon + 1) and q = 1/2. The matrix has K
    rows, the smallest power of two above k; value x has row x + 1. A report is one uint16 for up to 65,535 values, else
    one uint32, and the server needs one pass and a transform of K log2 K additions. Best for epsilon up to 1 and large
    domains. ``domain`` is the number of codes, or the labels in a public order.

    4 random bytes per report for up to 65,535 values, else 6. [Acharya, Sun, Zhang 2019]

    Parameters
    ----------
    epsilon
        The privacy of one report, which is a biased coin: heads for the true value's half of the indices.
    domain
        The number of codes, or the labels in a public order.

    >>> import fastdp as fd
    >>> mechanism = HadamardResponse(epsilon=1.0, domain=["cold", "flu", "none"])
    >>> mechanism.randomize(["flu", "none", "flu", "cold"], rng=fd.Rng.unsafe_seed(7))
    array([0, 1, 0, 3], dtype=uint16)
    >>> round(mechanism.p, 6), mechanism.q
    (0.731059, 0.5)
    """

    epsilon: float
    domain: DeclaredDomain
    _odds: Odds = computed()

    def __post_init__(self) -> None:
        epsilon = resolvable_epsilon("HadamardResponse", self.epsilon)
        domain = Domain.read("HadamardResponse", self.domain, most=LARGEST_DOMAIN)
        set_fields(self, epsilon=epsilon, domain=domain, _odds=Odds(Rate.below(Fraction(epsilon)), 1, 1))

    @property
    def p(self) -> float:
        """The probability of a report to support the true value."""
        return float(self._odds.heads)

    @property
    def q(self) -> float:
        """The probability of a report to support a given other value: different rows agree at half of the indices."""
        return 0.5

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer threshold, rounded up."""
        return Privacy(epsilon=self._odds.cost, unit="report", neighbours="replace")

    @property
    def rows(self) -> int:
        """K, the number of indices that a report can be."""
        return 1 << self.domain.size.bit_length()

    @property
    def report_type(self) -> ReportType:
        """One unsigned integer below K."""
        return ReportType((Field("index", np.dtype(np.uint16 if self.rows <= LARGEST_NARROW else np.uint32)),))

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of one index: two rows differ at half of them."""
        return (atomic(symmetric_pairs(self._odds.heads / 2, (1 - self._odds.heads) / 2)),)

    def channel(self) -> HadamardChannel:
        """The channel from the values of the domain to the K indices."""
        return HadamardChannel(self.domain.size, self.rows, self.p, float(1 - self._odds.heads))

    def _block(self) -> ReportBlock:
        k, mask, narrow = np.uint64(self.domain.size), self.rows - 1, self.rows <= LARGEST_NARROW
        high, low = self._odds.words

        def block(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: Parts) -> None:
            scratch = memory.scratch
            plane, raw = (COINS, scratch.coins_raw) if narrow else (WORDS, scratch.words)
            draws = scratch.coins if narrow else scratch.words
            if fill_hadamard(
                key, slot, high, low, k, draws.dtype.type(mask), plane, raw, draws, values, scratch, result[0]
            ):
                raise out_of_domain("HadamardResponse")

        return block

    def aggregate(self, reports: Column) -> Counts:
        """How many reports support each value: one histogram and one transform; counts of batches add up."""
        counts = self.count_outputs(reports)
        n = int(counts.sum())
        apply_walsh(counts)
        return Counts((n + counts[1 : self.domain.size + 1]) // 2, n)

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports are each index: the outputs of the channel."""
        counts = np.zeros(self.rows, np.int64)
        for (indices,) in self.report_type.read("HadamardResponse", reports):
            for start in range(0, indices.size, BLOCK):
                if count_indices(indices[start : start + BLOCK], self.rows, counts):
                    raise InputCorruptError(
                        f"HadamardResponse: the reports hold an index that is not below {self.rows}; they are not of "
                        "this mechanism"
                    )
        return counts
