"""The tables of mechanisms in docs/mechanisms.md and docs/plans.md are those of the registry.

``python -m tests.mechanisms.test_tables`` writes them anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from fastdp.mechanisms.catalogue import ROWS
from fastdp.mechanisms.rows import Row, Word
from fastdp.plans.spec import COMMON

ROOT = Path(__file__).parent.parent.parent
ON = {
    "numbers": "floats",
    "bounded": "numbers within bounds",
    "categories": "codes or labels",
    "codes": "numbers of cells or points",
    "truths": "truth values",
    "texts": "strings of no declared domain",
    "points": "points, in two columns",
    "trajectories": "points of persons over time",
    "tables": "tables of several attributes",
    "scores": "scores of candidates",
    "counts": "counts of keys",
}
IN_PLANS = {
    "numbers": "numbers that get noise",
    "bounded": "numbers within bounds",
    "categories": "categories",
    "truths": "true and false",
    "codes": "numbers of cells, or of points of any metric; d-privacy",
}


def what(row: Row) -> str:
    """What a row's mechanism does: the first line of its docstring."""
    line = re.sub(r":class:(`\w+`)", r"\1", str(row.load().__doc__).splitlines()[0].rstrip(".:"))
    return line.replace("``", "`").replace("**", "^").replace("|", "\\|")


def family(name: str) -> list[str]:
    """A line per mechanism of a family: its name, its names in the papers, what it takes and does."""
    lines = ["| mechanism | in papers also | on | what it does |", "| --- | --- | --- | --- |"]
    for row in ROWS:
        if row.family == name:
            on = "integers of any width" if row.whole else ON[row.takes]
            lines.append(f"| `{row.name}` | {', '.join(row.synonyms)} | {on} | {what(row)} |")
    return lines


def _word(row: Row, word: Word) -> str:
    keys = [f"`{key}`" for key in word.keys if key != "epsilon"]
    notes = [*(["integers"] if row.whole else []), *keys, *(["no `epsilon`"] if "epsilon" not in word.keys else [])]
    return f"`{word.name}`" + (f" ({', '.join(notes)})" if notes else "")


def plan_words() -> list[str]:
    """A line per kind of values: the words of its mechanisms, each with keys of its own, and the keys of all."""
    lines = [
        "| values | mechanisms, with keys of their own besides `epsilon` | keys of all of them | in papers |",
        "| --- | --- | --- | --- |",
    ]
    for takes, values in IN_PLANS.items():
        rows = [row for row in ROWS if row.takes == takes and row.words]
        words = ", ".join(_word(row, word) for row in rows for word in row.words)
        papers = "; ".join(f"`{row.words[0].name}`: {', '.join(row.synonyms)}" for row in rows if row.synonyms)
        keys = ", ".join(f"`{key}`" for key in COMMON[takes])
        lines.append(f"| {values} | {words} | {keys} | {papers} |")
    return lines


TABLES: dict[str, tuple[str, Callable[[], list[str]]]] = {
    "central": ("docs/mechanisms.md", lambda: family("central")),
    "local": ("docs/mechanisms.md", lambda: family("local")),
    "metric": ("docs/mechanisms.md", lambda: family("metric")),
    "words": ("docs/plans.md", plan_words),
}


def _cut(name: str, text: str) -> tuple[str, str, str]:
    begin, end = f"<!-- {name} mechanisms:begin -->\n", f"<!-- {name} mechanisms:end -->"
    start, stop = text.index(begin) + len(begin), text.index(end)
    return text[:start], text[start:stop], text[stop:]


@pytest.mark.parametrize("name", TABLES)
def test_table__is_the_registrys(name):
    path, make = TABLES[name]
    _, shown, _ = _cut(name, (ROOT / path).read_text())
    assert shown.split("\n")[:-1] == make(), "run: python -m tests.mechanisms.test_tables"


def test_plan_words__are_all_there():
    text = "\n".join(plan_words())
    assert all(f"`{word.name}`" in text for row in ROWS for word in row.words)


if __name__ == "__main__":
    for _name, (_path, _make) in TABLES.items():
        _page = ROOT / _path
        _before, _, _after = _cut(_name, _page.read_text())
        _page.write_text(_before + "\n".join(_make()) + "\n" + _after)
