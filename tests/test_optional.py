"""Packages that are not installed with fastdp: an error that names what to install, wherever one is needed."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

import fastdp as fd

PACKAGE = Path(fd.__file__).parent
INSTALLED = {"numpy", "numba", "llvmlite", "pyarrow", "click", "rich", "tomlkit", "fastdp", "benchmarks"}


def test_optimal_mechanism__says_what_to_install(monkeypatch):
    for name in ("scipy", "scipy.optimize", "scipy.sparse"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        fd.MissingPackageError, match=r"OptimalMechanism: needs scipy; .*pip install 'fastdp\[optimal\]'"
    ):
        fd.OptimalMechanism(epsilon=1.0, prior=[1, 1], distance=[[0, 1], [1, 0]])
    entry = {"mechanism": "optimal", "epsilon": 1.0, "prior": [1, 1], "distance": [[0, 1], [1, 0]]}
    with pytest.raises(fd.ParameterError, match="needs scipy"):
        fd.Plan(columns={"x": entry})


def test_missing_packages__are_import_errors_too():
    assert issubclass(fd.MissingPackageError, ImportError)


def imported(path: Path) -> set[str]:
    """The packages that a file imports by a statement, but for the types of a checker."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def test_optional_packages__are_loaded_by_the_one_helper():
    """Any other import of one would be a raw ModuleNotFoundError where it is missing."""
    known = INSTALLED | set(sys.stdlib_module_names)
    others = {str(path.relative_to(PACKAGE)): imported(path) - known for path in PACKAGE.rglob("*.py")}
    assert len(others) > 400
    assert {path: names for path, names in others.items() if names} == {}
