"""Estimators draw no noise: they cannot, since nothing that does is loaded with them."""

from __future__ import annotations

import subprocess
import sys

from tests.patience import PATIENCE


def test_import__loads_no_randomness():
    """What a mechanism is, its contract, may be known; how one draws may not."""
    code = (
        "import sys, fastdp.estimators;"
        "known = {'fastdp.mechanisms', 'fastdp.mechanisms.annotations', 'fastdp.mechanisms.base',"
        " 'fastdp.mechanisms.local', 'fastdp.mechanisms.local.frequencies'};"
        "rooms = ('fastdp.random', 'fastdp.engine', 'fastdp.laws', 'fastdp.mechanisms');"
        "print([m for m in sys.modules if m.startswith(rooms) and m not in known],"
        "[m for m in ('pyarrow', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)
    assert done.stdout.strip() == "[] []", done.stderr
