"""Tables of the documentation are tables: no row stands alone, and every row has the cells of its head."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def faults(text: str) -> list[str]:
    """Rows without a head above them, and rows with another number of cells."""
    found, head = [], 0
    text = re.sub(r"^```.*?^```$", lambda block: "\n" * block[0].count("\n"), text, flags=re.DOTALL | re.MULTILINE)
    lines = text.splitlines()
    for line, after in zip(lines, [*lines[1:], ""], strict=True):
        row = line.strip()
        if not row.startswith("|"):
            head = 0
            continue
        cells = len(re.split(r"(?<!\\)\|", re.sub(r"`[^`]*`", "", row))) - 2
        if head == 0 and re.fullmatch(r"\|(\s*:?-+:?\s*\|)+", after.strip()):
            head = cells
        elif cells != head:
            found.append(row)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_tables__are_whole(page):
    assert faults(page.read_text()) == []


def test_orphaned_and_uneven_rows__are_found():
    """The mutant: a blank line in the middle makes text of the rows below it."""
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |\n"
    assert faults(table) == []
    assert faults(table.replace("| 3", "\n| 3")) == ["| 3 | 4 |"]
    assert faults(table.replace("| 4 |", "|")) == ["| 3 |"]
