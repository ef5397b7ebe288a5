"""The guarantee of a whole record: its columns composed, metric ones apart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from fastdp import rounding
from fastdp.errors import ParameterError
from fastdp.privacy import Privacy


@dataclass(frozen=True, slots=True)
class RecordPrivacy:
    """``record`` composes all columns whose whole value is hidden; ``metric`` holds the others, by column.

    A metric guarantee is epsilon per unit of distance, so it has no part in the sum: values far apart cost more.
    Columns that are kept are public, and in neither.
    """

    record: Privacy | None
    metric: Mapping[str, Privacy] = field(default_factory=dict)


def compose(parts: Iterable[Privacy]) -> Privacy | None:
    """The guarantee of releases about the same record: sums of epsilon, delta and rho, rounded up; None of nothing."""
    parts = tuple(parts)
    if not parts:
        return None
    epsilon = _add([part.epsilon for part in parts])
    rho = _add([_rho(part) for part in parts]) if any(part.rho is not None for part in parts) else None
    if epsilon is None and rho is None:
        raise ParameterError("Plan: columns with rho and columns with epsilon and delta have no common total; use one")
    delta = _add([part.delta for part in parts]) if epsilon is not None else 0.0
    most = math.nextafter(1.0, 0.0)
    return Privacy(epsilon=epsilon, delta=min(delta or 0.0, most), rho=rho, unit="record", neighbours="replace")


def _rho(part: Privacy) -> float | None:
    if part.rho is None and (part.delta or part.epsilon is None):
        return None
    return part.as_zcdp().rho


def _add(values: list[float | None]) -> float | None:
    """The sum, rounded up; None if any is missing."""
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    return rounding.float_up(sum((Fraction(value) for value in known), Fraction(0)))
