"""The compile cache: what was compiled from other sources is never run."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastdp

PROJECT = """
import numpy as np
from fastdp.kernels.metric.map_cells import fill_plane
zero, x, y, frame = np.zeros(1), np.zeros(1), np.zeros(1), np.zeros((1, 4, 3))
frame[0, 1, 0] = 1.0
fill_plane(zero, zero, frame, 1.0, x, y)
print(x[0])
"""
"""How far the point at latitude and longitude 0 is from the middle of the globe: its axis, as the kernel has it."""


def axis(package: Path, cache: Path) -> float:
    """The axis that a kernel of a copy of the package computes with, in a process of its own."""
    environment = os.environ | {
        "PYTHONPATH": str(package), "FASTDP_CACHE_DIR": str(cache), "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", PROJECT], env=environment, cwd=package, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))


@pytest.fixture
def package(tmp_path):
    """A copy of the package, to change."""
    shutil.copytree(
        Path(fastdp.__file__).parent, tmp_path / "copy" / "fastdp", ignore=shutil.ignore_patterns("__pycache__")
    )
    return tmp_path / "copy"


def test_cache__sees_a_change_of_a_kernel(package, tmp_path):
    assert axis(package, tmp_path / "cache") == 6378137.0
    change(package / "fastdp" / "kernels" / "metric" / "map_cells.py", "x[i] = east * scale", "x[i] = east * scale + 1")
    assert axis(package, tmp_path / "cache") == 6378138.0


def test_cache__sees_a_change_of_a_constant_that_a_kernel_reads_from_elsewhere(package, tmp_path):
    """A kernel bakes the axis of the globe in; with another axis it must be compiled anew."""
    assert axis(package, tmp_path / "cache") == 6378137.0
    change(package / "fastdp" / "kernels" / "metric" / "ellipsoid.py", "6378137.0", "6378138.0")
    assert axis(package, tmp_path / "cache") == 6378138.0


TWINS = """
import sys
from fastdp.kernels.{first}.same import give as one
from fastdp.kernels.{second}.same import give as other
print(one(10), other(10))
"""


def test_cache__tells_kernels_of_one_name_and_line_in_two_folders_apart(package, tmp_path):
    for folder, factor in (("twin_a", 1), ("twin_b", 2)):
        home = package / "fastdp" / "kernels" / folder
        home.mkdir()
        (home / "__init__.py").write_text("")
        (home / "same.py").write_text(
            f"from fastdp.kernels.jit import kernel\n\n\n@kernel\ndef give(x):\n    return x * {factor}\n"
        )
    environment = os.environ | {"PYTHONPATH": str(package), "FASTDP_CACHE_DIR": str(tmp_path / "cache")}
    for first, second, expected in (("twin_a", "twin_b", "10 20"), ("twin_b", "twin_a", "20 10")):
        done = subprocess.run(
            [sys.executable, "-c", TWINS.format(first=first, second=second)],
            env=environment, cwd=package, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stdout.strip() == expected


def test_cache__sees_a_change_in_a_subfolder(package, tmp_path):
    home = package / "fastdp" / "kernels" / "nested"
    home.mkdir()
    (home / "__init__.py").write_text("")
    program = "from fastdp.kernels.jit import source_digest; print(source_digest())"
    environment = os.environ | {"PYTHONPATH": str(package)}
    digests = set()
    for text in ("A = 1", "A = 2"):
        (home / "constants.py").write_text(text)
        done = subprocess.run(
            [sys.executable, "-c", program], env=environment, cwd=package, capture_output=True, text=True, check=True
        )
        digests.add(done.stdout)
    assert len(digests) == 2


def test_kernels__import_kernels_and_the_version_alone():
    """A constant from anywhere else would be baked in without the cache's knowledge."""
    root = Path(fastdp.__file__).parent / "kernels"
    for path in root.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module] if isinstance(node, ast.ImportFrom) else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                ours = name.split(".")[0] == "fastdp"
                assert not ours or (name + ".").startswith("fastdp.kernels.") or name == "fastdp._version", path
