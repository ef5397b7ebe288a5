"""A plan in words: per column and group what happens, what that guarantees, and the error to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastdp import rounding
from fastdp.plans.part import RECORDS
from fastdp.privacy import MetricPrivacy

if TYPE_CHECKING:
    from fastdp.plans.part import PlanPart
    from fastdp.plans.plan import Plan
    from fastdp.privacy import Privacy


SHOWN = {"public": "; nulls are public", "drop": "; rows with nulls are left out, which is public"}
"""What a policy on nulls shows."""


DELTA = 1e-6
"""The delta at which a record's columns are shown composed."""


@dataclass(frozen=True, slots=True)
class ExplainedLine:
    """One column or group, as it is shown."""

    column: str
    action: str
    guarantee: str
    error: str


def explain(plan: Plan, records: int | None = None) -> list[ExplainedLine]:
    """One line per column of the plan, then one per group; errors of estimates are those for so many records."""
    return [_line(part, records) for part in plan.parts]


def as_data(plan: Plan) -> dict[str, Any]:
    """The guarantee as a receipt states it, with the error to expect of every column and group."""
    from fastdp.plans.guarantee import describe_guarantee, describe_privacy

    described = describe_guarantee(plan)
    composed = compose_record(plan)
    if composed is not None:
        described["composed"] = describe_privacy(composed)
    parts = [*described["columns"].values(), *described.get("groups", ())]
    for part, line in zip(parts, explain(plan), strict=True):
        if line.error:
            part["error_within_95_percent"] = line.error
    return described


def explain_total(plan: Plan, *, is_composed: bool = True) -> list[str]:
    """What a whole record is guaranteed: the sum, then every metric column and group by itself.

    With ``is_composed``, which takes a moment, also the columns composed, where that is less than the sum as shown.
    """
    total = plan.privacy
    lines = []
    if total.record is not None:
        lines.append(f"one record: {in_words(total.record)}, local differential privacy")
        composed = compose_record(plan) if is_composed else None
        if composed is not None and _shown(composed) != _shown(total.record):
            lines.append(f"one record, all columns composed: {in_words(composed)}")
    for name, privacy in total.metric.items():
        lines.append(f"{name}: {in_words(privacy)} ({privacy.kind}), not in the sum")
    return lines or ["no column is randomized: nothing is guaranteed"]


def compose_record(plan: Plan) -> Privacy | None:
    """What one record costs at `DELTA`, its columns composed; None where that is no less than their sum."""
    record = plan.privacy.record
    if plan.privacy.metric or record is None or sum(part.privacy is not None for part in plan.parts) < 2:
        return None
    epsilon = plan.curve().epsilon(delta=DELTA).upper
    if not epsilon < (math.inf if record.epsilon is None else record.epsilon * (1 - 1e-6)):
        return None
    return replace(record, epsilon=max(epsilon, 5e-324), delta=DELTA, rho=None)


def _shown(privacy: Privacy) -> str:
    return in_words(replace(privacy, delta=0.0))


def in_words(privacy: Privacy) -> str:
    """The parts of a guarantee, rounded up to what is shown; a distance says so."""
    parts = [
        f"{name} {rounding.significant_up(value)}"
        for name, value in (("epsilon", privacy.epsilon), ("rho", privacy.rho), ("delta", privacy.delta or None))
        if value is not None
    ]
    return ", ".join(parts) + (_by_distance(privacy) if isinstance(privacy, MetricPrivacy) else "")


def _by_distance(privacy: MetricPrivacy) -> str:
    """The distance that a metric guarantee is for, and how it grows."""
    if privacy.started:
        return f" per started {privacy.unit}"
    squared = privacy.epsilon is None or privacy.delta
    grows = f" up to {privacy.unit}, rho with the square of the distance beyond" if squared else f" per {privacy.unit}"
    more = f" (rounding adds {rounding.significant_up(privacy.rounding, 2)} to distances)" if privacy.rounding else ""
    return grows + more


def _line(part: PlanPart, records: int | None = None) -> ExplainedLine:
    if part.privacy is None:
        rewrite = part.rewrite
        fate = "public, as it is" if part.action == "keep" else "not in the output"
        if rewrite is not None:
            fate = f"public: {rewrite.words}"
        return ExplainedLine(part.name, part.action, fate, "")
    guarantee = in_words(part.privacy) + SHOWN.get(part.nulls, "")
    if part.given.get("items", "one") != "one":
        guarantee += f", for the first {part.given['items']} elements of each list together"
    if part.null_share is not None:
        guarantee += f"; which rows are null: epsilon {rounding.significant_up(part.null_share.epsilon)} of it"
    return ExplainedLine(part.name, str(part.given["mechanism"]), guarantee, part.error_for(records or RECORDS))
