"""The maximum of the likelihood: in closed form where there is one, else by the steps that suit the channel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastdp.channels import Channel, GeometricChannel, KRRChannel
from fastdp.estimators.likelihood.accelerate import run_em, run_nesterov
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.likelihood.search import Callback, Run, StopRun
from fastdp.estimators.likelihood.second_order import run_interior, run_second_order
from fastdp.estimators.likelihood.truncated_geometric import run_line
from fastdp.estimators.result import Estimate
from fastdp.kernels.products.simplex import fill_krr_likeliest
from fastdp.typing import Progress

METHODS = ("auto", "em", "nesterov", "second-order")
MOST_EVALUATIONS = 100_000
"""Gradients that a run without a limit of its own takes at most."""
MOST_ROUNDS = 20
PATIENCE = 500
FIRST_GAP = 3e-4
FIRST_GAP_LARGE = 1e-4
"""Where first-order steps hand over to second-order ones: from further away the support would be too large."""
LARGE = 10_000
ROUNDING = 2.0**-51
"""Four half units in the last place per value: the most by which sums over all values round, in the closed form's
certificate and in the distribution's own total."""


def is_krr(channels: Sequence[Channel]) -> bool:
    """Whether all reports are of one k-RR."""
    return len(channels) == 1 and type(channels[0]) is KRRChannel


def krr_likeliest(
    channel: Channel, counts: np.ndarray, spread: Callable[[Estimate], Any] | None = None
) -> Estimate | None:
    """The likeliest distribution for k-RR in closed form; None where it has none, or counts are not what they must be.

    One pass and few calls, since it takes only microseconds.
    """
    row = channel.row(0)
    size = row.size
    p, q = row.item(0), row.item(-1) if size > 1 else 0.0
    if not p > q:
        return None
    out, summary = np.empty(size), np.empty(3)
    fill_krr_likeliest(counts, p, q, row, out, summary)
    n, likelihood, largest = summary.tolist()
    if not 0 < n < math.inf:
        return None
    gap = max(0.0, math.log(largest)) + (size + 4) * ROUNDING
    return Estimate(out, gap, likelihood, 0, "closed form of k-RR", n, None, spread)


def maximise(
    problem: Problem,
    p: np.ndarray,
    *,
    tolerance: float = 1e-6,
    limit: int | None = None,
    method: str = "auto",
    callback: Callback | None = None,
    progress: Progress | bool | None = None,
) -> Estimate:
    """The likeliest distribution for a checked problem, from a start inside the simplex; it knows of no spread.

    With ``method="auto"`` it is k-RR's closed form where there is one, which needs no start.
    """
    if method == "auto" and callback is None and is_krr(problem.channels):
        found = krr_likeliest(problem.channels[0], problem.counts[0])
        if found is not None:
            return found
    exact = method == "em" and limit is not None
    report = None
    if callback is not None:

        def report(iteration: int, best: np.ndarray, gap: float, likelihood: float) -> None:
            callback(iteration, best, gap, likelihood * problem.n)

    run = Run(
        problem,
        tolerance=-1.0 if exact else tolerance,
        limit=None if exact else limit or MOST_EVALUATIONS,
        callback=report,
        progress=progress,
    )
    name = {"em": "EM", "nesterov": "accelerated first order"}.get(method, "accelerated first and second order")
    try:
        if method == "em":
            run_em(run, p, limit)
        elif method == "nesterov":
            run_nesterov(run, p, 0.0)
        else:
            if method == "auto" and len(problem.channels) == 1 and isinstance(problem.channels[0], GeometricChannel):
                name = "interior point on a line"
                run_line(run, problem.channels[0])
            else:
                run_nesterov(run, p, _first_gap(problem))
            _finish(run)
    except StopRun:
        pass
    except KeyboardInterrupt:
        name += ", interrupted"
    finally:
        run.close()
    if run.likelihood == -math.inf:  # not one gradient was finite, or none was taken
        run.p = p
    iterations = limit if exact and "interrupted" not in name and limit is not None else run.evaluations
    return Estimate(run.p, run.gap, run.likelihood * problem.n, iterations, name, problem.n)


def _first_gap(problem: Problem) -> float:
    return FIRST_GAP_LARGE if problem.size >= LARGE else FIRST_GAP


def _finish(run: Run) -> None:
    """Second-order steps; where these fail, an interior-point method, or more first-order steps before them."""
    idle = 0
    for _ in range(MOST_ROUNDS):
        gap, likelihood = run.gap, run.likelihood
        run_second_order(run)
        run_interior(run)
        run_second_order(run)
        start = np.maximum(run.p, 1e-12 / run.problem.size)
        run_nesterov(run, start / start.sum(), run.gap / 10, PATIENCE)
        got_on = run.gap < 0.9 * gap or run.likelihood > likelihood + 1e-13 * (1 + abs(likelihood))
        idle = 0 if got_on else idle + 1
        if idle == 2:
            return  # the limit of the channel's own precision
