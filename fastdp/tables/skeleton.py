"""A plan to start from, made of a table's names and types; its data are never looked at."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = """\
# What becomes of each column. Everything is dropped until you say otherwise:
#   action = "keep"      declares the column public: it is released as it is
#   mechanism = ...      randomizes it; epsilon is yours to choose
# Check it with: fastdp plan check PLAN FILE
"""


def skeleton(schema: pa.Schema) -> str:
    """The text of a plan that drops every column, with a mechanism to choose for each in comments.

    >>> import pyarrow as pa
    >>> print(skeleton(pa.schema({"ill": pa.bool_()})).partition("[")[2])
    columns.ill]                            # bool
    action = "drop"
    # mechanism = "randomized_response"
    # epsilon =
    <BLANKLINE>
    """
    parts = [HEAD]
    for field in schema:
        suggestion = "".join(f"# {line}\n" for line in _suggestion(field.type))
        heading = f"[columns.{_key(field.name)}]"
        parts.append(f'{heading:<40} # {" ".join(str(field.type).split())}\naction = "drop"\n{suggestion}')
    return "\n".join(parts)


def _key(name: str) -> str:
    """A name as a key of TOML."""
    if re.fullmatch(r"[A-Za-z0-9_-]+", name):
        return name
    return json.dumps(name, ensure_ascii=False).replace("\x7f", "\\u007f")


def _suggestion(kind: pa.DataType) -> list[str]:
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_boolean(kind):
        return ['mechanism = "randomized_response"', "epsilon ="]
    if types.is_floating(kind):
        return ['mechanism = "laplace"', "epsilon =", "bounds = [low, high]      # public; values are clamped to them"]
    if types.is_integer(kind):
        return [
            'mechanism = "geometric"',
            "epsilon =",
            "bounds = [low, high]      # public; values are clamped to them",
            "unit = 1                  # only for a guarantee per distance instead of one for the whole record",
        ]
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return ['mechanism = "krr"', "epsilon =", 'domain = ["one", "other"]  # all values that can occur, public']
    return ["no mechanism takes this type"]
