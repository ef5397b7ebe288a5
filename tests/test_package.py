"""What is exported, what an import costs, and where compiled code is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import fastdp as fd
from tests.patience import PATIENCE

PACKAGE = Path(fd.__file__).parent


def run(code: str, cwd: Path = PACKAGE.parent, **env: str) -> subprocess.CompletedProcess:
    environment = {**os.environ, **env}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, cwd=cwd, capture_output=True, text=True, timeout=PATIENCE
    )


def test_names__are_the_contract():
    """Other tools build on these names."""
    assert {
        "Laplace", "Geometric", "Gaussian", "DiscreteGaussian", "Staircase", "Rng", "Privacy", "Channel", "set_threads",
        "get_threads", "FastDPError", "ParameterError", "DomainError", "SchemaError", "UnsafeRngError", "__version__",
    } <= set(fd.__all__) <= set(dir(fd))  # fmt: skip
    for name in fd.__all__:
        assert getattr(fd, name) is not None
    with pytest.raises(AttributeError, match="nothing_here"):
        _ = fd.nothing_here


def test_import__is_light():
    """Neither numba nor pyarrow nor numpy; what it costs in seconds is for the benchmarks to say."""
    code = "import sys, fastdp;print([m for m in ('numba', 'pyarrow', 'numpy', 'rich', 'click') if m in sys.modules])"
    assert run(code).stdout.strip() == "[]"


def test_help__loads_no_engine():
    code = (
        "import sys; from click.testing import CliRunner; from fastdp.cli import main;"
        "r = CliRunner().invoke(main, ['--help']); print(r.exit_code, 'demo' in r.output,"
        "[m for m in ('numba', 'pyarrow', 'numpy') if m in sys.modules])"
    )
    assert run(code).stdout.strip() == "0 True []"


DRAW = (
    "import fastdp as fd, numpy as np;"
    "from fastdp.kernels.jit import cache_folder;"
    "from fastdp.kernels.stream.keystream import fill_plane;"
    "from fastdp.kernels.stream.words import HALVES, make_scratch;"
    "s, (key, start) = make_scratch(), fd.Rng.unsafe_seed(1).reserve(1);"
    "fill_plane(key, HALVES, start, s.work[16:32], s.halves_raw);"
    "f = cache_folder(); print(int(s.halves_raw.sum()), f.name if f else None, len(list(f.iterdir())) if f else 0)"
)
"""The quickest to compile of all kernels that call others."""


class TestCache:
    """The compile cache: in a folder of the user's own, never stale, never in the way."""

    def test_folder__is_private_and_reused(self, tmp_path):
        first = run(DRAW, FASTDP_CACHE_DIR=str(tmp_path)).stdout.split()
        second = run(DRAW, FASTDP_CACHE_DIR=str(tmp_path)).stdout.split()
        assert first == second
        folder = tmp_path / first[1]
        assert folder.stat().st_mode & 0o777 == 0o700
        assert int(first[2]) > 0

    def test_folder__is_another_one_when_any_kernel_changes(self, tmp_path):
        """Also a kernel that is only called by others: numba's own cache would not notice."""
        copy = tmp_path / "src" / "fastdp"
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        env = {"FASTDP_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(copy.parent)}
        before = run(DRAW, copy.parent, **env).stdout.split()
        chacha = copy / "kernels" / "stream" / "chacha.py"
        chacha.write_text(chacha.read_text().replace("ROUNDS = 20", "ROUNDS = 8"))
        after = run(DRAW, copy.parent, **env).stdout.split()
        assert before[1] != after[1]
        assert before[0] != after[0]

    @pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners here")
    def test_folder__is_not_used_when_others_could_write_it(self, tmp_path):
        name = run(DRAW, FASTDP_CACHE_DIR=str(tmp_path)).stdout.split()[1]
        (tmp_path / name).chmod(0o777)
        assert run(DRAW, FASTDP_CACHE_DIR=str(tmp_path)).stdout.split()[1] == "None"

    def test_caching__is_silently_off_where_nothing_is_writable(self, tmp_path):
        blocked = tmp_path / "file"
        blocked.write_text("")
        done = run(DRAW, FASTDP_CACHE_DIR=str(blocked / "below"))
        assert done.returncode == 0
        assert done.stdout.split()[1] == "None"
        assert not done.stderr
