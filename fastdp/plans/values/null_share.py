"""Nullness by randomized response: which rows are null is reported with noise, from a part of the column's epsilon.

A row is null in the release as randomized response on "is null" has it. Any other row is the report of its value, where
a public number within the bounds stands in for the nulls. Both reports together cost the sum of their epsilons, and so
does what is released, which is made of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.mechanisms.local.randomized_response import RandomizedResponse
from fastdp.plans.policies import Policies
from fastdp.privacy import Privacy, compose

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

KEYS = ("null_share", "null_epsilon")
PART = 4
"""The part of epsilon that nullness gets where a plan does not say: one in so many."""


@dataclass(frozen=True, slots=True)
class NullShare:
    """Randomized response on whether a value is null."""

    response: RandomizedResponse
    left: float
    """What of epsilon the values get."""

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any]) -> NullShare | None:
        """From a plan's ``null_share`` and ``null_epsilon``; None if nullness is not reported.

        >>> found = NullShare.read("Plan", {"null_share": True, "epsilon": 1.0, "bounds": [0, 9]})
        >>> found.epsilon, round(found.left, 6)
        (0.25, 0.75)
        """
        if not isinstance(given.get("null_share", False), bool):
            raise ParameterError(f"{owner}: null_share must be true or false")
        if not given.get("null_share", False):
            if "null_epsilon" in given:
                raise ParameterError(f"{owner}: null_epsilon is for null_share = true")
            return None
        if given.get("epsilon") is None or "unit" in given or "bounds" not in given:
            raise ParameterError(
                f"{owner}: null_share takes a part of the epsilon that hides the whole value; give epsilon and bounds, "
                "without unit or rho, or let nulls count as a value (nulls = ...)"
            )
        total = validation.positive(owner, "epsilon", given["epsilon"])
        part = validation.positive(owner, "null_epsilon", given.get("null_epsilon", total / PART))
        if not part < total:
            raise ParameterError(f"{owner}: null_epsilon must be below epsilon, of which it is a part")
        response = RandomizedResponse(epsilon=part)
        left = -rounding.float_up(Fraction(response.privacy.epsilon or part) - Fraction(total))
        return cls(response, validation.positive(owner, "epsilon less null_epsilon", left))

    @property
    def epsilon(self) -> float:
        """What nullness costs."""
        return float(self.response.epsilon)

    def privacy(self, of_values: Privacy) -> Privacy:
        """The guarantee of both reports."""
        return compose([self.response.privacy, of_values], owner="Plan")

    def draw(self, values: pa.Array, rng: Rng) -> pa.Array:
        """Which rows are reported as null; one slot per row."""
        return self.response.randomize(values.is_null(), rng=rng.child("null share"))

    def hide(self, reports: pa.Array, absent: pa.Array) -> pa.Array:
        """The reports, null where rows are reported as such."""
        import pyarrow as pa
        import pyarrow.compute as pc

        return pc.if_else(absent, pa.scalar(None, reports.type), reports)


def hidden(owner: str, policies: Policies, bounds: tuple[Any, Any], *, whole: bool) -> Policies:
    """Policies by which nulls count as a value before noise: the one that the plan names, else the middle."""
    if policies.nulls == "value":
        return policies
    if policies.nulls != "error":
        raise ParameterError(f"{owner}: null_share hides which rows are null; leave out nulls, or name a value")
    return replace(policies, nulls="value", filled=stand_in(bounds, whole=whole))


def stand_in(bounds: tuple[Any, Any], *, whole: bool) -> Any:
    """The middle of the bounds, which is reported of nulls that are not reported as such.

    >>> stand_in((0, 9), whole=True), stand_in((-1.0, 2.0), whole=False)
    (4, 0.5)
    """
    low, high = bounds
    return (low + high) // 2 if whole else low / 2 + high / 2
