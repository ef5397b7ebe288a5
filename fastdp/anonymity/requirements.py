"""What is asked of every class, checked once: k, and what its sensitive values may tell."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.anonymity.coding.grouping import Entries, Shares
from fastdp.errors import ParameterError
from fastdp.kernels.classes import diversity as places
from fastdp.kernels.classes.diversity import FIGURES, check_entries

SLACK = 1e-12
"""Relative room for rounding of figures that are no integers."""
MODELS = ("distinct", "entropy", "recursive")
DISTANCES = ("equal", "ordered")
MOST_DEPTH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """The models that every class must meet."""

    k: int
    l: float | None = None
    l_model: str = "distinct"
    c: float | None = None
    """Of recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m)."""
    t: float | None = None
    t_distance: str = "equal"
    alpha: float | None = None
    beta: float | None = None
    delta: float | None = None

    @classmethod
    def checked(cls, owner: str, **given: Any) -> Requirement:
        """The requirement, every parameter by its own rule."""
        asked = cls(**given)
        validation.positive_integer(owner, "k", asked.k)
        validation.one_of(owner, "l_model", asked.l_model, MODELS)
        validation.one_of(owner, "t_distance", asked.t_distance, DISTANCES)
        if asked.l is not None:
            if asked.l_model == "entropy":
                if not validation.is_number(asked.l) or not 1 <= asked.l < math.inf:
                    raise ParameterError(f"{owner}: l must be a finite number >= 1")
            else:
                validation.positive_integer(owner, "l", asked.l)
        if (asked.c is not None) != (asked.l_model == "recursive" and asked.l is not None):
            raise ParameterError(f"{owner}: c belongs to l with l_model='recursive', which needs both")
        if asked.c is not None:
            validation.positive(owner, "c", asked.c)
            if asked.l is not None and asked.l > MOST_DEPTH:
                raise ParameterError(f"{owner}: l of recursive diversity is at most {MOST_DEPTH}")
        for name in ("t", "alpha"):
            value = getattr(asked, name)
            if value is not None and (not validation.is_number(value) or not 0 <= value <= 1):
                raise ParameterError(f"{owner}: {name} must be a number from 0 to 1")
        for name in ("beta", "delta"):
            if getattr(asked, name) is not None:
                validation.positive(owner, name, getattr(asked, name))
        return asked

    @property
    def about_values(self) -> bool:
        """Whether a sensitive column counts, and not sizes alone."""
        return any(getattr(self, name) is not None for name in ("l", "t", "alpha", "beta", "delta"))

    @property
    def depth(self) -> int:
        """The l of recursive diversity, 0 without it."""
        return int(self.l) if self.c is not None and self.l is not None else 0

    def limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest value of every figure of a class."""
        low, high = np.full(places.FIGURES, -np.inf), np.full(places.FIGURES, np.inf)
        low[places.SIZE] = self.k
        if self.l is not None and self.l_model == "distinct":
            low[places.DISTINCT] = self.l
        elif self.l is not None and self.l_model == "entropy":
            low[places.ENTROPY] = math.log(self.l) - SLACK
        elif self.c is not None:
            high[places.RECURSIVE] = math.nextafter(self.c, 0)  # r_1 < c (r_l + ... + r_m), strictly
        if self.t is not None:
            high[places.EQUAL if self.t_distance == "equal" else places.ORDERED] = self.t * (1 + SLACK) + SLACK
        if self.alpha is not None:
            high[places.ALPHA] = self.alpha * (1 + SLACK)
        if self.beta is not None:
            high[places.BETA] = self.beta * (1 + SLACK)
        if self.delta is not None:
            high[places.DELTA], high[places.MISSING] = self.delta * (1 + SLACK), 0
        return low, high

    def to_dict(self) -> dict[str, Any]:
        """What was asked for, without what was not."""
        unsaid = {"l_model"} if self.l is None else set()
        unsaid |= {"t_distance"} if self.t is None else set()
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if getattr(self, field.name) is not None and field.name not in unsaid
        }


def fitting(entries: Entries, shares: Shares, requirement: Requirement) -> np.ndarray:
    """Which classes meet the requirement."""
    low, high = requirement.limits()
    fits = np.zeros(entries.offsets.size - 1, np.bool_)
    check_entries(
        entries.offsets, entries.values, entries.counts, requirement.depth, shares.shares, shares.logs, shares.below,
        shares.area, low, high, np.empty(max(requirement.depth, 1), np.int64), np.empty(FIGURES), fits,
    )  # fmt: skip
    return fits


def whole_fits(shares: Shares, requirement: Requirement) -> bool:
    """Whether the whole table as one class meets a requirement on its sensitive column."""
    values = shares.counts.size
    whole = Entries(np.array([0, values]), np.arange(values), shares.counts.astype(np.int64))
    return bool(fitting(whole, shares, requirement)[0])
