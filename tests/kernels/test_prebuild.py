"""What is prebuilt is what ``fastdp warmup`` compiles; and the hook that builds it with the package."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
import types as modules
from pathlib import Path

import pytest
from numba.core import types

from fastdp.kernels import prebuild

ROOT = Path(__file__).parents[2]


def entries() -> list[dict]:
    return json.loads(prebuild.SIGNATURES.read_text())


def test_signatures__are_of_kernels_that_exist():
    for entry in entries():
        home, _, name = entry["kernel"].rpartition(".")
        assert callable(getattr(importlib.import_module(home), name))


def test_types__are_described_and_read_back():
    for entry in entries():
        for described in entry["arguments"]:
            assert prebuild.describe_type(prebuild.read_type(described)) == described


@pytest.mark.parametrize(
    "kind", [types.Array(types.float64, 1, "A"), types.none, types.literal(0), types.Omitted(1), types.complex128]
)
def test_other_types__are_left_to_the_compiler(kind):
    assert prebuild.describe_type(kind) is None


def test_build__without_a_c_compiler_says_what_is_missing(monkeypatch):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(prebuild.shutil, "which", lambda _name: None)
    with pytest.raises(RuntimeError, match="need a C compiler"):
        prebuild.find_linker()


@pytest.fixture
def hook(monkeypatch):
    """The hook's module; hatchling itself is there only while a package is built."""
    names = ["hatchling", "builders", "hooks", "plugin", "interface"]
    for count in range(1, len(names) + 1):
        monkeypatch.setitem(sys.modules, ".".join(names[:count]), modules.ModuleType(".".join(names[:count])))
    sys.modules[".".join(names)].BuildHookInterface = object
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class App:
    def __init__(self):
        self.said, self.warned = [], []
        self.display_info, self.display_warning = self.said.append, self.warned.append


def build(module, root, version="standard"):
    hook = module.Prebuild()
    hook.root, hook.app = str(root), App()
    data = {"artifacts": [], "pure_python": True}
    hook.initialize(version, data)
    return hook.app, data


def test_build__that_is_editable_or_not_asked_to_compiles_nothing(hook, monkeypatch, tmp_path):
    assert build(hook, tmp_path, "editable")[1] == {"artifacts": [], "pure_python": True}
    for value in ("0", ""):
        monkeypatch.setenv("FASTDP_PREBUILD", value)
        assert build(hook, tmp_path)[1] == {"artifacts": [], "pure_python": True}
        assert hook.Prebuild().dependencies() == []


def test_build__that_fails_warns_and_leaves_the_kernels_to_the_compiler(hook, monkeypatch):
    monkeypatch.setattr(hook, "is_wanted", lambda _version: True)
    monkeypatch.setattr(hook.shutil, "rmtree", lambda *_, **__: None)
    monkeypatch.setenv("FASTDP_PREBUILD", "no-such-level")
    app, data = build(hook, ROOT)
    assert data == {"artifacts": [], "pure_python": True}
    assert "compiled on first use" in app.warned[0]
    assert "x86-64-v3" in app.warned[0]


def test_build__that_succeeds_ships_the_libraries(hook, monkeypatch, tmp_path):
    monkeypatch.setattr(hook, "is_wanted", lambda _version: True)
    monkeypatch.setenv("FASTDP_PREBUILD", "all")
    called = []

    def run(command, **_options):
        called.append(command)
        return subprocess.CompletedProcess(command, 0, "", "")

    monkeypatch.setattr(hook.subprocess, "run", run)
    app, data = build(hook, tmp_path)
    assert called[0][-3:] == ["x86-64-v4-vaes", "x86-64-v4", "x86-64-v3"]
    assert data["artifacts"] == ["fastdp/kernels/prebuilt/*"]
    assert data["tag"].startswith("py3-none-")
    assert not data["pure_python"]
    assert "compiling kernels" in app.said[0]
    assert not app.warned


def test_requirements_of_a_build__are_asked_for_where_it_compiles(hook, monkeypatch):
    monkeypatch.setattr(hook.sys, "argv", ["hook", "get_requires_for_build_wheel"])
    monkeypatch.delenv("FASTDP_PREBUILD", raising=False)
    assert hook.Prebuild().dependencies() == []
    monkeypatch.setenv("FASTDP_PREBUILD", "1")
    linux = sys.platform == "linux" and os.uname().machine == "x86_64"
    assert bool(hook.Prebuild().dependencies()) == linux
    monkeypatch.setattr(hook.sys, "argv", ["hook", "get_requires_for_build_editable"])
    assert hook.Prebuild().dependencies() == []
