"""Modules import one another in one direction, also inside a folder and inside functions."""

from __future__ import annotations

import ast
from pathlib import Path

import fastdp

ROOT = Path(fastdp.__file__).parent
KNOWN: list[set[str]] = []
"""Knots that are still there. This list only ever gets shorter: never add to it."""


def read_modules() -> dict[str, ast.Module]:
    """Every module of the package by its name."""
    modules = {}
    for path in ROOT.rglob("*.py"):
        parts = path.relative_to(ROOT.parent).with_suffix("").parts
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = ast.parse(path.read_text())
    return modules


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imported(tree: ast.AST, modules: dict[str, ast.Module]) -> set[str]:
    """The modules of the package that a module imports at any depth, but for those that only its annotations need."""
    found: set[str] = set()
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= (names & modules.keys()) or {str(node.module)}
        elif is_for_types(node):
            for other in node.orelse:
                found |= imported(other, modules)
        else:
            found |= imported(node, modules)
    return found & modules.keys()


def find_knots(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules that all reach one another."""

    def reach(start: str) -> set[str]:
        seen: set[str] = set()
        open_ones = [start]
        while open_ones:
            new = graph[open_ones.pop()] - seen
            seen |= new
            open_ones.extend(new)
        return seen

    reached = {name: reach(name) for name in graph}
    knots = {frozenset(m for m in reached[name] if name in reached[m]) for name in graph if name in reached[name]}
    return [set(knot) for knot in knots]


def test_imports__have_no_cycles_but_the_known_ones():
    """A new cycle fails, and so does a known one that is gone but still listed."""
    modules = read_modules()
    knots = find_knots({name: imported(tree, modules) - {name} for name, tree in modules.items()})

    assert sorted(map(sorted, knots)) == sorted(map(sorted, KNOWN))


def test_find_knots__sees_a_cycle_and_not_a_diamond():
    assert find_knots({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [{"a", "b", "c"}]
    assert find_knots({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []


def test_imported__counts_imports_inside_functions_but_not_those_for_types():
    tree = ast.parse("if TYPE_CHECKING:\n    import fastdp.a\ndef f():\n    from fastdp import b\n")

    assert imported(tree, dict.fromkeys(["fastdp", "fastdp.a", "fastdp.b"], tree)) == {"fastdp.b"}
