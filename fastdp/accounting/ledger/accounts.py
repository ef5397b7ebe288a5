"""Accounts of columns whose guarantee is by distance: sums of epsilon per unit, each apart."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from fastdp.accounting.ledger.costs import NANO
from fastdp.accounting.ledger.filters import digits
from fastdp.accounting.ledger.limits import units_down
from fastdp.errors import BudgetExceededError, ParameterError
from fastdp.privacy import MetricPrivacy

Charges = dict[str, dict[str, Any]]
"""By column: the unit of distance, and billionths of epsilon for it."""


@dataclass(frozen=True, slots=True)
class Accounts:
    """``limits`` and what was ``spent``, by column."""

    limits: Mapping[str, int]
    spent: Charges

    @classmethod
    def of(cls, found: sqlite3.Connection) -> Self:
        """The accounts of a ledger's file."""
        first = found.execute("SELECT body FROM entries ORDER BY seq LIMIT 1").fetchone()
        last = found.execute(
            "SELECT body FROM entries WHERE kind = 'spend' AND body LIKE '%\"accounts\":%' ORDER BY seq DESC LIMIT 1"
        ).fetchone()
        return cls(json.loads(first[0]).get("metric", {}), {} if last is None else json.loads(last[0])["accounts"])

    @staticmethod
    def read_limits(metric: Mapping[str, Any]) -> dict[str, int]:
        """Limits in billionths, rounded down."""
        return {str(name): units_down(f"metric {name!r}", value) for name, value in metric.items()}

    @staticmethod
    def charges(by_distance: Mapping[str, MetricPrivacy], times: int) -> Charges:
        """What each column costs for its unit of distance, rounded up."""
        return {name: {"unit": one.unit, "amount": _charge(name, one, times)} for name, one in by_distance.items()}

    def spend(self, charges: Charges) -> Charges:
        """What is spent after these charges; refused if any is beyond its limit, or for another unit."""
        after = {name: dict(one) for name, one in self.spent.items()}
        for name, one in charges.items():
            if name not in self.limits:
                raise ParameterError(
                    f"ledger: columns {name!r} are private by distance, which has no common total with epsilon; give "
                    "them a guarantee for the whole value, or an account of their own when the ledger is made: "
                    "metric={...}, --metric NAME=EPSILON"
                )
            before = after.get(name, {"unit": one["unit"], "amount": 0})
            if before["unit"] != one["unit"]:
                raise ParameterError(
                    f"ledger: the account of {name!r} is per {before['unit']}, this release is per {one['unit']}"
                )
            left = self.limits[name] - before["amount"]
            if one["amount"] > left:
                cost, rest, most = (digits(count, NANO, 2) for count in (one["amount"], left, self.limits[name]))
                raise BudgetExceededError(
                    f"ledger: this release costs epsilon {cost} per {one['unit']} of {name!r} but {rest} of {most} "
                    "remains; nothing was released"
                )
            after[name] = {"unit": one["unit"], "amount": before["amount"] + one["amount"]}
        return after

    @staticmethod
    def check(rows: Iterable[tuple[Any, ...]]) -> int:
        """The number of the first entry whose accounts are not the sums of what was charged; 0 if there is none."""
        spent: dict[str, int] = {}
        for row in rows:
            if '"accounts":' not in row[2]:
                continue
            body = json.loads(row[2])
            for name, one in body["metric"].items():
                spent[name] = spent.get(name, 0) + one["amount"]
            if spent != {name: one["amount"] for name, one in body["accounts"].items()}:
                return int(row[0])
        return 0


def _charge(name: str, privacy: MetricPrivacy, times: int) -> int:
    if privacy.epsilon is None or privacy.delta:
        raise ParameterError(
            f"ledger: columns {name!r} are private by distance in rho, or with a delta, which no account adds up; use "
            "laplace or geometric noise, or a guarantee for the whole value"
        )
    return math.ceil(Fraction(privacy.epsilon) * times * NANO)
