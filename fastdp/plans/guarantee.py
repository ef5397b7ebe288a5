"""What a plan guarantees, part by part, as receipts and dry runs state it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastdp.privacy import MetricPrivacy, Privacy

if TYPE_CHECKING:
    from fastdp.plans.part import PlanPart
    from fastdp.plans.plan import Plan

SHOWN = {"public": "public: released as they are", "drop": "public: rows that hold them are left out"}
"""What a policy on nulls shows."""


def describe_guarantee(plan: Plan) -> dict[str, Any]:
    """What a plan promises, for a record and for every column."""
    total = plan.privacy
    groups = [{"columns": list(group.columns)} | describe_part(group) for group in plan.groups]
    return {
        "statement": "local: each record's own randomized values are private; columns that are kept are not",
        "record": None if total.record is None else describe_privacy(total.record),
        "metric": {name: describe_privacy(privacy) for name, privacy in total.metric.items()},
        "columns": {name: describe_part(entry) for name, entry in plan.columns.items()},
        **({"groups": groups} if groups else {}),
    }


def describe_privacy(privacy: Privacy) -> dict[str, Any]:
    """A guarantee by its parts; a metric one says the distance that it is for, and how it grows with the distance."""
    metric = privacy if isinstance(privacy, MetricPrivacy) else None
    parts: dict[str, Any] = {"kind": metric.kind if metric else "local differential privacy"}
    for name in ("epsilon", "rho"):
        if getattr(privacy, name) is not None:
            parts[name] = getattr(privacy, name)
    if privacy.delta:
        parts["delta"] = privacy.delta
    parts |= {"unit": privacy.unit, "neighbours": privacy.neighbours}
    if metric is not None:
        parts["distance"] = metric.distance
        if metric.rounding and not metric.started:
            parts["rounding"] = metric.rounding
    return parts


def describe_part(part: PlanPart) -> dict[str, Any]:
    """What becomes of a column or group, and what that guarantees."""
    if part.privacy is None:
        rewrite = part.rewrite
        return {"action": part.action} | ({} if rewrite is None else {"released": f"public: {rewrite.words}"})
    stated = {"action": part.action, "mechanism": type(part.mechanism).__name__}
    if part.null_share is not None:
        stated["null_share"] = f"randomized response, epsilon {part.null_share.epsilon!r} of it"
    return stated | describe_privacy(part.privacy) | ({"nulls": SHOWN[part.nulls]} if part.nulls in SHOWN else {})
