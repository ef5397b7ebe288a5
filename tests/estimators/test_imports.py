"""Estimators draw no noise: they cannot, since nothing that does is loaded with them."""

from __future__ import annotations

import subprocess
import sys


def test_import__loads_no_randomness():
    code = (
        "import sys, fastdp.estimators;"
        "print([m for m in sys.modules if m.startswith(('fastdp.random', 'fastdp.noise', 'fastdp.mechanisms'))],"
        "[m for m in ('pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.strip() == "[] []", done.stderr
