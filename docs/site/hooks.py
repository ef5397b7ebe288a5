"""Hooks of MkDocs: pages that are made from the registry, the public names, the stored runs, and scripts in cells."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from docs.site import api, cells, index_page, mechanisms

SCRIPTS = ("tutorial.py", "lectures/*.py", "examples/*.py")
TEXTS = {
    "changelog.md": "CHANGELOG.md", "benchmarks.md": "bench_results/latest.md",
    "benchmarking.md": "benchmarks/README.md", "vulnerabilities.md": "SECURITY.md",
    "contributing.md": "CONTRIBUTING.md",
}  # fmt: skip
"""Pages that are files of the repository outside docs/."""
OUTSIDE = {
    "README.md": "index.md", "CHANGELOG.md": "changelog.md", "bench_results/latest.md": "benchmarks.md",
    "SECURITY.md": "vulnerabilities.md", "CONTRIBUTING.md": "contributing.md",
}  # fmt: skip


def _scripts() -> list[Path]:
    found = [path for pattern in SCRIPTS for path in sorted((ROOT / "docs").glob(pattern))]
    return [path for path in found if path.name != "__init__.py"]


def on_config(config: Any) -> Any:
    """Put the pages that are made, and those of docs/ that are not named, under the headings that wait for them."""
    made = {
        "Mechanisms": [{name: f"mechanisms/{name}.md"} for name in mechanisms.names()],
        "Reference": [{title: f"reference/{name}.md"} for name, title, _ in api.pages()],
    }
    for folder in ("Lectures", "Examples"):
        paths = [path for path in _scripts() if path.parent.name == folder.lower()]
        made[folder] = [{cells.title(cells.read(path)): f"{folder.lower()}/{path.stem}.md"} for path in paths]
    named = str(config.nav)
    others = [path for path in sorted((ROOT / "docs").glob("*.md")) if f"'{path.name}'" not in named]
    made["How-to"] = [{path.read_text(encoding="utf-8").splitlines()[0].lstrip("# "): path.name} for path in others]
    for entry in config.nav:
        for title, pages in entry.items():
            if title in made:
                pages.extend(made[title])
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made."""

    def add(name: str, content: str | bytes) -> None:
        if files.get_file_from_path(name) is None:
            files.append(File.generated(config, name, content=content))

    add("index.md", index_page.text())
    for name, source in TEXTS.items():
        add(name, (ROOT / source).read_text(encoding="utf-8"))
    for path in sorted((ROOT / "bench_results").glob("*")):
        if path.suffix in {".json", ".svg"} or path.name == "NOTES.md":
            add(f"bench_results/{path.name}", path.read_bytes())
    for name in mechanisms.names():
        add(f"mechanisms/{name}.md", mechanisms.page(name))
    for name, title, text in api.pages():
        add(f"reference/{name}.md", f"# {title}\n\n{text}")
    for path in _scripts():
        name = path.relative_to(ROOT / "docs").with_suffix("").as_posix()
        done = cells.run(path)
        add(f"{name}.ipynb", cells.as_notebook(done))
        note = f"[This page as a notebook]({path.stem}.ipynb)\n"
        add(f"{name}.md", cells.as_page(done) + "\n" + note)
    return files


def on_page_markdown(markdown: str, page: Any, **_options: Any) -> str:
    """Links out of docs/ lead to the pages that show those files."""
    up = "../" * page.file.src_uri.count("/")

    def lead(found: re.Match[str]) -> str:
        target, anchor = found[1], found[2] or ""
        if target in OUTSIDE:
            return f"]({up}{OUTSIDE[target]}{anchor})"
        return f"]({up}{target}{anchor})" if target.startswith("bench_results/") else found[0]

    if page.file.src_uri == "bench_results/NOTES.md":
        markdown = markdown.replace("](latest.md", "](../benchmarks.md")
    if page.file.src_uri == "benchmarks.md":  # its links are from its own folder
        markdown = re.sub(r"\]\((?!https?:|#|\.\./)([^)]+)\)", r"](bench_results/\1)", markdown)
        markdown = markdown.replace("](../docs/", "](")
    if page.file.src_uri in TEXTS:
        markdown = markdown.replace("](docs/", "](").replace("](CHANGELOG.md)", "](changelog.md)")
    return re.sub(r"\]\((?:\.\./)+([\w/.-]+)(#[\w-]+)?\)", lead, markdown)
