"""Criteria of the truth behind reports: gaps with intervals, and the tests that need no inverse of a channel.

If an attribute passes through a channel that can be inverted, its reports are independent of decisions exactly where
the attribute is. So tests on reports are right where nothing that a criterion conditions on was sanitized.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastdp.fairness.criteria import (
    CALIBRATION,
    CONDITIONAL,
    Criterion,
    assess_gaps,
    conditional_tests,
    judge,
    strata_of,
    tests_of,
)
from fastdp.fairness.independence import g_test
from fastdp.fairness.sanitized.moments import Moments
from fastdp.fairness.sanitized.scoring import gap_over

if TYPE_CHECKING:
    from fastdp.fairness.sanitized.tables import SanitizedTable

CONDITIONS = {
    "independence": set(), "separation": {"y_true"}, "equal_opportunity": {"y_true"}, "sufficiency": {"y_pred"},
    "accuracy_equality": {"y_true", "y_pred"}, "treatment_equality": {"y_true", "y_pred"},
}  # fmt: skip
"""What a criterion's test takes as it is."""


def assess_reports(table: SanitizedTable, *, tolerance: float, favourable: int, level: float) -> tuple[Criterion, ...]:
    """Every criterion of the truth."""
    hidden = set(table.mechanisms)
    tests = {name: found for name, found in tests_of(table.naive).items() if not CONDITIONS[name] & hidden}
    found = list(assess_gaps(table, tests, tolerance=tolerance, favourable=favourable, level=level))
    if len(table.strata) > 1:
        gap = gap_over(_strata_moments(table), "selection", table.groups, level)
        tested = () if "given" in hidden else conditional_tests(strata_of(table.naive))
        found.append(judge(*CONDITIONAL, (gap,), tested, tolerance))
    if table.naive.scores is not None:
        moments, _ = table.calibration_moments()
        gap = gap_over(moments, "positives at a score", table.groups, level)
        strata = table.naive.scores.few(None)[0].effective().transpose(2, 0, 1)
        found.append(judge(*CALIBRATION, (gap,), (g_test(strata),), tolerance))
    return tuple(found)


def _strata_moments(table: SanitizedTable) -> Moments:
    """Of the selection rate [stratum, group]."""
    tally = table.naive.tally
    squares = None if tally.squares is None else tally.squares.ravel()
    strata = range(len(table.strata))
    return Moments.stack(
        table.sums("selection", place).moments(tally.counts.ravel(), squares, truth=table.truth) for place in strata
    )
