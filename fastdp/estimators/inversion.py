"""Estimation by inverting the channel: unbiased, not always a distribution."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels import LARGEST_DENSE, Channel, GeometricChannel, GridChannel, KRRChannel
from fastdp.channels.hadamard import HadamardChannel
from fastdp.errors import NotIdentifiableError, ParameterError
from fastdp.estimators.likelihood.deconvolution import deconvolve
from fastdp.estimators.likelihood.problem import plain_channel, read_counts
from fastdp.estimators.simplex import clip_simplex, project_simplex
from fastdp.typing import Matrix

LARGEST_CONDITION = 1e12
"""Beyond it, rounding alone could change the estimate in its fourth digit."""
LARGEST_WRITTEN = 2_000
"""Cells of a map whose channel is written out: a second."""


def invert(channel: Channel | Matrix, counts: ArrayLike, project: str | None = None) -> np.ndarray:
    """The solution p of p C = counts / n, unbiased; least squares where there are more outputs than inputs.

    ``channel`` may be a plain matrix, inputs by outputs. The solution may be negative: ``project="clip"`` sets such
    entries to 0 and divides by the sum, ``"simplex"`` takes the nearest distribution. O(k) for k-RR and for the
    geometric on a line, O(k log k) for Hadamard response, some tens of products for grids of more than 2,000 cells,
    O(k**3) otherwise. A channel whose rows depend on each other, or nearly, is refused: then only :func:`ibu` helps.

    Parameters
    ----------
    channel
        A channel, or its matrix, inputs by outputs.
    counts
        How many reports are each output of the channel.
    project
        "simplex" or "clip" for probabilities, None for the unbiased estimate.

    >>> from fastdp.channels import KRRChannel
    >>> survey = KRRChannel(2, 0.75, 0.25)
    >>> invert(survey, [60, 40]).round(6).tolist()
    [0.7, 0.3]
    >>> invert(survey, [80, 20]).round(6).tolist()
    [1.1, -0.1]
    >>> invert(survey, [80, 20], project="simplex").tolist()
    [1.0, 0.0]
    """
    channel = plain_channel("invert", channel)
    if not isinstance(channel, Channel):
        raise ParameterError(f"invert: channel must be a Channel or a matrix, got {type(channel).__name__}")
    if project is not None:
        validation.one_of("invert", "project", project, ("clip", "simplex"))
    counts = read_counts("invert", counts, channel.shape[1])
    shares = counts / counts.sum()
    if isinstance(channel, KRRChannel):
        p = _invert_krr(channel, shares)
    elif isinstance(channel, GeometricChannel):
        p = _invert_line(channel, shares)
    elif isinstance(channel, HadamardChannel):
        p = _invert_hadamard(channel, shares)
    elif isinstance(channel, GridChannel) and shares.size > LARGEST_WRITTEN:
        p = _invert_map(channel, shares)
    else:
        p = _solve(channel, shares)
    if project is None:
        return p
    return clip_simplex(p) if project == "clip" else project_simplex(p)


def _unidentifiable(reason: str) -> NotIdentifiableError:
    return NotIdentifiableError(
        f"invert: the channel {reason}, so many distributions give the same outputs; ibu(channel, counts) finds one of "
        "the likeliest"
    )


def _invert_krr(channel: KRRChannel, shares: np.ndarray) -> np.ndarray:
    row = channel.row(0)
    p, q = float(row[0]), float(row[-1]) if row.size > 1 else 0.0
    if abs(p - q) * LARGEST_CONDITION <= 1:
        raise _unidentifiable("has equal rows")
    return (shares - q) / (p - q)


def _invert_line(channel: GeometricChannel, shares: np.ndarray) -> np.ndarray:
    """(shares / c) T, with T = K**-1 tridiagonal: -a beside and 1 + a**2, at the ends 1, on the diagonal."""
    if shares.size == 1:
        return np.ones(1)
    a, complement = math.exp(-channel.rate), -math.expm1(-channel.rate)
    if complement * complement * LARGEST_CONDITION <= 1:
        raise _unidentifiable("has nearly equal rows")
    v = shares * ((1 + a) / complement)
    v[[0, -1]] *= complement
    p = (1 + a * a) * v
    p[[0, -1]] = v[[0, -1]]
    p[1:] -= a * v[:-1]
    p[:-1] -= a * v[1:]
    return p / (complement * (1 + a))


def _invert_hadamard(channel: HadamardChannel, shares: np.ndarray) -> np.ndarray:
    """Least squares: rows are (1 + s H) / K for orthogonal rows of signs H, so that C C' = (1 + s**2 I) / K."""
    inputs, outputs = channel.shape
    row = channel.row(0)
    contrast = float(row.max() - row.min()) * outputs / 2
    if contrast * contrast * LARGEST_CONDITION <= 1:
        raise _unidentifiable("has nearly equal rows")
    sums = outputs * channel.backward(shares)
    solved: np.ndarray = (sums - sums.sum() / (contrast * contrast + inputs)) / (contrast * contrast)
    return solved


def _invert_map(channel: GridChannel, shares: np.ndarray) -> np.ndarray:
    p = deconvolve(channel, shares, LARGEST_CONDITION)
    if p is None:
        raise _unidentifiable("is ill-conditioned: its noise is too wide for its cells")
    return p


def _solve(channel: Channel, shares: np.ndarray) -> np.ndarray:
    inputs, outputs = channel.shape
    if outputs < inputs:
        raise _unidentifiable(f"has fewer outputs, {outputs}, than inputs, {inputs}")
    if outputs > LARGEST_DENSE:
        raise ParameterError(
            f"invert: a channel with {outputs} outputs is too large to solve, {LARGEST_DENSE} is the most; use ibu"
        )
    matrix = channel.dense()
    if inputs == outputs:
        try:
            inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise _unidentifiable("is singular") from None
        condition = np.abs(matrix).sum(axis=0).max() * np.abs(inverse).sum(axis=0).max()
        if not condition <= LARGEST_CONDITION:
            raise _unidentifiable(f"is ill-conditioned ({condition:.0e})")
        solved: np.ndarray = shares @ inverse
        solved += (shares - solved @ matrix) @ inverse  # one step of refinement
        return solved
    solved, _, rank, singular = np.linalg.lstsq(matrix.T, shares, rcond=None)
    if rank < inputs or singular[0] > LARGEST_CONDITION * singular[-1]:
        raise _unidentifiable("has rows that depend on each other")
    return solved
