"""Scripts in cells, as Jupyter and editors know them: run, and written as a page or as a notebook.

A line ``# %%`` begins a cell of code, ``# %% [markdown]`` one of text, and ``# %% [sh]`` one of shell commands; lines
of the latter two are comments. What a cell prints, its last expression and its pictures follow it on the page.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

LONGEST = 6000
"""Characters of output that a page shows."""


@dataclass
class Cell:
    """A cell: its kind, its lines without comment signs, and what came out."""

    kind: str
    source: str
    line: int
    text: str = ""
    html: list[str] = field(default_factory=list)


def read(path: Path) -> list[Cell]:
    """The cells of a script."""
    cells: list[Cell] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        head = re.fullmatch(r"# %%(?: \[(markdown|sh)\])?", line)
        if head:
            cells.append(Cell(head[1] or "code", "", number))
        elif cells:
            plain = line if cells[-1].kind == "code" else re.sub(r"^# ?", "", line)
            cells[-1].source += plain + "\n"
    for cell in cells:
        cell.source = cell.source.strip("\n")
    return cells


def run(path: Path) -> list[Cell]:
    """The cells of a script with what came out of them; run in order, in a folder that is then deleted."""
    cells = read(path)
    names: dict[str, Any] = {"__name__": path.stem}
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in cells:
                _run(cell, names, path)
        finally:
            os.chdir(before)
    return cells


def _run(cell: Cell, names: dict[str, Any], path: Path) -> None:
    if cell.kind == "sh":
        search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        known = os.environ | {"PATH": search, "COLUMNS": "110", "NO_COLOR": "1", "TERM": "dumb"}
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", cell.source], capture_output=True, text=True, env=known, check=False
        )
        if done.returncode:
            raise RuntimeError(f"{path.name}, line {cell.line}: {done.stderr or done.stdout}")
        cell.text = done.stdout
    elif cell.kind == "code":
        tree = ast.parse("\n" * cell.line + cell.source, str(path))
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, str(path), "exec"), names)
            value = eval(compile(ast.Expression(last.value), str(path), "eval"), names) if last else None
        cell.html = _pictures()
        cell.text = printed.getvalue()
        if value is not None and not cell.html:
            cell.text += f"{value!r}\n"


def _pictures() -> list[str]:
    """All open figures as SVG, closed."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    plt = sys.modules["matplotlib.pyplot"]
    found = []
    for number in plt.get_fignums():
        written = io.StringIO()
        plt.figure(number).savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
        found.append(written.getvalue()[written.getvalue().index("<svg") :])
    plt.close("all")
    return found


def as_page(cells: list[Cell]) -> str:
    """A page of Markdown with everything that came out."""
    parts = []
    for cell in cells:
        if cell.kind == "markdown":
            parts.append(cell.source)
            continue
        parts.append(f"```{'sh' if cell.kind == 'sh' else 'python'}\n{cell.source}\n```")
        if cell.text.strip():
            parts.append(f"```text\n{cell.text.rstrip()[:LONGEST]}\n```")
        parts += [f'<div class="picture">\n{picture}\n</div>' for picture in cell.html]
    return "\n\n".join(parts) + "\n"


def as_notebook(cells: list[Cell]) -> str:
    """The same as a Jupyter notebook."""
    found: list[dict[str, Any]] = []
    for number, cell in enumerate(cells):
        own: dict[str, Any] = {"id": f"cell-{number}", "metadata": {}, "source": cell.source}
        if cell.kind == "markdown":
            found.append(own | {"cell_type": "markdown"})
            continue
        outputs: list[dict[str, Any]] = []
        if cell.text:
            outputs.append({"output_type": "stream", "name": "stdout", "text": cell.text})
        outputs += [
            {"output_type": "display_data", "data": {"image/svg+xml": picture}, "metadata": {}} for picture in cell.html
        ]
        source = f"%%bash\n{cell.source}" if cell.kind == "sh" else cell.source
        found.append(own | {"cell_type": "code", "source": source, "execution_count": number, "outputs": outputs})
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return json.dumps({"cells": found, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def title(cells: list[Cell]) -> str:
    """The first heading."""
    found = re.search(r"^# (.+)$", cells[0].source, re.MULTILINE)
    return escape(found[1]) if found else "Untitled"
