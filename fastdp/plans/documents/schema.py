"""The JSON Schema of plans, made of the same tables that plans are read by."""

from __future__ import annotations

from typing import Any

from fastdp.plans.column_entry import ACTIONS, REWRITES
from fastdp.plans.column_group import GROUPS
from fastdp.plans.spec import MECHANISMS

_ANY: dict[str, Any] = {}
KINDS: dict[str, Any] = {
    "epsilon": {"type": ["number", "string"], "description": "The privacy of one release of a value."},
    "delta": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
    "rho": {"type": "number", "exclusiveMinimum": 0},
    "bounds": {
        "type": "array", "minItems": 2, "maxItems": 2,
        "description": "Public: values are clamped to them; what comes out is not, unless boundary says so.",
    },
    "boundary": {"enum": ["open", "clamp", "fold", "resample"]},
    "domain": {"type": ["array", "integer"], "description": "All values that can occur, public."},
    "domain_file": {"type": "string"},
    "domain_column": {"type": "string"},
    "aliases": {"type": "object", "additionalProperties": {"type": "string"}},
    "fold_case": {"type": "boolean"},
    "items": {"anyOf": [{"const": "one"}, {"type": "integer", "minimum": 1, "maximum": 64}]},
    "null_share": {"type": "boolean", "description": "Report which rows are null by randomized response."},
    "null_epsilon": {"type": "number", "exclusiveMinimum": 0, "description": "The part of epsilon for null_share."},
    "nan": {"enum": ["error", "lower"]},
    "key_file": {"type": "string"},
}  # fmt: skip
"""What is said of keys whose values have one shape everywhere."""


def plan_schema() -> dict[str, Any]:
    """The schema of a whole plan.

    >>> plan_schema()["properties"]["columns"]["type"]
    'object'
    """
    entries: list[dict[str, Any]] = [{"enum": ["keep", "drop"]}, _table("action", ["keep", "drop"], ("action",))]
    entries += [_table("action", [name], keys) for name, (_, keys) in REWRITES.items()]
    entries += [_table("mechanism", [name], spec.all_keys) for name, spec in MECHANISMS.items()]
    groups = [_table("mechanism", [name], ("columns", "mechanism", *keys)) for name, (_, keys) in GROUPS.items()]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "fastdp plan",
        "description": f"What becomes of every column: {', '.join(ACTIONS)}, or a mechanism.",
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "columns": {"type": "object", "additionalProperties": {"anyOf": entries}},
            "groups": {"type": "array", "items": {"anyOf": groups}},
            "ledger": {"type": "string"},
        },
    }


def _table(key: str, names: list[str], keys: tuple[str, ...]) -> dict[str, Any]:
    properties = {one: KINDS.get(one, _ANY) for one in keys} | {key: {"enum": names}}
    return {"type": "object", "required": [key], "additionalProperties": False, "properties": properties}
