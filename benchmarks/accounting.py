"""Compositions against dp-accounting: python -m benchmarks.accounting [--store] [job].

A run of all is stored; with --store the rows of the jobs that were run replace those that are stored.

One thread, CPU time, interleaved: the rival once, fastdp three times, for each round; the least of each counts. The
rival runs at its customary discretisation, 1e-4. Every result is checked before it is printed: our bracket must hold
its width, and the rival's answer must not lie below it by more than its discretisation allows.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.measuring import machine
from fastdp.losses import LaplaceLoss, SampledGaussianLoss

RESULTS = machine.ROOT / "bench_results" / "accounting.json"
INTERVAL = 1e-4
DELTA = 1e-6
SHUFFLED = {10**4: 0.114, 10**6: 0.0102, 10**9: 2.58e-4, 10**12: 5.6e-6}
"""Numbers of reports, and the epsilon that a delta of about 1e-8 belongs to."""


@dataclass(frozen=True)
class Job:
    """A composition, what the rival does of it, and the figures that are due."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], float] | None
    ratio: float
    width: float
    rounds: int = 2
    is_below: bool = False
    """Whether our upper end may not be above the rival's answer."""


def _laws() -> Any:
    from dp_accounting.pld import privacy_loss_distribution

    return privacy_loss_distribution


def _join(parts: Any) -> float:
    total = None
    for part in parts:
        total = part if total is None else total.compose(part, 1e-15)
    assert total is not None
    return float(total.get_epsilon_for_delta(DELTA))


def _epsilons() -> list[float]:
    return ((0.5 + np.random.default_rng(1).random(1000)) / math.sqrt(1000)).tolist()


def _samples(count: int) -> tuple[list[float], list[float]]:
    rng = np.random.default_rng(1)
    sigmas = 0.8 + rng.random(count) * 0.6
    return sigmas.tolist(), ((0.5 + rng.random(count)) * 0.5 / math.sqrt(count)).tolist()


def _total(parts: Any, width: float) -> Callable[[], Any]:
    return lambda: fd.compose(parts, width=width).epsilon(delta=DELTA)


def _laplace_pairs() -> Any:
    return (_laws().from_laplace_mechanism(1 / e, value_discretization_interval=INTERVAL) for e in _epsilons())


def _geometric_pairs() -> Any:
    return (_laws().from_discrete_laplace_mechanism(e, value_discretization_interval=INTERVAL) for e in _epsilons())


def _krr_pairs() -> Any:
    for e in _epsilons():
        lie = 10 / (math.exp(e) + 9)
        yield _laws().from_randomized_response(lie, 10, value_discretization_interval=INTERVAL)


def _sampled_pairs(count: int) -> Any:
    for sigma, rate in zip(*_samples(count), strict=True):
        yield _laws().from_gaussian_mechanism(sigma, sampling_prob=rate, value_discretization_interval=INTERVAL)


def _calibrated() -> Any:
    epsilons = _epsilons()
    return fd.calibrate(
        lambda scale: [LaplaceLoss(epsilon=e / scale) for e in epsilons], epsilon=1.0, delta=DELTA
    ).epsilon


def _shuffled(n: int, crowd: Any) -> Job:
    """One delta, near 1e-8."""
    return Job(f"shuffled k-RR, n = {n:,}", lambda: crowd.delta(epsilon=SHUFFLED[n]), None, 0, 1e-5)


def jobs() -> list[Job]:
    """All jobs; mechanisms are made beforehand, as the rival's parameters are."""
    laplace = [fd.Laplace(epsilon=e, sensitivity=1.0) for e in _epsilons()]
    geometric = [fd.Geometric(epsilon=e, sensitivity=1) for e in _epsilons()]
    krr = [fd.KRR(epsilon=e, domain=10) for e in _epsilons()]
    sigmas, rates = _samples(100)
    samples = [SampledGaussianLoss(mu=1 / sigma, rate=rate) for sigma, rate in zip(sigmas, rates, strict=True)]
    crowds = {n: fd.shuffled(fd.KRR(epsilon=3.0, domain=100), n=n) for n in SHUFFLED}
    return [
        Job("1,000 Laplace", _total(laplace, 2e-5), lambda: _join(_laplace_pairs()), 500, 3e-5, 1),
        Job("1,000 Laplace, fine", _total(laplace, 8e-7), lambda: _join(_laplace_pairs()), 150, 1e-6, 1, is_below=True),
        Job("1,000 geometric", _total(geometric, 2e-5), lambda: _join(_geometric_pairs()), 500, 3e-5, 1),
        Job(
            "1,000 geometric, fine", _total(geometric, 8e-7), lambda: _join(_geometric_pairs()), 150, 1e-6, 1,
            is_below=True,
        ),
        Job("1,000 k-RR", _total(krr, 2e-5), lambda: _join(_krr_pairs()), 500, 3e-5, 4),
        Job("1,000 k-RR, fine", _total(krr, 8e-7), lambda: _join(_krr_pairs()), 150, 1e-6, 4, is_below=True),
        Job("100 sampled Gaussians", _total(samples, 8e-6), lambda: _join(_sampled_pairs(100)), 400, 1e-5, 1),
        Job(
            "1e6 equal sampled Gaussians", _total([(SampledGaussianLoss(mu=1.0, rate=0.001), 10**6)], 1.5e-4),
            lambda: float(
                _laws()
                .from_gaussian_mechanism(1.0, sampling_prob=0.001, value_discretization_interval=INTERVAL)
                .self_compose(10**6)
                .get_epsilon_for_delta(DELTA)
            ),
            30, 2e-4, 3,
        ),
        Job(
            "1e6 equal Laplace", _total([(LaplaceLoss(epsilon=0.001), 10**6)], 1.5e-6),
            lambda: float(
                _laws()
                .from_laplace_mechanism(1000.0, value_discretization_interval=INTERVAL)
                .self_compose(10**6)
                .get_epsilon_for_delta(DELTA)
            ),
            200, 2e-6, 2,
        ),
        Job("1e6 randomized responses", _total([(fd.RandomizedResponse(epsilon=0.001), 10**6)], 1e-6), None, 0, 1e-12),
        Job("calibrated 1,000 Laplace", _calibrated, None, 0, 1e-5),
        *(_shuffled(n, crowd) for n, crowd in crowds.items()),
    ]  # fmt: skip


def _clock(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    found = call()
    return time.process_time() - start, found


def measure(job: Job) -> dict[str, Any]:
    """One row: seconds of both, their ratio and the width of our bracket."""
    job.ours()  # compile outside the clock
    ours, theirs, answer = [], [], None
    for _ in range(job.rounds):
        if job.theirs is not None:
            seconds, answer = _clock(job.theirs)
            theirs.append(seconds)
        for _ in range(3):
            seconds, found = _clock(job.ours)
            ours.append(seconds)
    width = (found.upper - found.lower) / found.upper
    assert width <= job.width, f"{job.name}: the bracket is {width:.2g} wide, {job.width:.2g} is due"
    assert answer is None or answer >= found.lower * (1 - 1e-3), f"{job.name}: the rival is far below our bracket"
    assert not job.is_below or found.upper <= answer, f"{job.name}: our upper end is above the rival's answer"
    row = {
        "job": job.name,
        "commit": machine.commit()["commit"],
        "ours_ms": round(min(ours) * 1e3, 3),
        "width": width,
        "due_width": job.width,
    }
    row |= {"lower": found.lower, "upper": found.upper}
    if theirs:
        ratio = min(theirs) / min(ours)
        row |= {"dp_accounting_s": round(min(theirs), 3), "dp_accounting": answer, "ratio": round(ratio)}
        row["due_ratio"] = job.ratio
    return row


def main(part: str, store: bool) -> None:
    """Print the rows of jobs with such a name; store them."""
    rows = []
    for one in jobs():
        if part in one.name:
            rows.append(measure(one))
            print(json.dumps(rows[-1]), flush=True)
    if store or not part:
        RESULTS.write_text(
            json.dumps({**machine.commit(), "machine": machine.facts(), "rows": _join_rows(rows)}, indent=1) + "\n"
        )


def _join_rows(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The new rows, and of the same machine the stored ones of other jobs, in the order of all jobs."""
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"machine": None, "rows": []}
    kept = stored["rows"] if stored["machine"] == machine.facts() else []
    found = {row["job"]: row for row in [*kept, *rows]}
    return [found[one.name] for one in jobs() if one.name in found]


if __name__ == "__main__":
    given = sys.argv[1:]
    main(" ".join(word for word in given if word != "--store"), "--store" in given)
