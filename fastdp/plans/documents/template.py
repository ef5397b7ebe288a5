"""A plan to start from, made of a table's names and types; its data are never looked at."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from fastdp.plans.documents.coordinate_names import find_pairs
from fastdp.validation import visible_text

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = """\
# What becomes of each column. Everything is dropped until you say otherwise:
#   action = "keep"      declares the column public: it is released as it is
#   mechanism = ...      randomizes it; epsilon is yours to choose
#   nulls = "public"     leaves nulls where they are, for all to see; "drop" leaves out their rows, which shows too;
#                        "category" with null_label = "..." counts them as that label, a number or date as that
#                        value, which hides them; without it they are an error
# Check it with: fastdp plan check PLAN FILE
"""

BOUNDS = "bounds = [0, 100]         # yours to declare, public; values are clamped to them"
EPSILON = "epsilon = 1.0             # yours to choose"
_ANY = (
    'mechanism = "krr"                  # categories; or "laplace" (numbers), "geometric" (integers),',
    '                                   # "randomized_response" (true, false)',
    EPSILON,
    'domain = ["one", "other"]          # for categories: all values that can occur, public',
    "# bounds = [0, 100]                # for numbers, in place of domain: public; values are clamped to them",
)


def skeleton(schema: pa.Schema, *, typed: bool = True) -> str:
    """The text of a plan that drops every column, with a mechanism to choose for each in comments.

    ``typed`` is whether the source states types; text files do not. Where names tell of a latitude and a longitude, a
    group for them is there to choose, too.

    >>> import pyarrow as pa
    >>> print(skeleton(pa.schema({"ill": pa.bool_()})).partition("[")[2])
    columns.ill]                            # bool
    action = "drop"
    # mechanism = "randomized_response"
    # epsilon = 1.0             # yours to choose
    <BLANKLINE>
    """
    parts = [HEAD]
    for field in schema:
        suggestion = "".join(f"# {line}\n" for line in (_suggestion(field.type) if typed else _ANY))
        heading = f"[columns.{_key(field.name)}]"
        kind = visible_text(" ".join(str(field.type).split())) if typed else "as its mechanism takes it"
        parts.append(f'{heading:<40} # {kind}\naction = "drop"\n{suggestion}')
    parts += [_point(*pair) for pair in find_pairs(schema.names)]
    return "\n".join(parts)


def _point(latitude: str, longitude: str) -> str:
    """A group for a place, in comments."""
    columns = f"{_quoted(latitude)}, {_quoted(longitude)}"
    return "".join(
        f"# {line}\n"
        for line in (
            "Places are best moved as a whole: take out the entries of both columns above, and choose",
            "[[groups]]",
            f"columns = [{columns}]",
            'mechanism = "planar_laplace"',
            'epsilon = "ln(2)/500m"    # per distance (d-privacy): points 500 m apart differ by a factor of 2',
            "origin = [48.85, 2.35]    # a public place nearby; without one each point draws its own, at a small cost",
        )
    )


def _key(name: str) -> str:
    """A name as a key of TOML."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return _quoted(name)


def _quoted(name: str) -> str:
    """A name as a text of TOML."""
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _moments(kind: pa.DataType) -> list[str]:
    """Noise on dates and times: bounds alone hide the whole value, a unit what is that near."""
    import pyarrow as pa

    if pa.types.is_date(kind):
        bounds, unit = "[1920-01-01, 2026-12-31]", "7 days"
    elif pa.types.is_time(kind):
        bounds, unit = "[00:00:00, 23:59:59]", "1 hour"
    else:
        zone = "" if kind.tz is None else "Z"
        bounds, unit = f"[2020-01-01T00:00:00{zone}, 2026-12-31T00:00:00{zone}]", "1 day"
    clamp = ['boundary = "clamp"        # a time cannot lie beyond the day'] if pa.types.is_time(kind) else []
    return [
        'mechanism = "geometric"',
        EPSILON,
        f"bounds = {bounds}  # public; values are clamped to them",
        *clamp,
        f'unit = "{unit}"           # only for a guarantee per distance instead of one for the whole record',
    ]


def _suggestion(kind: pa.DataType) -> list[str]:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return ['mechanism = "randomized_response"', EPSILON]
    if types.is_floating(kind):
        return [
            'mechanism = "laplace"',
            EPSILON,
            BOUNDS,
        ]
    if types.is_integer(kind):
        return [
            'mechanism = "geometric"',
            EPSILON,
            BOUNDS,
            "unit = 1                  # only for a guarantee per distance instead of one for the whole record",
        ]
    if types.is_date(kind) or types.is_timestamp(kind) or types.is_time(kind):
        return _moments(kind)
    if types.is_duration(kind):
        return [
            'mechanism = "geometric"',
            EPSILON,
            'step = "1 minute"',
            "bounds = [0, 1440]        # steps, public",
        ]
    if types.is_decimal(kind):
        return [
            'mechanism = "geometric"',
            EPSILON,
            f"step = {10.0**-kind.scale:.{max(kind.scale, 1)}f}",
            BOUNDS,
        ]
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return ['mechanism = "krr"', EPSILON, 'domain = ["one", "other"]  # all values that can occur, public']
    if types.is_map(kind):
        return ["# no mechanism takes a map, and it cannot be kept: store its keys as columns or a struct"]
    if types.is_struct(kind):
        return ['# name its fields instead, like [columns."struct.field"]']
    if types.is_nested(kind):
        return [
            'mechanism = "krr"',
            EPSILON,
            'domain = ["one", "other"]  # all values that can occur, public',
            'items = "one"             # one element of each list, drawn at random',
        ]
    return ['action = "keep"           # as it is, public; no mechanism takes this type']
