"""The front page: the README, with links that hold inside the site."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
OTHERS = {"CHANGELOG.md": "changelog.md", "SECURITY.md": "vulnerabilities.md", "CONTRIBUTING.md": "contributing.md"}


def text() -> str:
    """README.md as the page index.md."""
    found = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.sub(r"<!--.*?-->\n", "", found)
    found = re.sub(r"\]\(docs/([\w/]+)\.py\)", r"](\1.md)", found).replace("](docs/", "](")
    for name, page in OTHERS.items():
        found = found.replace(f"]({name})", f"]({page})")
    found = found.replace("](benchmarks/README.md)", "](benchmarking.md)")
    found = found.replace("](bench_results/latest.md)", "](benchmarks.md)")
    return re.sub(r"\[([\w.]+)\]\(CITATION\.cff\)", r"`\1`", found)
