"""The examples of docs/fairness.md run and print what the page says."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

from tests.fairness.coverage import PLACE, rows_of

PAGE = Path(__file__).parents[2] / "docs" / "fairness.md"


def test_examples__print_what_the_page_says():
    text = PAGE.read_text().replace("```", "")
    found = doctest.DocTestParser().get_doctest(text, {}, "fairness.md", str(PAGE), 0)
    assert len(found.examples) > 15
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found)
    assert result.failed == 0


def test_coverage__on_the_page_is_what_was_measured():
    """Also that every cell with sanitized columns is where the page says that all of them are."""
    found = json.loads(PLACE.read_text())
    text = PAGE.read_text()
    assert found["runs"] == 4000
    assert [row for row in rows_of(found) if row.replace("%", " %") not in text] == []
    covered = [cell["covered"] for cell in found["sanitized"]]
    assert len(covered) == 240
    assert min(covered) >= 0.935
    assert max(covered) <= 0.965
