"""Which release is let through: rules that hold also when each release is chosen after seeing the ones before.

Every rule compares sums of integers with limits: sums of epsilon and delta [Rogers, Roth, Ullman, Vadhan 2016], of rho
[Feldman, Zrnic 2021], of rho and delta [Whitehouse, Ramdas, Rogers, Wu 2023] and of mu squared and delta [Smith,
Thakurta 2022; Koskela, Tobaben, Honkela 2023]. A composed curve is no such rule, however tight: stopping when it
reaches the budget guarantees nothing. [Tran, Koskela, Räisä, Honkela 2026] The proofs are in docs/accounting.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fastdp.accounting.ledger.costs import ATTO, NANO, Cost
from fastdp.errors import ParameterError

Policy = Literal["pure", "zcdp", "approx", "gaussian"]
POLICIES: tuple[Policy, ...] = ("pure", "zcdp", "approx", "gaussian")
NUMBER = {"pure": "epsilon", "zcdp": "rho", "approx": "rho", "gaussian": "mu squared"}
"""What each policy adds up."""
DRAWS = 1
"""Units of 1e-18 in delta for the distance of a release's draws from their law, 2**-100 (1 + e**20) times 2,000."""


@dataclass(frozen=True, slots=True)
class Total:
    """What was spent, or may be: the policy's own number in billionths, and delta in units of 1e-18."""

    amount: int
    delta: int

    def __add__(self, other: Total) -> Total:
        return Total(self.amount + other.amount, self.delta + other.delta)

    def __sub__(self, other: Total) -> Total:
        return Total(self.amount - other.amount, self.delta - other.delta)

    def within(self, limit: Total) -> bool:
        """Whether neither number is beyond the limit's."""
        return self.amount <= limit.amount and self.delta <= limit.delta

    def words(self, policy: Policy) -> str:
        """In digits, exactly."""
        delta = f" and delta {digits(self.delta, ATTO)}" if self.delta else ""
        return f"{NUMBER[policy]} {digits(self.amount, NANO)}{delta}"


def allows(spent: Total, added: Total, limit: Total) -> bool:
    """Whether a release that adds so much may still be made."""
    return (spent + added).within(limit)


def charge(policy: Policy, cost: Cost, limit: Total) -> Total:
    """What a release adds under a policy; refused where it has no such number."""
    if policy == "pure":
        return _charge_pure(cost)
    return _charge_gaussian(cost) if policy == "gaussian" else _charge_zcdp(policy, cost, limit)


def _charge_pure(cost: Cost) -> Total:
    if cost.epsilon is None:
        raise ParameterError(
            "ledger: a guarantee in rho has no epsilon to add up; state it as (epsilon, delta), or keep a ledger "
            'with policy="zcdp"'
        )
    return Total(cost.epsilon, cost.delta)


def _charge_zcdp(policy: Policy, cost: Cost, limit: Total) -> Total:
    """Rho; of an (epsilon, delta) guarantee epsilon**2 / 2, and delta."""
    if cost.rho is not None:
        return Total(cost.rho, DRAWS if policy == "approx" else 0)
    if not limit.delta:
        raise ParameterError(
            "ledger: a guarantee of epsilon and delta has no rho to add up; calibrate the mechanism by rho, or keep a "
            'ledger with a delta, or with policy="pure"'
        )
    assert cost.bounded is not None
    return Total(cost.bounded, cost.delta)


def _charge_gaussian(cost: Cost) -> Total:
    if cost.square is None:
        raise ParameterError(
            "ledger: a guarantee in rho alone has no mu to add up; state it as (epsilon, delta), or keep a ledger with "
            'policy="zcdp" or policy="approx"'
        )
    return Total(cost.square, cost.square_delta)


def digits(count: int, unit: int, decimals: int = 0) -> str:
    """A number of units in plain decimals, without zeros at its end beyond so many decimals.

    >>> digits(1_250_000_000, NANO), digits(0, NANO), digits(3, ATTO), digits(500_000_000, NANO, 2)
    ('1.25', '0', '0.000000000000000003', '0.50')
    """
    places = len(str(unit)) - 1
    whole, rest = divmod(count, unit)
    fraction = f"{rest:0{places}d}".rstrip("0").ljust(decimals, "0")
    return f"{whole}.{fraction}" if fraction else str(whole)
