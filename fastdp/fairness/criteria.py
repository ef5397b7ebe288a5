"""Group criteria of fairness: what each asks, how far the table is from it, and what can be said."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp import validation
from fastdp.fairness.contrasts import Contrast, Group, largest_gap, newcombe
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
CONDITIONAL = ("conditional_parity", "equal selection rates among those alike in the given column")
CALIBRATION = ("calibration", "a score means the same in all groups")
VIOLATED, HOLDS, UNKNOWN = "violated", "holds", "cannot be told"


class Comparable(Protocol):
    """A table that compares groups."""

    @property
    def positive(self) -> Any: ...

    def criteria(self) -> tuple[Criterion, ...]: ...

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


def verdict_lines(table: Comparable, head: str) -> str:
    """What a table is of, and a line for each criterion."""
    if table.positive is None:
        return f"{head}; choose a class with .one_vs_rest(value)"
    lines = [f"  {one.name:<20}{one.verdict:<16}{'; '.join(map(str, one.contrasts))}" for one in table.criteria()]
    return "\n".join([head, *lines])


def assess(table: FairnessTable, *, tolerance: float, favourable: int, level: float) -> tuple[Criterion, ...]:
    """Every criterion of a table."""
    tolerance = validation.probability(OWNER, "tolerance", tolerance)
    found = list(assess_gaps(table, tests_of(table), tolerance=tolerance, favourable=favourable, level=level))
    if len(table.strata) > 1:
        found.append(_conditional(table, tolerance, level))
    if table.scores is not None:
        found.append(table.scores.criterion(table.groups, tolerance, level))
    return tuple(found)


def tests_of(table: FairnessTable) -> dict[str, tuple[IndependenceTest, ...]]:
    """The tests of each criterion, that groups and outcomes are independent given what it conditions on."""
    cells = table.cells.astype(float)
    if table.squares is not None:  # as many rows as they are worth
        cells = cells * (cells.sum() / table.squares.sum())
    by_label = cells.transpose(1, 0, 2)
    by_decision = cells.transpose(2, 0, 1)
    right = np.stack([cells[:, 0, 1] + cells[:, 1, 0], cells[:, 0, 0] + cells[:, 1, 1]], axis=1)
    errors = np.stack([cells[:, 0, 1], cells[:, 1, 0]], axis=1)
    return {
        "independence": (g_test(cells.sum(axis=1)[None]),),
        "separation": (g_test(by_label), cochran_mantel_haenszel(by_label)),
        "equal_opportunity": (g_test(by_label[1:]),),
        "sufficiency": (g_test(by_decision), cochran_mantel_haenszel(by_decision)),
        "accuracy_equality": (g_test(right[None]),),
        "treatment_equality": (g_test(errors[None]),),
    }


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
    strata = strata_of(table)
    gap = gap_within(strata, "selection", table.groups, level)
    return judge(*CONDITIONAL, (gap,), conditional_tests(strata), tolerance)


def strata_of(table: FairnessTable) -> np.ndarray:
    """Counts [stratum, group, decision]; of weighted rows as many as they are worth."""
    strata = table.stratified().astype(float).sum(axis=2).transpose(1, 0, 2)
    return np.asarray(strata if table.squares is None else strata * (strata.sum() / table.squares.sum()))


def conditional_tests(strata: np.ndarray) -> tuple[IndependenceTest, ...]:
    """Whether groups and decisions are independent within strata."""
    return cochran_mantel_haenszel(strata), g_test(strata)


def gap_within(strata: np.ndarray, rate: str, groups: tuple[Group, ...], level: float) -> Contrast:
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
    return widest_gap(found, rate, groups, level)


def widest_gap(found: Sequence[Contrast], rate: str, groups: tuple[Group, ...], level: float) -> Contrast:
    """The largest of the gaps of all strata, whose intervals hold together; undefined if there are none."""
    known = [gap for gap in found if not np.isnan(gap.value)]
    undefined = tuple(dict.fromkeys(group for gap in found for group in gap.undefined)) if found else groups
    low, high = max((gap.low for gap in found), default=0.0), max((gap.high for gap in found), default=1.0)
    if not known:
        return Contrast("gap", rate, np.nan, low, high, level, None, None, undefined)
    widest = max(known, key=lambda gap: gap.value)
    return replace(widest, low=low, high=high, undefined=undefined)


COUNTERFACTUAL = (
    "Counterfactual fairness asks whether a person's decision would be the same had they belonged to another "
    "group. That needs a causal model of how the attribute acts on everything else about them, and assumptions "
    "that no data can check. A table of groups, labels and decisions cannot tell it, and nothing here claims to."
)
"""What is not told, and why. [Kusner, Loftus, Russell, Silva 2017]"""
