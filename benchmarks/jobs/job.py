"""A job: something worth timing, its input, and the law that its output is held to."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.jobs.laws import LAWS, Law
from benchmarks.rivals.ways import Judge


class CheckError(AssertionError):
    """An output does not follow its law, and must not be timed."""


@functools.lru_cache(maxsize=16)
def make_input(dtype: str, size: int, domain: int = 0) -> np.ndarray:
    """Codes of a domain, else zeros for bytes, else numbers from 0 to 100; read-only, for all libraries share it."""
    source = np.random.default_rng(2026)
    made: Any
    if domain:
        made = source.integers(0, domain, size).astype(dtype)
    elif dtype == "uint8":
        made = np.zeros(size, np.uint8)
    elif dtype == "int64":
        made = source.integers(0, 100, size)
    else:
        made = source.uniform(0, 100, size).astype(dtype, copy=False)
    made.flags.writeable = False
    return made


@dataclass(frozen=True)
class Job:
    """Something worth timing: ``size`` values of ``dtype`` in, as many out, whose noise follows the law of ``kind``.

    Jobs of other shapes make their own input for a size, and judge outputs themselves. ``random`` is how many random
    bytes a unit takes, as the mechanism's docstring says. ``traffic`` gives the bytes that a call must read and write,
    and in how many passes over the same ones, where these are not its input and output, once; ``operations`` how many
    multiplications and additions it cannot do without, where these are many. The limit of a job for
    which ``limit`` names a library is what that library does. A ``heavy`` job has no place in a quick run. With
    ``threads``, the clock counts all of them. A full run takes so many ``rounds``: few where a rival takes minutes.
    """

    name: str
    topic: str
    kind: str
    dtype: str
    description: str
    mechanism: Callable[[], Any]
    unit: str = "values"
    size: int = 4_000_000
    domain: int = 0
    make: Callable[[int], Any] | None = None
    judge: Judge | None = None
    random: float = 0
    operations: Callable[[Job, int], float] | None = None
    traffic: Callable[[Job, int], tuple[float, float, float]] | None = None
    limit: str | None = None
    heavy: bool = False
    threads: int = 1
    rounds: int = 21

    def values(self, size: int) -> Any:
        """The input of the job."""
        return self.make(size) if self.make else make_input(self.dtype, size, self.domain)

    def law(self, kind: str) -> Law:
        """The exact law of what the job adds to its input."""
        return LAWS[kind](self.mechanism() if kind == "krr" else self.scale)

    @functools.cached_property
    def scale(self) -> float:
        """The scale of the noise, the same for every library."""
        return float(self.mechanism().scale) if self.topic == "noise" else 1.0

    @functools.cached_property
    def granularity(self) -> float:
        """The grid that floats are put on."""
        return float(self.mechanism().granularity)

    def draws(self, output: Any, size: int) -> np.ndarray:
        """What an output of ``size`` adds to its input; the bytes themselves for a keystream."""
        if self.kind == "keystream":
            return np.frombuffer(output, np.uint8)
        noisy = np.asarray(output)
        if noisy.shape != (size,) or (isinstance(output, np.ndarray) and noisy.dtype != self.dtype):
            raise CheckError(f"{self.name}: an output of {size} {self.dtype} is due, got {noisy.size} {noisy.dtype}")
        added = noisy - self.values(size).astype(np.result_type(self.dtype, np.int64))
        return added % self.domain if self.domain else added

    def moved(self, output: Any, size: int) -> tuple[float, float, float]:
        """The bytes that a call must read and write, and in how many passes."""
        return self.traffic(self, size) if self.traffic else (size_of(self.values(size)), size_of(output), 1)


def size_of(found: Any) -> int:
    """The bytes of an array, of several, or of a list of numbers."""
    if isinstance(found, tuple):
        return sum(size_of(part) for part in found)
    return int(found.nbytes) if hasattr(found, "nbytes") else 8 * len(found)
