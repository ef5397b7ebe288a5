"""What a release says of itself: its plan, its guarantee and how it was made; never a record's value."""

from __future__ import annotations

import json
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp._version import __version__
from fastdp.tables.plan import Plan

if TYPE_CHECKING:
    from fastdp.privacy import Privacy
    from fastdp.random.rng import Rng
    from fastdp.tables.entry import Entry
    from fastdp.tables.group import Group

METADATA_KEY = "fastdp.receipt"
SAFE = "keyed by the operating system"
SHUFFLED, IN_ORDER = "shuffled: rows are in a uniformly random order", "that of the input"
UNSAFE = "unsafe seed: whoever knows the seed can remove the noise; for tests only"


@dataclass(frozen=True, slots=True)
class Receipt:
    """A release of ``rows`` records under a plan."""

    plan: Plan
    rows: int | None
    unsafe: bool
    generator: str
    shuffled: bool = False

    @classmethod
    def of(cls, plan: Plan, rows: int | None, rng: Rng, *, shuffled: bool = False) -> Receipt:
        return cls(plan, rows, rng.is_unsafe, rng.generator, shuffled)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "format": 1,
            "rows": self.rows,
            "order": SHUFFLED if self.shuffled else IN_ORDER,
            "guarantee": describe_guarantee(self.plan),
            "generator": f"{self.generator}, {UNSAFE if self.unsafe else SAFE}",
            "plan": self.plan.to_dict(),
            "versions": versions(),
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


def describe_guarantee(plan: Plan) -> dict[str, Any]:
    """What a plan promises, for a record and for every column."""
    total = plan.privacy
    groups = [describe_group(group) for group in plan.groups]
    return {
        "statement": "local: each record's own randomized values are private; columns that are kept are not",
        "record": None if total.record is None else describe_privacy(total.record),
        "metric": {name: describe_privacy(privacy, metric=True) for name, privacy in total.metric.items()},
        "columns": {entry.column: describe_entry(entry) for entry in plan.columns.values()},
        **({"groups": groups} if groups else {}),
    }


def describe_privacy(privacy: Privacy, *, metric: bool = False) -> dict[str, Any]:
    """A guarantee by its parts; a metric one says the distance that it is for."""
    parts: dict[str, Any] = {"kind": "d-privacy: per unit of distance" if metric else "local differential privacy"}
    for name in ("epsilon", "rho"):
        if getattr(privacy, name) is not None:
            parts[name] = getattr(privacy, name)
    if privacy.delta:
        parts["delta"] = privacy.delta
    return parts | {"unit": privacy.unit, "neighbours": privacy.neighbours}


def describe_entry(entry: Entry) -> dict[str, Any]:
    """What becomes of a column, and what that guarantees."""
    if entry.action != "randomize":
        return {"action": entry.action}
    assert entry.privacy is not None
    said = {"action": "randomize", "mechanism": type(entry.mechanism).__name__}
    said |= describe_privacy(entry.privacy, metric=entry.is_metric)
    return said | _describe_nulls(entry)


def describe_group(group: Group) -> dict[str, Any]:
    """What becomes of the columns of a group, and what that guarantees for all of them together."""
    said = {"columns": list(group.columns), "action": "randomize", "mechanism": type(group.mechanism).__name__}
    return said | describe_privacy(group.privacy, metric=group.is_metric) | _describe_nulls(group)


def _describe_nulls(part: Entry | Group) -> dict[str, str]:
    """What a policy on nulls shows."""
    if part.public_nulls:
        return {"nulls": "public: released as they are"}
    return {"nulls": "public: rows that hold them are left out"} if part.drops_rows else {}


def versions() -> dict[str, str]:
    """What made the release."""
    from importlib.metadata import version

    made_with = {name: version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"fastdp": __version__, "python": platform.python_version(), **made_with}
