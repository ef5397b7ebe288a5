"""A column of numbers as steps of a power-of-two grid: clamped to its bounds, around a centre, nulls by policy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

import numpy as np

from fastdp import validation
from fastdp.columns.arrow import decode, plain_type
from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.persons.steps import SQUARE_BITS, fill_steps

if TYPE_CHECKING:
    import pyarrow as pa

STEP_BITS = 24
"""Values are rounded to 2**-24 of their bounds at the finest: far below any noise, and sums of 2**37 rows fit."""
SMALLEST, LARGEST = 1e-250, 1e250
EXACT = 1 << 52
Nulls = Literal["drop", "lower", "upper"]
NULLS = ("drop", "lower", "upper")


def read_bounds(owner: str, column: str, value: object) -> tuple[float, float]:
    """Bounds of a column, which nobody guesses from the data."""
    if value is None:
        raise ParameterError(
            f"{owner}: column {column!r} has no bounds; declare what its values are clamped to: "
            f'bounds = (low, high), or "private" to find them with a share of the budget'
        )
    low, high = validation.bounds(owner, value, integers=False)
    if not SMALLEST <= max(abs(low), abs(high)) <= LARGEST or high - low < max(abs(low), abs(high)) * 2.0**-40:
        raise ParameterError(f"{owner}: the bounds of {column!r} must be numbers of ordinary size, not too close")
    return low, high


@dataclass(frozen=True, slots=True)
class Measure:
    """One column's steps: ``(value - centre) / grid``, the value rounded to the grid and clamped to the bounds."""

    column: str
    low: float
    high: float
    nulls: Nulls
    grid: float
    centre: int
    width: int
    """Places in the sums: 1 for steps alone, 2 with the count before it, 3 with squares after it."""

    @classmethod
    def make(
        cls, column: str, bounds: tuple[float, float], nulls: Nulls, *, centred: bool, width: int, whole: bool,
        spread: float,
    ) -> Measure:  # fmt: skip
        """The finest useful grid: whole numbers where they are few, else 2**-24 of the bounds, or what noise allows.

        ``spread`` is the scale of the noise in units of the largest contribution of a row.
        """
        low, high = bounds
        reach = (high - low) / 2 if centred else max(abs(low), abs(high))
        bits = min(STEP_BITS, 36 - math.ceil(math.log2(max(spread, 1.0))))
        grid = 2.0 ** (math.ceil(math.log2(reach)) - max(bits, 1))
        if whole and low.is_integer() and high.is_integer() and not centred:
            grid = max(1.0, grid)
        while max(abs(low), abs(high)) / grid >= EXACT:
            grid *= 2
        ends = round(Fraction(low) / Fraction(grid)), round(Fraction(high) / Fraction(grid))
        centre = (ends[0] + ends[1]) // 2 if centred else 0
        return cls(column, low, high, nulls, grid, centre, width)

    @property
    def ends(self) -> tuple[int, int]:
        """The smallest and the largest step."""
        low, high = (int(np.rint(end / self.grid)) - self.centre for end in (self.low, self.high))
        return low, high

    @property
    def square_ends(self) -> tuple[int, int]:
        """The smallest and the largest square, in units of 2**24 squared steps."""
        low, high = self.ends
        least = 0 if low <= 0 <= high else min(low * low, high * high)
        return least >> int(SQUARE_BITS), max(low * low, high * high) >> int(SQUARE_BITS)

    @property
    def square_grid(self) -> float:
        """What a unit of the squares is worth."""
        return self.grid * self.grid * 2.0 ** int(SQUARE_BITS)

    @property
    def middle(self) -> float:
        """The value of step 0."""
        return self.centre * self.grid

    @property
    def may_be_null(self) -> bool:
        """Whether a row may count for nothing here."""
        return self.nulls == "drop"

    def numbers(self, array: pa.Array) -> np.ndarray:
        """The values as float64, NaN for nulls."""
        return fill_policy(to_floats(array), self.nulls, self.low, self.high)

    def write_steps(self, array: pa.Array, out: np.ndarray) -> None:
        """The steps of a batch."""
        fill_steps(self.numbers(array), self.low, self.high, 1 / self.grid, self.centre, out)


def fill_policy(values: np.ndarray, nulls: Nulls, low: float, high: float) -> np.ndarray:
    """NaN, for nulls too, as the policy says: dropped (it stays NaN), or counted as an end of the bounds."""
    if nulls == "drop":
        return values
    absent = np.isnan(values)
    return np.where(absent, low if nulls == "lower" else high, values) if absent.any() else values


def to_floats(array: pa.Array) -> np.ndarray:
    """A column of numbers as contiguous float64, NaN for nulls."""
    import pyarrow as pa

    array = decode(array)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.uint8())
    elif pa.types.is_decimal(array.type):
        array = array.cast(pa.float64())
    return np.ascontiguousarray(array.to_numpy(zero_copy_only=False), np.float64)


def check_numbers(owner: str, column: str, kind: pa.DataType) -> bool:
    """Refuse a type that is no number; whether it is a whole one."""
    import pyarrow as pa

    plain = plain_type(kind)
    whole = pa.types.is_integer(plain) or pa.types.is_boolean(plain)
    if not (whole or pa.types.is_floating(plain) or pa.types.is_decimal(plain)):
        raise SchemaError(f"{owner}: column {column!r} of type {plain} holds no numbers")
    return bool(whole)
