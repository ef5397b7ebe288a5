"""The house in order: where things live (CONTRIBUTING.md), folders of few files, tests that mirror the source.

The list is made from the floors in pyproject.toml and the packages' own first lines.

``python -m tests.test_house`` writes it anew.
"""

from __future__ import annotations

import ast
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
BEGIN, END = "<!-- house:begin -->", "<!-- house:end -->"
WIDTH = 116
OTHERS = {
    "tests/": "mirrors fastdp/; reference/ has naive versions, contracts/ runs over every mechanism",
    "benchmarks/": "commands; jobs/ (what is measured), rivals/ (by whom), measuring/, pages/",
    "docs/": "the site: site/ makes it; lectures/ and examples/ are scripts in cells, which it runs",
}


def floors() -> list[list[str]]:
    """The modules of each floor, from the top down."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    return [[name.strip() for name in layer.split("|")] for layer in layers]


def describe(module: str) -> tuple[str, str]:
    """A module's path below the package, and the first line of its docstring."""
    path = ROOT / module.replace(".", "/")
    is_room = path.is_dir()
    name, file = path.name + ("/" if is_room else ".py"), path / "__init__.py" if is_room else path.with_suffix(".py")
    text = ast.get_docstring(ast.parse(file.read_text())) or ""
    return name, " ".join(text.split("\n\n")[0].split()).rstrip(".")


def render() -> str:
    """The list as a block of code."""
    rows = [describe(module) for floor in floors() for module in floor if module != "fastdp._version"]
    lines = ["fastdp/             each floor imports only from those below it"]
    for name, text in rows:
        lines += textwrap.wrap(text, WIDTH, initial_indent=f"  {name:<18}", subsequent_indent=" " * 20)
    lines += [f"{name:<20}{text}" for name, text in OTHERS.items()]
    return "\n".join([BEGIN, "```", *lines, "```", END])


def _parts(text: str) -> tuple[str, str, str]:
    start, stop = text.index(BEGIN), text.index(END) + len(END)
    return text[:start], text[start:stop], text[stop:]


def test_contributing__says_where_things_live():
    assert _parts((ROOT / "CONTRIBUTING.md").read_text())[1] == render(), "run: python -m tests.test_house"


def test_floors__are_all_of_the_package():
    """A new room must be put on a floor."""
    found = {
        path.stem
        for path in (ROOT / "fastdp").iterdir()
        if (path.is_dir() and (path / "__init__.py").exists()) or path.suffix == ".py"
    }
    listed = {name.removeprefix("fastdp.") for floor in floors() for name in floor}
    assert found - {"__init__", "_moved"} == listed


MOST_FILES = 16


def test_folders__hold_few_files():
    folders = {path.parent for room in ("fastdp", "tests", "benchmarks") for path in (ROOT / room).rglob("*.py")}
    large = {folder.relative_to(ROOT).as_posix() for folder in folders if len(list(folder.glob("*.py"))) > MOST_FILES}
    assert not large


MIRRORED = ("kernels", "laws")
WITHOUT_TESTS = {
    "kernels/metric/ellipsoid.py": "two constants",
    "laws/law.py": "a protocol class, without code",
}
"""Files of the mirrored rooms that have no test file of their own, and why."""


def mirror(path: Path) -> Path:
    """Where the tests of a source file are."""
    return ROOT / "tests" / path.relative_to(ROOT / "fastdp").with_name(f"test_{path.name}")


def test_tests__mirror_kernels_and_laws():
    """Every file has a test file of its name, and no test file of a kernel or law has lost its subject."""
    sources = [path for room in MIRRORED for path in (ROOT / "fastdp" / room).rglob("*.py") if path.stem != "__init__"]
    bare = {path.relative_to(ROOT / "fastdp").as_posix() for path in sources if not mirror(path).exists()}
    assert bare == set(WITHOUT_TESTS)
    tests = {path for room in MIRRORED for path in (ROOT / "tests" / room).rglob("test_*.py")}
    assert tests == {mirror(path) for path in sources} & tests


if __name__ == "__main__":
    page = ROOT / "CONTRIBUTING.md"
    before, _, after = _parts(page.read_text())
    page.write_text(before + render() + after)
