"""The examples of docs/engines.md, by the heading that they are under."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "engines.md"


def headings() -> list[str]:
    """Those with an example."""
    return list(_blocks())


def run(heading: str, **names: Any) -> dict[str, Any]:
    """Run an example with these names; gives all that are there then."""
    exec(compile(_blocks()[heading], f"{PAGE.name}: {heading}", "exec"), names)
    return names


def _blocks() -> dict[str, str]:
    example = re.compile(r"^## ([^\n]+)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return dict(example.findall(PAGE.read_text("utf-8")))
