"""Curves reach from end to end, and every point of them is checked."""

from __future__ import annotations

import pytest

from benchmarks.jobs.job import CheckError
from benchmarks.measuring import scaling
from benchmarks.measuring.scaling import Curve, Point, by_values, curves, measure, rounds_in
from benchmarks.pages.tables import curve_lines


def test_curves__reach_as_far_as_they_should(monkeypatch):
    monkeypatch.setattr(scaling, "_memory", lambda: 1e11)
    found = {curve.name: {point.x for point in curve.points} for curve in curves(quick=False)}
    assert {min(found["laplace-float64, by values"]), max(found["laplace-float64, by values"])} == {10**2, 10**8}
    assert {min(found["krr, by domain"]), max(found["krr, by domain"])} == {2, 10**6}
    assert {min(found["ibu-dense, by channel"]), max(found["ibu-dense, by channel"])} == {10, 10_000}
    assert len(found) == 9


def test_by_values__stays_within_memory_and_a_quick_runs_time(monkeypatch):
    monkeypatch.setattr(scaling, "_memory", lambda: 3 * 48 * 2e6)
    assert max(point.x for point in by_values("laplace-float64", 10**8, quick=False).points) == 10**6
    monkeypatch.setattr(scaling, "_memory", lambda: 1e12)
    assert max(point.x for point in by_values("laplace-float64", 10**8, quick=True).points) == 10**6


def test_by_values__has_two_threads_where_they_pay():
    points = by_values("laplace-float64", 10**8, quick=True).points
    assert {point.threads for point in points} == {1, 2} or scaling.cores() == 1


def test_measure__gives_every_point_and_its_rounds():
    curve = by_values("geometric-int64-1.4", 10**8, quick=True)
    small = Curve(curve.name, curve.axis, curve.unit, tuple(point for point in curve.points if point.x <= 1000))
    found = measure(small, quick=True)
    assert [(point["x"], point["library"]) for point in found["points"]] == [
        (100, "fastdp"), (100, "numpy"), (1000, "fastdp"), (1000, "numpy")
    ]  # fmt: skip
    assert all(point["p_value"] > 1e-4 and point["cpu"] for point in found["points"])
    assert set(curve_lines(found)) == {"fastdp", "numpy"}


def test_measure__stops_at_a_point_that_fails_its_check(monkeypatch):
    (point, *_) = by_values("laplace-float64", 10**8, quick=True).points
    monkeypatch.setattr(type(point.entry), "check", _refuse)
    with pytest.raises(CheckError):
        measure(Curve("x", "n", "values", (Point(point.x, point.entry, point.size),)), quick=True)


def _refuse(self, call, size):
    raise CheckError("no")


def test_rounds_in__fit_the_time():
    assert [rounds_in(seconds, quick=False) for seconds in (1e-5, 0.05, 0.5, 5.0, 60.0)] == [101, 20, 7, 4, 1]
    assert [rounds_in(seconds, quick=True) for seconds in (1e-5, 0.05, 0.5, 5.0)] == [101, 7, 4, 1]
