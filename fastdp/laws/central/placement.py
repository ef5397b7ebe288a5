"""Where noise is added: floats on a power-of-two grid, or integers of some width, with or without bounds."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.kernels.central import addition

Boundary = Literal["clamp", "fold", "resample", "open"]
BOUNDARIES = ("clamp", "fold", "resample", "open")

LARGEST_FOLD = 2.0**52
FLOAT64 = np.dtype(np.float64)
LARGEST_OPEN = 1 << 61
"""The largest size of a bound, and of noise, whose sum is certain to fit 64 bits."""


@dataclass(frozen=True, slots=True)
class FloatGrid:
    """Multiples of ``grid`` between ``low`` and ``high``, themselves multiples; unbounded where these are infinite.

    Outputs lie between ``least`` and ``most``, which the output's type can hold.
    """

    owner: str
    grid: float
    low: float
    high: float
    least: float
    most: float
    folded: bool = False

    @classmethod
    @functools.lru_cache(maxsize=256)  # a mechanism asks for the same one at every call
    def within(
        cls,
        owner: str,
        grid: float,
        bounds: tuple[float, float] | None,
        boundary: Boundary = "clamp",
        dtype: np.dtype[Any] = FLOAT64,
    ) -> FloatGrid:
        """The grid cut to bounds; its ends are the grid points inside them, for outputs those that the type holds."""
        if bounds is None:
            return cls(owner, grid, -math.inf, math.inf, *_ends(owner, grid, -math.inf, math.inf, dtype))
        if max(abs(bounds[0]), abs(bounds[1])) / grid > LARGEST_FOLD:
            raise ParameterError(f"{owner}: bounds exceed 2**52 steps of granularity {grid!r}; choose a coarser one")
        low, high = math.ceil(bounds[0] / grid), math.floor(bounds[1] / grid)
        if low >= high:
            raise ParameterError(f"{owner}: bounds are closer than the granularity {grid!r}; choose a finer one")
        limits = (-math.inf, math.inf) if boundary == "open" else (low * grid, high * grid)
        ends = _ends(owner, grid, *limits, dtype)
        return cls(owner, grid, low * grid, high * grid, *ends, boundary == "fold")

    @property
    def width(self) -> int:
        """Steps between the bounds."""
        return round((self.high - self.low) / self.grid)

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Values as whole numbers of steps above the lower bound, clamped to the bounds."""
        self._check(addition.NOT_A_NUMBER if np.isnan(values).any() else 0)
        inside = np.clip(values.astype(np.float64), self.low, self.high)
        return (np.rint(inside / self.grid) - self.low / self.grid).astype(np.int64)

    def add(self, values: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        add = addition.add_floats_folded if self.folded else addition.add_floats
        ends = self.low, self.high, self.least, self.most
        trouble = add(values, noise, 1 / self.grid, self.grid, *ends, out)
        if trouble:
            self._check(trouble)

    def _check(self, trouble: int) -> None:
        if trouble & addition.NOT_A_NUMBER:
            raise DomainError(f"{self.owner}: the values hold NaN; drop or replace them first")
        if trouble and math.isinf(self.high):
            raise DomainError(f"{self.owner}: the values hold infinities; declare bounds to clamp them")


def _ends(owner: str, grid: float, low: float, high: float, dtype: np.dtype[Any]) -> tuple[float, float]:
    """The smallest and largest outputs: numbers of the type, on the grid, inside the bounds."""
    largest = float(np.finfo(dtype).max)
    if grid > np.spacing(dtype.type(largest / 4)):
        largest = math.floor(largest / grid) * grid
    low, high = max(low, -largest), min(high, largest)
    least, most = dtype.type(low), dtype.type(high)
    if float(least) < low:
        least = np.nextafter(least, dtype.type(np.inf))
    if float(most) > high:
        most = np.nextafter(most, dtype.type(-np.inf))
    if not float(least) < float(most):
        raise ParameterError(f"{owner}: the bounds hold no two {dtype} numbers; use a wider type")
    return float(least), float(most)


@dataclass(frozen=True, slots=True)
class IntegerRange:
    """Integers of a type, from low to high; sums saturate at the type's own ends where no bounds are declared."""

    low: int
    high: int
    flip: int
    folded: bool = False

    @classmethod
    def within(
        cls, owner: str, dtype: np.dtype[Any], bounds: tuple[int, int] | None, boundary: Boundary
    ) -> IntegerRange:
        limits = np.iinfo(dtype)
        low, high = bounds or (int(limits.min), int(limits.max))
        if low < limits.min or high > limits.max:
            raise SchemaError(f"{owner}: bounds do not fit {dtype}; convert the values to a wider type")
        if boundary == "fold" and high - low >= 1 << 61:
            raise ParameterError(f"{owner}: bounds must be less than 2**61 apart to fold")
        offset = 1 << 63 if dtype == np.uint64 else 0  # uint64 keeps its order when its top bit is flipped
        return cls(low - offset, high - offset, -offset, boundary == "fold")

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Values as distances from the lower bound, clamped to the bounds."""
        inside = np.clip(values.astype(np.int64) ^ np.int64(self.flip), self.low, self.high)
        above: np.ndarray = inside - np.int64(self.low)
        return above

    def add(self, values: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        add = addition.add_integers_folded if self.folded else addition.add_integers
        add(values, noise, np.int64(self.low), np.int64(self.high), np.int64(self.flip), out)


@dataclass(frozen=True, slots=True)
class OpenIntegers:
    """Integers clamped to ``low`` to ``high``, whose sums with noise are not: ``dtype`` is wide enough for them."""

    low: int
    high: int
    dtype: np.dtype[Any]

    @classmethod
    def within(cls, owner: str, dtype: np.dtype[Any], bounds: tuple[int, int], reach: int) -> OpenIntegers:
        """The smallest signed type, no narrower than the values' own, that holds sums with noise of up to ``reach``."""
        low, high = bounds[0] - reach, bounds[1] + reach
        for bits in (8, 16, 32, 64):
            limits = np.iinfo(f"i{bits // 8}")
            if bits >= 8 * dtype.itemsize and limits.min <= low and high <= limits.max:
                if max(abs(low), abs(high)) > LARGEST_OPEN:
                    break
                return cls(*bounds, np.dtype(limits.dtype))
        raise SchemaError(f'{owner}: outputs may exceed 64 bits; narrow the bounds, or clamp them (boundary="clamp")')

    def steps(self, values: np.ndarray) -> np.ndarray:
        """Values as distances from the lower bound, clamped to the bounds."""
        above: np.ndarray = self._inside(values) - np.int64(self.low)
        return above

    def add(self, values: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None:
        sums = self._inside(values)
        sums += np.clip(noise, -LARGEST_OPEN, LARGEST_OPEN)
        limits = np.iinfo(self.dtype)
        np.clip(sums, limits.min, limits.max, out=out, casting="unsafe")

    def _inside(self, values: np.ndarray) -> np.ndarray:
        limits = np.iinfo(values.dtype)
        low, high = (min(max(bound, limits.min), limits.max) for bound in (self.low, self.high))
        inside: np.ndarray = np.clip(values, values.dtype.type(low), values.dtype.type(high)).astype(np.int64)
        if (low, high) != (self.low, self.high):
            inside = np.clip(inside, self.low, self.high)
        return inside
