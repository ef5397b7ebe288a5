"""A policy: with which probability a person of each group and score gets the positive decision."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from fastdp.errors import DomainError, ParameterError
from fastdp.fairness.contrasts import Group
from fastdp.fairness.encoding import OWNER, as_floats, group_places
from fastdp.fairness.rates import divide, number


@dataclass(frozen=True, slots=True)
class Economics:
    """What a right and a wrong positive decision bring: ``gain`` for a true positive, ``-cost`` for a false one."""

    gain: float
    cost: float

    def __post_init__(self) -> None:
        for name in ("gain", "cost"):
            value = getattr(self, name)
            if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < np.inf:
                raise ParameterError(f"{OWNER}: {name} must be a finite number >= 0, got {value!r}")

    def profit(self, bad: np.ndarray, good: np.ndarray) -> np.ndarray:
        """The profit of positive decisions about so many with a negative and with a positive label."""
        return np.asarray(self.gain * good - self.cost * bad)


TINY = 1e-9
"""Chances that are as near are one."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Two thresholds of a group, and the chances of a positive decision below, between and above them.

    They are one for a plain threshold, and None where the score plays no part.
    """

    lower: float | None
    upper: float | None
    below: float
    between: float
    above: float

    @classmethod
    def read(cls, edges: np.ndarray, chances: np.ndarray) -> Threshold:
        """From the chance at each score."""
        first, last = float(chances[0]), float(chances[-1])
        if last - first <= TINY:
            edge = float(edges[0]) if first >= 1 - TINY else None
            return cls(edge, edge, 0.0 if edge is not None else first, first, last)
        lower = int(np.flatnonzero(chances > first + TINY)[0])
        upper = int(np.flatnonzero(chances >= last - TINY)[0])
        return cls(float(edges[lower]), float(edges[upper]), first, float(chances[lower]), last)

    def __str__(self) -> str:
        if self.lower is None or self.upper is None:
            return "nobody" if self.above <= TINY else f"anybody with probability {self.above:.3f}"
        said = f"from {self.upper:g} on" + (f" with probability {self.above:.3f}" if self.above < 1 - TINY else "")
        if self.lower < self.upper:
            said += f", from {self.lower:g} on with probability {self.between:.3f}"
        return said + (f", others with probability {self.below:.3f}" if self.below > TINY else "")


@dataclass(frozen=True, slots=True)
class Policy:
    """The best decisions under a criterion: ``chances`` [group, score] of a positive one, 0 or 1 but for mixtures.

    ``profit`` is per person, ``share`` the part of the profit without any criterion. Rates are those of the table that
    the policy was made from; a group where a rate is undefined is left out of what the criterion asks of that rate.
    """

    criterion: str
    groups: tuple[Group, ...]
    edges: np.ndarray
    chances: np.ndarray
    profit: float
    maximum: float
    selection: np.ndarray
    tpr: np.ndarray
    fpr: np.ndarray
    tolerance: float

    @property
    def share(self) -> float:
        """The profit as a share of the largest; NaN if nothing can be gained."""
        return self.profit / self.maximum if self.maximum > 0 else np.nan

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The thresholds of each group."""
        return tuple(Threshold.read(self.edges, row) for row in self.chances)

    def decide(self, *, score: Any, sensitive: Any, seed: int | None = None) -> np.ndarray:
        """Decisions 0 and 1 about people, by their scores and their attribute, or a dict of several, as the table had.

        A mixture needs the ``seed`` of its coins: keep it secret, and do not use it twice for the same people.
        """
        scores = as_floats("score", score)
        if not np.isfinite(scores).all():
            raise DomainError(f"{OWNER}: score holds NaN or infinity; drop those rows first")
        places = group_places(self.groups, sensitive)
        if places.size != scores.size:
            raise ParameterError(f"{OWNER}: score and sensitive must have one length")
        columns = np.maximum(np.searchsorted(self.edges, scores, "right") - 1, 0)
        chances: np.ndarray = self.chances[places, columns]
        if ((chances > 0) & (chances < 1)).any():
            if seed is None:
                raise ParameterError(f"{OWNER}: the policy mixes two thresholds; give seed= for its coins")
            return (np.random.default_rng(seed).random(scores.size) < chances).astype(np.uint8)
        return (chances > 0).astype(np.uint8)

    def to_dict(self) -> dict[str, Any]:
        """Everything but the chances, as JSON has it."""
        rows = zip(self.groups, self.thresholds, self.selection, self.tpr, self.fpr, strict=True)
        return {
            "criterion": self.criterion,
            "profit": self.profit,
            "share": number(self.share),
            "tolerance": self.tolerance,
            "groups": [
                {"group": list(group), **asdict(threshold), "selection": number(s), "tpr": number(t), "fpr": number(f)}
                for group, threshold, s, t, f in rows
            ],
        }

    def __str__(self) -> str:
        lines = [f"{self.criterion}: {self.share:.4f} of the largest profit"]
        names = [", ".join(map(str, group)) for group in self.groups]
        return "\n".join([*lines, *(f"  {name}: {one}" for name, one in zip(names, self.thresholds, strict=True))])


def make_policy(
    criterion: str,
    groups: tuple[Group, ...],
    edges: np.ndarray,
    cells: np.ndarray,
    chances: np.ndarray,
    economics: Economics,
    maximum: float,
    tolerance: float,
) -> Policy:
    """The policy of these chances, with its rates and its profit counted anew from cells [group, label, score]."""
    chosen = (cells * chances[:, None, :]).sum(axis=2)
    totals = cells.sum(axis=2)
    rates = divide(chosen, totals)
    profit = float(economics.profit(chosen[:, 0], chosen[:, 1]).sum() / cells.sum())
    selection = divide(chosen.sum(axis=1), totals.sum(axis=1))
    return Policy(
        criterion, groups, edges, chances, profit, maximum, selection, rates[:, 1], rates[:, 0], tolerance
    )  # fmt: skip
