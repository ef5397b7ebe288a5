"""One run of an iterative estimator: its budget, the best point so far, callbacks and the progress bar."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from fastdp.estimators.likelihood.problem import Problem
from fastdp.typing import Progress

Callback = Callable[[int, np.ndarray, float, float], Any]

PATIENCE_SECONDS = 2.0
"""A run that takes longer shows a progress bar, on a terminal."""


class StopRun(Exception):  # noqa: N818  (it is no error)
    """The certificate is below the tolerance, or the budget of evaluations is spent."""


def certificate(g: np.ndarray) -> float:
    """The logarithm of max G: how far the mean log-likelihood is from the best, at most."""
    largest = float(g.max())
    return max(0.0, math.log(largest)) if 0 < largest < math.inf else math.inf


class Run:
    """Evaluations of one problem: counted, remembered if best, and shown."""

    def __init__(
        self,
        problem: Problem,
        *,
        tolerance: float,
        limit: int | None = None,
        callback: Callback | None = None,
        progress: Progress | bool | None = None,
    ) -> None:
        self.problem = problem
        self.tolerance, self.limit = tolerance, limit
        self.evaluations = 0
        self.p = np.full(problem.size, 1 / problem.size)
        self.g: np.ndarray = np.ones(problem.size)
        self.likelihood, self.gap = -math.inf, math.inf
        self._callback = callback
        self._first_gap = math.inf
        self._bar = Bar(progress)

    def evaluate(self, p: np.ndarray) -> tuple[np.ndarray, float]:
        """G and the mean log-likelihood at ``p``; the best point is kept, and the run stops when it is certified."""
        if self.limit is not None and self.evaluations >= self.limit:
            raise StopRun
        g, likelihood = self.problem.gradient(p)
        self.evaluations += 1
        self.offer(p, g, likelihood)
        if self._callback is not None:
            self._callback(self.evaluations, self.p, self.gap, self.likelihood)
        if self._bar.is_due:
            text = f"step {self.evaluations:,}, gap {self.gap:.1e}"
            self._bar.show(self._part_done(), text, self.evaluations, self.limit)
        if self.gap <= self.tolerance:
            raise StopRun
        return g, likelihood

    @property
    def is_quiet(self) -> bool:
        """Whether no callback and no progress bar follows the steps."""
        return self._callback is None and not self._bar.is_wanted

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
        self._bar.close()

    def _part_done(self) -> float:
        """By the orders of magnitude of the gap that are behind, or by the budget if more of that is."""
        if self._first_gap == math.inf:
            self._first_gap = self.gap
        part = self.evaluations / self.limit if self.limit else 0.0
        if not 0 < self.gap < math.inf:
            return part
        whole = math.log(self._first_gap / max(self.tolerance, 1e-15))
        return max(part, math.log(self._first_gap / self.gap) / whole if whole > 0 else 0.0)


class Bar:
    """A bar of rich on standard error, once a run has taken long, or a function that is called instead."""

    def __init__(self, progress: Progress | bool | None) -> None:
        self._callback = None if progress is None or isinstance(progress, bool) else progress
        self.is_wanted = sys.stderr.isatty() if progress is None else bool(progress)
        """Whether somebody may be watching."""
        self._started = time.monotonic()
        self._progress: Any = None
        self._task: Any = None

    @property
    def is_due(self) -> bool:
        """Whether the run has taken long enough, and is watched."""
        has_waited = self._callback is not None or time.monotonic() - self._started > PATIENCE_SECONDS
        return self.is_wanted and has_waited

    def show(self, part: float, text: str, step: int, most: int | None) -> None:
        """The part done, from 0 to 1, what to say of it, and the steps that this is of."""
        if self._callback is not None:
            self._callback(step, most)
            return
        if self._progress is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("ibu"), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            self._progress = Progress(*columns, console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task("", total=1.0)
        self._progress.update(self._task, completed=min(1.0, max(0.0, part)), description=text)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None
