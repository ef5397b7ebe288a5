"""The iterative Bayesian update and its faster kin: the maximum likelihood, with a certificate."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels import Channel, KRRChannel
from fastdp.errors import ParameterError
from fastdp.estimators.intervals.spread import likelihood_spread, with_spread
from fastdp.estimators.likelihood.batches import maximise_each
from fastdp.estimators.likelihood.maximise import METHODS, krr_likeliest, maximise
from fastdp.estimators.likelihood.problem import Problem, check_possible, plain_channel, read_counts, read_start
from fastdp.estimators.likelihood.search import Callback
from fastdp.estimators.result import Estimate
from fastdp.typing import Matrix, Progress


@overload
def ibu(
    channel: Channel | Matrix | Sequence[tuple[object, object]],
    counts: np.ndarray | Sequence[float] | None = ...,
    *,
    start: ArrayLike | None = ...,
    tolerance: float = ...,
    max_iterations: int | None = ...,
    method: str = ...,
    callback: Callback | None = ...,
    progress: Progress | bool | None = ...,
) -> Estimate: ...
@overload
def ibu(
    channel: Channel | Matrix,
    counts: Sequence[Sequence[float] | np.ndarray],
    *,
    start: ArrayLike | None = ...,
    tolerance: float = ...,
    max_iterations: int | None = ...,
    method: str = ...,
) -> list[Estimate]: ...
def ibu(
    channel: Channel | Matrix | Sequence[tuple[object, object]],
    counts: ArrayLike | Sequence[Sequence[float] | np.ndarray] | None = None,
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    method: str = "auto",
    callback: Callback | None = None,
    progress: Progress | bool | None = None,
) -> Estimate | list[Estimate]:
    """The distribution of inputs that makes the counts of outputs likeliest, as an :class:`Estimate`.

    ``channel`` may be a plain matrix, inputs by outputs.

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

    Parameters
    ----------
    channel
        The channel, its matrix of inputs by outputs, or a list of pairs (channel, counts).
    counts
        How often each output was reported; a matrix has one row per group.
    start
        Probabilities > 0 to start from; uniform by default.
    tolerance
        The gap at which to stop, in mean log-likelihood per report.
    max_iterations
        The most gradients, or the exact number of steps of ``"em"``.
    method
        ``"auto"``, ``"em"``, ``"nesterov"`` or ``"second-order"``.
    callback
        Called after each gradient with the number of it, the best point, its gap and its log-likelihood.
    progress
        Called with the steps done and the most there can be. True or False shows a bar, or none; by default there is
        one on a terminal, after two seconds.

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
    if len(parts) == 1 and _dimensions(parts[0][1]) == 2:
        if callback is not None:
            raise ParameterError("ibu: callback is for one vector of counts; call ibu for each row")
        return ibu_many(
            parts[0][0], parts[0][1], start=start, tolerance=tolerance, max_iterations=max_iterations, method=method
        )
    problem = Problem("ibu", parts)
    p = read_start("ibu", start, problem.size)
    found = maximise(
        problem, p, tolerance=tolerance, limit=max_iterations, method=method, callback=callback, progress=progress
    )
    return with_spread(found, problem)


def _is_vector(counts: Any) -> bool:
    return _dimensions(counts) == 1


def _dimensions(counts: Any) -> int:
    """The dimensions of counts; 0 for ragged rows, which are refused where counts are read."""
    try:
        return counts.ndim if isinstance(counts, np.ndarray) else np.ndim(counts)
    except ValueError:
        return 0


def _read_parts(channel: Any, counts: Any) -> list[tuple[Channel, Any]]:
    if isinstance(channel, Channel) or counts is not None:
        return [(plain_channel("ibu", channel), counts)]
    if not isinstance(channel, Sequence) or not all(isinstance(part, Sequence) and len(part) == 2 for part in channel):
        raise ParameterError("ibu: give a channel and its counts, or a list of such pairs")
    return [(plain_channel("ibu", part[0]), part[1]) for part in channel]


def _krr(channel: KRRChannel, counts: Any) -> Estimate:
    """The closed form, or what takes its place where there is none."""
    values = np.asarray(counts)
    if values.shape != (channel.shape[1],) or values.dtype.kind not in "iuf":
        values = read_counts("ibu", counts, channel.shape[1])
    values = values.astype(np.float64)
    found = krr_likeliest(channel, values, _KrrSource(channel, values))
    if found is not None:
        return found
    problem = Problem("ibu", [(channel, read_counts("ibu", counts, channel.shape[1]))])  # says what is wrong
    return with_spread(maximise(problem, read_start("ibu", None, problem.size)), problem)


class _KrrSource:
    """Where a closed form came from: the problem is put together only if someone asks for its spread."""

    __slots__ = ("_channel", "_counts")

    def __init__(self, channel: KRRChannel, counts: np.ndarray) -> None:
        self._channel, self._counts = channel, counts

    def __call__(self, estimate: Estimate) -> Any:
        return likelihood_spread(Problem("ibu", [(self._channel, self._counts)]))(estimate)


def ibu_many(
    channel: Channel,
    counts: ArrayLike,
    *,
    start: ArrayLike | None = None,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    method: str = "auto",
) -> list[Estimate]:
    """An estimate for each row of a matrix of counts, as :func:`ibu` would give.

    First-order steps of all rows are matrix products. With ``method="auto"`` rows go on alone, by second-order steps,
    once they are near; closed forms are taken where there are.

    Parameters
    ----------
    channel
        A channel, or its matrix, inputs by outputs.
    counts
        One row of counts of the channel's outputs per estimate.
    start
        The distribution to start from; uniform by default.
    tolerance
        The gap to the maximum, in mean log-likelihood per report, at which a row stops.
    max_iterations
        The largest number of iterations.
    method
        As in `ibu`.

    >>> from fastdp.channels import DenseChannel
    >>> rows = ibu_many(DenseChannel([[0.75, 0.25], [0.25, 0.75]]), [[60, 40], [50, 50]])
    >>> [row.distribution.round(3).tolist() for row in rows]
    [[0.7, 0.3], [0.5, 0.5]]
    """
    validation.one_of("ibu_many", "method", method, METHODS)
    if not isinstance(channel, Channel):
        raise ParameterError(f"ibu_many: channel must be a Channel, got {type(channel).__name__}")
    if max_iterations is not None:
        max_iterations = validation.positive_integer("ibu_many", "max_iterations", max_iterations)
    matrix = read_counts("ibu_many", counts, channel.shape[1], dimensions=2)
    if not len(matrix):
        return []
    if method == "auto" and start is None and type(channel) is KRRChannel:
        return [ibu(channel, row) for row in matrix]
    check_possible("ibu_many", channel, matrix)
    problems = [Problem("ibu_many", [(channel, row)], is_checked=True) for row in matrix]
    p = read_start("ibu_many", start, channel.shape[0])
    found = maximise_each(problems, p, tolerance, max_iterations, method)
    return [with_spread(estimate, one) for estimate, one in zip(found, problems, strict=True)]
