"""Membership inference on a trained model, and the most that a guarantee lets any such attack gain.

The attack guesses that a record was trained on if the model's loss on it is low. ``advantage`` is the rate of members
found minus the rate of others accused; (epsilon, delta)-DP leaves at most (e^eps - 1 + 2 delta) / (e^eps + 1) of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.privacy import Privacy
from fastdp.typing import Matrix, Numbers


@dataclass(frozen=True, slots=True)
class Membership:
    """How well members are told from others: at the best threshold in hindsight, and over all thresholds.

    A measure of one model, no bound on its epsilon: for that see audits.
    """

    advantage: float
    """The largest difference between the shares of members and of others below a threshold."""
    auc: float
    """The area under the curve: how often a member's loss is below that of another record; ties count half."""


def guarantee_at(privacy: Privacy, delta: float | None) -> tuple[float, float]:
    """The guarantee as (epsilon, delta), at a delta of its own or at this one."""
    at = privacy.delta if delta is None else delta
    return (privacy.epsilon if privacy.epsilon is not None and privacy.delta <= at else privacy.epsilon_at(at)), at


def membership_bound(privacy: Privacy, delta: float | None = None) -> float:
    """The largest advantage of any attack on one record's membership, rounded up.

    [Humphries et al. 2023; Kairouz, Oh, Viswanath 2015]

    Parameters
    ----------
    privacy
        The guarantee of what is attacked.
    delta
        The delta at which it is taken; by default its own.

    >>> round(membership_bound(Privacy(epsilon=1.0)), 6)
    0.462117
    """
    epsilon, at = guarantee_at(privacy, delta)
    power = math.exp(min(epsilon, 700.0))
    return min(1.0, rounding.up((power - 1 + 2 * at) / (power + 1) * (1 + 1e-15)))


def loss_attack(members: Numbers, others: Numbers) -> Membership:
    """The loss-threshold attack: records whose loss is low are called members. [Yeom et al. 2018]

    Parameters
    ----------
    members
        The losses of records that the model was trained on.
    others
        The losses of records of the same kind that it was not trained on.

    >>> loss_attack([0.1] * 100, [0.9] * 100).advantage
    1.0
    """
    owner = "loss_attack"
    inside, outside = (validation.floats(owner, name, x) for name, x in (("members", members), ("others", others)))
    if not inside.size or not outside.size or inside.ndim != 1 or outside.ndim != 1:
        raise ParameterError(f"{owner}: give the losses of members and of others, one number each")
    every = np.sort(np.concatenate([inside, outside]))
    found, accused = (np.searchsorted(np.sort(x), every, side="right") / x.size for x in (inside, outside))
    ranks = np.searchsorted(np.sort(outside), inside, "left") + np.searchsorted(np.sort(outside), inside, "right")
    auc = 1 - float(ranks.mean()) / (2 * outside.size)
    return Membership(float((found - accused).max()), auc)


def ratio_attack(losses: Numbers, inside: Matrix, outside: Matrix) -> np.ndarray:
    """Scores of the likelihood-ratio attack, high for members: normal laws of each record's loss with and without it.

    [Carlini et al. 2022]

    Parameters
    ----------
    losses
        The loss of the attacked model on each record.
    inside
        Losses of models that were trained with the record, one row per model.
    outside
        Losses of models that were trained without it, one row per model.
    """
    owner = "ratio_attack"
    target, within, without = (
        validation.floats(owner, name, x) for name, x in (("losses", losses), ("inside", inside), ("outside", outside))
    )
    if within.ndim != 2 or without.ndim != 2 or {within.shape[1], without.shape[1]} != {target.size}:
        raise ParameterError(f"{owner}: inside and outside must have a row for each model and a column for each record")

    def log_density(rows: np.ndarray) -> np.ndarray:
        spread = np.maximum(rows.std(axis=0), 1e-9)
        return np.asarray(-(((target - rows.mean(axis=0)) / spread) ** 2) / 2 - np.log(spread))

    return np.asarray(log_density(within) - log_density(without))
