"""The jobs of noise, of local protocols and of the keystream."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs import reports
from benchmarks.jobs.job import Job
from benchmarks.rivals.ways import Judge


def _noise(name: str, kind: str, dtype: str, description: str, mechanism: Callable[[], Any], random: float) -> Job:
    return Job(name, "noise", kind, dtype, description, mechanism, random=random)


def _krr(name: str, dtype: str, domain: int) -> Job:
    description = f"k-ary randomized response, k = {domain:,}, epsilon 1"
    make = functools.partial(fd.KRR, epsilon=1.0, domain=domain)
    random = 2 if domain <= 126 else 3
    return Job(name, "local", "krr", dtype, description, make, size=10_000_000, domain=domain, random=random)


def _truths(name: str, kind: str, make: Callable[[int], np.ndarray], judge: Judge) -> Job:
    how = "packed bits" if kind == "packed-truths" else "bytes"
    mechanism = functools.partial(fd.RandomizedResponse, epsilon=1.0)
    description = f"randomized response on bools, {how}, epsilon 1"
    return Job(name, "local", kind, "bool", description, mechanism, size=10_000_000, make=make, judge=judge, random=1.1)


def _sets(k: int) -> Job:
    description = f"optimized unary encoding, k = {k:,}, epsilon 1"
    mechanism = functools.partial(fd.UnaryEncoding, epsilon=1.0, domain=k)
    return Job(
        f"oue-{k}", "local", "sets", "int32", description, mechanism, unit="bits", size=40_000_000, domain=k,
        make=lambda bits: reports.codes_of(k, bits // k), judge=reports.judge_sets, random=9 / 8,
    )  # fmt: skip


def _sets_count(k: int) -> Job:
    description = f"support counts of unary reports, k = {k:,}"
    mechanism = functools.partial(fd.UnaryEncoding, epsilon=1.0, domain=k)
    return Job(
        f"oue-count-{k}", "local", "sets-count", "uint8", description, mechanism, unit="bits", size=80_000_000,
        domain=k, make=functools.partial(reports.sets_of, k), judge=reports.judge_bit_counts,
    )  # fmt: skip


def _reports(name: str, kind: str, mechanism: Any, k: int, size: int, what: str, judge: Judge, random: float) -> Job:
    return Job(
        name, "local", kind, "int32", f"{what}, k = {k:,}, epsilon 1",
        functools.partial(mechanism, epsilon=1.0, domain=k), unit="reports", size=size, domain=k,
        make=functools.partial(reports.codes_of, k), judge=judge, random=random,
    )  # fmt: skip


def _numbers(name: str, mechanism: Any, low: float, judge: Judge, random: float, kind: str | None = None) -> Job:
    return Job(
        name, "local", kind or name, "float64", f"{name.replace('-', ' ')} mechanism, epsilon 1",
        functools.partial(mechanism, epsilon=1.0, bounds=(low, 1.0)),
        make=functools.partial(reports.shares_of, low), judge=judge, random=random,
    )  # fmt: skip


def _keystream(name: str, description: str) -> Job:
    return Job(
        name, "keystream", "keystream", "uint8", description,
        lambda: None, unit="bytes", size=32_000_000, random=1, traffic=lambda _job, size: (0, size, 1),
    )  # fmt: skip


JOBS = (
    _noise(
        "laplace-float64", "laplace", "float64", "Laplace, sensitivity 1, epsilon 1",
        lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0), 6,
    ),
    _noise(
        "laplace-float64-small-epsilon", "laplace", "float64", "Laplace, sensitivity 1, epsilon 0.01",
        lambda: fd.Laplace(epsilon=0.01, sensitivity=1.0), 8,
    ),
    _noise(
        "laplace-float32", "laplace", "float32", "Laplace, sensitivity 1, epsilon 1",
        lambda: fd.Laplace(epsilon=1.0, sensitivity=1.0), 6,
    ),
    _noise(
        "geometric-int64-1.4", "geometric", "int64", "two-sided geometric, scale 1.4",
        lambda: fd.Geometric(scale=1.4), 2,
    ),
    _noise(
        "geometric-int64-1400", "geometric", "int64", "two-sided geometric, scale 1,400",
        lambda: fd.Geometric(scale=1400.0), 4,
    ),
    _noise(
        "gaussian-float64", "gaussian", "float64", "Gaussian, sensitivity 1, epsilon 1, delta 1e-6",
        lambda: fd.Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0), 6,
    ),
    _noise(
        "gaussian-float64-rho", "gaussian", "float64", "Gaussian, sensitivity 1, rho 0.5",
        lambda: fd.Gaussian(rho=0.5, sensitivity=1.0), 6,
    ),
    _noise(
        "discrete-gaussian-5", "discrete-gaussian", "int64", "discrete Gaussian, sigma 5",
        lambda: fd.DiscreteGaussian(scale=5.0), 2,
    ),
    _krr("krr-uint8-10", "uint8", 10),
    _krr("krr-uint8-100", "uint8", 100),
    _krr("krr-int32-1000", "int32", 1000),
    _truths("rr-bool", "truths", reports.truths_of, reports.judge_truths),
    _truths("rr-packed", "packed-truths", reports.packed_truths_of, reports.judge_packed_truths),
    *(_sets(k) for k in (100, 1000)),
    *(_sets_count(k) for k in (100, 1000)),
    _reports(
        "subset-100", "subset", fd.SubsetSelection, 100, 200_000, "subset selection", reports.judge_sets, 56,
    ),
    _reports(
        "hadamard-1000", "hadamard", fd.HadamardResponse, 1000, 4_000_000, "Hadamard response",
        reports.judge_indices, 4,
    ),
    _reports("olh-1000", "hashes", fd.LocalHashing, 1000, 2_000_000, "optimal local hashing", reports.judge_hashes, 10),
    Job(
        "olh-count-1000", "local", "hashes-count", "reports", "support counts of local hashing, k = 1,000",
        functools.partial(fd.LocalHashing, epsilon=1.0, domain=1000), unit="reports", size=20_000, domain=1000,
        make=functools.partial(reports.hashes_of, 1000), judge=reports.judge_hash_counts,
    ),
    _numbers("duchi", fd.Duchi, -1.0, reports.judge_means, 2),
    _numbers("piecewise", fd.Piecewise, -1.0, reports.judge_means, 6),
    _numbers("square-wave", fd.SquareWave, 0.0, reports.judge_waves, 6, kind="wave"),
    _keystream("keystream", "random bytes, written to memory"),
    _keystream("keystream-chacha20", "random bytes of the cipher for every CPU, written to memory"),
)  # fmt: skip
