"""Dates, times, durations and decimals as whole numbers of a step: exact both ways, in every arrow width."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.privacy import MetricPrivacy
from fastdp.units.arrow_steps import MOST
from fastdp.units.durations import DAY, SECOND, parse_duration
from fastdp.units.ticks import Ticks, declare, parse_moment

DATES = [dt.date(1990, 5, 1), None, dt.date(1950, 1, 2), dt.date(1970, 1, 1)]
MOMENTS = [dt.datetime(2026, 1, 1, 3, 4, 5), None, dt.datetime(1969, 12, 31, 23, 59, 59)]
AMOUNTS = [Decimal("12.34"), None, Decimal("-0.01"), Decimal("99999.99")]
COLUMNS = {
    "date32": (pa.array(DATES), Ticks("date", Fraction(DAY))),
    "date64": (pa.array(DATES).cast(pa.date64()), Ticks("date", Fraction(DAY))),
    **{
        f"timestamp-{unit}": (pa.array(MOMENTS, pa.timestamp(unit)), Ticks("timestamp", Fraction(SECOND)))
        for unit in ("s", "ms", "us", "ns")
    },
    "timestamp-zone": (
        pa.array(MOMENTS, pa.timestamp("us", "Europe/Paris")), Ticks("timestamp", Fraction(SECOND), aware=True)
    ),
    "time32": (pa.array([dt.time(1, 2, 3), None], pa.time32("s")), Ticks("time", Fraction(SECOND))),
    "time64": (pa.array([dt.time(23, 59, 59), None], pa.time64("us")), Ticks("time", Fraction(SECOND))),
    "duration": (pa.array([90, None, -60], pa.duration("s")), Ticks("duration", Fraction(30 * SECOND))),
    **{
        f"decimal{kind.bit_width}": (pa.array(AMOUNTS).cast(kind), Ticks("decimal", Fraction(1, 100)))
        for kind in (pa.decimal32(7, 2), pa.decimal64(12, 2), pa.decimal128(20, 2), pa.decimal256(40, 2))
    },
}  # fmt: skip


@pytest.mark.parametrize("name", COLUMNS)
def test_write__is_the_inverse_of_read(name):
    """Also of slices, and of values in dictionaries."""
    array, ticks = COLUMNS[name]
    assert ticks.result_type("x", array.type, None) == array.type
    for part in (array, array[1:], array[:0]):
        steps = ticks.read("x", part)
        assert steps.type == pa.int64()
        assert ticks.write("x", steps, array.type).equals(part)
    if name in {"date32", "date64", "timestamp-us", "decimal128"}:  # arrow does not encode all types
        assert ticks.write("x", ticks.read("x", array.dictionary_encode()), array.type).equals(array)


@pytest.mark.parametrize("name", COLUMNS)
def test_read__is_the_exact_number_of_steps(name):
    array, ticks = COLUMNS[name]
    for value, step in zip(array.to_pylist(), ticks.read("x", array).to_pylist(), strict=True):
        if value is None:
            assert step is None
        elif ticks.kind == "decimal":
            assert Fraction(value) / ticks.step == step
        elif ticks.kind == "duration":
            assert Fraction(round(value.total_seconds()) * SECOND) / ticks.step == step
        else:
            assert ticks.of("x", "value", value.isoformat()) == step


def test_read__rounds_down_also_before_1970():
    ticks = Ticks("timestamp", Fraction(60 * SECOND))
    moments = pa.array([61_500_000, 59_999_999, -1, -60_000_000], pa.timestamp("us"))
    assert ticks.read("x", moments).to_pylist() == [1, 0, -1, -1]


def test_distance__grows_by_less_than_a_step():
    """Which is what a guarantee by distance adds for the rounding."""
    rng = np.random.default_rng(20261118)
    own = rng.integers(-(10**9), 10**9, (2, 5000))
    steps = [
        Ticks("timestamp", Fraction(7 * SECOND)).read("x", pa.array(one, pa.timestamp("ms"))).to_numpy() for one in own
    ]
    apart = np.abs(own[0] - own[1])
    assert (np.abs(steps[0] - steps[1]) * 7000 < apart + 7000).all()


def test_far_values__count_as_the_nearest_that_fits():
    large = pa.array([Decimal(10) ** 30, -(Decimal(10) ** 30)], pa.decimal128(38, 2))
    assert Ticks("decimal", Fraction(1, 100)).read("x", large).to_pylist() == [MOST, -MOST]
    fine = Ticks("timestamp", Fraction(1))
    assert fine.read("x", pa.array([2**60], pa.timestamp("s"))).to_pylist() == [MOST // SECOND * SECOND]


def test_write__stays_within_the_type():
    ends = pa.array([-MOST, MOST])
    assert Ticks("time", Fraction(SECOND)).write("x", ends, pa.time32("s")).to_pylist() == [
        dt.time(0, 0), dt.time(23, 59, 59)
    ]  # fmt: skip
    assert Ticks("decimal", Fraction(1, 100)).write("x", ends, pa.decimal128(5, 2)).to_pylist() == [
        Decimal("-999.99"), Decimal("999.99")
    ]  # fmt: skip


def test_nulls__show_nothing_of_what_lies_under_them():
    """Neither in steps nor in reports."""
    kind = pa.date32()
    hidden = pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\1"), pa.py_buffer(np.array([5, 7777], np.int32))])
    ticks = Ticks("date", Fraction(DAY))
    steps = ticks.read("x", hidden)
    assert np.frombuffer(steps.buffers()[1], np.int64).tolist() == [5, 0]
    assert np.frombuffer(ticks.write("x", steps, kind).buffers()[1], np.int32).tolist() == [5, 0]


@pytest.mark.parametrize(
    ("bounds", "step", "kind"),
    [
        ([dt.date(1920, 1, 1), dt.date(2026, 1, 1)], None, "date"), (["1920-01-01", "2026-01-01"], "7 days", "date"),
        (["2026-01-01T00:00:00", "2027-01-01T00:00:00"], None, "timestamp"), (["00:00:00", "12:00:00"], None, "time"),
        ([0, 100], "1 minute", "duration"), ([0, 100], 0.01, "decimal"), ([0, 100], None, None), (None, None, None),
    ],
)  # fmt: skip
def test_declare__follows_bounds_and_step(bounds, step, kind):
    found = declare("Plan", bounds, step)
    assert (None if found is None else found.kind) == kind


@pytest.mark.parametrize(
    ("bounds", "step", "message"),
    [
        (["1920-01-01", 5], None, "both bounds"), (["1920-01-01", "10:00:00"], None, "both bounds"),
        (["1920-01-01", "1930-01-01"], "1 hour", "whole days"), ([0, 1], 0, "step must be"),
        ([0, 1], True, "step must"), ([0, 1], "1 parsec", "duration such as"),
    ],
)  # fmt: skip
def test_declare__refuses(bounds, step, message):
    with pytest.raises(fd.ParameterError, match=message):
        declare("Plan: column 'x'", bounds, step)


@pytest.mark.parametrize(
    ("text", "length"),
    [("day", DAY), ("7 days", 7 * DAY), ("1.5 hours", 5400 * SECOND), ("90 s", 90 * SECOND), ("2 ms", 2 * 10**6)],
)
def test_duration__in_words(text, length):
    assert parse_duration("Plan", "unit", text) == length


@pytest.mark.parametrize("text", ["", "days 7", "-1 day", "0 days", "1.5 ns", "1 month", 7, None, "9" * 50])
def test_duration__refuses(text):
    with pytest.raises(fd.ParameterError, match="unit must be"):
        parse_duration("Plan", "unit", text)


@pytest.mark.parametrize("text", ["yesterday", "2026-13-01", 5, "", "x" * 100, "20"])
def test_moment__is_none(text):
    assert parse_moment(text) is None


def test_by_distance__says_the_unit_and_adds_the_rounding():
    stated = MetricPrivacy(epsilon=1.0, distance=3600.0, unit="distance 3600", neighbours="replace")
    hours = Ticks("timestamp", Fraction(SECOND)).by_distance(stated)
    assert (hours.unit, hours.distance) == ("distance 1 hour", 1.0)
    assert 0 <= hours.rounding - 1 / 3600 < 1e-18
    assert hours.at(2.0).epsilon == pytest.approx(2 + 1 / 3600)
    days = Ticks("date", Fraction(DAY)).by_distance(MetricPrivacy(epsilon=1.0, distance=7, unit="distance 7"))
    assert (days.unit, days.rounding) == ("distance 7 days", 0)


@pytest.mark.parametrize(
    ("ticks", "kind", "bounds", "message"),
    [
        (Ticks("date", Fraction(DAY)), pa.int64(), None, "does not hold dates"),
        (Ticks("timestamp", Fraction(SECOND)), pa.timestamp("s", "UTC"), None, "with a time zone"),
        (Ticks("timestamp", Fraction(SECOND), aware=True), pa.timestamp("s"), None, "without a time zone"),
        (Ticks("decimal", Fraction(1, 100)), pa.decimal128(4, 2), (0, 10**5), "cannot hold the declared bounds"),
        (Ticks("timestamp", Fraction(3 * SECOND // 2)), pa.timestamp("s"), None, "does not fit"),
    ],
)  # fmt: skip
def test_result_type__refuses(ticks, kind, bounds, message):
    with pytest.raises(fd.SchemaError, match=message):
        ticks.result_type("Geometric", kind, bounds)
