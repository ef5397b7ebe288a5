"""Compile the kernels while the package is built, if FASTDP_PREBUILD asks for it.

``FASTDP_PREBUILD=1`` compiles for this CPU, ``FASTDP_PREBUILD=all`` for every level, as wheels need it. Without it they
are left to the compiler on first use: calls of a few values cost less that way, and only the first one waits.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NEEDS = ["numba>=0.61", "numpy>=2.0"]


def is_wanted(version: str) -> bool:
    """Whether this build compiles: if it was asked to, on Linux for x86-64, and is not editable."""
    here = sys.platform == "linux" and os.uname().machine == "x86_64"
    return here and version != "editable" and os.environ.get("FASTDP_PREBUILD", "0") not in {"", "0"}


class Prebuild(BuildHookInterface):  # type: ignore[type-arg]
    """Puts a library per CPU level into the wheel, which then fits one platform and any Python."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What compiling needs; what asks for an editable installation is told in the command line alone."""
        asked = "editable" if any("editable" in argument for argument in sys.argv) else "standard"
        return NEEDS if is_wanted(asked) else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, or say why not: an installation without prebuilt kernels is slower to start, and complete."""
        folder = Path(self.root) / "fastdp" / "kernels" / "prebuilt"
        if not is_wanted(version):
            return
        shutil.rmtree(folder, ignore_errors=True)
        asked = os.environ.get("FASTDP_PREBUILD", "")
        levels = {"1": [], "all": ["x86-64-v4-vaes", "x86-64-v4", "x86-64-v3"]}.get(asked, asked.split(","))
        self.app.display_info("fastdp: compiling kernels, two minutes for each CPU level")
        started = time.monotonic()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([self.root, *filter(None, sys.path)])}
        command = [sys.executable, "-m", "fastdp.kernels.prebuild", str(folder), *levels]
        done = subprocess.run(  # noqa: S603
            command, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            why = done.stderr.strip().rpartition("\n")[2]
            self.app.display_warning(f"fastdp: kernels will be compiled on first use; building them failed: {why}")
            return
        self.app.display_info(f"fastdp: kernels compiled in {time.monotonic() - started:.0f} s")
        build_data["artifacts"] += ["fastdp/kernels/prebuilt/*"]
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-linux_x86_64"
