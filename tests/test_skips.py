"""CI's rule on skips: one whose reason is not allowed fails the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.patience import PATIENCE

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize(
    ("reason", "strict", "may_skip", "code"),
    [
        ("nobody knows why", "1", "", 1),
        ("nobody knows why", "1", "no Chromium;nobody knows;", 0),
        ("nobody knows why", "", "", 0),
        ("names an x86 processor", "1", "", 0),
    ],
)
def test_skips__fail_where_they_are_not_allowed(tmp_path, reason, strict, may_skip, code):
    """Of a test and of a whole file."""
    skip = f"pytest.skip({reason!r}, allow_module_level=True)"
    (tmp_path / "test_one.py").write_text(f"import pytest\ndef test():\n    {skip}\ndef test_more():\n    pass\n")
    (tmp_path / "test_file.py").write_text(f"import pytest\n{skip}\n")
    environment = os.environ | {"FASTDP_STRICT_SKIPS": strict, "FASTDP_MAY_SKIP": may_skip, "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-c", os.devnull, "-p", "tests.conftest", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, tmp_path], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == code, done.stdout
    assert done.stdout.count("which is not allowed here") == 2 * code
