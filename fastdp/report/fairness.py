"""The page of a fairness audit: verdicts, rates with intervals, ROC and calibration, thresholds to try."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from fastdp.fairness.achieving.prices import Price
from fastdp.fairness.contrasts import Contrast
from fastdp.fairness.criteria import COUNTERFACTUAL, Criterion
from fastdp.fairness.rates import RATES
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.tables import FairnessTable
from fastdp.report.dots import dot_chart, unit_chart
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.report.thresholds import NAMES, SCRIPT, threshold_view
from fastdp.validation import visible_text

OPEN = (
    "This page is not differentially private: it tells counts by group, label, decision and score as they are. Show it "
    "to those who may see them."
)
SAID = {"y_true": "the labels", "y_pred": "the decisions", "given": "the strata"}
SHOWN = ("selection", "base", "tpr", "fpr", "ppv", "accuracy")
MOST_GROUPS = 40
"""Groups of one chart; intersections of more are left to the JSON."""
MOST_SCORES = 256
"""Scores that thresholds can be tried at."""


def fairness_page(
    found: FairnessTable | SanitizedTable,
    title: str,
    *,
    favourable: int = 1,
    tolerance: float = 0.05,
    level: float = 0.95,
    economics: tuple[float, float] = (1.0, 1.0),
    withheld: int = 0,
) -> str:
    """The whole page, self-contained. ``withheld`` says how many groups were too small to be shown."""
    criteria = found.criteria(tolerance=tolerance, favourable=favourable, level=level)
    parts = [
        paragraph(
            f"{found.rows:,.0f} rows. Intervals are at {level:.0%}, for the largest gap over all pairs of groups."
        ),
        *_withheld(withheld),
        *([_partly(found)] if isinstance(found, SanitizedTable) else [paragraph(OPEN, "loud")]),
        heading("Criteria"),
        _verdicts(criteria),
        *([_naive(found)] if isinstance(found, SanitizedTable) else []),
        heading("Rates of each group"),
        paragraph("A grey bar is a rate that cannot be told: nobody is there to divide by."),
        *_dots(found, level),
    ]
    parts += _incompatible(found, level)
    script = None
    if found.scores is not None and len(found.groups) > MOST_GROUPS:
        parts.append(paragraph("Curves and thresholds are of at most 40 groups; name fewer attributes to see them."))
    elif found.scores is not None:
        found = _fewer_scores(found)
        price = found.price(gain=economics[0], cost=economics[1])
        parts += [*_curves(found, price, level), *_prices(price, economics)]
        parts += [heading("Thresholds"), threshold_view(found, price, *economics)]
        script = SCRIPT
    parts += [heading("What a table cannot tell"), paragraph(COUNTERFACTUAL)]
    return make_page(title, *parts, script=script)


def _fewer_scores(found: FairnessTable | SanitizedTable) -> FairnessTable | SanitizedTable:
    """The table with as many scores as a page can hold."""
    if isinstance(found, SanitizedTable):
        naive = _fewer_scores(found.naive)
        assert isinstance(naive, FairnessTable)
        return replace(found, naive=naive)
    assert found.scores is not None
    return replace(found, scores=found.scores.at_most(MOST_SCORES))


def _partly(found: SanitizedTable) -> str:
    """What of the page is private."""
    columns = (*found.attributes, *(("given",) if len(found.strata) > 1 else ()), "y_true", "y_pred")
    kept = [SAID.get(name, visible_text(name)) for name in columns if name not in found.mechanisms]
    if not kept and found.scores is None:
        return paragraph("All columns are reports: this page is as private as they are.")
    kept += ["the scores"] if found.scores is not None else []
    return paragraph(f"Only reports are private. This page tells {', '.join(kept)} as they are.", "loud")


def _withheld(count: int) -> list[str]:
    if not count:
        return []
    return [paragraph(f"{count:,} groups are too small to be shown: their rates would tell about single people.")]


def name_of(group: Sequence[object] | None) -> str:
    """A group in words."""
    return "–" if group is None else visible_text(", ".join(map(str, group)))


def _contrast(contrast: Contrast) -> str:
    value = "cannot be told" if np.isnan(contrast.value) else f"{contrast.value:.3f}"
    return f"{contrast.rate} {value} [{contrast.low:.3f}, {contrast.high:.3f}]"


def _verdicts(criteria: Sequence[Criterion]) -> str:
    rows = []
    for criterion in criteria:
        between = "; ".join(f"{name_of(c.largest)} and {name_of(c.smallest)}" for c in criterion.contrasts)
        p_value = "–" if criterion.p_value is None else f"{criterion.p_value:.3g}"
        contrasts = "; ".join(map(_contrast, criterion.contrasts))
        rows.append([criterion.name, criterion.asks, criterion.verdict, contrasts, between, p_value])
    names = ["criterion", "asks for", "verdict", "largest gap or smallest ratio", "between", "p-value"]
    return table(names, rows, range(5))


def _naive(found: SanitizedTable) -> str:
    rows = []
    for rate in SHOWN:
        gap, naive = found.gap(rate), found.naive.gap(rate)
        rows.append([rate, f"{naive.value:.3f}", _contrast(gap), f"{found.naive_bias(rate):.3f}"])
    names = ", ".join(f"{visible_text(name)} ({type(one).__name__})" for name, one in found.mechanisms.items())
    return (
        heading("Sanitized columns")
        + paragraph(f"Reports of: {names}. Taken at face value they make decisions look fairer than they are.")
        + table(["rate", "gap of the reports", "gap of the truth", "hidden"], rows)
    )


def _dots(found: FairnessTable | SanitizedTable, level: float) -> list[str]:
    parts = []
    for size in range(1, len(found.attributes) + 1):
        for names in combinations(found.attributes, size):
            part = found.by(*names)
            if len(part.groups) <= MOST_GROUPS:
                parts += [paragraph(f"By {visible_text(', '.join(names))}:"), _charts(part, level)]
            else:
                parts.append(
                    paragraph(f"By {visible_text(', '.join(names))}: {len(part.groups):,} groups; see --json.")
                )
    return parts


def _charts(found: FairnessTable | SanitizedTable, level: float) -> str:
    charts = []
    for name in SHOWN:
        rates = found.rates(name, level=level)
        label = f"{name}: {RATES[name][2]}"
        charts.append(
            dot_chart(label, [name_of(g) for g in rates.groups], *_three(rates.values, rates.low, rates.high))
        )
    return '<div class="charts">' + "".join(charts) + "</div>"


def _three(*arrays: np.ndarray) -> list[list[float]]:
    return [array.tolist() for array in arrays]


def _incompatible(found: FairnessTable | SanitizedTable, level: float) -> list[str]:
    why = found.incompatible(level=level)
    parts = [heading("Criteria that exclude each other here")]
    if not why.pairs:
        return [*parts, paragraph("Base rates cannot be told apart: no pair of criteria is excluded by them.")]
    parts += [paragraph(sentence) for sentence in why.pairs]
    if why.base.largest is not None and why.base.smallest is not None:
        high, low = why.groups.index(why.base.largest), why.groups.index(why.base.smallest)
        if not np.isnan(why.forced[low, high]):
            parts.append(
                paragraph(
                    f"With the PPV and FNR of {name_of(why.groups[high])}, the base rate of {name_of(why.groups[low])} "
                    f"would force a false positive rate of {why.forced[low, high]:.3f}, against {why.fpr[high]:.3f}: "
                    "FPR = p / (1 - p) · (1 - PPV) / PPV · (1 - FNR)."
                )
            )
    return parts


def _curves(found: FairnessTable | SanitizedTable, price: Price, level: float) -> list[str]:
    roc, calibration = found.roc(), found.calibration(level=level)
    scored, names = [name_of(group) for group in roc.groups], [name_of(group) for group in found.groups]
    curves = {name: (roc.fpr[i].tolist(), roc.tpr[i].tolist()) for i, name in enumerate(scored)}
    points = {
        name: [(float(p.fpr[i]), float(p.tpr[i])) for p in price.policies if not np.isnan(p.fpr[i] + p.tpr[i])]
        for i, name in enumerate(scored)
    }
    lines = {name: (calibration.scores.tolist(), calibration.values[i].tolist()) for i, name in enumerate(names)}
    bars = {
        name: tuple(part[known].tolist() for part in (calibration.scores, calibration.low[i], calibration.high[i]))
        for i, name in enumerate(names)
        for known in [~np.isnan(calibration.values[i])]
    }
    ends = (float(calibration.scores.min()), float(calibration.scores.max()))
    return [
        heading("Scores"),
        paragraph("Dots are what the best policy under each criterion does in each group."),
        '<div class="charts">',
        unit_chart("ROC curves", curves, across="false positive rate", up="true positive rate", points=points),
        unit_chart("Calibration", lines, across="score", up="share of positives", bars=bars, ends=ends),
        "</div>",
    ]


def _prices(price: Price, economics: tuple[float, float]) -> list[str]:
    rows = [
        [NAMES[policy.criterion], "–" if np.isnan(policy.share) else f"{policy.share:.4f}",
         "; ".join(f"{name_of(g)}: {one}" for g, one in zip(policy.groups, policy.thresholds, strict=True))]
        for policy in price.policies
    ]  # fmt: skip
    return [
        heading("The price of each criterion"),
        paragraph(f"A true positive brings {economics[0]:g}, a false one costs {economics[1]:g}."),
        table(["policy", "share of the most profit", "thresholds"], rows, (0, 2)),
    ]
