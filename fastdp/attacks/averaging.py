"""Averaging: the same question asked again and again, until the noise is gone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, is_laplace, phi, standard_deviation
from fastdp.binomial import binomial_tail
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism
from fastdp.mechanisms.local.randomized_response import RandomizedResponse

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.averaging"
DEFENCE = "one budget for all repeats, or one answer that is remembered (memoization)"


def averaging(
    release: ColumnMechanism | Callable[[float, int], Any],
    *,
    repeats: int = 100,
    trials: int = 2000,
    count: float = 100.0,
    rng: Rng | None = None,
) -> Attack:
    """Tell a count from the next by the average of repeated releases; for randomized response, by their majority.

    Parameters
    ----------
    release
        A mechanism that adds noise to a count, randomized response on a bit, or a callable ``release(count, repeats)``.
    repeats
        Releases per trial.
    trials
        How often the attack is run.
    count
        The true count; the other hypothesis is one more.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> import fastdp as fd
    >>> averaging(fd.Laplace(epsilon=1.0, sensitivity=1.0), repeats=1000).success
    1.0
    """
    repeats = validation.positive_integer(OWNER, "repeats", repeats)
    trials = validation.positive_integer(OWNER, "trials", trials)
    if isinstance(release, RandomizedResponse):
        answers = np.asarray(release.randomize(np.ones(trials * repeats, bool), rng=rng)).reshape(trials, repeats)
        share = answers.mean(axis=1)
        success = float(((share > 0.5) + (share == 0.5) / 2).mean())
        return _result(success, _majority(release.p, repeats), trials, repeats, "the majority of a binomial count")
    if isinstance(release, ColumnMechanism):
        whole = getattr(release, "number_kind", "float") == "integer"
        given = np.full(trials * repeats, int(count) if whole else float(count))
        answers = np.asarray(release.randomize(given, rng=rng), float).reshape(trials, repeats)
    elif callable(release):
        answers = np.array([np.asarray(release(count, repeats), float) for _ in range(trials)])
        if answers.shape != (trials, repeats):
            raise ParameterError(f"{OWNER}: release(count, repeats) must return one number per repeat")
    else:
        raise ParameterError(f"{OWNER}: give a mechanism or a callable release(count, repeats)")
    mean = answers.mean(axis=1)
    success = float(((mean < count + 0.5) + (mean == count + 0.5) / 2).mean())
    spread = standard_deviation(release)
    if spread is None:
        return _result(success, None, trials, repeats, "")
    if repeats == 1 and is_laplace(release):
        return _result(success, 1 - math.exp(-math.sqrt(2) / spread / 2) / 2, trials, repeats, "1 - e^(-e/2) / 2")
    return _result(success, phi(math.sqrt(repeats) / (2 * spread)), trials, repeats, "Phi(sqrt(T) / (2 sigma))")


def _majority(p: float, repeats: int) -> float:
    """The probability that most of the answers are right; a tie is half right."""
    most = binomial_tail(repeats // 2 + 1, repeats, p)
    return most if repeats % 2 else (most + binomial_tail(repeats // 2, repeats, p)) / 2


def _result(success: float, expected: float | None, trials: int, repeats: int, formula: str) -> Attack:
    details = {"repeats": repeats}
    return Attack("averaging", "bits told", success, expected, 0.5, trials, formula, DEFENCE, details)
