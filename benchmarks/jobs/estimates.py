"""The jobs of estimation: iterations on each kind of channel, and whole estimates."""

from __future__ import annotations

import functools
from typing import Any

from benchmarks.jobs import estimation, problems
from benchmarks.jobs.job import Job
from benchmarks.rivals.ways import Judge


def _steps(
    name: str, description: str, size: int, make: Any, *arguments: Any, kind: str = "steps", heavy: bool = False
) -> Job:
    return Job(
        name, "estimation", kind, "float64", f"an iteration, {description}", functools.partial(make, *arguments),
        unit="iterations", size=size, make=estimation.times_of, judge=estimation.judge_steps,
        operations=problems.operations_of, traffic=problems.pass_of, heavy=heavy,
    )  # fmt: skip


def _estimates(
    name: str, kind: str, description: str, judge: Judge, make: Any, *arguments: Any, size: int = 1,
    heavy: bool = False,
) -> Job:  # fmt: skip
    return Job(
        name, "estimation", kind, "float64", description, functools.partial(make, *arguments),
        unit="estimates", size=size, make=estimation.times_of, judge=judge, operations=problems.operations_of,
        traffic=problems.pass_of, heavy=heavy,
    )  # fmt: skip


JOBS = (
    _steps("ibu-dense-100", "dense 100 x 100", 2_000, estimation.dense, 100),
    _steps("ibu-dense-1000", "dense 1,000 x 1,000", 20, estimation.dense, 1000),
    _steps("ibu-dense-4000", "dense 4,000 x 4,000", 2, estimation.dense, 4000, heavy=True),
    _steps(
        "ibu-dense-4000-float32", "dense 4,000 x 4,000 in 32 bits", 2, estimation.dense, 4000, "float32",
        kind="steps-float32", heavy=True,
    ),
    _steps(
        "ibu-dense-4000-tenth", "dense 4,000 x 4,000, a tenth of the counts not zero", 2,
        estimation.dense, 4000, "float64", 0.1, heavy=True,
    ),
    _steps("ibu-dense-10000", "dense 10,000 x 10,000", 1, estimation.dense, 10_000, heavy=True),
    _steps(
        "ibu-dense-10000-float32", "dense 10,000 x 10,000 in 32 bits", 1, estimation.dense, 10_000, "float32",
        kind="steps-float32", heavy=True,
    ),
    _steps("ibu-line-1000", "geometric on 1,000 numbers", 2_000, estimation.line, 1000, 0.05),
    _steps("ibu-line-10000", "geometric on 10,000 numbers", 200, estimation.line, 10_000, 0.05, heavy=True),
    _steps(
        "ibu-sparse-4000", "4,000 values, 41 reports each", 200, problems.sparse, 4000, 20, kind="steps-sparse",
        heavy=True,
    ),
    _steps("ibu-product-60", "two geometrics, 60 x 60", 200, problems.product, 60),
    _steps("ibu-hadamard-1000", "Hadamard response, k = 1,000", 1_000, problems.hadamard, 1000),
    _steps("ibu-cohorts-1000", "local hashing in 100 cohorts, k = 1,000", 100, problems.cohorts, 1000, 100),
    _steps(
        "ibu-support-100", "the reports themselves, 20,000 of unary encoding, k = 100", 100, problems.support, 100,
        20_000,
    ),
    _steps("ibu-grid-30", "planar Laplace on 30 x 30 cells", 200, estimation.grid, 30),
    _steps("ibu-grid-100", "planar Laplace on 100 x 100 cells", 20, estimation.grid, 100, heavy=True),
    Job(
        "ibu-em-1000", "estimation", "em", "float64", "EM as taught, a step, symmetric 1,000 x 1,000",
        functools.partial(estimation.ring, 1000), unit="iterations", size=50, make=estimation.times_of,
        judge=estimation.judge_em, operations=problems.operations_of, traffic=problems.pass_of,
    ),
    _estimates(
        "ibu-krr-1000", "estimate", "k-RR, k = 1,000, a whole estimate; by hand 1,000 iterations",
        estimation.judge_gap, estimation.krr, 1000, size=200,
    ),
    _estimates(
        "ibu-grid-50-to-gap", "to-gap-on-a-grid", "planar Laplace on 50 x 50 cells to a gap of 1e-6",
        estimation.judge_gap, estimation.grid, 50, heavy=True,
    ),
    _estimates(
        "ibu-line-1000-to-gap", "to-gap", "geometric on 1,000 numbers to a gap of 1e-6", estimation.judge_gap,
        estimation.line, 1000, 0.05, size=4,
    ),
    _estimates(
        "ibu-dense-300-to-gap", "within-reach", "dense 300 x 300 to a gap of 1e-6", estimation.judge_gap,
        estimation.dense, 300, size=4,
    ),
    _estimates(
        "ibu-many-64", "many", "64 count vectors, 20 iterations each, dense 1,000 x 1,000", estimation.judge_many,
        estimation.many, 64, 1000, heavy=True,
    ),
)  # fmt: skip
