"""What the reports of several columns together tell: shares of combinations, or of each column's values."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.categories import flat_codes
from fastdp.estimators.estimate import estimate as estimate_reports
from fastdp.estimators.estimate import project_frequencies
from fastdp.mechanisms.local.attributes import SplitBudget
from fastdp.mechanisms.local.frequencies import Counts
from fastdp.plans.category_group import Joint, Several
from fastdp.tables.estimating.category_readers import UNBIASED, lines_of, values_of
from fastdp.tables.estimating.results import ColumnEstimate

if TYPE_CHECKING:
    import pyarrow as pa


LARGEST_JOINT = 1 << 20
"""Combinations that are counted."""


class JointReader:
    """Shares of the combinations of the columns' values."""

    missing: str | None = None

    def __init__(self, body: Joint, *, unbiased: bool) -> None:
        self._body, self._unbiased = body, unbiased
        self._counts = np.zeros(body.mechanism.domain.size, np.int64)

    def add(self, *reports: pa.Array) -> None:
        joint = np.zeros(len(reports[0]), np.int64)
        for domain, column in zip(self._body.domains, reports, strict=True):
            joint = joint * domain.size + flat_codes("krr", column, domain)
        self._counts += np.bincount(joint, minlength=self._counts.size)

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:
        mechanism, counts = self._body.mechanism, Counts(self._counts, int(self._counts.sum()))
        found: Any = mechanism.estimate(counts)
        shares, method = found.frequencies, UNBIASED
        if not self._unbiased:
            found = estimate_reports(mechanism, counts, progress=False)
            shares, method = found.distribution, found.method
        labels = (domain.labels or range(domain.size) for domain in self._body.domains)
        lines = lines_of(list(itertools.product(*labels)), shares, found, level)
        return [ColumnEstimate(column, name, "shares", counts.n, level, method, lines)]


class SeveralReader:
    """Shares of each column's values."""

    missing: str | None = None

    def __init__(self, body: Several, *, unbiased: bool) -> None:
        self._body, self._unbiased = body, unbiased
        self._counts: Any = None

    def add(self, *reports: pa.Array) -> None:
        counts = self._body.mechanism.aggregate(dict(zip(self._body.columns, reports, strict=True)))
        self._counts = counts if self._counts is None else self._counts + counts

    def conclude(self, column: str, name: str, level: float) -> list[ColumnEstimate]:  # noqa: ARG002
        """An estimate per column, under its own name."""
        mechanism = self._body.mechanism
        results = []
        for attribute, found in mechanism.estimate(self._counts).items():
            own, shares, method = found, found.frequencies, UNBIASED
            if not self._unbiased and isinstance(mechanism, SplitBudget):
                own = estimate_reports(mechanism.mechanisms[attribute], self._counts[attribute], progress=False)
                shares, method = own.distribution, own.method
            elif not self._unbiased:
                own = project_frequencies(found)
                shares, method = own.distribution, own.method
            lines = lines_of(values_of(mechanism.mechanisms[attribute], shares.size), shares, own, level)
            results.append(ColumnEstimate(attribute, name, "shares", found.n, level, method, lines))
        return results
