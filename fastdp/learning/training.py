"""A plain training loop: noisy gradient steps on Poisson samples, paid for before the first of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.accounting.compose import compose
from fastdp.accounting.curve import PrivacyCurve
from fastdp.accounting.sampling import sampled
from fastdp.errors import BudgetExceededError
from fastdp.learning.gradient_sum import GradientSum
from fastdp.learning.sampling import poisson_sample
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger

WIDTH = 1e-3
"""The relative width of epsilon that is aimed at: a training is not worth the seconds that a finer one takes."""

Gradient = Callable[[np.ndarray, np.ndarray], Any]
"""``gradient(parameters, indices)``: one row for each of the records with these indices."""


@dataclass(frozen=True, slots=True)
class Training:
    """The parameters after the last step, the number of steps, and what they cost together."""

    parameters: np.ndarray
    steps: int
    privacy: Privacy


def training_cost(gradients: GradientSum, *, rate: float, steps: int) -> PrivacyCurve:
    """The privacy curve of ``steps`` releases, each on a Poisson sample of its own.

    >>> mean = GradientSum(clip=1.0, noise_multiplier=1.0, batch=100)
    >>> round(training_cost(mean, rate=0.01, steps=1000).epsilon(delta=1e-6).upper, 3)
    2.125
    """
    return compose([(sampled(gradients, rate=rate) if rate < 1 else gradients, steps)], width=WIDTH)


def pay_for_training(ledger: Ledger, gradients: GradientSum, *, rate: float, steps: int, delta: float) -> int:
    """Pay for as many of ``steps`` as the budget covers, and say how many; refused if it covers none.

    On all records every step is charged by the ledger's own policy. On samples their number is fixed here, before the
    first of them, and the composition is charged at once: a composed curve is no rule to stop by.
    """

    def bill(count: int) -> tuple[Any, int]:
        if rate == 1 and ledger.policy != "pure":
            return gradients, count
        return training_cost(gradients, rate=rate, steps=count).as_privacy(delta=delta), 1

    def covered(count: int) -> bool:
        what, times = bill(count)
        try:
            ledger.check(what, times=times)
        except BudgetExceededError:
            return False
        return True

    low, high = (steps, steps) if covered(steps) else (1, steps - 1)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if covered(middle) else (low, middle - 1)
    what, times = bill(low)
    ledger.spend(what, times=times, name=f"training, {low} steps")
    return low


def train(
    gradient: Gradient,
    parameters: np.ndarray,
    *,
    records: int,
    gradients: GradientSum,
    rate: float,
    steps: int,
    learning_rate: float,
    delta: float,
    ledger: Ledger | None = None,
    rng: Rng | None = None,
) -> Training:
    """Parameters after noisy gradient descent, every step on a Poisson sample of the records.

    With a ledger, as many steps are made as its budget covers, and all are paid for before the first.

    Parameters
    ----------
    gradient
        Gives the gradients of records, one row each, at some parameters.
    parameters
        Where to start: a vector.
    records
        The number of records.
    gradients
        Clips, adds up and draws the noise; its ``batch`` should be about rate * records.
    rate
        The sampling rate, at most 1.
    steps
        The number of steps.
    learning_rate
        What the noisy mean gradient is multiplied by.
    delta
        The delta at which the guarantee is stated.
    ledger
        The budget to pay from.
    rng
        The stream of the samples; None is the process's own.

    >>> import fastdp as fd, numpy as np
    >>> mean = GradientSum(clip=2.0, noise_multiplier=2.0, batch=500, rng=fd.Rng.unsafe_seed(1))
    >>> done = train(lambda w, i: (w - 3) * np.ones((len(i), 1)), np.zeros(1), records=1000, gradients=mean,
    ...              rate=0.5, steps=40, learning_rate=0.2, delta=1e-6, rng=fd.Rng.unsafe_seed(2))
    >>> bool(abs(done.parameters[0] - 3) < 0.1)
    True
    """
    owner = "train"
    steps = validation.positive_integer(owner, "steps", steps)
    learning_rate = validation.positive(owner, "learning_rate", learning_rate)
    stream = resolve(owner, rng)
    weights = np.array(parameters, np.float64)
    gradients.declare(((weights.size,),))
    if ledger is not None:
        steps = pay_for_training(ledger, gradients, rate=rate, steps=steps, delta=delta)
    cost = training_cost(gradients, rate=rate, steps=steps).as_privacy(delta=delta)
    for _ in range(steps):
        chosen = poisson_sample(records, rate, rng=stream)
        rows = np.asarray(gradient(weights, chosen)).reshape(chosen.size, weights.size)
        weights -= learning_rate * gradients.add(rows).release()
    return Training(weights, steps, cost)
