"""A feedback loop: patrols go where incidents were recorded, and record incidents where they go.

It is an urn: with equal rates of incidents the share of a district wanders to where chance and its first records take
it; with unequal ones the highest takes all. Counting the records of districts in proportion to how seldom they are
visited breaks the loop. [Lum, Isaac 2016; Ensign, Friedler, Neville, Scheidegger, Venkatasubramanian 2018]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.fairness.encoding import OWNER


@dataclass(frozen=True, slots=True)
class PatrolRuns:
    """Shares of patrols [run, day, district], from the first day on; ``truth`` are the shares of incidents."""

    shares: np.ndarray
    truth: np.ndarray

    @property
    def mean(self) -> np.ndarray:
        """The mean share over runs [day, district]."""
        return np.asarray(self.shares.mean(axis=0))

    @property
    def spread(self) -> np.ndarray:
        """The standard deviation over runs [day, district]: what chance alone makes of the same city."""
        return np.asarray(self.shares.std(axis=0))

    def to_dict(self) -> dict[str, Any]:
        """The truth, and the mean and spread on the last day, as JSON has them."""
        return {"truth": self.truth.tolist(), "mean": self.mean[-1].tolist(), "spread": self.spread[-1].tolist()}


def patrols(
    rates: Sequence[float],
    recorded: Sequence[float],
    *,
    days: int = 1000,
    runs: int = 200,
    corrected: bool = False,
    seed: int = 0,
) -> PatrolRuns:
    """Simulate a patrol a day, sent to a district by its share of all records, that may record an incident there.

    Parameters
    ----------
    rates
        The probability of an incident for a patrol to see, in each district: the truth.
    recorded
        How many incidents of each district are on record before the first day.
    corrected
        Whether a record counts in proportion to how seldom its district is visited, which breaks the loop.

    >>> runaway = patrols([0.6, 0.4], [10, 10], days=3000, seed=1)
    >>> corrected = patrols([0.6, 0.4], [10, 10], days=3000, seed=1, corrected=True)
    >>> [round(float(found.mean[-1, 0]), 1) for found in (runaway, corrected)]
    [0.8, 0.6]
    """
    chances, counts = validation.floats(OWNER, "rates", rates), validation.floats(OWNER, "recorded", recorded)
    days, runs = (
        validation.positive_integer(OWNER, name, value) for name, value in (("days", days), ("runs", runs))
    )  # fmt: skip
    if chances.ndim != 1 or chances.size < 2 or counts.shape != chances.shape:
        raise ParameterError(f"{OWNER}: rates and recorded must be of the same districts, at least two")
    if not ((chances > 0) & (chances <= 1)).all() or not (np.isfinite(counts) & (counts > 0)).all():
        raise ParameterError(f"{OWNER}: rates must lie above 0 and up to 1, and records above 0")
    source, every = np.random.default_rng(seed), np.arange(runs)
    state = np.tile(counts, (runs, 1))
    shares = np.empty((runs, days, chances.size))
    for day in range(days):
        share = state / state.sum(axis=1, keepdims=True)
        shares[:, day] = share
        where = np.minimum((share.cumsum(axis=1) < source.random((runs, 1))).sum(axis=1), chances.size - 1)
        accept = chances[where]
        if corrected:
            accept = accept * share.min(axis=1) / share[every, where]
        state[every, where] += source.random(runs) < accept
    return PatrolRuns(shares, chances / chances.sum())
