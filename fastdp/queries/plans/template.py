"""A release.toml to start from: names and types of the data, and comments; never a value."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from fastdp.columns.arrow import plain_type
from fastdp.queries.data.codes import is_text

if TYPE_CHECKING:
    import pyarrow as pa

HEAD = """\
# Who is protected, and what one person may contribute.
[source]
# person = "user_id"          # absent: one row is one unit
# max_groups = 5              # groups of a person that count, per query
# max_rows = 10               # rows of a person that count, per group; more count as their mean
# neighbours = "add/remove"   # or "replace"

# What the release may cost. There is no default: choose one.
[budget]
# epsilon = 1.0               # geometric noise; or
# rho = 0.05                  # discrete Gaussian noise
# delta = 1e-9                # for keys that are selected
# ledger = "people.ledger"    # charged before anything is drawn
"""


def skeleton(schema: pa.Schema) -> str:
    """The text of a plan for data of this schema; every choice is left to its reader."""
    import pyarrow as pa

    parts, numbers, groups = [HEAD], [], []
    for field in schema:
        kind = plain_type(field.type)
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            numbers.append(field.name)
        if is_text(kind) or pa.types.is_boolean(kind):
            groups.append(field.name)
    for name in numbers:
        quoted = json.dumps(name, ensure_ascii=False)
        parts.append(
            f'# [columns.{quoted}]\n# bounds = [0, 1]             # what values are clamped to; or "private"\n'
            '# nulls = "drop"              # or "lower", "upper"\n'
        )
    parts.append('[[queries]]\nname = "all"\nanswers = ["count"]\n')
    if groups:
        quoted = json.dumps(groups[0], ensure_ascii=False)
        asked = f', "mean({numbers[0]})"' if numbers else ""
        parts.append(
            f'# [[queries]]\n# name = "groups"\n# group_by = [{quoted}]\n'
            f'# keys = "select"             # or a list of the groups; keys_file = "keys.csv"\n'
            f'# answers = ["count"{asked}]\n'
        )
    return "\n".join(parts)
