"""Prebuilt kernels: machine code with a C interface, made from the same sources when the package was built.

A library holds one function per kernel and types of arguments, ``uint64_t name(const uint64_t *words)``. An integer or
a float is a word (its bits), an array the address of its data and its sizes, a named tuple the address of its own
words. The library is used if its manifest names the digest of these very sources, this CPU has all that it was
compiled for, and nobody asked numba for anything else; arguments of other types are left to the compiler.
"""

from __future__ import annotations

import ctypes
import functools
import json
import os
import platform
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from fastdp.kernels.cache import source_digest

FOLDER = Path(__file__).parent / "prebuilt"
SWITCH = "FASTDP_PREBUILT"
"""``0`` turns prebuilt kernels off; a folder is where to look for them; any other value changes nothing."""
LEVELS = {
    "x86-64-v4-vaes": "avx512f avx512bw avx512cd avx512dq avx512vl avx512_vbmi avx512_vbmi2 avx512ifma avx512_vnni"
    " avx512_bitalg avx512_vpopcntdq vaes vpclmulqdq gfni aes sha_ni bmi1 bmi2 avx2 fma f16c movbe abm",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl bmi1 bmi2 avx2 fma f16c movbe abm",
    "x86-64-v3": "bmi1 bmi2 avx2 fma f16c movbe abm",
}
"""The levels that libraries are built for, the best first, each with the flags that a CPU must have."""


class Chosen(NamedTuple):
    """Which code runs, and why."""

    path: Path | None
    level: str
    why: str
    features: frozenset[str] = frozenset()
    kernels: dict[str, list[tuple[str, list[Any], str]]] = {}  # noqa: RUF012  (read, never written)


def cpu_flags() -> frozenset[str]:
    """What this CPU can do, in the words of Linux; empty where that cannot be told."""
    try:
        with Path("/proc/cpuinfo").open() as file:
            lines = (line for line in file if line.startswith("flags"))
            return frozenset(next(lines, "").partition(":")[2].split())
    except OSError:
        return frozenset()


def levels_of(flags: frozenset[str]) -> list[str]:
    """The levels whose code a CPU with these flags can run, the best first."""
    return [level for level, needed in LEVELS.items() if flags and flags.issuperset(needed.split())]


@functools.cache
def chosen() -> Chosen:
    """The library that this process uses, if any; settled once."""
    return choose(dict(os.environ), cpu_flags())


def choose(environment: dict[str, str], flags: frozenset[str]) -> Chosen:
    """The library to use in such an environment on such a CPU."""
    asked = sorted(name for name in environment if name.startswith("NUMBA_"))
    switch = environment.get(SWITCH, "")
    if switch == "0":
        return Chosen(None, "", f"compiled here: {SWITCH}=0")
    if asked:
        return Chosen(None, "", f"compiled here: {asked[0]} is set")
    folder = Path(switch) if switch and Path(switch).is_dir() else FOLDER
    if not folder.is_dir():
        return Chosen(None, "", "compiled here: this installation was not built with prebuilt kernels")
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.implementation.name != "cpython":
        return Chosen(None, "", f"compiled here: nothing is prebuilt for {sys.platform} {platform.machine()}")
    why = "compiled here: nothing is prebuilt for this CPU"
    for level in levels_of(flags):
        library, manifest = folder / f"{level}.so", folder / f"{level}.json"
        if not library.exists() or not manifest.exists():
            continue
        try:
            found = json.loads(manifest.read_text())
            if found["digest"] != source_digest():
                why = "compiled here: the prebuilt kernels are of other sources"
                continue
            _load(library)
        except (OSError, ValueError, KeyError) as error:
            why = f"compiled here: the prebuilt kernels cannot be loaded ({error})"
            continue
        kernels: dict[str, list[tuple[str, list[Any], str]]] = {}
        for symbol, entry in found["kernels"].items():
            kernels.setdefault(entry["kernel"], []).append((symbol, entry["arguments"], entry["returns"]))
        return Chosen(library, level, f"prebuilt for {level}", frozenset(found["features"]), kernels)
    return Chosen(None, "", why)


@functools.cache
def _load(path: Path) -> ctypes.CDLL:
    return ctypes.CDLL(str(path))


def library() -> Path | None:
    """The library of prebuilt kernels that this process uses; None where kernels are compiled."""
    return chosen().path


def _bits(value: float) -> int:
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def _bits32(value: float) -> int:
    return struct.unpack("<I", struct.pack("<f", value))[0]


def _from_bits(word: int) -> float:
    return struct.unpack("<d", struct.pack("<Q", word))[0]


_MASK = (1 << 64) - 1
_RETURNS: dict[str, Callable[[int], Any]] = {
    "none": lambda _word: None,
    "bool": bool,
    "float64": _from_bits,
    **{f"uint{width}": int for width in (8, 16, 32, 64)},
    **{f"int{width}": lambda word: word - (1 << 64) if word >> 63 else word for width in (8, 16, 32, 64)},
}
_SCALARS = {int: "int64", float: "float64", bool: "bool"}
_char = ctypes.c_char.from_buffer


def address_of(array: np.ndarray) -> int:
    """Where the data of an array are."""
    if array.flags.writeable and array.nbytes:
        return ctypes.addressof(_char(array))
    return array.ctypes.data


def kind_of(argument: Any) -> Any:
    """What tells versions of a kernel apart; None for what no prebuilt version takes."""
    kind = type(argument)
    if kind is np.ndarray:
        flags = argument.flags
        whole = flags.c_contiguous and flags.aligned and argument.dtype.isnative
        # numba compiles apart what must not be written to; what is not in one piece goes to the compiler
        return (argument.dtype.name, argument.ndim, flags.writeable) if whole else None
    found = _SCALARS.get(kind)
    if found is not None:
        return None if kind is int and not -(1 << 63) <= argument < 1 << 63 else found
    if isinstance(argument, np.generic):
        return argument.dtype.name
    if isinstance(argument, tuple):
        return described(argument).kind
    return None


class Described(NamedTuple):
    """A named tuple, with what it costs too much to work out at every call; whoever uses the words holds all of it."""

    value: Any
    kind: Any
    words: Any
    inner: list[Any]


_described: dict[int, Described] = {}
MOST_DESCRIBED = 64


def described(value: Any) -> Described:
    """The kind and words of a named tuple; its arrays stay where they are as long as it lives, and it lives in here."""
    found = _described.get(id(value))
    if found is None or found.value is not value:
        inner: list[Any] = []
        words = words_of(value, inner)
        kind = (type(value).__module__, type(value).__name__, tuple(map(kind_of, value)))
        found = Described(value, kind, (ctypes.c_uint64 * len(words))(*words), inner)
        if len(_described) >= MOST_DESCRIBED:
            _described.clear()
        _described[id(value)] = found
    return found


def read_kind(argument: Any) -> Any:
    """The same from an entry of a manifest."""
    if isinstance(argument, str):
        return argument
    if isinstance(argument, dict):
        home, name = argument["name"].split(":")
        return (home, name, tuple(map(read_kind, argument["fields"])))
    return tuple(argument)


def words_of(arguments: Any, keep: list[Any]) -> list[int]:
    """The words of arguments; ``keep`` holds what some of them point to, and must outlive the call."""
    words: list[int] = []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            words.append(address_of(argument))
            words.extend(argument.shape)
        elif isinstance(argument, tuple):
            found = described(argument)
            keep.append(found)
            words.append(ctypes.addressof(found.words))
        elif isinstance(argument, np.float32):
            words.append(_bits32(argument))
        elif isinstance(argument, float):
            words.append(_bits(argument))
        else:
            words.append(int(argument) & _MASK)
    return words


class Version(NamedTuple):
    """A prebuilt kernel for one list of types."""

    symbol: str
    address: Callable[[int], int]
    back: Callable[[int], Any]

    def __call__(self, arguments: Any) -> Any:
        keep: list[Any] = []
        words = words_of(arguments, keep)
        frame = (ctypes.c_uint64 * len(words))(*words)
        return self.back(self.address(ctypes.addressof(frame)))


def versions(name: str) -> dict[Any, Version]:
    """The prebuilt versions of a kernel, by the kinds of their arguments."""
    using = chosen()
    if using.path is None:
        return {}
    code, found = _load(using.path), {}
    for symbol, arguments, returns in using.kernels.get(name, ()):
        function = code[symbol]
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_uint64
        found[tuple(map(read_kind, arguments))] = Version(symbol, function, _RETURNS[returns])
    return found
