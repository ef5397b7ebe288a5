"""What a result must say of where it came from: hardware, software and commit; no names of hosts or folders."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent.parent


def _cpu_model() -> str:
    try:
        found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        found = None
    return found.group(1) if found else platform.machine()


def _cache_sizes() -> dict[str, str]:
    """Sizes of the first core's caches, by level; none where the system does not tell."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        try:
            level, kind, size = ((index / name).read_text().strip() for name in ("level", "type", "size"))
        except OSError:
            continue
        if kind != "Instruction":
            found[f"L{level}"] = size
    return found


def facts() -> dict[str, Any]:
    """The machine, as far as it explains a speed."""
    from fastdp.kernels.jit import target_features, target_name

    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "caches": _cache_sizes(),
        "target": target_name(),
        "features": sorted(target_features()),
        "os": f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        "architecture": platform.machine(),
        "libc": " ".join(platform.libc_ver()),
    }


def signature(machine: dict[str, Any]) -> str:
    """Twelve digits for the CPU and what is compiled for it: only runs with the same ones are compared."""
    parts = [machine[name] for name in ("cpu", "architecture", "cores", "target", "features")]
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=6).hexdigest()


def versions() -> dict[str, str]:
    """Python's version and those of every package that takes part."""
    from benchmarks.rivals.libraries import LIBRARIES

    found = {"python": platform.python_version()}
    packages = [library.package for library in LIBRARIES.values() if library.package]
    for package in (*packages, "numba", "llvmlite", "scipy"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def commit() -> dict[str, Any]:
    """The commit measured, and whether any file but the results differs from it."""
    changes = _git("status", "--porcelain", "--", ".", ":!bench_results")
    return {"commit": _git("rev-parse", "--short", "HEAD") or "unknown", "dirty": changes != ""}
