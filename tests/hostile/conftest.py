"""The counts of a run, at its end."""

from __future__ import annotations

from typing import Any

from tests.hostile.counts import LEAST, TRIED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print what was tried, beside what a whole run tries at least."""
    if not TRIED:
        return
    terminalreporter.section("tried")
    for what, count in sorted(TRIED.items()):
        least = f" (a whole run: at least {LEAST[what]:,})" if what in LEAST else ""
        terminalreporter.write_line(f"{count:>9,} {what}{least}")
