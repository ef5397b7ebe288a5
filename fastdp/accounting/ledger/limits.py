"""The limit of a ledger: as it is stated, and as the sums that it allows; rounded down."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fastdp import validation
from fastdp.accounting.ledger.costs import ATTO, HIGHEST, LARGEST, NANO
from fastdp.accounting.ledger.filters import Total, digits
from fastdp.errors import ParameterError
from fastdp.privacy import Privacy


@dataclass(frozen=True, slots=True)
class Limit:
    """``total`` is what the filter compares sums with, ``stated`` the same in words: epsilon and delta, or rho."""

    total: Total
    stated: str

    @classmethod
    def read(cls, policy: str, epsilon: Any, rho: Any, delta: Any) -> Limit:
        """The limit for a policy; refused if it is not what the policy has a limit of."""
        wanted, value, other = ("rho", rho, epsilon) if policy == "zcdp" else ("epsilon", epsilon, rho)
        if value is None or other is not None:
            raise ParameterError(f"ledger: policy {policy!r} has a limit of {wanted}; give {wanted} alone")
        if not validation.is_number(delta) or not 0 <= delta < 1:
            raise ParameterError(f"ledger: delta must be a number with 0 <= delta < 1, got {delta!r}")
        given = Total(units_down(wanted, value), int(_decimal(delta) * ATTO))
        stated = f"{wanted} {digits(given.amount, NANO)}"
        stated += f" and delta {digits(given.delta, ATTO)}" if given.delta else ""
        return cls(_sums(policy, given) if policy in ("approx", "gaussian") else given, stated)


def _sums(policy: str, given: Total) -> Total:
    """The largest sum of rho or mu squared whose epsilon at half of delta is within the limit; the rest is for sums."""
    if given.delta < 2:
        raise ParameterError(f"ledger: policy {policy!r} needs a delta; give one, or keep a ledger with policy='pure'")
    if given.amount > HIGHEST * NANO:
        raise ParameterError(f"ledger: policy {policy!r} takes an epsilon of at most {HIGHEST:g}")
    half = given.delta // 2
    epsilon, delta = given.amount / NANO * (1 - 1e-15), half / ATTO * (1 - 1e-15)
    fits = _rho_fits if policy == "approx" else _square_fits
    return Total(_largest(lambda count: fits(count, epsilon, delta)), given.delta - half)


def _rho_fits(count: int, epsilon: float, delta: float) -> bool:
    try:
        return Privacy(rho=math.nextafter(count / NANO, 1e9)).epsilon_at(delta) <= epsilon
    except ParameterError:  # so much that no epsilon is left to state
        return False


def _square_fits(count: int, epsilon: float, delta: float) -> bool:
    return gaussian_delta(math.sqrt(count / NANO) * (1 + 1e-15), epsilon) <= delta


def gaussian_delta(mu: float, epsilon: float) -> float:
    """An upper bound on the delta of mu-Gaussian-DP at epsilon: P(N > a) - e**epsilon P(N > a + mu), a = eps/mu - mu/2.

    >>> 0 < gaussian_delta(1.0, 4.886554117462212) / 1e-6 - 1 < 1e-9
    True
    """
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    first, second = _tail(near), math.exp(epsilon) * _tail(far)
    return first - second + 1e-15 * (8 + near * near + far * far + epsilon) * first


def _tail(x: float) -> float:
    return math.erfc(x / math.sqrt(2)) / 2


def _largest(fits: Callable[[int], bool]) -> int:
    """The largest count that fits, by bisection: what fits is monotone."""
    low, high = 0, 4 * int(HIGHEST * NANO)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    if not low:
        raise ParameterError("ledger: this limit allows no release at all; give a larger epsilon or delta")
    return low


def units_down(name: str, value: Any) -> int:
    """A limit in billionths, rounded down."""
    count = int(_decimal(validation.positive("ledger", name, value)) * NANO)
    if not 0 < count <= LARGEST:
        raise ParameterError(f"ledger: {name} must be from 1e-9 to 4e9, got {value!r}")
    return count


def _decimal(value: float) -> Fraction:
    """A limit as it was written: 1e-6 is a millionth, and not the float just below it."""
    return Fraction(repr(float(value)))
