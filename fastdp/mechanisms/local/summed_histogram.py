"""A histogram of one, with noise on every entry; the sum of many is a histogram of all."""

from __future__ import annotations

import math
from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp.columns.categories import out_of_domain
from fastdp.columns.domain import Domain
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import ReportBlock
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.local.histogram import add_columns, set_ones
from fastdp.laws.central.laplace import LaplaceLaw
from fastdp.laws.central.placement import FloatGrid
from fastdp.laws.coins import resolvable_epsilon
from fastdp.laws.rate import Rate
from fastdp.losses import GeometricLoss
from fastdp.mechanisms.annotations import DeclaredDomain, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.encoded import EncodedReports
from fastdp.mechanisms.local.frequencies import (
    Counts,
    FrequencyEstimate,
    check_variance_arguments,
)
from fastdp.privacy import Privacy
from fastdp.threads import BLOCK
from fastdp.typing import Column

LARGEST_DOMAIN = 1 << 20
_FEWEST_STEPS = 512
"""Steps of the grid per scale of the noise: enough for the law to be Laplace's to six digits."""


@frozen()
class SummedHistogram(EncodedReports):
    """Report a histogram of one with Laplace noise of scale 2 / epsilon on each of its k entries (SHE).

    epsilon-local DP for one report per person: two histograms of one differ by 2 in all. Entries are multiples of
    ``granularity``, a power of two that 1 is a multiple of, so nothing is rounded. An entry is 1 on average for the
    true value and 0 for any other: p = 1, q = 0. ``domain`` is the number of codes, or the labels in a public order.

    4 random bytes per entry. [Wang, Blocki, Li, Jha 2017]

    Parameters
    ----------
    epsilon
        The privacy of one report; the noise of every entry has scale 2 / epsilon.
    domain
        The number of codes, or the labels in a public order.

    >>> import fastdp as fd
    >>> mechanism = fd.SummedHistogram(epsilon=1.0, domain=4)
    >>> mechanism.randomize([3], rng=fd.Rng.unsafe_seed(7)).shape
    (1, 4)
    >>> round(mechanism.variance(1), 4)
    8.0
    """

    epsilon: float
    domain: DeclaredDomain
    granularity: float = field(init=False)
    _law: LaplaceLaw = computed()

    def __post_init__(self) -> None:
        owner = "SummedHistogram"
        epsilon = resolvable_epsilon(owner, self.epsilon)
        domain = Domain.read(owner, self.domain, most=LARGEST_DOMAIN)
        grid = min(1.0, 2.0 ** math.floor(math.log2(2 / epsilon / _FEWEST_STEPS)))
        law = LaplaceLaw(Rate.below(Fraction(epsilon) * Fraction(grid) / 2))
        set_fields(self, epsilon=epsilon, domain=domain, granularity=grid, _law=law)

    @property
    def p(self) -> float:
        """The mean of the true value's entry."""
        return 1.0

    @property
    def q(self) -> float:
        """The mean of any other entry."""
        return 0.0

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented: noise of a rate rounded down, on a grid that holds 0 and 1."""
        return Privacy(epsilon=self._law.cost(round(2 / self.granularity)), unit="report", neighbours="replace")

    @property
    def report_type(self) -> ReportType:
        """One number per value: arrow's fixed-size list of doubles, or rows of float64."""
        return ReportType((Field("histogram", np.dtype(np.float64), self.domain.size),))

    def losses(self) -> tuple[GeometricLoss, ...]:
        """The privacy losses of two entries, each with noise of its own, that move by 1."""
        return (self._law.loss(round(1 / self.granularity)),) * 2

    def variance(self, n: int, frequency: float = 0.0) -> float:
        """The variance of the estimated frequency of one value over ``n`` reports; the same for all frequencies."""
        n, _ = check_variance_arguments("SummedHistogram", n, frequency)
        return float(self._law.variance * self.granularity**2 / n)

    @property
    def _slots(self) -> int:
        return self.domain.size

    def _block(self) -> ReportBlock:
        owner, k = "SummedHistogram", self.domain.size
        place, fill = FloatGrid.within(owner, self.granularity, None), self._law.sampler()

        def block(key: Any, slot: Any, _first: int, codes: np.ndarray, memory: Any, result: Parts) -> None:
            entries = result[0]
            if set_ones(codes, k, entries):
                raise out_of_domain(owner)
            for start in range(0, entries.size, BLOCK):
                part = entries[start : start + BLOCK]
                noise = memory.noise[: part.size]
                fill(key, slot + np.uint64(start), start, None, memory.scratch, noise)
                place.add(part, noise, part)

        return block

    def aggregate(self, reports: Column) -> Counts:
        """The sum of the reports, in one pass; sums of batches add up."""
        support, n = np.zeros(self.domain.size), 0
        for (entries,) in self.report_type.read("SummedHistogram", reports):
            n += entries.size // self.domain.size
            add_columns(entries, support)
        if not np.isfinite(support).all():
            raise DomainError("SummedHistogram: reports hold NaN or infinities; they are not this protocol's")
        return Counts(support, n)

    def estimate(self, reports: Column) -> FrequencyEstimate:
        """Unbiased frequencies of each value, with standard errors, from reports or from their sum."""
        counts = self._counts_of(reports)
        if counts.n < 1:
            raise ParameterError("estimate: there are no reports")
        errors = np.full(counts.support.size, math.sqrt(self.variance(counts.n)))
        return FrequencyEstimate(counts.support / counts.n, errors, counts.n)
