"""How much work an estimate may be, counted in products and not in seconds: so that it is the same on every machine."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastdp.channels import Channel, DenseChannel, GridChannel, KRRChannel
from fastdp.channels.hadamard import HadamardChannel
from fastdp.channels.hashing import HashingChannel
from fastdp.estimators.smoothing.candidates import KEPT, STEPS_KEPT
from fastdp.estimators.smoothing.step_paths import LARGEST_APART

MOST_WORK = 5e11
"""Multiplications in all: a few minutes."""
MOST_WORK_QUICK = 1.5e9
"""The same where the protocol's own estimate takes next to nothing: a second at the most."""
LEAST_STEPS = 45
"""Steps that a choice needs; with fewer it would not see where to stop."""
FOLDS, MOST_TRUTHS = 10, 12
"""Rows of counts of each deal, and of each replicate."""
CUTS = len(KEPT) * STEPS_KEPT
"""Steps of the sparse candidates."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How often reports are dealt and samples drawn, how many steps a path may take, and whether values are cut."""

    deals: int
    replicates: int
    steps: int
    cuts: bool

    @classmethod
    def of(
        cls, channels: Sequence[Channel], counts: Sequence[np.ndarray] | None = None, *, paths: int = 1
    ) -> Allowance | None:
        """As much as the work of products with the channels allows; None where it does not allow any choice.

        Without counts they are taken to be all different.
        """
        pairs = [(channel, None if counts is None else counts[i]) for i, channel in enumerate(channels)]
        step = 2 * sum(product_work(channel, part) for channel, part in pairs)
        once = sum(map(row_work, channels))
        most = MOST_WORK_QUICK if any(map(is_quick, channels)) else MOST_WORK
        for deals, replicates in ((2, 2), (1, 1)):
            rows = FOLDS * deals + MOST_TRUTHS * replicates
            steps = int((most - once * rows) / (step * rows))
            if steps >= 2 * CUTS:
                return cls(deals, replicates, (steps - CUTS) // paths, cuts=True)
            if steps >= LEAST_STEPS * paths:
                return cls(deals, replicates, steps // paths, cuts=False)
        return None


def is_quick(channel: Channel) -> bool:
    """Whether it is of a protocol with an estimate of its own, in the time of a few products."""
    return isinstance(channel, KRRChannel | HadamardChannel | HashingChannel)


def product_work(channel: Channel, counts: np.ndarray | None = None) -> float:
    """Multiplications of one row with the channel, about; a step takes two products."""
    inputs, outputs = channel.shape
    if isinstance(channel, DenseChannel):
        return inputs * outputs / 4  # products of many rows are faster than others
    if isinstance(channel, KRRChannel):  # values of equal counts are one entry, with a logarithm and a power in a step
        return 20.0 * (inputs if counts is None or inputs <= LARGEST_APART else len(np.unique(counts)))
    if isinstance(channel, HashingChannel):
        return float(inputs * channel.cohorts)
    if isinstance(channel, HadamardChannel):
        return outputs * math.log2(outputs)
    if isinstance(channel, GridChannel):
        return 16 * inputs * math.log2(4 * inputs)
    return 8.0 * (inputs + outputs)


def row_work(channel: Channel) -> float:
    """Multiplications of one row whatever its steps, about: k-RR's reports are drawn, sorted and compared by value."""
    return 300.0 * channel.shape[0] if isinstance(channel, KRRChannel) else 0.0
