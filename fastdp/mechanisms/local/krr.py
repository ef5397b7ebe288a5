"""k-ary randomized response."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fastdp.channels import KRRChannel
from fastdp.columns.categories import out_of_domain, read_codes
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import Nulls
from fastdp.engine.runner import Block, run
from fastdp.kernels.local.count_codes import count_codes
from fastdp.kernels.local.krr import fill_krr, fill_krr_large
from fastdp.laws.coins import resolvable_epsilon
from fastdp.laws.local.krr import LARGEST_WIDE, KRRLaw, build_bounds
from fastdp.laws.rate import Rate
from fastdp.mechanisms.annotations import DeclaredDomain, computed, frozen, gives_values
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.local.frequencies import CategoryReports, Counts, LawProtocol
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column


@frozen()
class KRR(LawProtocol, CategoryReports):
    """Report the true value with probability p, else a uniform other value.

    epsilon-local DP for one report per person, with p = e**epsilon / (e**epsilon + k - 1). ``domain`` is the number of
    codes, or the labels in a public order; it is declared, never inferred. Reports have the type of the values.

    2 random bytes per report for up to 126 values, 3 for up to 65,536, else 6. [Kairouz, Oh, Viswanath 2016]

    Parameters
    ----------
    epsilon
        The privacy of one report: the true value is e**epsilon times as likely as any other.
    domain
        The number of codes, or the labels in a public order.

    >>> import fastdp as fd
    >>> mechanism = fd.KRR(epsilon=1.0, domain=["cold", "flu", "none"])
    >>> mechanism.randomize(["flu", "none", "flu", "cold"], rng=fd.Rng.unsafe_seed(7))
    ['flu', 'none', 'cold', 'none']
    >>> round(mechanism.p / mechanism.q, 6)
    2.718282
    """

    epsilon: float
    domain: DeclaredDomain
    _law: KRRLaw = computed()

    def __post_init__(self) -> None:
        epsilon = resolvable_epsilon("KRR", self.epsilon)
        domain = Domain.read("KRR", self.domain)
        set_fields(self, epsilon=epsilon, domain=domain, _law=KRRLaw(Rate.below(Fraction(epsilon)), domain.size))

    @property
    def keep(self) -> Fraction:
        """The probability of the truth to be kept before a uniform value would replace it: p - q, exactly."""
        return self._law.keep

    @property
    def uniform_over(self) -> int:
        """The number of values that a report is uniform over where the truth is not kept."""
        return self.domain.size

    def channel(self) -> KRRChannel:
        """The channel between the values of the domain."""
        return KRRChannel(self.domain.size, self.p, self.q)

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One code or label per value, in the caller's own kind of container."""
        column = read_codes("KRR", values, self.domain, nulls=nulls)
        return run("KRR", column, resolve("KRR", rng), self._block())

    def _block(self) -> Block:
        k = np.uint64(self.domain.size)
        if self.domain.size <= LARGEST_WIDE:
            bounds = build_bounds(self._law)

            def block(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: np.ndarray) -> None:
                unsigned = np.dtype(f"u{values.itemsize}")  # a negative code becomes one beyond the domain
                last = unsigned.type(self.domain.size - 1)
                codes, reports = values.view(unsigned), result.view(unsigned)
                if fill_krr(key, slot, *bounds, codes, last, memory.scratch, reports):
                    raise out_of_domain("KRR")

            return block
        keep = int(self._law.keep * (1 << 128))
        high, low = np.uint64(keep >> 64), np.uint64(keep & (1 << 64) - 1)

        def large(key: Any, slot: Any, _first: int, values: np.ndarray, memory: Any, result: np.ndarray) -> None:
            if fill_krr_large(key, slot, high, low, k, values, memory.scratch, result):
                raise out_of_domain("KRR")

        return large

    def aggregate(self, reports: Column) -> Counts:
        """How many reports name each value, in one pass; counts of batches add up."""
        column = read_codes("KRR", reports, self.domain)
        counts = np.zeros((4, self.domain.size), np.int64)
        for codes in column.blocks("KRR"):
            if count_codes(codes, np.uint64(self.domain.size), counts):
                raise out_of_domain("KRR")
        return Counts(counts.sum(axis=0), column.size)
