"""Compiler defaults and the compile cache: every kernel is made by :func:`kernel`.

The cache folder is named by a digest of all the kernel sources and the package version. Numba's own cache looks only at
the file of the function it compiles, so a change in a callee would leave stale noise code behind; here any change below
``fastdp/kernels/`` starts a fresh folder, and kernels import nothing from elsewhere. The folder must belong to the
user and be writable by nobody else, because cached code is unpickled; where no such folder can be had, kernels compile
afresh in each process.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import llvmlite.binding
import numba
from numba.core import caching, config
from numba.core.registry import cpu_target

from fastdp._version import __version__

OPTIONS = {"nogil": True, "error_model": "numpy", "boundscheck": False, "_nrt": False}
"""No ``fastmath``: it deletes NaN checks and rounding. ``numpy`` errors: a division must not branch to raise. Kernels
never allocate, so they need no reference counts: without them rare lanes run 2.7 times as fast and compile 3 times."""


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


class _Locator(caching._CacheLocator):  # noqa: SLF001  (numba offers no public hook for a cache place)
    """Makes numba keep a function's machine code in :func:`cache_folder`."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return source_digest()

    def get_disambiguator(self) -> str:
        """What distinguishes entries: the names numba gives them have no folder in them."""
        return f"{self._function.__module__}-{self._function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], _path: str) -> _Locator | None:
        return cls(function) if cache_folder() is not None else None


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes = (_Locator,)


class _Cache(caching.FunctionCache):
    """Numba's function cache in our folder; a failed write costs a recompile later, never an error now."""

    _impl_class = _CacheImpl

    def save_overload(self, signature: Any, data: Any) -> None:
        try:
            super().save_overload(signature, data)
        except OSError:
            self.disable()


def kernel(function: Callable[..., Any]) -> Any:
    """Compile a kernel on first use of its argument types, through the cache where there is one."""
    dispatcher = numba.njit(**OPTIONS)(function)
    if cache_folder() is not None and not config.DISABLE_JIT:
        dispatcher._cache = _Cache(function)  # noqa: SLF001
    return dispatcher


def inlined(function: Callable[..., Any]) -> Any:
    """Compile a part of kernels into its callers: passing arrays costs more than the few instructions in it."""
    return numba.njit(**OPTIONS, forceinline=True)(function)


def part(function: Callable[..., Any]) -> Any:
    """Compile a part of kernels that they call: large, and so not copied into them; cached with those that call it."""
    return numba.njit(**OPTIONS)(function)


def pasted(function: Callable[..., Any]) -> Any:
    """Put a part of a kernel into it before that is compiled: for parts of one kernel, large but used once.

    Parts that are ``inlined`` are compiled by themselves and then again with their callers: 6.3 s for products on grids
    and not 2.5.
    """
    return numba.njit(**OPTIONS, inline="always")(function)


def summed(function: Callable[..., Any]) -> Any:
    """Compile a sum into its callers, added up in whatever order is fastest; no other rule of arithmetic is given up.

    Written as a loop, a sum is one chain of additions, each waiting for the last: 7 times as slow. Not for anything
    that privacy depends on.
    """
    return numba.njit(**OPTIONS, forceinline=True, fastmath={"reassoc", "contract"})(function)


@functools.cache
def target_features() -> frozenset[str]:
    """The CPU features that numba compiles for, which a user may have narrowed below the host's."""
    flags = cpu_target.target_context.codegen()._tm_features  # noqa: SLF001
    return frozenset(flag[1:] for flag in flags.split(",") if flag.startswith("+"))


def target_name() -> str:
    """The CPU that numba compiles for."""
    return config.CPU_NAME or str(llvmlite.binding.get_host_cpu_name())
