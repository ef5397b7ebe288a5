"""What the machine itself can do, in the same run: copy and read memory, make keystream, multiply and add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.measuring.timing import Task, Times, interleave
from benchmarks.measuring.yardsticks import SIZES, compute
from benchmarks.rivals.ways import openssl_cipher

LARGE, MIDDLE, SMALL = 64_000_000, 4 << 20, 128 << 10
"""Bytes of an array: beyond every cache, within the one that cores share, and within a core's own."""
REPEATS = 200
STREAM = 1 << 16
STREAMS = 100
CIPHERS = ("aes-256-ctr", "chacha20", "own-keystream")


def _copy(size: int, times: int) -> Callable[[], Any]:
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)

    def call() -> None:
        for _ in range(times):
            np.copyto(target, source)

    return call


def _read(size: int, times: int) -> Callable[[], Any]:
    """A product of numbers with themselves: read once, a multiplication and an addition each."""
    numbers = np.ones(size // 8)

    def call() -> None:
        for _ in range(times):
            np.dot(numbers, numbers)

    return call


def _keystream(cipher: str) -> Callable[[], Any]:
    """OpenSSL's, over and over into the same 64 KiB, so that nothing but the cipher is measured."""
    encryptor, zeros, out = openssl_cipher(cipher, bytes(32)), bytes(STREAM), bytearray(STREAM)

    def call() -> None:
        for _ in range(STREAMS):
            encryptor.update_into(zeros, out)

    return call


def _own_keystream() -> Callable[[], Any]:
    """fastdp's, in the same way: where it is faster than OpenSSL's, the limit is its own."""
    from fastdp.kernels.stream.keystream import fill_plane
    from fastdp.random.generator import key_words, process_generator

    key, counters = key_words(process_generator(), bytes(32)), np.empty(16, np.uint64)
    out = np.zeros(STREAM // 4, np.uint32)

    def call() -> None:
        for _ in range(STREAMS):
            fill_plane(key, np.uint32(1), np.uint64(0), counters, out)

    return call


def tasks() -> list[Task]:
    """Everything that is measured here, in bytes or operations; ciphers only where the package for them is."""
    found = []
    for name, make in (("copy", _copy), ("read", _read)):
        found.append(Task(name, LARGE, make(LARGE, 1)))
        found.append(Task(f"{name}-shared", MIDDLE * REPEATS // 20, make(MIDDLE, REPEATS // 20)))
        found.append(Task(f"{name}-cached", SMALL * REPEATS, make(SMALL, REPEATS)))
    found.append(Task("arithmetic", SIZES["compute"], compute()))
    found.append(Task("own-keystream", STREAM * STREAMS, _own_keystream()))
    for cipher in ("aes-256-ctr", "chacha20"):
        try:
            found.append(Task(cipher, STREAM * STREAMS, _keystream(cipher)))
        except ImportError:
            continue
    return found


def measure(rounds: int, tick: Callable[[], Any] = lambda: None) -> list[dict[str, Any]]:
    """Times of each, from interleaved rounds."""
    return [{"name": name, **asdict(times)} for name, times in interleave(tasks(), rounds, tick=tick).items()]


def rates(found: list[dict[str, Any]]) -> dict[str, float]:
    """Bytes or operations per second of each, and of the best cipher under the name "keystream"."""
    known = {row["name"]: Times(row["size"], row["cpu"], row["wall"]).speed() for row in found}
    ciphers = [known[name] for name in CIPHERS if name in known]
    return known | ({"keystream": max(ciphers)} if ciphers else {})


def level(held: float) -> str:
    """Where so many bytes stay from one use to the next: the end of a limit's name."""
    if held <= 2 * SMALL:
        return "-cached"
    return "-shared" if held <= 2 * MIDDLE else ""


def least_seconds(
    known: dict[str, float], reads: float, writes: float, random: float, times: float = 1, operations: float = 0
) -> tuple[float, str]:
    """The time that no call can beat which moves so many bytes and needs so many random ones; and what sets it.

    Reading runs at most at the speed of reading, writing at that of copying, and both together at the faster of these,
    where a copy counts twice; keystream runs at the speed of the best cipher, and arithmetic at that of a product of
    matrices. All can happen at once, so the slowest of them is the limit. A call that moves the same bytes several
    ``times`` finds them in the cache that holds them.
    """
    where = level((reads + writes) / times)
    read, copy = known["read" + where], known["copy" + where]
    least = {
        "reading": reads / read,
        "copying": max(writes / copy, (reads + writes) / max(read, 2 * copy)),
        "keystream": random / known["keystream"] if "keystream" in known else 0.0,
        "arithmetic": operations / known["arithmetic"] if "arithmetic" in known else 0.0,
    }
    name = max(least, key=lambda key: least[key])
    return least[name], name
