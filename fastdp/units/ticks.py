"""Dates, times, durations and decimals as whole numbers of a declared step, and back.

A value is rounded down to the step before anything else happens to it, so that a mechanism for whole numbers covers it.
"""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastdp import rounding
from fastdp.columns.arrow import blank_nulls, decode, plain_type
from fastdp.errors import ParameterError, SchemaError
from fastdp.privacy import MetricPrivacy
from fastdp.units.arrow_steps import MOST, integers_of, limits_of, nanoseconds_of, stored, wider_types
from fastdp.units.durations import DAY, SECOND, largest_unit, parse_duration

if TYPE_CHECKING:
    import pyarrow as pa


Kind = Literal["date", "timestamp", "time", "duration", "decimal"]
EPOCH = dt.date(1970, 1, 1)


def parse_moment(text: object) -> dt.date | dt.datetime | dt.time | None:
    """A date, a date with a time, or a time, as ISO 8601 writes them; None if it is none."""
    if isinstance(text, dt.date | dt.time):
        return text
    if not isinstance(text, str) or not 8 <= len(text) <= 40:
        return None
    for kind in (dt.date, dt.time, dt.datetime):
        try:
            return kind.fromisoformat(text)
        except ValueError:
            continue
    return None


@dataclass(frozen=True, slots=True)
class Ticks:
    """Whole numbers of ``step``: nanoseconds, or for decimals the value of one. ``aware`` timestamps have a zone."""

    kind: Kind
    step: Fraction
    aware: bool = False

    def of(self, owner: str, name: str, value: object) -> int:
        """A parameter in steps; refused if it is of another kind, or between two steps."""
        exact = self._exact(value)
        if exact is None:
            raise ParameterError(f"{owner}: {name} must be {ARTICLES[self.kind]}, as the other bound is")
        count = exact / self.step
        if count.denominator != 1 or abs(count) > MOST:
            raise ParameterError(f"{owner}: {name} must be a whole number of steps of {self.words(1)}")
        return int(count)

    def _exact(self, value: object) -> Fraction | None:
        """Nanoseconds since 1970 or since midnight, or the number itself."""
        if self.kind in {"duration", "decimal"}:
            if isinstance(value, bool) or not isinstance(value, int | float | str):
                return None
            try:
                number = Fraction(str(value))
            except (ValueError, ZeroDivisionError):
                return None
            return number * self.step if self.kind == "duration" else number
        moment = parse_moment(value)
        if self.kind == "time" and isinstance(moment, dt.time) and moment.tzinfo is None:
            whole = dt.datetime.combine(EPOCH, moment)
        elif self.kind == "timestamp" and isinstance(moment, dt.datetime) and (moment.tzinfo is not None) == self.aware:
            whole = moment
        elif self.kind == "date" and isinstance(moment, dt.date) and not isinstance(moment, dt.datetime):
            whole = dt.datetime.combine(moment, dt.time())
        else:
            return None
        start = dt.datetime(1970, 1, 1, tzinfo=dt.UTC if whole.tzinfo is not None else None)
        past = whole - start
        return Fraction(past.days * DAY + past.seconds * SECOND + past.microseconds * 1000)

    def length(self, owner: str, name: str, value: object) -> int:
        """A distance > 0 in steps: a duration, or for decimals a number."""
        if self.kind == "decimal":
            try:
                size = Fraction(str(value)) if not isinstance(value, bool) else Fraction(0)
            except (ValueError, ZeroDivisionError):
                size = Fraction(0)
        else:
            size = Fraction(parse_duration(owner, name, value))
        count = size / self.step
        if count.denominator != 1 or not 1 <= count <= MOST:
            raise ParameterError(f"{owner}: {name} must be a whole number of steps of {self.words(1)}, at least one")
        return int(count)

    def by_distance(self, privacy: MetricPrivacy) -> MetricPrivacy:
        """A guarantee by distance in steps as one in days, hours or whatever its unit is, and of decimals in values.

        Rounding to the step may add a step to the distance of two values.
        """
        count = Fraction(privacy.distance)
        size = Fraction(1) if self.kind == "decimal" else Fraction(largest_unit(float(count * self.step))[1])
        rounds = Fraction(privacy.rounding) + (self.kind != "date" or self.step != DAY)
        return replace(
            privacy,
            distance=float(count * self.step / size),
            rounding=rounding.float_up(rounds * self.step / size) if rounds else 0.0,
            unit=f"distance {self.words(privacy.distance)}",
        )

    def text_type(self, owner: str) -> pa.DataType:
        """How such a column is read from text."""
        import pyarrow as pa

        if self.kind == "duration":
            raise SchemaError(f"{owner}: text files have no durations; write them as numbers")
        if self.kind == "decimal":
            digits = 0
            while (self.step * 10**digits).denominator > 1 and digits < 18:
                digits += 1
            return pa.decimal128(38, digits)
        kinds = {"date": pa.date32(), "timestamp": pa.timestamp("us", "UTC" if self.aware else None)}
        return kinds.get(self.kind, pa.time64("us"))

    def words(self, count: float) -> str:
        """A difference of so many steps, in words.

        >>> Ticks("date", Fraction(DAY)).words(7), Ticks("decimal", Fraction(1, 100)).words(250)
        ('7 days', '2.5')
        """
        size = float(Fraction(count) * self.step)
        if self.kind == "decimal":
            return f"{size:,.12g}"
        name, unit = largest_unit(size)
        length = f"{size / unit:,.4g}" if abs(size / unit) < 1e4 else f"{size / unit:,.0f}"
        return f"{length} {name}" + ("" if length == "1" else "s")

    def show(self, tick: float) -> str:
        """One value, as people write it; a moment between two steps is rounded to the nearest, midnight is its day.

        >>> Ticks("date", Fraction(DAY)).show(20_000.4), Ticks("time", Fraction(SECOND)).show(3_600)
        ('2024-10-04', '01:00:00')
        """
        if self.kind in {"decimal", "duration"}:
            return self.words(tick)
        nanoseconds = round(tick) * int(self.step)
        days, rest = divmod(nanoseconds, DAY)
        clock = (dt.datetime.min + dt.timedelta(microseconds=rest // 1000)).time().isoformat()
        if self.kind == "time":
            return clock if 0 <= days < 1 else "24:00:00" if days >= 1 else "00:00:00"
        try:
            day = (EPOCH + dt.timedelta(days=days)).isoformat()
        except OverflowError:
            return "beyond the calendar"
        return day if self.kind == "date" or not rest else f"{day}T{clock}" + ("Z" if self.aware else "")

    def result_type(
        self, owner: str, kind: pa.DataType, bounds: tuple[int, int] | None, reach: int | None = None
    ) -> pa.DataType:
        """The type of reports of a column: its own; refused if it is of another kind, or cannot hold the bounds.

        Where reports may lie up to ``reach`` steps beyond the bounds, it is widened to hold them: decimals by more
        digits, dates and timestamps by a coarser unit.
        """
        plain = plain_type(kind)
        if not self._takes(plain):
            raise SchemaError(
                f"{owner}: arrow type {plain} does not hold {PLURALS[self.kind]}, which its plan declares"
            )
        if self.kind == "timestamp" and (plain.tz is not None) != self.aware:
            has, lacks = ("with", "without") if plain.tz is not None else ("without", "with")
            raise SchemaError(
                f"{owner}: its timestamps are {has} a time zone, the bounds {lacks}; write bounds such as "
                f"2026-01-01T00:00:00{'Z' if plain.tz is not None else ''}"
            )
        times, parts = self._ratio(owner, plain)
        low, high = limits_of(plain)
        if bounds is not None and not all(low <= bound * parts // times <= high for bound in bounds):
            raise SchemaError(
                f"{owner}: arrow type {plain} cannot hold the declared bounds; convert it to a wider type"
            )
        if reach is None or bounds is None:
            return plain
        for wide in wider_types(plain):
            times, parts = self._ratio(owner, wide)
            low, high = limits_of(wide)
            if low <= (bounds[0] - reach) * parts // times and (bounds[1] + reach) * parts // times <= high:
                return wide
        raise SchemaError(
            f'{owner}: reports beyond the bounds do not fit arrow type {plain} or a wider one; say boundary = "clamp"'
        )

    def _takes(self, kind: pa.DataType) -> bool:
        import pyarrow as pa

        checks = {
            "date": pa.types.is_date, "timestamp": pa.types.is_timestamp, "time": pa.types.is_time,
            "duration": pa.types.is_duration, "decimal": pa.types.is_decimal,
        }  # fmt: skip
        return bool(checks[self.kind](kind))

    def _ratio(self, owner: str, kind: pa.DataType) -> tuple[int, int]:
        """How many steps one unit of the column is, as (times, parts): one of the two is 1."""
        ratio = nanoseconds_of(kind) / self.step
        if 1 not in (ratio.numerator, ratio.denominator):
            raise SchemaError(f"{owner}: a step of {self.words(1)} does not fit arrow type {kind}; choose another step")
        return ratio.numerator, ratio.denominator

    def read(self, owner: str, array: pa.Array) -> pa.Array:
        """The values of a column in steps, rounded down; nulls stay where they are."""
        import pyarrow as pa

        plain = decode(array)
        times, parts = self._ratio(owner, plain.type)
        values = integers_of(plain)
        ticks = (
            np.floor_divide(values, parts) if parts > 1 else np.clip(values, -(MOST // times), MOST // times) * times
        )
        np.clip(ticks, -MOST, MOST, out=ticks)
        validity = blank_nulls(plain, ticks)
        return pa.Array.from_buffers(pa.int64(), len(plain), [validity, pa.py_buffer(ticks)])

    def write(self, owner: str, ticks: pa.Array, kind: pa.DataType) -> pa.Array:
        """Steps as a column of a type; what is beyond the type's range is its nearest end."""
        import pyarrow as pa

        times, parts = self._ratio(owner, kind)
        low, high = limits_of(kind)
        values = np.zeros(len(ticks), np.int64)
        values[:] = ticks.fill_null(0).to_numpy(zero_copy_only=False)
        if parts > 1:
            values = np.clip(values, -(-low // parts), high // parts) * parts
        else:
            values = np.clip(np.floor_divide(values, times), low, high)
        validity = blank_nulls(ticks, values)
        return pa.Array.from_buffers(kind, len(ticks), [validity, pa.py_buffer(stored(values, kind))])


ARTICLES = {"date": "a date", "timestamp": "a date with a time", "time": "a time", "duration": "a number of steps",
            "decimal": "a number"}  # fmt: skip
PLURALS = {"date": "dates", "timestamp": "timestamps", "time": "times", "duration": "durations", "decimal": "decimals"}


def declare(owner: str, bounds: Any, step: object) -> Ticks | None:
    """What a plan declares by its bounds and step: dates, times, durations, decimals, or None for plain numbers."""
    moments = [parse_moment(bound) for bound in bounds] if isinstance(bounds, list | tuple) else []
    kinds = {_kind_of(moment) for moment in moments}
    if len(kinds) == 1 and None not in kinds:
        (kind,) = kinds
        length = parse_duration(owner, "step", step) if step is not None else DAY if kind == "date" else SECOND
        if kind == "date" and length % DAY:
            raise ParameterError(f"{owner}: the step of dates must be whole days")
        aware = isinstance(moments[0], dt.datetime) and moments[0].tzinfo is not None
        return Ticks(kind, Fraction(length), aware)  # type: ignore[arg-type]
    if any(kind is not None for kind in kinds):
        raise ParameterError(f"{owner}: both bounds must be dates, dates with times, or times")
    if step is None:
        return None
    if isinstance(step, str) and not re.fullmatch(r"[\d.]+", step):
        return Ticks("duration", Fraction(parse_duration(owner, "step", step)))
    try:
        size = Fraction(str(step))
    except (ValueError, ZeroDivisionError):
        size = Fraction(0)
    if isinstance(step, bool) or size <= 0:
        raise ParameterError(f"{owner}: step must be a number > 0 for decimals, such as 0.01, or a duration")
    return Ticks("decimal", size)


def _kind_of(moment: object) -> Kind | None:
    if isinstance(moment, dt.datetime):
        return "timestamp"
    return "date" if isinstance(moment, dt.date) else "time" if isinstance(moment, dt.time) else None
