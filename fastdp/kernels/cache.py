"""The compile cache: a folder named by a digest of all the kernel sources and the package version.

Numba's own cache looks only at the file of the function it compiles, so a change in a callee would leave stale noise
code behind; here any change below ``fastdp/kernels/`` starts a fresh folder, and kernels import nothing from elsewhere.
The folder must belong to the user and be writable by nobody else, because cached code is unpickled; where no such
folder can be had, kernels compile afresh in each process.
"""

from __future__ import annotations

import functools
import hashlib
import os
from pathlib import Path

from fastdp._version import __version__


@functools.cache
def source_digest() -> str:
    """A digest of the package version and of every file of the compiled core."""
    digest, root = hashlib.blake2b(__version__.encode(), digest_size=10), Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def cache_root() -> Path:
    """Where compiled kernels of every version live: ``FASTDP_CACHE_DIR``, else the user's cache folder."""
    chosen = os.environ.get("FASTDP_CACHE_DIR")
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fastdp"


def _belongs_to_user(folder: Path) -> bool:
    """Whether the user owns the folder and nobody else can write to it."""
    state = folder.stat()
    return not hasattr(os, "getuid") or (state.st_uid == os.getuid() and not state.st_mode & 0o022)


@functools.cache
def cache_folder() -> Path | None:
    """This version's cache folder, private to the user; None where there can be none."""
    try:
        folder = cache_root() / f"kernels-{source_digest()}"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        owned = all(_belongs_to_user(place) for place in (folder, folder.parent))
        return folder if owned and os.access(folder, os.W_OK | os.X_OK) else None
    except (OSError, RuntimeError):
        return None
