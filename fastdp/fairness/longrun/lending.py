"""Delayed impact: what loans under each criterion do to the scores of each group, round after round.

Who gets a loan and pays it back gains score, who defaults loses more. A criterion that lends more than people can pay
back lowers the scores of those whom it means to help. [Liu, Dean, Rolf, Simchowitz, Hardt 2018]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.fairness.achieving.policies import Economics
from fastdp.fairness.achieving.prices import best_policy
from fastdp.fairness.contrasts import Group
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.rates import divide
from fastdp.fairness.scores import ScoreTable
from fastdp.fairness.tables import FairnessTable
from fastdp.fairness.tally import Tally


@dataclass(frozen=True, slots=True)
class LendingRounds:
    """Mean scores [round, group] before each round and after the last, and each round's decisions and profit."""

    criterion: str
    groups: tuple[Group, ...]
    scores: np.ndarray
    selection: np.ndarray
    profit: np.ndarray

    @property
    def change(self) -> np.ndarray:
        """How far each group's mean score has moved in all."""
        return np.asarray(self.scores[-1] - self.scores[0])

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "criterion": self.criterion, "groups": [list(group) for group in self.groups],
            "scores": self.scores.tolist(), "selection": self.selection.tolist(), "profit": self.profit.tolist(),
        }  # fmt: skip


def lending(
    table: FairnessTable,
    criterion: str,
    *,
    gain: float,
    cost: float,
    up: float,
    down: float,
    rounds: int = 10,
    tolerance: float = 0.0,
) -> LendingRounds:
    """Expected scores of each group when loans are given, round after round, by the best policy under a criterion.

    Who is chosen and pays back moves ``up`` by so much score, who is chosen and defaults ``down``, within the range of
    scores. The share that pays back at a score is that of the table, in every round; thresholds are chosen anew.
    """
    economics = Economics(gain, cost)
    rounds = validation.positive_integer(OWNER, "rounds", rounds)
    up, down = validation.positive(OWNER, "up", up), validation.positive(OWNER, "down", down)
    if table.scores is None:
        raise ParameterError(f"{OWNER}: the table has no scores; give score=")
    cells = table.scores.cells()
    places = table.scores.scores
    paid = np.array([_fill(places, divide(one[1], one.sum(axis=0))) for one in cells])
    mass = cells.sum(axis=1) / cells.sum()
    higher, lower = (_moved(places, step) for step in (up, -down))
    means, selection, profit = [], [], []
    for _ in range(rounds):
        means.append((mass * places).sum(axis=1) / mass.sum(axis=1))
        both = np.stack([mass * (1 - paid), mass * paid], axis=1)
        values = (tuple(range(len(mass))), (0, 1), table.scores.tally.values[-1])
        now = ScoreTable(Tally(values, both), table.scores.width)
        policy = best_policy(now, table.groups, criterion, economics, tolerance=tolerance)
        selection.append(policy.selection)
        profit.append(policy.profit)
        mass = _step(mass, policy.chances, paid, higher, lower)
    means.append((mass * places).sum(axis=1) / mass.sum(axis=1))
    return LendingRounds(criterion, table.groups, np.array(means), np.array(selection), np.array(profit))


def _fill(places: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Shares at scores that nobody has, from those next to them."""
    known = ~np.isnan(shares)
    return np.asarray(np.interp(places, places[known], shares[known]))


def _moved(places: np.ndarray, step: float) -> np.ndarray:
    """The score nearest to each one moved by a step, as its number."""
    goal = np.clip(places + step, places[0], places[-1])
    right = np.clip(np.searchsorted(places, goal), 1, max(places.size - 1, 1)) if places.size > 1 else np.zeros(1, int)
    left = np.maximum(right - 1, 0)
    return np.asarray(np.where(goal - places[left] <= places[right] - goal, left, right))


def _step(mass: np.ndarray, chances: np.ndarray, paid: np.ndarray, higher: np.ndarray, lower: np.ndarray) -> np.ndarray:
    """Where people are after a round."""
    chosen = mass * chances
    after = np.asarray(mass - chosen)
    for group in range(len(mass)):
        np.add.at(after[group], higher, chosen[group] * paid[group])
        np.add.at(after[group], lower, chosen[group] * (1 - paid[group]))
    return after
