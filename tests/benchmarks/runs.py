"""Runs made by hand, with exactly the speeds that a test needs."""

from __future__ import annotations

from typing import Any

from benchmarks.measuring.timing import Times

MACHINE = {
    "cpu": "A CPU",
    "cores": 2,
    "caches": {"L1": "32K"},
    "target": "znver4",
    "features": ["avx2", "avx512f"],
    "os": "Linux 6",
    "architecture": "x86_64",
    "libc": "glibc 2",
}


def rounds(seconds: float, spread: float = 0.0, count: int = 9) -> list[float]:
    """So many times around a median, evenly apart, the outermost ``spread`` of it away."""
    half = count // 2
    return [seconds * (1 + spread * (i - half) / max(half, 1)) for i in range(count)]


def noise(
    *, compute: float = 0.001, memory: float = 0.001, drift: float = 0.0, waiting: float = 0.0, gain: float = 2.0
) -> dict[str, Any]:
    """What a watch would have found: spreads are from end to end, twice what lies between the quartiles.

    Noise hits the second turn of a reference job alone, drift both.
    """
    from benchmarks.measuring.yardsticks import summary

    def times(size: float, seconds: float, spread: float, wait: float = 0.0) -> dict[str, Any]:
        cpu = rounds(seconds, spread)
        return {"size": size, "cpu": cpu, "wall": [value * (1 + wait) for value in cpu]}

    found = {
        "reference": {
            "compute": times(1e6, 0.001, drift, waiting),
            "memory": times(6e7, 0.01, drift),
            "compute-again": times(1e6, 0.001, drift + compute),
            "memory-again": times(6e7, 0.01, drift + memory),
        },
        "two": {
            "compute-one": times(1e6, 0.001, 0.0),
            "compute-two": times(2e6, 0.002 / gain, 0.0),
            "memory-one": times(6e7, 0.01, 0.0),
            "memory-two": times(12e7, 0.02 / 1.2, 0.0),
        },
    }
    return found | summary(found)


def job(name: str, seconds: float, *, size: int = 1000, topic: str = "noise", **rivals: float) -> dict[str, Any]:
    """A job that fastdp does in so many seconds, and rivals in theirs."""
    entries = [
        {"library": library, "p_value": 0.5, "size": size, "cpu": rounds(time, 0.01), "wall": rounds(time, 0.01)}
        for library, time in {"fastdp": seconds, **rivals}.items()
    ]
    return {
        "name": name, "topic": topic, "unit": "values", "dtype": "float64", "description": name, "random": 6.0,
        "moved": [8.0 * size, 8.0 * size, 1.0], "limit": None, "entries": entries, "quick": None,
    }  # fmt: skip


def limit(name: str, rate: float) -> dict[str, Any]:
    return {"name": name, **vars(Times(rate, [1.0] * 7, [1.0] * 7))}


def curve(name: str, axis: str, *libraries: str) -> dict[str, Any]:
    points = [
        {"x": x, "library": library, "threads": 1, "p_value": 0.5, "size": x, "cpu": [1e-6 * x] * 3,
         "wall": [1e-6 * x] * 3}
        for x in (10, 100, 1000) for library in libraries
    ]  # fmt: skip
    return {"name": name, "axis": axis, "unit": "values", "points": points}


def run(*jobs: dict[str, Any], commit: str = "abc1234", **more: Any) -> dict[str, Any]:
    """A whole run."""
    rates = {"copy": 1e10, "copy-shared": 2e10, "copy-cached": 3e10, "read": 2e10, "read-shared": 3e10,
             "read-cached": 5e10, "aes-256-ctr": 8e9, "chacha20": 5e9}  # fmt: skip
    made = {
        "format": 2, "when": "2026-01-01T00:00:00+00:00", "commit": commit, "dirty": False, "complete": True,
        "quick": False, "topic": None, "machine": MACHINE, "generator": "aes-256-ctr", "load": [0.0, 0.0],
        "versions": {"python": "3.11"},
        "libraries": {"fastdp": "ours", "memcpy": "a copy", "numpy": "theirs"}, "skipped": {}, "failed": [],
        "jobs": list(jobs), "noise": noise(), "limits": [limit(name, rate) for name, rate in rates.items()],
        "scaling": [curve("laplace-float64, by values", "n", "fastdp", "numpy"),
                    curve("ibu-dense, by channel", "channel", "fastdp", "numpy")],
        "calls": None,
    }  # fmt: skip
    return made | more
