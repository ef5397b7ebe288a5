"""The public names, the share of them that is typed, and the check of a consumer's file."""

from __future__ import annotations

import ast
import importlib
import importlib.util
from pathlib import Path

import pytest

import fastdp as fd
from fastdp.mechanisms.catalogue import ROWS
from tests.typing.any_share import Slot, share, slots
from tests.typing.check import CONSUMER, differences, main, marked

STUB = Path(fd.__file__).with_name("__init__.pyi")
MOST_ANY = 0.03
"""Lower it whenever the share falls; never raise it."""


def stub_imports() -> dict[str, str]:
    """The module of each name in the stub."""
    nodes = [node for node in ast.parse(STUB.read_text()).body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in nodes for alias in node.names}


def test_stub__is_the_list_of_public_names():
    """One import per line, as ``name as name``, which type checkers take for an export; in order, none twice."""
    lines = [line for line in STUB.read_text().splitlines() if line and not line.startswith("#")]

    assert [line.split()[3] for line in lines] == [line.split()[5] for line in lines]
    assert sorted(stub_imports()) == fd.__all__
    assert len(lines) == len(fd.__all__)


def test_stub__has_every_mechanism_of_the_registry_where_it_lives():
    homes = stub_imports()

    assert {row.name: homes.get(row.name) for row in ROWS} == {row.name: row.module for row in ROWS}
    for row in ROWS:
        assert getattr(fd, row.name) is row.load()


def test_stub__names_modules_that_have_the_names():
    for name, home in stub_imports().items():
        found = importlib.import_module(f"fastdp.{name}") if home == "fastdp" else importlib.import_module(home)
        assert home == "fastdp" or hasattr(found, name), name


def test_any__is_rare_in_public_parameters_and_fields():
    found = list(slots())

    parameters = [slot for slot in found if slot.place.endswith(")")]
    fields = [slot for slot in found if not slot.place.endswith(")")]

    assert len(parameters) > 2000
    assert len(fields) > 600
    assert share(parameters) < MOST_ANY
    assert share(fields) < MOST_ANY


def test_slots__count_what_is_public(tmp_path, monkeypatch):
    """Private names and the bodies behind overloads do not count; a missing annotation counts as Any."""
    (tmp_path / "room").mkdir()
    (tmp_path / "room" / "thing.py").write_text(
        "class A:\n    x: Any\n    y: int\n    _z: Any\n"
        "    def f(self, a: Any | None, b): ...\n    def _g(self, a: Any): ...\n"
        "@overload\ndef h(a: int): ...\n@overload\ndef h(a: str): ...\ndef h(a: Any): ...\n"
    )
    monkeypatch.setattr("tests.typing.any_share.ROOT", tmp_path)
    found = list(slots())

    assert [slot.place.split(":")[1] for slot in found] == ["A.x", "A.y", "A.f(a)", "A.f(b)", "h(a)", "h(a)"]
    assert [slot.is_any for slot in found] == [True, False, True, True, False, False]
    assert share([Slot("", "", "Any"), Slot("", "", "int")]) == 0.5


def test_differences__are_missing_errors_and_unmarked_ones():
    lines = marked("good()\nbad()  # error: this\nworse()  # error: that\n")

    assert lines == {2, 3}
    assert differences({2: "this", 3: "that"}, lines) == []
    assert differences({1: "other", 2: "this"}, lines) == ["line 1: other", "line 3: not an error"]
    assert len(marked(CONSUMER.read_text())) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_consumer__is_read_by_type_checkers_as_marked(checker, capsys):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")

    assert main([checker]) == 0, capsys.readouterr().out
