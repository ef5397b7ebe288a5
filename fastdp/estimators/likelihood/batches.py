"""Many vectors of counts at once: the products of all rows with the channel are one matrix product."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from fastdp.channels import GeometricChannel
from fastdp.estimators.likelihood.accelerate import LEAST_LOG
from fastdp.estimators.likelihood.maximise import FIRST_GAP, MOST_EVALUATIONS, is_krr, maximise
from fastdp.estimators.likelihood.problem import Problem, read_start
from fastdp.estimators.likelihood.search import certificate
from fastdp.estimators.result import Estimate

BETWEEN_SUMS = 16
"""Steps of EM after which sums that rounding has moved are set to 1 again."""


def maximise_each(
    problems: Sequence[Problem], p: np.ndarray, tolerance: float, limit: int | None, method: str
) -> list[Estimate]:
    """Maximum-likelihood estimates for problems with the same channels, from one start.

    First-order steps of all of them are matrix products. With ``method="auto"`` each goes on alone, by second-order
    steps, once it is near.
    """
    channels = problems[0].channels
    is_line = len(channels) == 1 and isinstance(channels[0], GeometricChannel)
    if method == "second-order" or (method == "auto" and (is_line or is_krr(channels))):
        return [maximise(one, p, tolerance=tolerance, limit=limit, method=method) for one in problems]
    if method == "em" and limit is not None:
        return _em_many(problems, p, limit)
    return _climb(problems, p, tolerance, limit, method)


def maximise_many(
    problem: Problem, counts: Sequence[np.ndarray], tolerance: float, iterations: int | None
) -> list[Estimate]:
    """Maximum-likelihood estimates for a problem's channels and rows of other counts; EM if iterations are given."""
    problems = [problem.with_counts([part[row] for part in counts]) for row in range(len(counts[0]))]
    p = read_start("ibu", None, problem.size)
    return maximise_each(problems, p, tolerance, iterations, "auto" if iterations is None else "em")


class Gradients:
    """Gradients of many problems that have the same channels."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self._parts = [
            channel.prepare(np.array([one.shares[i] for one in problems]))
            for i, channel in enumerate(problems[0].channels)
        ]

    def __call__(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """G and the mean log-likelihood of each row."""
        with np.errstate(all="ignore"):
            pairs = [part.gradient(rows) for part in self._parts]
        g, likelihood = pairs[0]
        for more, also in pairs[1:]:
            g, likelihood = g + more, likelihood + also
        good = np.isfinite(likelihood) & np.isfinite(g.sum(axis=-1))
        return g, np.where(good, likelihood, -math.inf)

    def step(self, rows: np.ndarray) -> np.ndarray:
        """G of each row alone: its likelihood would cost a fifth more."""
        g: np.ndarray | None = None
        for part in self._parts:
            d = part.channel.forward(rows)
            if d.min() > 0:
                w = np.divide(part.counts, d, out=d)
            else:
                w = np.divide(part.counts, d, out=np.zeros(d.shape), where=(part.counts > 0) & (d > 0))
            more = part.channel.backward(w)
            g = more if g is None else g + more
        assert g is not None  # a problem has at least one channel
        return g


def _estimate(
    problem: Problem, p: np.ndarray, g: np.ndarray, likelihood: float, iterations: int, name: str
) -> Estimate:
    gap = certificate(g) if likelihood > -math.inf else math.inf
    return Estimate(p, gap, likelihood * problem.n, iterations, name, problem.n)


def _em_many(problems: Sequence[Problem], p: np.ndarray, iterations: int) -> list[Estimate]:
    """Exactly so many steps of EM for each."""
    gradients = Gradients(problems)
    rows = np.tile(p, (len(problems), 1))
    for done in range(1, iterations + 1):
        rows *= gradients.step(rows)
        if done % BETWEEN_SUMS == 0:
            rows /= rows.sum(axis=1, keepdims=True)
    rows /= rows.sum(axis=1, keepdims=True)
    g, likelihoods = gradients(rows)
    return [_estimate(one, rows[i], g[i], float(likelihoods[i]), iterations, "EM") for i, one in enumerate(problems)]


def _climb(
    problems: Sequence[Problem], start: np.ndarray, tolerance: float, limit: int | None, method: str
) -> list[Estimate]:
    """First-order steps of all rows together until each is near or done; then each goes on alone if it must."""
    near = FIRST_GAP if method == "auto" else tolerance
    until = max(tolerance, near)
    name = "EM" if method == "em" else "accelerated first order"
    results: list[Estimate | None] = [None] * len(problems)
    left = np.arange(len(problems))
    gradients = Gradients(problems)
    logs = np.tile(np.log(start), (left.size, 1))
    plain = previous = logs
    t, current = np.ones(left.size), np.full(left.size, -math.inf)
    for evaluation in range(1, (limit or MOST_EVALUATIONS) + 1):
        rows = np.exp(logs)
        rows /= rows.sum(axis=1, keepdims=True)
        g, likelihood = gradients(rows)
        with np.errstate(divide="ignore", invalid="ignore"):
            gap = np.where(likelihood > -math.inf, np.log(g.max(axis=1)), math.inf)
        done = (gap <= until) | (evaluation == (limit or MOST_EVALUATIONS))
        if done.any():
            for i in np.flatnonzero(done):
                problem = problems[left[i]]
                found = _estimate(problem, rows[i], g[i], float(likelihood[i]), evaluation, name)
                results[left[i]] = found if found.gap <= tolerance else _go_on(found, problem, tolerance, limit, method)
            keep = ~done
            if not keep.any():
                break
            left = left[keep]
            gradients = Gradients([problems[int(i)] for i in left])
            logs, plain, previous, g = logs[keep], plain[keep], previous[keep], g[keep]
            t, current, likelihood = t[keep], current[keep], likelihood[keep]
        fell = (likelihood < current) & (t > 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.maximum(logs + np.log(g), LEAST_LOG)
        step -= step.max(axis=1, keepdims=True)
        # where it fell, momentum is dropped and the last plain step taken instead
        previous = np.where(fell[:, None], plain, plain if evaluation > 1 else step)
        plain = np.where(fell[:, None], plain, step)
        current = np.where(fell, current, likelihood)
        after = np.where(fell, 1.0, (1 + np.sqrt(1 + 4 * t * t)) / 2)
        weight = np.where(fell | (method == "em"), 0.0, (t - 1) / after)
        logs = plain + weight[:, None] * (plain - previous)
        logs = np.maximum(logs - logs.max(axis=1, keepdims=True), LEAST_LOG)
        t = after
    return [result for result in results if result is not None]


def _go_on(found: Estimate, problem: Problem, tolerance: float, limit: int | None, method: str) -> Estimate:
    """Second-order steps from what the first-order ones found, within what is left of the limit."""
    if method != "auto" or (limit is not None and found.iterations >= limit):
        return found
    start = np.maximum(found.distribution, 1e-300)
    more = maximise(
        problem,
        start / start.sum(),
        tolerance=tolerance,
        limit=None if limit is None else limit - found.iterations,
        method="second-order",
    )
    return replace(more, iterations=found.iterations + more.iterations)
