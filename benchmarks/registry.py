"""Every job and every library that does it: one list for the checks and for the clock."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks import estimation, reports
from benchmarks.laws import LAWS, Law, p_value
from benchmarks.libraries import LIBRARIES, Library
from benchmarks.ways import Call, Judge, Way

ALPHA = 1e-4
QUICK = 10
"""A quick run gives every job a tenth of its input."""


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

    Jobs of other shapes make their own input for a size, and judge outputs themselves.
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
    make: Callable[[int], np.ndarray] | None = None
    judge: Judge | None = None

    def values(self, size: int) -> np.ndarray:
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


@dataclass(frozen=True)
class Entry:
    """One job done by one library. ``setup(size)`` gives the call that does the whole job once."""

    job: Job
    library: Library
    way: Way

    def __str__(self) -> str:
        return f"{self.job.name}-{self.library.name}"

    def size(self, *, quick: bool = False) -> int:
        """How many values this library is given."""
        size = min(self.job.size, self.way.largest or self.library.largest or self.job.size)
        return size // QUICK if quick else size

    def setup(self, size: int) -> Call:
        return self.way.make(self.job, self.job.values(size))

    def check(self, call: Call, size: int) -> float | None:
        """The p-value of the call's output under its law, None for outputs that are compared one by one.

        Raises CheckError if it lies below ALPHA twice in a row: chance alone does that once in 10**8.
        """
        output = call()
        due = self.way.exact(self.job.values(size)) if self.way.exact else None
        if due is not None and not np.array_equal(due, output):
            raise CheckError(f"{self}: the output is not what it must be")
        law = self.way.law or self.job.kind
        if law == "none":
            return None
        judge = self.way.judge or self.job.judge
        for again in (False, True):
            drawn = call() if again else output
            if judge:
                p = judge(self.job, drawn, self.job.values(size))
            else:
                p = p_value(self.job.law(law), self.job.draws(drawn, size))
            if p >= ALPHA:
                return p
        raise CheckError(f"{self}: the output does not follow its law, p = {p:.2g}")


def _noise(name: str, kind: str, dtype: str, description: str, mechanism: Callable[[], Any]) -> Job:
    return Job(name, "noise", kind, dtype, description, mechanism)


def _krr(name: str, dtype: str, domain: int) -> Job:
    description = f"k-ary randomized response, k = {domain:,}, epsilon 1"
    make = functools.partial(fd.KRR, epsilon=1.0, domain=domain)
    return Job(name, "local", "krr", dtype, description, make, size=10_000_000, domain=domain)


def _truths(name: str, kind: str, make: Callable[[int], np.ndarray], judge: Judge) -> Job:
    how = "packed bits" if kind == "packed-truths" else "bytes"
    mechanism = functools.partial(fd.RandomizedResponse, epsilon=1.0)
    description = f"randomized response on bools, {how}, epsilon 1"
    return Job(name, "local", kind, "bool", description, mechanism, size=10_000_000, make=make, judge=judge)


def _sets(k: int) -> Job:
    description = f"optimized unary encoding, k = {k:,}, epsilon 1"
    mechanism = functools.partial(fd.UnaryEncoding, epsilon=1.0, domain=k)
    return Job(
        f"oue-{k}", "local", "sets", "int32", description, mechanism, unit="bits", size=40_000_000, domain=k,
        make=lambda bits: reports.codes_of(k, bits // k), judge=reports.judge_sets,
    )  # fmt: skip


def _sets_count(k: int) -> Job:
    description = f"support counts of unary reports, k = {k:,}"
    mechanism = functools.partial(fd.UnaryEncoding, epsilon=1.0, domain=k)
    return Job(
        f"oue-count-{k}", "local", "sets-count", "uint8", description, mechanism, unit="bits", size=80_000_000,
        domain=k, make=functools.partial(reports.sets_of, k), judge=reports.judge_bit_counts,
    )  # fmt: skip


def _reports(name: str, kind: str, mechanism: Any, k: int, size: int, what: str, judge: Judge) -> Job:
    return Job(
        name, "local", kind, "int32", f"{what}, k = {k:,}, epsilon 1",
        functools.partial(mechanism, epsilon=1.0, domain=k), unit="reports", size=size, domain=k,
        make=functools.partial(reports.codes_of, k), judge=judge,
    )  # fmt: skip


def _numbers(name: str, mechanism: Any, low: float, judge: Judge, kind: str | None = None) -> Job:
    return Job(
        name, "local", kind or name, "float64", f"{name.replace('-', ' ')} mechanism, epsilon 1",
        functools.partial(mechanism, epsilon=1.0, bounds=(low, 1.0)),
        make=functools.partial(reports.shares_of, low), judge=judge,
    )  # fmt: skip


def _steps(name: str, description: str, size: int, make: Any, *arguments: Any, kind: str = "steps") -> Job:
    return Job(
        name, "estimation", kind, "float64", f"an iteration, {description}", functools.partial(make, *arguments),
        unit="iterations", size=size, make=estimation.times_of, judge=estimation.judge_steps,
    )  # fmt: skip


def _estimates(name: str, kind: str, description: str, judge: Judge, make: Any, *arguments: Any, size: int = 1) -> Job:
    return Job(
        name, "estimation", kind, "float64", description, functools.partial(make, *arguments),
        unit="estimates", size=size, make=estimation.times_of, judge=judge,
    )  # fmt: skip


ESTIMATION_JOBS = (
    _steps("ibu-dense-100", "dense 100 x 100", 2_000, estimation.dense, 100),
    _steps("ibu-dense-4000", "dense 4,000 x 4,000", 2, estimation.dense, 4000),
    _steps(
        "ibu-dense-4000-float32", "dense 4,000 x 4,000 in 32 bits", 2, estimation.dense, 4000, "float32",
        kind="steps-float32",
    ),
    _steps(
        "ibu-dense-4000-tenth", "dense 4,000 x 4,000, a tenth of the counts not zero", 2,
        estimation.dense, 4000, "float64", 0.1,
    ),
    _steps("ibu-dense-10000", "dense 10,000 x 10,000", 1, estimation.dense, 10_000),
    _steps(
        "ibu-dense-10000-float32", "dense 10,000 x 10,000 in 32 bits", 1, estimation.dense, 10_000, "float32",
        kind="steps-float32",
    ),
    _steps("ibu-line-10000", "geometric on 10,000 numbers", 200, estimation.line, 10_000, 0.05),
    _steps("ibu-grid-100", "planar Laplace on 100 x 100 cells", 20, estimation.grid, 100),
    Job(
        "ibu-em-1000", "estimation", "em", "float64", "EM as taught, a step, symmetric 1,000 x 1,000",
        functools.partial(estimation.ring, 1000), unit="iterations", size=50, make=estimation.times_of,
        judge=estimation.judge_em,
    ),
    _estimates(
        "ibu-krr-1000", "estimate", "k-RR, k = 1,000, a whole estimate; by hand 1,000 iterations",
        estimation.judge_gap, estimation.krr, 1000, size=200,
    ),
    _estimates(
        "ibu-grid-50-to-gap", "to-gap", "planar Laplace on 50 x 50 cells to a gap of 1e-6", estimation.judge_gap,
        estimation.grid, 50,
    ),
    _estimates(
        "ibu-many-64", "many", "64 count vectors, 20 iterations each, dense 1,000 x 1,000", estimation.judge_many,
        estimation.many, 64, 1000,
    ),
)  # fmt: skip
JOBS = (
    _noise(
        "laplace-float64", "laplace", "float64", "Laplace, sensitivity 1, epsilon 1",
        lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0),
    ),
    _noise(
        "laplace-float64-small-epsilon", "laplace", "float64", "Laplace, sensitivity 1, epsilon 0.01",
        lambda: fd.Laplace(epsilon=0.01, sensitivity=1.0),
    ),
    _noise(
        "laplace-float32", "laplace", "float32", "Laplace, sensitivity 1, epsilon 1",
        lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0),
    ),
    _noise(
        "geometric-int64-1.4", "geometric", "int64", "two-sided geometric, scale 1.4",
        lambda: fd.Geometric(scale=1.4),
    ),
    _noise(
        "geometric-int64-1400", "geometric", "int64", "two-sided geometric, scale 1,400",
        lambda: fd.Geometric(scale=1400.0),
    ),
    _noise(
        "gaussian-float64", "gaussian", "float64", "Gaussian, sensitivity 1, epsilon 1, delta 1e-6",
        lambda: fd.Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0),
    ),
    _noise(
        "gaussian-float64-rho", "gaussian", "float64", "Gaussian, sensitivity 1, rho 0.5",
        lambda: fd.Gaussian(rho=0.5, sensitivity=1.0),
    ),
    _noise(
        "discrete-gaussian-5", "discrete-gaussian", "int64", "discrete Gaussian, sigma 5",
        lambda: fd.DiscreteGaussian(scale=5.0),
    ),
    _krr("krr-uint8-10", "uint8", 10),
    _krr("krr-uint8-100", "uint8", 100),
    _krr("krr-int32-1000", "int32", 1000),
    _truths("rr-bool", "truths", reports.truths_of, reports.judge_truths),
    _truths("rr-packed", "packed-truths", reports.packed_truths_of, reports.judge_packed_truths),
    *(_sets(k) for k in (100, 1000)),
    *(_sets_count(k) for k in (100, 1000)),
    _reports(
        "subset-100", "subset", fd.SubsetSelection, 100, 200_000, "subset selection", reports.judge_sets
    ),
    _reports(
        "hadamard-1000", "hadamard", fd.HadamardResponse, 1000, 4_000_000, "Hadamard response", reports.judge_indices
    ),
    _reports("olh-1000", "hashes", fd.LocalHashing, 1000, 2_000_000, "optimal local hashing", reports.judge_hashes),
    Job(
        "olh-count-1000", "local", "hashes-count", "reports", "support counts of local hashing, k = 1,000",
        functools.partial(fd.LocalHashing, epsilon=1.0, domain=1000), unit="reports", size=20_000, domain=1000,
        make=functools.partial(reports.hashes_of, 1000), judge=reports.judge_hash_counts,
    ),
    _numbers("duchi", fd.Duchi, -1.0, reports.judge_means),
    _numbers("piecewise", fd.Piecewise, -1.0, reports.judge_means),
    _numbers("square-wave", fd.SquareWave, 0.0, reports.judge_waves, kind="wave"),
    *ESTIMATION_JOBS,
    Job(
        "keystream", "keystream", "keystream", "uint8", "random bytes, written to memory",
        lambda: None, unit="bytes", size=32_000_000,
    ),
)  # fmt: skip
TOPICS = tuple(dict.fromkeys(job.topic for job in JOBS))


def _entries() -> list[Entry]:
    found = []
    for job in JOBS:
        for library in LIBRARIES.values():
            way = library.ways.get(job.name) or library.ways.get(job.kind)
            if way is not None:
                found.append(Entry(job, library, way))
    return found


ENTRIES = tuple(_entries())


def entries(*, topic: str | None = None, job: str | None = None) -> list[Entry]:
    """The entries of a topic, of a job, or all."""
    return [entry for entry in ENTRIES if topic in {None, entry.job.topic} and job in {None, entry.job.name}]


def entry(job: str, library: str) -> Entry:
    """The one entry of that job and library."""
    return next(found for found in entries(job=job) if found.library.name == library)
