"""Plans as receipts of earlier versions state them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastdp.plans.plan import Plan
from fastdp.plans.spec import MECHANISMS


def read_stated(content: Mapping[str, Any]) -> Plan:
    """The plan of a receipt; one that names bounds and no boundary clamped its results to them.

    >>> read_stated({"columns": {"age": {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 120]}}}).columns[
    ...     "age"
    ... ].mechanism.boundary
    'clamp'
    """
    columns = {name: _clamped(entry) for name, entry in content["columns"].items()}
    return Plan(**{**content, "columns": columns})


def _clamped(entry: Any) -> Any:
    if not isinstance(entry, Mapping) or "bounds" not in entry or "boundary" in entry:
        return entry
    spec = MECHANISMS.get(str(entry.get("mechanism")))
    return {**entry, "boundary": "clamp"} if spec is not None and "boundary" in spec.all_keys else entry
