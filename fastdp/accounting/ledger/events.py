"""What was released, with exact parameters, so that a tighter total can be computed later; never a name or a value.

A mechanism is stored as its own description (`to_dict`), of which a list of labels becomes its length: labels do not
change what a release costs. A plan is stored as its digest and the descriptions of its mechanisms. Descriptions that
are too long, such as one parameter per record, are left out; the guarantee is always there.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

from fastdp.accounting.ledger.chain import canonical
from fastdp.privacy import Privacy

LARGEST_EVENT = 1 << 16
"""Characters of a description; a longer one is left out."""


@runtime_checkable
class Described(Protocol):
    """Whatever describes itself in words and numbers: a mechanism, a plan."""

    def to_dict(self) -> dict[str, Any]: ...


@runtime_checkable
class Composed(Described, Protocol):
    """A plan: parts that have a mechanism, or none where nothing is randomized."""

    @property
    def parts(self) -> Iterable[Any]: ...


@runtime_checkable
class Planned(Protocol):
    """A receipt: it names its plan."""

    @property
    def plan(self) -> Composed: ...


def describe(what: Any, privacy: Privacy | None, *, times: int, records: int | None) -> dict[str, Any]:
    """The event of a release: its guarantee exactly, and how it was made."""
    plan = what.plan if isinstance(what, Planned) else what
    made: dict[str, Any] = {}
    if isinstance(plan, Composed):
        made["plan"] = digest(plan.to_dict())
        mechanisms = [mechanism for part in plan.parts for mechanism in part.mechanisms]
    else:
        mechanisms = [plan] if isinstance(plan, Described) else []
    made["mechanisms"] = [_without_labels(mechanism.to_dict()) for mechanism in mechanisms]
    if len(canonical(made)) > LARGEST_EVENT:
        made["mechanisms"] = []
    return {"of": type(what).__name__, "times": times, "records": records, **made, **_numbers(privacy)}


def digest(value: Mapping[str, Any]) -> str:
    """SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical(dict(value)).encode()).hexdigest()


def read_mechanisms(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The descriptions that an event holds, with floats as they were."""
    return [_with_floats(one) for one in event.get("mechanisms", ())]


def read_numbers(event: Mapping[str, Any]) -> dict[str, Any] | None:
    """The guarantee that an event states, as parameters of `Privacy`; None if it has none but by distance."""
    names = ("epsilon", "delta", "rho", "unit", "neighbours")
    return {name: _with_floats(event[name]) for name in names} if "neighbours" in event else None


def _without_labels(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _size(item) if key == "domain" else _without_labels(item) for key, item in value.items()}
    return [_without_labels(item) for item in value] if isinstance(value, list) else value


def _size(domain: Any) -> Any:
    return len(domain) if isinstance(domain, list) else domain


def _with_floats(value: Any) -> Any:
    """Hexadecimal text as the float that it was."""
    if isinstance(value, dict):
        return {key: _with_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_floats(item) for item in value]
    if isinstance(value, str) and value.lstrip("-").startswith("0x") and "p" in value:
        return float.fromhex(value)
    return value


def _numbers(privacy: Privacy | None) -> dict[str, Any]:
    if privacy is None:
        return {}
    return {
        "epsilon": privacy.epsilon, "delta": privacy.delta, "rho": privacy.rho, "unit": privacy.unit,
        "neighbours": privacy.neighbours,
    }  # fmt: skip
