"""From the reports of a mechanism to the distribution of what was true."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels import Channel, KRRChannel
from fastdp.channels.window import WindowChannel
from fastdp.columns.numeric import read_block, read_numeric
from fastdp.errors import DomainError, ParameterError
from fastdp.estimators.intervals import Spread
from fastdp.estimators.problem import Problem
from fastdp.estimators.regularize import fit_regularised
from fastdp.estimators.result import Estimate
from fastdp.estimators.simplex import project_simplex
from fastdp.kernels.counts import count_codes
from fastdp.parallel import BLOCK

RULES = (None, "cv", "early", "smooth")


def estimate(
    mechanism: Any,
    reports: Any = None,
    *,
    regularize: str | None = "cv",
    shape: tuple[int, ...] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    progress: bool | None = None,
) -> Estimate:
    """The distribution of true values, from the reports of a mechanism on them, as an :class:`Estimate`.

    ``reports`` may also be counts: what ``mechanism.aggregate`` returned, added up over batches. A channel and the
    counts of its outputs do as well, and a list of pairs for people with different mechanisms over the same values. The
    mechanism needs finitely many values or bins; where its reports are not counted as its channel's outputs (unary,
    subset, hashing with a seed per person, or given counts of support), its unbiased frequencies are projected onto the
    simplex.

    ``regularize="cv"``, the default, takes as many accelerated steps as predict held-out reports best, and the maximum
    likelihood only where that is regular: all values clear of zero, in up to 300 of them. On maps (channels of a grid,
    or a ``shape`` of two dimensions) neighbours are averaged on the way, less and less, and the number of steps stays
    near the one that is typical for so many reports and so much noise. ``"early"`` stops EM at the noise's own size;
    ``"smooth"`` averages neighbours after each step of EM, in one dimension or in those of ``shape``; None is the
    maximum likelihood whatever it is.

    >>> import numpy as np
    >>> from fastdp.channels import KRRChannel
    >>> estimate(KRRChannel(2, 0.75, 0.25), np.array([6000, 4000])).distribution.round(4).tolist()
    [0.7, 0.3]
    """
    if regularize not in RULES:
        validation.one_of("estimate", "regularize", regularize, ("cv", "early", "smooth"))
    if max_iterations is not None:
        max_iterations = validation.positive_integer("estimate", "max_iterations", max_iterations)
    validation.positive("estimate", "tolerance", tolerance)
    pairs = _read_pairs(mechanism, reports)
    values = _find_values(pairs[0][0])
    channels = [_find_channel(one, given) for one, given in pairs]
    if len(pairs) == 1 and channels[0] is None:
        return replace(_project(*pairs[0]), values=values)
    parts = []
    for (one, given), channel in zip(pairs, channels, strict=True):
        if channel is None:
            raise ParameterError(
                f"estimate: {type(one).__name__} does not count its channel's outputs, so that its reports cannot be "
                "combined with others; estimate them alone"
            )
        parts.append((channel, given if isinstance(one, Channel) else _count(one, channel, given)))
    fitted = fit_regularised(
        Problem("estimate", parts),
        regularize,
        shape=shape or getattr(channels[0], "grid", None),
        tolerance=tolerance,
        limit=max_iterations,
        progress=progress,
    )
    return replace(fitted, values=values)


def _read_pairs(mechanism: Any, reports: Any) -> list[tuple[Any, Any]]:
    if reports is not None or not isinstance(mechanism, list | tuple):
        return [(mechanism, reports)]
    if not mechanism or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in mechanism):
        raise ParameterError("estimate: give a mechanism and its reports, or a list of such pairs")
    return [(pair[0], pair[1]) for pair in mechanism]


def _find_channel(mechanism: Any, reports: Any) -> Channel | None:
    """The channel whose outputs the mechanism counts; None where it has none, or counts of support are given."""
    if isinstance(mechanism, Channel):
        return mechanism
    if not hasattr(mechanism, "channel") and not hasattr(mechanism, "estimate"):
        raise ParameterError(
            f"estimate: {type(mechanism).__name__} has no channel; a mechanism with finitely many values is needed"
        )
    counts_outputs = hasattr(mechanism, "count_outputs") and not hasattr(type(reports), "support")
    if not hasattr(mechanism, "channel") or (
        hasattr(mechanism, "p") and not counts_outputs and not _counts_outputs(mechanism)
    ):
        return None
    try:
        channel: Channel = mechanism.channel()
    except ParameterError:  # too many outputs
        if hasattr(mechanism, "estimate"):
            return None
        raise
    return channel


def _counts_outputs(mechanism: Any) -> bool:
    """Whether a local protocol's counts are those of its channel's outputs, and not of the values they support."""
    try:
        return isinstance(mechanism.channel(), KRRChannel | WindowChannel)
    except ParameterError:  # a channel too large to write out
        return False


def _find_values(mechanism: Any) -> Any:
    labels = getattr(getattr(mechanism, "domain", None), "labels", None)
    if labels is not None:
        return labels
    bounds, bins = getattr(mechanism, "bounds", None), getattr(mechanism, "bins", None)
    if bounds is None:
        return None
    low, high = bounds
    if bins is not None:
        return low + (np.arange(bins) + 0.5) * ((high - low) / bins)
    return range(low, high + 1) if isinstance(low, int) else None


def _count(mechanism: Any, channel: Channel, reports: Any) -> np.ndarray:
    """Counts of the channel's outputs: those given, those of the mechanism's own pass, or of integers in its bounds."""
    if hasattr(type(reports), "support"):
        return np.asarray(reports.support)
    if hasattr(mechanism, "count_outputs"):
        return np.asarray(mechanism.count_outputs(reports))
    if hasattr(mechanism, "aggregate"):
        return np.asarray(mechanism.aggregate(reports).support)
    return _count_integers(type(mechanism).__name__, mechanism.bounds[0], channel.shape[1], reports)


def _count_integers(owner: str, low: int, size: int, reports: Any) -> np.ndarray:
    """How often each of ``size`` integers from ``low`` on occurs."""
    column = read_numeric(owner, reports, "integer")
    counts = np.zeros((4, size), np.int64)
    for piece in column.pieces:
        for start in range(0, piece.size, BLOCK):
            block = read_block(owner, piece, start, min(start + BLOCK, piece.size), column.result_dtype)
            if count_codes(block.astype(np.int64) - low, np.uint64(size), counts):
                raise DomainError(f"{owner}: reports hold values outside the bounds; they are not of this mechanism")
    return counts.sum(axis=0)


def _project(mechanism: Any, reports: Any) -> Estimate:
    """The unbiased frequencies of a local protocol, projected onto the simplex."""
    raw = mechanism.estimate(reports)
    if not hasattr(raw, "frequencies"):
        raise ParameterError(
            f"estimate: {type(mechanism).__name__} does not estimate frequencies; use its own estimate"
        )
    frequencies = np.asarray(raw.frequencies, np.float64)
    errors = np.asarray(raw.std_error, np.float64)
    return Estimate(
        project_simplex(frequencies),
        math.nan,
        math.nan,
        0,
        "unbiased frequencies, projected onto the simplex",
        raw.n,
        None,
        lambda _: Spread(errors),
    )
