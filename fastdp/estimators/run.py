"""One run of an iterative estimator: its budget, the best point so far, and who is told about it."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fastdp.estimators.problem import Problem

Callback = Callable[[int, np.ndarray, float, float], Any]

PATIENCE_SECONDS = 2.0
"""A run that takes longer shows a progress bar, on a terminal."""


class StopRun(Exception):  # noqa: N818  (it is no error)
    """The certificate is below the tolerance, or the budget of evaluations is spent."""


def certificate(g: np.ndarray) -> float:
    """The logarithm of max G: how far the mean log-likelihood is from the best, at most."""
    return max(0.0, math.log(float(g.max())))


class Run:
    """Evaluations of one problem: counted, remembered if best, and shown."""

    def __init__(
        self,
        problem: Problem,
        *,
        tolerance: float,
        limit: int | None = None,
        callback: Callback | None = None,
        progress: bool | None = None,
    ) -> None:
        self.problem = problem
        self.tolerance, self.limit = tolerance, limit
        self.evaluations = 0
        self.p = np.full(problem.size, 1 / problem.size)
        self.g: np.ndarray = np.ones(problem.size)
        self.likelihood, self.gap = -math.inf, math.inf
        self._callback = callback
        self._bar = _Bar(tolerance, limit) if progress or (progress is None and sys.stderr.isatty()) else None

    def evaluate(self, p: np.ndarray) -> tuple[np.ndarray, float]:
        """G and the mean log-likelihood at ``p``; the best point is kept, and the run stops when it is certified."""
        if self.limit is not None and self.evaluations >= self.limit:
            raise StopRun
        g, likelihood = self.problem.gradient(p)
        self.evaluations += 1
        self.offer(p, g, likelihood)
        if self._callback is not None:
            self._callback(self.evaluations, self.p, self.gap, self.likelihood)
        if self._bar is not None:
            self._bar.show(self.evaluations, self.gap)
        if self.gap <= self.tolerance:
            raise StopRun
        return g, likelihood

    def offer(self, p: np.ndarray, g: np.ndarray, likelihood: float) -> None:
        """Keep a point if it is the best: the likelier, or as likely to the last digits and with the better proof."""
        if not likelihood > -math.inf:
            return
        gap = certificate(g)
        slack = 4e-16 * (1 + abs(likelihood))
        if likelihood > self.likelihood + slack or (likelihood >= self.likelihood - slack and gap < self.gap):
            self.p, self.g, self.likelihood, self.gap = p.copy(), g.copy(), likelihood, gap

    def settle(self, p: np.ndarray, g: np.ndarray, likelihood: float) -> None:
        """Take this point as the result, whatever came before."""
        self.p, self.g, self.likelihood, self.gap = p, g, likelihood, certificate(g)

    def close(self) -> None:
        """Take the progress bar away."""
        if self._bar is not None:
            self._bar.close()


class _Bar:
    """A bar of rich on standard error, once a run has taken long: orders of magnitude of the gap still to go."""

    def __init__(self, tolerance: float, limit: int | None) -> None:
        self._tolerance, self._limit = max(tolerance, 1e-15), limit
        self._started = time.monotonic()
        self._first = math.nan
        self._progress: Any = None
        self._task: Any = None

    def show(self, iteration: int, gap: float) -> None:
        if math.isnan(self._first) and 0 < gap < math.inf:
            self._first = gap
        now = time.monotonic()
        if now - self._started < PATIENCE_SECONDS:
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("ibu"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task("", total=1.0)
        span = math.log(self._first / self._tolerance) if self._first > self._tolerance else 1.0
        done = math.log(self._first / gap) / span if 0 < gap < math.inf else 0.0
        if self._limit is not None:
            done = max(done, iteration / self._limit)
        self._progress.update(
            self._task, completed=min(1.0, max(0.0, done)), description=f"step {iteration:,}, gap {gap:.1e}"
        )

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
