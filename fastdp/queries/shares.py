"""Shares of a budget with the least total variance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from fastdp.errors import ParameterError

PARTS = 1 << 40
"""Shares are multiples of 2**-40, rounded down: they never add up to more than the budget."""


def least_variance(amounts: Sequence[float], *, pure: bool) -> list[Fraction]:
    """The share of each part whose sensitivity, in the unit that its error is measured in, is given.

    Noise of epsilon has variance 2 (sensitivity / epsilon)**2, of rho sensitivity**2 / (2 rho): the total is least for
    epsilon in proportion to sensitivity**(2/3), and rho in proportion to sensitivity. Parts that are public get none.

    >>> [round(float(share), 6) for share in least_variance([1.0, 10.0], pure=False)]
    [0.090909, 0.909091]
    """
    raised = [amount ** (2 / 3) if pure else amount for amount in amounts]
    total = math.fsum(raised)
    return [Fraction(int(one / total * PARTS), PARTS) if one else Fraction(0) for one in raised]


def in_proportion(owner: str, weights: Sequence[float]) -> list[Fraction]:
    """Shares in proportion to weights that were given."""
    total = math.fsum(weights)
    if not total > 0:
        raise ParameterError(f"{owner}: shares of the budget must be numbers > 0")
    return [Fraction(int(weight / total * PARTS), PARTS) for weight in weights]
