"""The integers behind Arrow's dates, times, durations and decimals: what one stands for, and how far they reach."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fastdp.units.durations import DAY, SECOND

if TYPE_CHECKING:
    import pyarrow as pa


ARROW_UNITS = {"s": SECOND, "ms": 10**6, "us": 1000, "ns": 1}
MOST = 2**62
"""The largest number of steps: a value further out counts as this one."""


def nanoseconds_of(kind: pa.DataType) -> Fraction:
    """What one of the integers behind a column stands for."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        scale = int(kind.scale)
        return Fraction(1, 10**scale) if scale >= 0 else Fraction(10**-scale)
    if pa.types.is_date32(kind):
        return Fraction(DAY)
    return Fraction(10**6 if pa.types.is_date64(kind) else ARROW_UNITS[kind.unit])


def wider_types(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The type itself, and those that hold more of the same kind."""
    import pyarrow as pa

    yield kind
    if pa.types.is_decimal(kind):
        widths = [(9, getattr(pa, "decimal32", None)), (18, getattr(pa, "decimal64", None)), (38, pa.decimal128)]
        for most, make in widths if kind.bit_width < 256 else [(76, pa.decimal256)]:
            if make is not None and most > kind.precision and make(most, 0).bit_width >= kind.bit_width:
                yield from (make(digits, kind.scale) for digits in range(kind.precision + 1, most + 1))
    elif pa.types.is_date32(kind):
        yield pa.date64()
    elif pa.types.is_timestamp(kind) or pa.types.is_duration(kind):
        for unit in ("us", "ms", "s"):
            if ARROW_UNITS[unit] > ARROW_UNITS[kind.unit]:
                yield pa.timestamp(unit, kind.tz) if pa.types.is_timestamp(kind) else pa.duration(unit)


def limits_of(kind: pa.DataType) -> tuple[int, int]:
    """The smallest and the largest integer that a column may hold; decimals beyond 18 digits are cut there."""
    import pyarrow as pa

    if pa.types.is_decimal(kind):
        most = min(10**kind.precision - 1, MOST)
        return -most, most
    if pa.types.is_time(kind):
        return 0, DAY // ARROW_UNITS[kind.unit] - 1
    if kind.bit_width == 32:
        return -(2**31), 2**31 - 1
    if pa.types.is_date64(kind):
        return -(2**62) // 86_400_000 * 86_400_000, 2**62 // 86_400_000 * 86_400_000
    return -(2**63) + 1, 2**63 - 1


def integers_of(array: pa.Array) -> np.ndarray:
    """The integers behind a plain column as int64, of decimals the nearest that fits; anything under nulls."""
    import pyarrow as pa

    width = array.type.bit_width // 8
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array), np.int64)
    if width <= 8:
        return np.frombuffer(buffer, f"<i{width}", len(array), array.offset * width).astype(np.int64)
    assert pa.types.is_decimal(array.type)
    limbs = np.frombuffer(buffer, "<i8", len(array) * width // 8, array.offset * width).reshape(len(array), width // 8)
    low = limbs[:, 0].copy()
    fits = (limbs[:, 1:] == (low >> 63)[:, None]).all(axis=1)
    return np.where(fits, low, np.where(limbs[:, -1] < 0, -MOST, MOST))


def stored(values: np.ndarray, kind: pa.DataType) -> np.ndarray:
    """The bytes of a column of these integers."""
    width = kind.bit_width // 8
    if width <= 8:
        return values.astype(f"<i{width}")
    limbs = np.empty((values.size, width // 8), "<i8")
    limbs[:, 0] = values
    limbs[:, 1:] = (values >> 63)[:, None]
    return limbs
