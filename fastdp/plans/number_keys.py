"""What a plan says of numbers: their bounds, the unit of their guarantee, their steps, and what becomes of results."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.plans.spec import Spec
from fastdp.units.ticks import Ticks, declare


def read_boundary(owner: str, given: Mapping[str, Any], ticks: Ticks | None) -> Any:
    """What becomes of results beyond the bounds: they stay there, so that means are right, unless the plan says so."""
    boundary = given.get("boundary", "open")
    if boundary == "open" and ticks is not None and ticks.kind == "time":
        raise ParameterError(
            f'{owner}: a time of day cannot lie beyond the day; say boundary = "clamp" or, with geometric, "fold"'
        )
    return boundary


def read_ticks(owner: str, spec: Spec, given: Mapping[str, Any]) -> Ticks | None:
    """Dates, times, durations or decimals, if bounds or a step declare them."""
    bounds, step = given.get("bounds"), given.get("step")
    if step is None and bounds and isinstance(bounds, list) and isinstance(bounds[0], int | float):
        return None
    ticks = declare(owner, bounds, step)
    if ticks is not None and not spec.whole:
        raise ParameterError(
            f"{owner}: dates, times, durations and decimals are whole numbers of a step; use geometric or "
            "discrete_gaussian"
        )
    if ticks is None and isinstance(given.get("unit"), str):
        raise ParameterError(f"{owner}: unit is a duration; give bounds that are dates or times, or a step")
    return ticks


def read_unit(owner: str, spec: Spec, given: Mapping[str, Any], ticks: Ticks | None) -> Any:
    """The distance that epsilon is for, or None where bounds alone are given."""
    if "unit" not in given:
        if "bounds" not in given:
            raise ParameterError(
                f"{owner}: give bounds to hide the whole record, or unit for a guarantee per distance (d-privacy)"
            )
        return None
    if ticks is not None:
        return ticks.length(owner, "unit", given["unit"])
    check = validation.positive_integer if spec.whole else validation.positive
    return check(owner, "unit", given["unit"])


def width(low: float, high: float) -> float:
    """The most that a record's value can move: the width of the bounds, rounded up."""
    return high - low if isinstance(low, int) else rounding.float_up(Fraction(high) - Fraction(low))
