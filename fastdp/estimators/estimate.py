"""From the reports of a mechanism to the distribution of what was true."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.channels import Channel
from fastdp.errors import ParameterError
from fastdp.estimators.intervals.spread import FrequencySpread
from fastdp.estimators.likelihood.problem import Problem, plain_channel
from fastdp.estimators.result import Estimate
from fastdp.estimators.simplex import project_simplex
from fastdp.estimators.smoothing.regularize import fit_regularised
from fastdp.estimators.smoothing.work import Allowance
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism, Mechanism
from fastdp.mechanisms.local.frequencies import Counts, FrequencyProtocol
from fastdp.typing import Column, Matrix, Progress

RULES = (None, "cv", "early", "smooth")


def estimate(
    mechanism: Mechanism | Channel | Matrix | Sequence[tuple[object, object]],
    reports: Column | Counts | None = None,
    *,
    regularize: str | None = "cv",
    shape: tuple[int, ...] | None = None,
    tolerance: float = 1e-6,
    max_iterations: int | None = None,
    progress: Progress | bool | None = None,
) -> Estimate:
    """The distribution of true values, from the reports of a mechanism on them, as an :class:`Estimate`.

    ``reports`` may also be counts: what ``mechanism.aggregate`` returned, added up over batches. A channel, or its
    matrix, and the counts of its outputs do as well, and a list of pairs for people with different mechanisms over the
    same values. The mechanism needs finitely many values or bins; where its reports are not counted as its channel's
    outputs (unary, subset, hashing with a seed per person, or given counts of support), its unbiased frequencies are
    projected onto the simplex.

    ``regularize="cv"``, the default, weighs candidates from smooth to sparse: accelerated steps towards the likeliest
    distribution, few to many, on maps (channels of a grid, or a ``shape`` of two dimensions) also with averages of
    neighbours that fade; the inverted channel on the simplex; the largest values alone. Held-out reports tell which are
    credible; reports drawn from these tell which rule comes closest to them (docs/estimation.md). For k-RR it is the
    maximum likelihood where all values are clear of zero and far from alike. Its work is bounded by a number of
    products: beyond, as for a million values, it is the protocol's own estimate, or the inverted channel, projected.
    ``"early"`` stops EM at the noise's own size; ``"smooth"`` averages neighbours after each step of EM, in one
    dimension or in those of ``shape``; None is the maximum likelihood whatever it is.

    Parameters
    ----------
    mechanism
        A mechanism with finitely many values or bins, a channel, a matrix, or a list of pairs (mechanism, reports).
    reports
        The mechanism's reports, or counts of them.
    regularize
        ``"cv"``, ``"early"``, ``"smooth"``, or None for the maximum likelihood.
    shape
        The dimensions of the values if they are cells of a map.
    tolerance
        The gap at which the maximum likelihood stops, in mean log-likelihood per report.
    max_iterations
        The most steps.
    progress
        Called with the steps done and the most there can be. True or False shows a bar, or none; by default there is
        one on a terminal, after two seconds.

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
    values, edges = _find_values(pairs[0][0]), _find_edges(pairs[0][0])
    channels = [_find_channel(one, given) for one, given in pairs]
    if len(pairs) == 1 and (channels[0] is None or _is_too_large(*pairs[0], channels[0], regularize)):
        return replace(_project(*pairs[0]), values=values, edges=edges)
    parts = []
    for (one, given), channel in zip(pairs, channels, strict=True):
        if channel is None:
            raise ParameterError(
                f"estimate: {type(one).__name__} does not count its channel's outputs, so that its reports cannot be "
                "combined with others; estimate them alone"
            )
        parts.append((channel, given if isinstance(one, Channel) else _count(one, given)))
    fitted = fit_regularised(
        Problem("estimate", parts),
        regularize,
        shape=shape or parts[0][0].grid,
        tolerance=tolerance,
        limit=max_iterations,
        progress=progress,
    )
    return replace(fitted, values=values, edges=edges)


def _read_pairs(mechanism: Any, reports: Any) -> list[tuple[Any, Any]]:
    if reports is not None or not isinstance(mechanism, list | tuple):
        return [(plain_channel("estimate", mechanism), reports)]
    if not mechanism or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in mechanism):
        raise ParameterError("estimate: give a mechanism and its reports, or a list of such pairs")
    return [(plain_channel("estimate", pair[0]), pair[1]) for pair in mechanism]


def _find_channel(mechanism: Any, reports: Any) -> Channel | None:
    """The channel whose outputs the mechanism counts; None where it has none, or counts of support are given."""
    if isinstance(mechanism, Channel):
        return mechanism
    if not isinstance(mechanism, FiniteMechanism | FrequencyProtocol):
        raise ParameterError(
            f"estimate: {type(mechanism).__name__} has no channel, and does not estimate frequencies; use its own "
            "estimate, or a mechanism with finitely many values"
        )
    if not isinstance(mechanism, FiniteMechanism):
        return None
    if isinstance(mechanism, FrequencyProtocol):
        given_support = isinstance(reports, Counts) and not mechanism.aggregates_outputs
        if given_support or not mechanism.counts_outputs:
            return None
    try:
        return mechanism.channel()
    except ParameterError:  # too many outputs
        if isinstance(mechanism, FrequencyProtocol):
            return None
        raise


def _is_too_large(mechanism: Any, reports: Any, channel: Channel, regularize: str | None) -> bool:
    """Whether a choice would take far longer than the protocol's own estimate, which is then projected."""
    own = isinstance(mechanism, FrequencyProtocol) and not mechanism.aggregates_outputs and reports is not None
    return regularize == "cv" and own and Allowance.of([channel]) is None


def _find_values(mechanism: Any) -> Any:
    return mechanism.value_names() if isinstance(mechanism, ColumnMechanism) else None


def _find_edges(mechanism: Any) -> np.ndarray | None:
    """The edges of a mechanism's bins, if its values are such."""
    return mechanism.bin_edges() if isinstance(mechanism, ColumnMechanism) else None


def _count(mechanism: FiniteMechanism, reports: Any) -> np.ndarray:
    """Counts of the channel's outputs: those given, or those of the mechanism's own pass."""
    return np.asarray(reports.support if isinstance(reports, Counts) else mechanism.count_outputs(reports))


def _project(mechanism: FrequencyProtocol, reports: Any) -> Estimate:
    """The unbiased frequencies of a local protocol, projected onto the simplex."""
    return project_frequencies(mechanism.estimate(reports))


def project_frequencies(raw: Any) -> Estimate:
    """Unbiased frequencies, as a protocol estimates them, projected onto the simplex."""
    projected = project_simplex(np.asarray(raw.frequencies, np.float64))
    return Estimate(
        projected,
        math.nan,
        math.nan,
        0,
        "unbiased frequencies, projected onto the simplex",
        raw.n,
        None,
        lambda _: FrequencySpread(raw, projected),
    )
