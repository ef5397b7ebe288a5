"""The price of each criterion: the best policies side by side, on one table of scores."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.fairness.achieving.odds import odds_chances
from fastdp.fairness.achieving.policies import Economics, Policy, make_policy
from fastdp.fairness.achieving.thresholds import RATE_OF, best_chances, mixed_chances, plain_chances, single_chances
from fastdp.fairness.contrasts import Group
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.scores import ScoreTable

CRITERIA = ("profit", "single", *RATE_OF, "separation")
"""No criterion, one threshold for all, and the criteria that decisions can be made to meet."""


def best_policy(
    scores: ScoreTable,
    groups: tuple[Group, ...],
    criterion: str,
    economics: Economics,
    *,
    tolerance: float = 0.0,
    randomized: bool = True,
) -> Policy:
    """The most profitable decisions from these scores under a criterion."""
    if criterion not in CRITERIA:
        raise ParameterError(f"{OWNER}: {validation.unknown('criterion', criterion, CRITERIA)}")
    tolerance = validation.as_float(tolerance)
    if not 0 <= tolerance <= 1 or math.isnan(tolerance):
        raise ParameterError(f"{OWNER}: tolerance must be a number from 0 to 1")
    if criterion == "separation" and not randomized:
        raise ParameterError(f"{OWNER}: separation needs mixtures of thresholds; leave randomized=True")
    above, cells = scores.above(), scores.cells()
    best = best_chances(above, economics)
    maximum = make_policy("profit", groups, scores.edges, cells, best, economics, np.nan, 0.0).profit
    if criterion == "profit":
        chances = best
    elif criterion == "single":
        chances = single_chances(above, economics)
    elif criterion == "separation":
        chances = odds_chances(above, economics, tolerance)
    else:
        solve = mixed_chances if randomized else plain_chances
        chances = solve(above, RATE_OF[criterion], economics, tolerance)
    return make_policy(criterion, groups, scores.edges, cells, chances, economics, maximum, tolerance)


@dataclass(frozen=True, slots=True)
class Price:
    """The best policy under each criterion, and what each costs."""

    policies: tuple[Policy, ...]

    def __getitem__(self, criterion: str) -> Policy:
        for policy in self.policies:
            if policy.criterion == criterion:
                return policy
        raise ParameterError(f"{OWNER}: {validation.unknown('criterion', criterion, CRITERIA)}")

    def to_dict(self) -> dict[str, Any]:
        """All policies, as JSON has them."""
        return {"policies": [policy.to_dict() for policy in self.policies]}

    def __str__(self) -> str:
        return "\n".join(f"{policy.criterion:<20}{policy.share:.4f}" for policy in self.policies)


def price_of(scores: ScoreTable, groups: tuple[Group, ...], economics: Economics, *, tolerance: float = 0.0) -> Price:
    """The best policy under every criterion."""
    return Price(
        tuple(best_policy(scores, groups, criterion, economics, tolerance=tolerance) for criterion in CRITERIA)
    )
