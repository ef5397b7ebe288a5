"""What is known of maps before any report: neighbours are alike, and how many steps towards the likeliest are typical.

The number of steps that comes closest to the truth, in total variation or in earth mover's distance, follows a law of
the number of reports within reach of the noise: on two cities, with 300 to 10,000 reports, cells of two sizes and noise
of three, the mean is within a factor of 1.4 (docs/locations.md has the table). What held-out reports like best scatters
by more and, for one city, goes up where the best number goes down: chance that makes reports look structured makes them
likelier and the map worse. So the law is a prior, and evidence wins where it is strong: of made-up cities with sharper
spots, of more reports, and of maps of a few cells, which want more steps.
"""

from __future__ import annotations

import numpy as np

from fastdp.channels import Channel
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.smoothing.step_paths import After

MOST_BLUR = 0.25
"""Of an entry to each neighbour: (1, 2, 1) / 4."""
FADING = 2.0
"""Neighbours get so much, times the noise's variance in cells, over the square of the step's number: what accelerated
steps resolve goes with that square. Of 1/4, 1/2, 1, 2 and 4, two made the smallest errors on cells of 300 m and errors
as small as any on cells of 150 and 100 m; with less the best number of steps is missed more easily."""
TYPICAL, POWER = 3.8, 0.4
"""The typical number of steps is the first times the reports within reach of the noise to the second."""


LEAST_VARIANCE = 1.0
"""As of noise a cell wide: neighbours are alike also where there is hardly any, and reports are few."""


def is_map(problem: Problem, shape: tuple[int, ...] | None) -> bool:
    """Whether values are the cells of a map, and reports too."""
    if shape is None or len(shape) < 2 or min(shape) < 2:
        return False
    return all(channel.shape == (problem.size, problem.size) for channel in problem.channels)


def noise_variance(problem: Problem, shape: tuple[int, ...]) -> float:
    """How far reports are from the truth, in squared cells along an axis, for all reports together."""
    parts = zip(problem.channels, problem.shares, strict=True)
    return max(LEAST_VARIANCE, sum(float(shares.sum()) * _variance(channel, shape) for channel, shares in parts))


def typical_steps(problem: Problem, variance: float) -> float:
    """How many accelerated steps with fading averages usually come closest to the truth."""
    within_reach = problem.n * variance / problem.size
    return float(TYPICAL * within_reach**POWER)


def steady_blur(shape: tuple[int, ...]) -> After:
    """Averages of neighbours, (1, 2, 1) / 4 along each axis, after every step alike."""
    return lambda rows, _: _blur(rows, shape, MOST_BLUR)


def fading_blur(shape: tuple[int, ...], variance: float) -> After:
    """Averages of neighbours in which these count for less and less, so that the way still ends at the likeliest."""
    return lambda rows, step: _blur(rows, shape, min(MOST_BLUR, FADING * variance / step**2))


def _variance(channel: Channel, shape: tuple[int, ...]) -> float:
    """Of reports from the middle of the map."""
    middle = tuple(side // 2 for side in shape)
    row = channel.row(int(np.ravel_multi_index(middle, shape))).reshape(shape)
    axes = range(len(shape))
    along = [row.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    squares = [(np.arange(side) - centre) ** 2.0 for side, centre in zip(shape, middle, strict=True)]
    return float(np.mean([chances @ far for chances, far in zip(along, squares, strict=True)]))


def _blur(rows: np.ndarray, shape: tuple[int, ...], part: float) -> np.ndarray:
    """Rows of which each entry gave ``part`` to either neighbour along each axis; at the ends it keeps it."""
    block = rows.reshape(len(rows), *shape).copy()
    for axis in range(1, block.ndim):
        view = np.moveaxis(block, axis, 0)
        given = part * np.diff(view, axis=0)
        view[:-1] += given
        view[1:] -= given
    return block.reshape(rows.shape)
