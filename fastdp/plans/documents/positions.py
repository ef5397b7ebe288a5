"""Where a plan's columns stand in its TOML, for messages."""

from __future__ import annotations

import re

_HEADING = re.compile(r"""^\s*\[\s*columns\s*\.\s*(?P<key>"(?:[^"\\]|\\.)*"|'[^']*'|[A-Za-z0-9_-]+)\s*\]""")
_GROUP = re.compile(r"^\s*\[\[\s*groups\s*\]\]")


def line_numbers(text: str) -> dict[str, int]:
    """The line of each ``[columns.NAME]``, by name, and of each group, by "group 1" and so on.

    >>> line_numbers('[columns.age]\\nepsilon = 1\\n[columns."a b"]\\n[[groups]]')
    {'age': 1, 'a b': 3, 'group 1': 4}
    """
    import tomllib

    found: dict[str, int] = {}
    groups = 0
    for number, line in enumerate(text.splitlines(), 1):
        if _GROUP.match(line):
            groups += 1
            found[f"group {groups}"] = number
            continue
        match = _HEADING.match(line)
        if match is not None:
            key = match["key"]
            name = tomllib.loads(f"x = {key}")["x"] if key[0] in "\"'" else key
            found.setdefault(name, number)
    return found
