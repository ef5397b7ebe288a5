"""The examples of docs/fairness.md run and print what the page says."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "fairness.md"


def test_examples__print_what_the_page_says():
    text = PAGE.read_text().replace("```", "")
    found = doctest.DocTestParser().get_doctest(text, {}, "fairness.md", str(PAGE), 0)
    assert len(found.examples) > 15
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(found)
    assert result.failed == 0
