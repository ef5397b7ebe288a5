"""The mechanism all of whose privacy constraints are tight."""

from __future__ import annotations

import numpy as np

from fastdp.errors import ParameterError
from fastdp.mechanisms.annotations import NumberMatrix, frozen
from fastdp.mechanisms.metric.exponential import LOG_ERROR, MetricMatrix

LARGEST_CUT = 1e-6
"""The part of epsilon that may go to what float64 cannot resolve."""


@frozen(eq=False)
class TightConstraints(MetricMatrix):
    """Report y instead of x with probability w(y) e**(-epsilon d(x, y)), where w makes every row sum to 1.

    epsilon-d-private for one report per person, with nothing given away: each report's probabilities change by exactly
    e**(epsilon d) between it and any value. It loses least for a whole region of priors, the uniform one often
    among them. On a line it is the truncated geometric mechanism, for values that are all equally far apart k-RR. The
    weights w solve a linear system in the matrix e**(-epsilon d); it exists only where none of them is negative, which
    is so for every metric once epsilon is large enough. ``epsilon`` is per ``unit`` of ``distance``, a matrix that
    obeys the triangle inequality.

    2 random bytes per report for most. [ElSalamouny, Chatzikokolakis, Palamidessi 2014]

    Parameters
    ----------
    epsilon
        The privacy per unit of distance, all of which every pair of values uses up.
    distance
        The matrix of distances between values, a metric.
    unit
        The unit of distance, for the guarantee's text.

    >>> import fastdp as fd
    >>> mechanism = fd.TightConstraints(epsilon=0.7, distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]])
    >>> truncated = fd.Geometric(epsilon=0.7, bounds=(0, 2))
    >>> bool(abs(mechanism.channel().dense() - truncated.channel().dense()).max() < 1e-8)
    True
    """

    distance: NumberMatrix

    def __post_init__(self) -> None:
        owner, epsilon, distance = self._read()
        # A row that misses 1 by t moves a log-ratio by t when it is divided by its sum: taken off epsilon beforehand.
        nearest = float(distance[distance > 0].min())
        missed = float(np.abs(_solve(owner, epsilon, distance).sum(axis=1) - 1).max())
        cut = 4 * (2 * missed + LOG_ERROR + epsilon * float(distance.max()) * 2.0**-50) / nearest
        if cut > LARGEST_CUT * epsilon:
            raise ParameterError(
                f"{owner}: epsilon times the least distance is beyond float64's resolution; choose another epsilon"
            )
        matrix = _solve(owner, epsilon - cut, distance)
        self._set_up(matrix / matrix.sum(axis=1, keepdims=True))


def _solve(owner: str, epsilon: float, distance: np.ndarray) -> np.ndarray:
    """The matrix w(y) e**(-epsilon d(x, y)) with the weights that make its rows sum to 1."""
    with np.errstate(over="ignore"):
        kernel = np.exp(-epsilon * distance)
    try:
        weights = np.linalg.solve(kernel, np.ones(len(kernel)))
    except np.linalg.LinAlgError:
        weights = np.full(len(kernel), -1.0)
    if not (weights >= 0).all():
        raise ParameterError(
            f"{owner}: no mechanism makes all constraints tight for this metric at epsilon {epsilon:g}: its weights "
            "would be negative. Use OptimalMechanism or ExponentialMetric, or a larger epsilon"
        )
    matrix: np.ndarray = kernel * weights
    return matrix
