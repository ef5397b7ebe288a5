"""A plan proposed for a file: columns with a public rule are randomized, all others are dropped until the owner says.

Bounds come from public rules (ages, years, percentages, the calendar, the globe), never from the data. What was seen is
for the owner's screen alone. Labels reach the plan only where that is asked for, and the plan says what it reveals.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastdp.plans.documents.coordinate_names import find_pairs
from fastdp.plans.documents.kinds import DIRECT, Seen
from fastdp.validation import visible_text

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = """\
# A proposal, made of names, types and public rules: nothing of the data is in it{more}.
# Columns that it cannot judge are dropped; the lines under "or:" are valid when uncommented and filled in.
# Check it with: fastdp plan check PLAN FILE
"""
OPEN_TEXT = (
    '# in place of domain: domain_file = "labels.csv", a file of labels; or the text hashed into 1024 buckets, and',
    '# mechanism = "olh", domain = 1024; strings that nobody can list are for fastdp.FrequentStrings',
)
"""Ways out for text without a list of labels."""
RULES = {
    "age": ("[0, 120]", "ages"),
    "percent": ("[0, 100]", "percentages"),
    "year": ("[1900, 2100]", "years"),
}
"""Bounds that everybody knows."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """Lines for one column, why, and whether they randomize it."""

    lines: tuple[str, ...]
    why: str
    ways: tuple[str, ...] = ()


def propose(
    schema: pa.Schema,
    seen: Mapping[str, Seen],
    *,
    epsilon: float = 1.0,
    domains: Mapping[str, list[str]] | None = None,
) -> str:
    """The text of a plan; ``domains`` are labels of columns, which then are part of it.

    >>> import pyarrow as pa
    >>> print(propose(pa.schema({"age": pa.int8()}), {"age": Seen("age")}).partition("[")[2])
    columns.age]                            # int8: bounds of ages
    mechanism = "geometric"
    epsilon = 1.0
    bounds = [0, 120]
    <BLANKLINE>
    """
    written = domains or {}
    more = (
        f", but for the labels of {', '.join(written)}, which were read from it and are shown to all" if written else ""
    )
    parts, pairs = [HEAD.format(more=more)], find_pairs(schema.names)
    placed = {name for pair in pairs for name in pair if _is_float(schema, name)}
    for field in schema:
        if field.name in placed:
            continue
        found = _of(field.name, field.type, seen.get(field.name, Seen("")), epsilon, written.get(field.name))
        heading = f"[columns.{_key(field.name)}]"
        kind = visible_text(" ".join(str(field.type).split()))
        ways = "".join(f"# {line}\n" for line in (("or:", *found.ways) if found.ways else ()))
        parts.append("\n".join((f"{heading:<40} # {kind}: {found.why}", *found.lines)) + "\n" + ways)
    for latitude, longitude in pairs:
        if {latitude, longitude} <= placed:
            parts.append(
                "[[groups]]                               # a place, moved as a whole\n"
                f"columns = [{_quoted(latitude)}, {_quoted(longitude)}]\n"
                'mechanism = "planar_laplace"\nepsilon = "ln(2)/500m"    # points 500 m apart differ by a factor of 2\n'
                + ('nulls = "public"\n' if _nulls(seen, latitude, longitude) else "")
            )
    return "\n".join(parts)


def _nulls(seen: Mapping[str, Seen], *names: str) -> bool:
    return any(seen[name].nulls for name in names if name in seen)


def _is_float(schema: pa.Schema, name: str) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_floating(schema.field(name).type))


def _of(name: str, kind: pa.DataType, seen: Seen, epsilon: float, labels: list[str] | None) -> Proposal:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    spend = f"epsilon = {epsilon}"
    hidden: tuple[str, ...]
    if seen.kind in DIRECT and not types.is_nested(kind):
        ways = ('action = "pseudonym"   # linkable, not private', 'key_file = "ids.key"   # fastdp plan key ids.key')
        return Proposal(('action = "drop"',), f"looks like a person's {seen.kind}", ways)
    if types.is_boolean(kind):
        hidden = ('nulls = "category"', "null_label = false") if seen.nulls else ()
        return Proposal(('mechanism = "randomized_response"', spend, *hidden), "true or false")
    if seen.kind in RULES and (types.is_integer(kind) or types.is_floating(kind)):
        bounds, rule = RULES[seen.kind]
        mechanism = "geometric" if types.is_integer(kind) else "laplace"
        hidden = (f"nulls = {bounds[1:].split(',')[0]}",) if seen.nulls else ()
        return Proposal((f'mechanism = "{mechanism}"', spend, f"bounds = {bounds}", *hidden), f"bounds of {rule}")
    if types.is_date(kind):
        hidden = ("nulls = 1970-01-01",) if seen.nulls else ()
        lines = ('mechanism = "geometric"', spend, "bounds = [1920-01-01, 2029-12-31]", *hidden)
        return Proposal(lines, "days of people's lives")
    if types.is_timestamp(kind):
        zone = "Z" if kind.tz is not None else ""
        hidden = (f"nulls = 2020-01-01T00:00:00{zone}",) if seen.nulls else ()
        bounds = f"[2000-01-01T00:00:00{zone}, 2029-12-31T00:00:00{zone}]"
        return Proposal(('mechanism = "geometric"', spend, 'step = "1 min"', f"bounds = {bounds}", *hidden), "moments")
    if types.is_time(kind):
        hidden = ("nulls = 12:00:00",) if seen.nulls else ()
        lines = ('mechanism = "geometric"', spend, "bounds = [00:00:00, 23:59:59]", 'boundary = "clamp"', *hidden)
        return Proposal(lines, "times of day")
    if labels is not None and len(labels) > 1:
        listed = ", ".join(map(_quoted, labels))
        hidden = ('nulls = "category"', f"null_label = {_quoted(labels[0])}") if seen.nulls else ()
        others = ('out_of_domain = "uniform"',)
        return Proposal(
            ('mechanism = "krr"', spend, f"domain = [{listed}]", *others, *hidden), "labels, read from the data"
        )
    return _to_fill(name, kind, seen)


def _to_fill(name: str, kind: pa.DataType, seen: Seen) -> Proposal:
    """A column that is dropped: what its owner would have to declare."""
    import pyarrow as pa

    types, drop = pa.types, ('action = "drop"',)
    if types.is_duration(kind):
        ways: tuple[str, ...] = ('mechanism = "geometric"', "epsilon = 1.0", 'step = "1 minute"', "bounds = [0, 1440]")
        return Proposal(drop, "its bounds are yours to declare", ways)
    if types.is_decimal(kind):
        step = f"{10.0**-kind.scale:.{max(kind.scale, 1)}f}"
        ways = ('mechanism = "geometric"', "epsilon = 1.0", f"step = {step}", "bounds = [0, 1000]")
        return Proposal(drop, "its bounds are yours to declare", ways)
    if types.is_integer(kind) or types.is_floating(kind):
        mechanism = "geometric" if types.is_integer(kind) else "laplace"
        ways = (f'mechanism = "{mechanism}"', "epsilon = 1.0", "bounds = [0, 1000]")
        return Proposal(drop, "its bounds are yours to declare", ways)
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        if seen.kind == "zip":
            return Proposal(drop, "a code of places", ('action = "generalize"   # public, coarser', "prefix = 3"))
        ways = ('mechanism = "krr"', "epsilon = 1.0", 'domain = ["one", "other"]   # all labels that can occur, public')
        if seen.kind == "categories":
            return Proposal(drop, f"{seen.distinct:,} labels; declare them", ways)
        return Proposal(drop, "open text, which nothing hides", (*OPEN_TEXT, *ways))
    if types.is_list(kind) or types.is_large_list(kind):
        ways = (
            'mechanism = "krr"',
            "epsilon = 1.0",
            'domain = ["one", "other"]',
            'items = "one"   # one element of each',
        )
        return Proposal(drop, "lists need a rule", ways)
    if types.is_struct(kind):
        part = kind[0].name if kind.num_fields else "field"
        return Proposal(drop, "a struct: name its fields instead", (f"# [columns.{_quoted(f'{name}.{part}')}]",))
    if types.is_map(kind):
        return Proposal(drop, "a map, which cannot be kept: store its keys as columns or a struct")
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        ways = ('action = "keep"   # public, as it is',)
        return Proposal(drop, "bytes, which nothing hides", ways)
    return Proposal(drop, "no mechanism takes this type")


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")
