"""The maximum likelihood of the truncated geometric on a line."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels import GeometricChannel
from fastdp.estimators.likelihood.search import Run
from fastdp.kernels.products.interior import step_interior

MOST_STEPS = 60
IDLE_STEPS = 6
"""Steps without a better gap before the method gives up: it has met the limits of float64."""


def run_line(run: Run, channel: GeometricChannel) -> None:
    """Interior-point steps, each O(n), until the run stops or no longer improves; 10 to 20 are usual."""
    size, q = run.problem.size, run.problem.shares[0]
    a, complement = math.exp(-channel.rate), -math.expm1(-channel.rate)
    c = np.full(size, complement / (1 + a))
    c[[0, -1]] = 1 / (1 + a) if size > 1 else 1.0
    p, z = np.full(size, 1 / size), np.ones(size)
    work = np.zeros((12, size))
    idle, best = 0, math.inf
    run.evaluate(p)
    for _ in range(MOST_STEPS):
        if math.isnan(step_interior(a, c, q, p, z, work)):
            return
        run.evaluate(p)
        idle = 0 if run.gap < 0.5 * best else idle + 1
        best = min(best, run.gap)
        if idle > IDLE_STEPS:
            return
