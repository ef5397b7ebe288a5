"""The archives that users get: both are built, README's pictures are in them, and the wheel runs the demo."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

import fastdp as fd
from tests.patience import PATIENCE

ROOT = Path(__file__).parents[1]
pytestmark = pytest.mark.slow


def _run(*words: object, cwd: Path = ROOT) -> str:
    known = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(list(map(str, words)), cwd=cwd, env=known, capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    """The sdist, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (source,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return source, wheel


def test_names__have_the_version(archives):
    stem = f"fastdp-{fd.__version__}"
    assert [path.name for path in archives] == [f"{stem}.tar.gz", f"{stem}-py3-none-any.whl"]


def test_sdist__holds_what_readme_shows_and_links(archives):
    with tarfile.open(archives[0]) as archive:
        there = {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}
    shown = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", (ROOT / "README.md").read_text())
    assert any(name.endswith(".svg") for name in shown)
    assert [name for name in shown if name not in there] == []
    assert {"pyproject.toml", "mkdocs.yml", "CITATION.cff"} <= there


def test_wheel__holds_the_package_alone(archives):
    with zipfile.ZipFile(archives[1]) as archive:
        names = archive.namelist()
        metadata = archive.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    assert {name.split("/")[0] for name in names} == {"fastdp", f"fastdp-{fd.__version__}.dist-info"}
    assert "fastdp/__init__.pyi" in names
    assert "fastdp/py.typed" in names
    assert "Author: The fastdp authors" in metadata


def test_wheel__runs_the_demo_in_a_new_environment(archives, tmp_path):
    venv.create(tmp_path / "own", with_pip=True)
    tools = tmp_path / "own" / ("Scripts" if os.name == "nt" else "bin")
    _run(tools / "python", "-m", "pip", "install", "--quiet", archives[1], cwd=tmp_path)
    found = json.loads(_run(tools / "fastdp", "demo", "--rows", "3000", "--json", "-q", cwd=tmp_path))
    assert found["rows"] == 3000
    assert _run(tools / "fastdp", "--version", cwd=tmp_path).strip().endswith(fd.__version__)
