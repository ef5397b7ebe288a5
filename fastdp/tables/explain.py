"""A plan in words: per column and group what happens, what that guarantees, and the error to expect."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp.mechanisms.square_wave import SquareWave
from fastdp.tables.spec import MECHANISMS

if TYPE_CHECKING:
    from fastdp.privacy import Privacy
    from fastdp.tables.entry import Entry
    from fastdp.tables.group import Group
    from fastdp.tables.plan import Plan

RECORDS = 10_000
"""The number of records that errors of estimates are stated for."""


@dataclass(frozen=True, slots=True)
class Line:
    """One column or group, as it is shown."""

    column: str
    action: str
    guarantee: str
    error: str


def explain(plan: Plan) -> list[Line]:
    """One line per column of the plan, then one per group."""
    return [*map(_line, plan.columns.values()), *map(_group_line, plan.groups)]


def as_data(plan: Plan) -> dict[str, Any]:
    """The guarantee as a receipt states it, with the error to expect of every column and group."""
    from fastdp.tables.receipt import describe_guarantee

    said = describe_guarantee(plan)
    parts = [*said["columns"].values(), *said.get("groups", ())]
    for part, line in zip(parts, explain(plan), strict=True):
        if line.error:
            part["error_within_95_percent"] = line.error
    return said


def explain_total(plan: Plan) -> list[str]:
    """What a whole record is guaranteed: the sum, then every metric column and group by itself."""
    total = plan.privacy
    said = []
    if total.record is not None:
        said.append(f"one record: {in_words(total.record)}, local differential privacy")
    for name, privacy in total.metric.items():
        said.append(f"{name}: {in_words(privacy)} (d-privacy: grows with the distance), not in the sum")
    return said or ["no column is randomized: nothing is guaranteed"]


def in_words(privacy: Privacy) -> str:
    """The parts of a guarantee, rounded up to what is shown; a distance says so."""
    parts = [
        f"{name} {_rounded_up(value)}"
        for name, value in (("epsilon", privacy.epsilon), ("rho", privacy.rho), ("delta", privacy.delta or None))
        if value is not None
    ]
    per = f" per {privacy.unit}" if privacy.unit.startswith("distance") else ""
    return ", ".join(parts) + per


def _rounded_up(value: float) -> str:
    """Six digits, never below the value.

    >>> _rounded_up(0.99999999), _rounded_up(1.0000001)
    ('1', '1.00001')
    """
    step = 10.0 ** (math.floor(math.log10(value)) - 5)
    return f"{math.ceil(value / step) * step:.6g}"


def _line(entry: Entry) -> Line:
    if entry.privacy is None:
        said = "public, as it is" if entry.action == "keep" else "not in the output"
        return Line(entry.column, entry.action, said, "")
    return Line(entry.column, str(entry.given["mechanism"]), in_words(entry.privacy) + _shown(entry), _error(entry))


def _group_line(group: Group) -> Line:
    said = in_words(group.privacy) + _shown(group)
    return Line(group.name, str(group.given["mechanism"]), said, group.body.expected_error)


def _shown(part: Entry | Group) -> str:
    """What a policy on nulls shows."""
    if part.public_nulls:
        return "; nulls are public"
    return "; rows with nulls are left out, which is public" if part.drops_rows else ""


def _error(entry: Entry) -> str:
    """Where 95 % of the errors lie: of a value, or of what is estimated from many reports."""
    mechanism: Any = entry.mechanism
    takes = MECHANISMS[entry.given["mechanism"]].takes
    if takes == "codes":
        return f"{_reach(mechanism):.4g} {mechanism.unit} from each value"
    if takes == "numbers":
        half = float(mechanism.interval(0.95)[1])
        if mechanism.bounds is not None:  # which no report leaves
            half = min(half, mechanism.bounds[1] - mechanism.bounds[0])
        return f"±{_in_digits(half)} on each value"
    if isinstance(mechanism, SquareWave):
        return f"±{_in_digits(_wave_reach(mechanism))} on each value"
    half = 1.96 * math.sqrt(float(mechanism.variance(RECORDS)))
    if takes == "bounded":
        return f"±{half:.4g} on the mean of {RECORDS:,}"
    return f"±{100 * half:.2g} % on shares of {RECORDS:,}"


def _in_digits(number: float) -> str:
    """Four digits that count, in thousands.

    >>> _in_digits(599146.5), _in_digits(2.9957), _in_digits(3e-9)
    ('599,100', '2.996', '3e-09')
    """
    return f"{float(f'{number:.4g}'):,.15g}"


def _wave_reach(mechanism: SquareWave) -> float:
    """The distance that 95 % of the reports of the middle value are within."""
    near = 2 * mechanism.b * mechanism.p
    part = 0.95 / (2 * mechanism.p) if near > 0.95 else mechanism.b + (0.95 - near) / (2 * mechanism.q)
    return part * (mechanism.bounds[1] - mechanism.bounds[0])


def _reach(mechanism: Any) -> float:
    """The distance that 95 % of the reports of the middle value are within."""
    import numpy as np

    if hasattr(mechanism, "distance"):
        middle = len(mechanism.distance) // 2
        lengths = mechanism.distance[middle]
    else:
        middle = (mechanism.shape[0] // 2) * mechanism.shape[1] + mechanism.shape[1] // 2
        down, across = np.divmod(np.arange(mechanism.shape[0] * mechanism.shape[1]), mechanism.shape[1])
        lengths = mechanism.cell * np.hypot(down - down[middle], across - across[middle])
    order = np.argsort(lengths)
    reached = np.searchsorted(np.cumsum(mechanism.channel().row(middle)[order]), 0.95)
    return float(lengths[order][min(int(reached), len(order) - 1)])
