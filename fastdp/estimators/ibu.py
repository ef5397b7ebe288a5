"""The iterative Bayesian update and its faster kin: the maximum likelihood, with a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels import Channel, GeometricChannel, KRRChannel
from fastdp.errors import ParameterError
from fastdp.estimators.accelerate import run_em, run_nesterov
from fastdp.estimators.line import run_line
from fastdp.estimators.problem import Problem, read_counts, read_start
from fastdp.estimators.result import Estimate
from fastdp.estimators.run import Callback, Run, StopRun
from fastdp.estimators.second_order import run_interior, run_second_order
from fastdp.kernels.simplex import fill_krr_likeliest

METHODS = ("auto", "em", "nesterov", "second-order")
MOST_EVALUATIONS = 100_000
"""Gradients that a run without a limit of its own takes at most."""
MOST_ROUNDS = 20
PATIENCE = 500
FIRST_GAP = 3e-4
FIRST_GAP_LARGE = 1e-4
"""Where first-order steps hand over to second-order ones: from further away the support would be too large."""
LARGE = 10_000


def ibu(
    channel: Channel | Sequence[tuple[Channel, Any]],
    counts: Any = None,
    *,
    start: Any = None,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    method: str = "auto",
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Any:
    """The distribution of inputs that makes the counts of outputs likeliest, as an :class:`Estimate`.

    Its ``gap`` is a certificate: no distribution has a mean log-likelihood per report that is more than ``gap`` better.
    ``method="auto"`` stops when the gap is at most ``tolerance``: in closed form for k-RR, by a banded interior-point
    method for the geometric on a line, else by accelerated first-order and then second-order steps on the support.
    ``"em"`` is the update as taught, p <- p G, exactly ``max_iterations`` times, or until the gap is small enough if
    that is None. In the other methods ``max_iterations`` bounds the number of gradients. The best point met is what
    comes back, also after an interrupt from the keyboard.

    People with different mechanisms over the same values are one estimate: ``ibu([(channel, counts), ...])``. A matrix
    of counts, one row per group, gives a list of estimates. ``callback(iteration, p, gap, log_likelihood)`` is called
    after each gradient with the best so far; ``progress=False`` hides the bar that long runs show on a terminal.

    The likeliest distribution of few reports can be far from the truth: :func:`estimate` regularises.
    [Agrawal, Aggarwal 2001; ElSalamouny, Palamidessi 2020]

    >>> from fastdp.channels import KRRChannel
    >>> survey = KRRChannel(2, 0.75, 0.25)
    >>> ibu(survey, [60, 40]).distribution.round(6).tolist()
    [0.7, 0.3]
    >>> ibu(survey, [60, 40], method="em", max_iterations=1).distribution.round(6).tolist()
    [0.55, 0.45]
    """
    if type(channel) is KRRChannel and method == "auto" and start is None and _is_vector(counts):
        return _krr(channel, counts)
    validation.one_of("ibu", "method", method, METHODS)
    if not validation.is_number(tolerance) or not 0 <= tolerance < math.inf:
        raise ParameterError(f"ibu: tolerance must be a finite number >= 0, got {tolerance!r}")
    if max_iterations is not None and (method != "em" or max_iterations != 0):
        max_iterations = validation.positive_integer("ibu", "max_iterations", max_iterations)
    parts = _read_parts(channel, counts)
    if len(parts) == 1 and np.ndim(parts[0][1]) == 2:
        from fastdp.estimators.batches import ibu_many

        if callback is not None:
            raise ParameterError("ibu: callback is for one vector of counts; call ibu for each row")
        return ibu_many(
            parts[0][0], parts[0][1], start=start, tolerance=tolerance, max_iterations=max_iterations, method=method
        )
    problem = Problem("ibu", parts)
    p = read_start("ibu", start, problem.size)
    return maximise(
        problem, p, tolerance=tolerance, limit=max_iterations, method=method, callback=callback, progress=progress
    )


def _is_vector(counts: Any) -> bool:
    return counts.ndim == 1 if isinstance(counts, np.ndarray) else np.ndim(counts) == 1


def _read_parts(channel: Any, counts: Any) -> list[tuple[Channel, Any]]:
    if isinstance(channel, Channel) or counts is not None:
        return [(channel, counts)]
    if not isinstance(channel, Sequence) or not all(isinstance(part, Sequence) and len(part) == 2 for part in channel):
        raise ParameterError("ibu: give a channel and its counts, or a list of such pairs")
    return [(part[0], part[1]) for part in channel]


def _krr(channel: KRRChannel, counts: Any) -> Estimate:
    """The closed form; one pass and few calls, since it takes only microseconds."""
    values = np.asarray(counts)
    row = channel.row(0)
    size = row.size
    if values.shape != row.shape or values.dtype.kind not in "iuf":
        values = read_counts("ibu", counts, size)
    values = values.astype(np.float64)
    p, q = row.item(0), row.item(-1) if size > 1 else 0.0
    if not p > q:
        return maximise(Problem("ibu", [(channel, values)]), read_start("ibu", None, size))
    out, summary = np.empty(size), np.empty(3)
    fill_krr_likeliest(values, p, q, row, out, summary)
    n, likelihood, largest = summary.tolist()
    if not 0 < n < math.inf:
        read_counts("ibu", counts, size)  # says what is wrong
    gap = max(0.0, math.log(largest))
    return Estimate(out, gap, likelihood, 0, "closed form of k-RR", n, None, _KrrSource(channel, values))


class _KrrSource:
    """Where a closed form came from: the problem is put together only if someone asks for its spread."""

    __slots__ = ("_channel", "_counts")

    def __init__(self, channel: KRRChannel, counts: np.ndarray) -> None:
        self._channel, self._counts = channel, counts

    def __call__(self, estimate: Estimate) -> Any:
        from fastdp.estimators.intervals import likelihood_spread

        return likelihood_spread(Problem("ibu", [(self._channel, self._counts)]))(estimate)


def maximise(
    problem: Problem,
    p: np.ndarray,
    *,
    tolerance: float = 1e-6,
    limit: int | None = None,
    method: str = "auto",
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Estimate:
    """The likeliest distribution for a checked problem, from a start inside the simplex."""
    exact = method == "em" and limit is not None
    told = None
    if callback is not None:

        def told(iteration: int, best: np.ndarray, gap: float, likelihood: float) -> None:
            callback(iteration, best, gap, likelihood * problem.n)

    run = Run(
        problem,
        tolerance=-1.0 if exact else tolerance,
        limit=None if exact else limit or MOST_EVALUATIONS,
        callback=told,
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
    from fastdp.estimators.intervals import likelihood_spread

    return Estimate(
        run.p, run.gap, run.likelihood * problem.n, iterations, name, problem.n, None, likelihood_spread(problem)
    )


def _first_gap(problem: Problem) -> float:
    return FIRST_GAP_LARGE if problem.size >= LARGE else FIRST_GAP


def _finish(run: Run) -> None:
    """Second-order steps; where they do not get on, an interior-point method, or more first-order steps before them."""
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
