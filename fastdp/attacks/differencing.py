"""Differencing: two sums that differ by one person are that person's value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, add_noise, is_gaussian, is_laplace, phi, read_bits, standard_deviation
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism
from fastdp.typing import Numbers

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.differencing"
DEFENCE = "noise of one budget on both answers; a ledger that charges the second"


def differencing(
    values: Numbers,
    *,
    release: ColumnMechanism | Callable[[np.ndarray], float] | None = None,
    trials: int = 1000,
    rng: Rng | None = None,
) -> Attack:
    """Read a person's bit off two releases, one with and one without the person: n a - (n - 1) b for means.

    Parameters
    ----------
    values
        One bit per person.
    release
        What answers: None for exact means; a mechanism that adds noise to each of the two counts; or a callable that
        takes the bits of some people and returns their mean.
    trials
        People attacked, spread evenly over the table.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> import fastdp as fd
    >>> fd.attacks.differencing([0, 1, 1, 0, 1]).success
    1.0
    """
    bits = read_bits(OWNER, "values", values)
    trials = min(validation.positive_integer(OWNER, "trials", trials), max(bits.size, 1))
    if bits.size < 2:
        raise ParameterError(f"{OWNER}: give at least two people")
    targets = np.linspace(0, bits.size - 1, trials).astype(np.int64)
    n, true, expected = bits.size, bits[targets], None
    if release is None or isinstance(release, ColumnMechanism):
        with_, without = np.full(trials, bits.sum()), bits.sum() - true
        found = add_noise(release, with_, rng) - add_noise(release, without, rng)
        expected = success_of(release)
    else:
        every = float(release(bits))
        found = np.array([n * every - (n - 1) * float(release(np.delete(bits, target))) for target in targets])
    success = float(((found > 0.5) == (true > 0.5)).mean())
    formula = "n a - (n - 1) b"
    if release is not None:
        formula = "1 - e^(-e/2) (2 + e/2) / 4" if is_laplace(release) else "Phi(1 / (2 sqrt(2) sigma))"
    baseline = max(float(bits.mean()), 1 - float(bits.mean()))
    return Attack("differencing", "bits read", success, expected, baseline, trials, formula, DEFENCE)


def success_of(release: ColumnMechanism | None) -> float | None:
    """The probability that the difference of two counts with a mechanism's noise tells a bit."""
    if release is None:
        return 1.0
    spread = standard_deviation(release)
    if spread is None:
        return None
    if is_laplace(release):
        rate = math.sqrt(2) / spread
        return 1 - math.exp(-rate / 2) * (2 + rate / 2) / 4
    return phi(0.5 / (math.sqrt(2) * spread)) if is_gaussian(release) else None
