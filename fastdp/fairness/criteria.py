"""Group criteria of fairness: what each asks, how far the table is from it, and what can be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp import validation
from fastdp.fairness.contrasts import Contrast, largest_gap, newcombe
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.independence import IndependenceTest, cochran_mantel_haenszel, g_test
from fastdp.fairness.rates import divide

if TYPE_CHECKING:
    from fastdp.fairness.tables import FairnessTable

FOUR_FIFTHS = 0.8
ASKS = {
    "independence": ("equal selection rates", ("selection",)),
    "separation": ("equal true and false positive rates (equalized odds)", ("tpr", "fpr")),
    "equal_opportunity": ("equal true positive rates", ("tpr",)),
    "sufficiency": ("a decision means the same in all groups", ("ppv", "npv")),
    "accuracy_equality": ("equal shares of right decisions", ("accuracy",)),
    "treatment_equality": ("equal shares of misses among errors", ("treatment",)),
}
"""What each criterion asks, and the rates that it asks to be equal."""
VIOLATED, HOLDS, UNKNOWN = "violated", "holds", "cannot be told"


class Comparable(Protocol):
    """A table that compares groups."""

    def gap(self, name: str, *, level: float) -> Contrast: ...

    def four_fifths(self, *, favourable: int, level: float) -> Contrast: ...


@dataclass(frozen=True, slots=True)
class Criterion:
    """A criterion, its contrasts, its tests, and a verdict from the interval's ends.

    "violated" if a whole interval lies beyond the tolerance, "holds" if all lie within it, else "cannot be told".
    """

    name: str
    asks: str
    contrasts: tuple[Contrast, ...]
    tests: tuple[IndependenceTest, ...]
    verdict: str
    undefined: tuple[tuple[Any, ...], ...]

    @property
    def p_value(self) -> float | None:
        """That of the first test."""
        return self.tests[0].p_value if self.tests else None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "criterion": self.name,
            "asks": self.asks,
            "verdict": self.verdict,
            "contrasts": [contrast.to_dict() for contrast in self.contrasts],
            "p_values": {test.name: test.p_value for test in self.tests},
            "undefined": [list(group) for group in self.undefined],
        }


def assess(table: FairnessTable, *, tolerance: float, favourable: int, level: float) -> tuple[Criterion, ...]:
    """Every criterion of a table."""
    tolerance = validation.probability(OWNER, "tolerance", tolerance)
    cells = table.cells.astype(float)
    if table.squares is not None:  # as many rows as they are worth
        cells = cells * (cells.sum() / table.squares.sum())
    by_label = cells.transpose(1, 0, 2)
    by_decision = cells.transpose(2, 0, 1)

    right = np.stack([cells[:, 0, 1] + cells[:, 1, 0], cells[:, 0, 0] + cells[:, 1, 1]], axis=1)
    errors = np.stack([cells[:, 0, 1], cells[:, 1, 0]], axis=1)
    tests = {
        "independence": (g_test(cells.sum(axis=1)[None]),),
        "separation": (g_test(by_label), cochran_mantel_haenszel(by_label)),
        "equal_opportunity": (g_test(by_label[1:]),),
        "sufficiency": (g_test(by_decision), cochran_mantel_haenszel(by_decision)),
        "accuracy_equality": (g_test(right[None]),),
        "treatment_equality": (g_test(errors[None]),),
    }
    found = list(assess_gaps(table, tests, tolerance=tolerance, favourable=favourable, level=level))
    if len(table.strata) > 1:
        found.append(_conditional(table, tolerance, level))
    if table.scores is not None:
        found.append(table.scores.criterion(table.groups, tolerance, level))
    return tuple(found)


def assess_gaps(
    table: Comparable,
    tests: Mapping[str, tuple[IndependenceTest, ...]],
    *,
    tolerance: float,
    favourable: int,
    level: float,
) -> Iterator[Criterion]:
    """The criteria that a table's gaps and ratios alone tell."""
    for name, (asks, rates) in ASKS.items():
        gaps = tuple(table.gap(rate, level=level) for rate in rates)
        yield judge(name, asks, gaps, tests.get(name, ()), tolerance)
        if name == "independence":
            ratio = table.four_fifths(favourable=favourable, level=level)
            rule = "no group gets the favourable decision less than 0.8 times as often as another"
            yield Criterion("four_fifths", rule, (ratio,), (), _verdict_ratio(ratio), ratio.undefined)


def judge(
    name: str, asks: str, contrasts: tuple[Contrast, ...], tests: tuple[IndependenceTest, ...], tolerance: float
) -> Criterion:
    """A criterion that asks all gaps to be within the tolerance."""
    undefined = tuple(dict.fromkeys(group for contrast in contrasts for group in contrast.undefined))
    if any(contrast.low > tolerance for contrast in contrasts):
        verdict = VIOLATED
    elif all(contrast.high <= tolerance for contrast in contrasts):
        verdict = HOLDS
    else:
        verdict = UNKNOWN
    return Criterion(name, asks, contrasts, tests, verdict, undefined)


def _verdict_ratio(ratio: Contrast) -> str:
    if ratio.high < FOUR_FIFTHS:
        return VIOLATED
    return HOLDS if ratio.low >= FOUR_FIFTHS else UNKNOWN


def _conditional(table: FairnessTable, tolerance: float, level: float) -> Criterion:
    """Conditional statistical parity: equal selection rates within every stratum of ``given``."""
    strata = table.stratified().astype(float).sum(axis=2).transpose(1, 0, 2)
    gap = gap_within(strata, "selection", table.groups, level)
    tests = (cochran_mantel_haenszel(strata), g_test(strata))
    return judge(
        "conditional_parity", "equal selection rates among those alike in the given column", (gap,), tests, tolerance
    )


def gap_within(strata: np.ndarray, rate: str, groups: tuple[tuple[Any, ...], ...], level: float) -> Contrast:
    """The largest gap within any stratum, from [stratum, group, outcome], holding for all strata and pairs together.

    A group that is absent from a stratum has no rate there, and takes no part in it.
    """
    pairs = max(len(strata) * len(groups) * (len(groups) - 1) // 2, 1)
    found = []
    for stratum in strata:
        here = stratum.sum(axis=1) > 0
        if here.sum() < 2:
            continue
        names = tuple(group for group, present in zip(groups, here, strict=True) if present)
        counts, sizes = stratum[here, 1], stratum[here].sum(axis=1)
        low, high = newcombe(counts, sizes, level, pairs)
        found.append(largest_gap(rate, names, divide(counts, sizes), low, high, level))
    if not found:
        return Contrast("gap", rate, np.nan, 0.0, 1.0, level, None, None, groups)
    widest = max(found, key=lambda gap: gap.value)
    return Contrast(
        "gap", rate, widest.value, max(gap.low for gap in found), max(gap.high for gap in found), level,
        widest.largest, widest.smallest,
    )  # fmt: skip


COUNTERFACTUAL = (
    "Counterfactual fairness asks whether a person's decision would be the same had they belonged to another "
    "group. That needs a causal model of how the attribute acts on everything else about them, and assumptions "
    "that no data can check. A table of groups, labels and decisions cannot tell it, and nothing here claims to."
)
"""What is not told, and why. [Kusner, Loftus, Russell, Silva 2017]"""
