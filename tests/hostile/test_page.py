"""The counts and paths of docs/security.md: no fewer than a whole run tries at least, and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.hostile.counts import LEAST

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "security.md"
ROWS = {
    "parameter sets in exact arithmetic": "parameter sets",
    "chi-square tests": "chi-square tests",
    "malformed files": "Parquet, Arrow and CSV files",
    "faults": "signals",
}


@pytest.mark.parametrize("what", ROWS)
def test_page__states_at_least_what_a_run_tries(what):
    (row,) = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {ROWS[what]}")]
    stated = int(row.split("|")[2].strip().replace(",", ""))
    assert LEAST[what] <= stated


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs").glob("*.md")))
def test_pages__name_tests_that_are_there(page):
    named = re.findall(r"`(tests/[\w/.]+)`", (ROOT / "docs" / page).read_text())
    assert [path for path in named if not (ROOT / path).exists()] == []
