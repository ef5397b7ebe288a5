"""Canaries: records planted in the training set, and how far the model's memory of them stands out."""

from __future__ import annotations

import math

import numpy as np

from fastdp import rounding, validation
from fastdp.attacks.attack import Attack
from fastdp.attacks.models.membership import guarantee_at
from fastdp.errors import ParameterError
from fastdp.privacy import Privacy
from fastdp.typing import Matrix, Numbers

OWNER = "attacks.canaries"
DEFENCE = "noise on gradients: a guarantee of epsilon bounds how likely any canary is to come first"


def canaries(
    losses: Numbers, candidates: Matrix, *, privacy: Privacy | None = None, delta: float | None = None
) -> Attack:
    """Rank the loss on each planted canary among candidates that were drawn alike and not planted.

    The success is the share of canaries with a loss below all of their candidates. ``details["exposure"]`` is the mean
    of log2(candidates + 1) - log2(rank), in bits: 1.44 less a little for a model without memory of them.
    [Carlini et al. 2019]

    Parameters
    ----------
    losses
        The model's loss (or perplexity) on each canary that was planted.
    candidates
        The model's losses on records that could have been planted instead: one row for all canaries, or a row each.
    privacy
        The guarantee of the training, for adding or removing a record: at most (e^epsilon + delta N) / N of N
        candidates come first, and the mean exposure is at most (1 + epsilon) / ln 2 + delta log2(N).
    delta
        The delta at which the guarantee is taken, where it states none itself.

    >>> source = np.random.default_rng(1)
    >>> remembered = canaries(np.zeros(20), 1 + source.random((20, 999)))
    >>> forgotten = canaries(source.random(20), source.random((20, 999)))
    >>> remembered.success, round(remembered.details["exposure"], 2), forgotten.success
    (1.0, 9.97, 0.0)
    """
    own, others = (validation.floats(OWNER, name, x) for name, x in (("losses", losses), ("candidates", candidates)))
    if own.ndim != 1 or not own.size or others.ndim not in (1, 2) or not others.size:
        raise ParameterError(f"{OWNER}: give a loss for each canary, and a row of losses of candidates")
    if others.ndim == 2 and len(others) != own.size:
        raise ParameterError(f"{OWNER}: candidates must have one row, or one for each of the {own.size} canaries")
    if np.isnan(own).any() or np.isnan(others).any():
        raise ParameterError(f"{OWNER}: losses must not be NaN; values withheld")
    rows = np.broadcast_to(others, (own.size, others.shape[-1]))
    below = (rows < own[:, None]).sum(axis=1) + (rows == own[:, None]).sum(axis=1) / 2
    number = rows.shape[1] + 1
    exposures = math.log2(number) - np.log2(below + 1)
    details = {
        "candidates": number,
        "exposure": float(exposures.mean()),
        "largest_exposure": float(exposures.max()),
        "exposure_without_memory": math.log2(number) - math.lgamma(number + 1) / math.log(2) / number,
    }
    if privacy is not None:
        epsilon, at = guarantee_at(privacy, delta)
        details["most_first"] = min(1.0, rounding.up(math.exp(min(epsilon, 700.0)) / number * (1 + 1e-15) + at))
        details["most_exposure"] = min(
            math.log2(number), rounding.up((1 + epsilon) / math.log(2) * (1 + 1e-15) + at * math.log2(number))
        )
    return Attack(
        "canaries", "canaries that come first", float((below == 0).mean()), None, 1 / number, own.size,
        "at most e^epsilon / N + delta under a guarantee", DEFENCE, details,
    )  # fmt: skip
