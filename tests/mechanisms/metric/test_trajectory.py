"""Trajectories: the test's law and price, who pays how much, budgets, memory of places, containers."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binomtest, kstest

import fastdp as fd
from fastdp.mechanisms.metric.predictive_trajectory import _root


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def predictive(epsilon: float = 2.0, test: float = 1.0, threshold: float = 2.0, **more) -> fd.PredictiveTrajectory:
    noise = fd.PlanarLaplace(epsilon=epsilon, unit="km", granularity=more.pop("granularity", 2.0**-10))
    return fd.PredictiveTrajectory(mechanism=noise, threshold=threshold, test_epsilon=test, **more)


def walk(people: int, points: int, seed: int = 3) -> tuple[np.ndarray, ...]:
    """People who stay, with a jump now and then; trajectories of different lengths, rows shuffled."""
    source = np.random.default_rng(seed)
    persons = np.repeat(np.arange(people), source.integers(1, points + 1, people))
    times = source.permutation(persons.size)
    jumps = source.normal(0, 1, (2, persons.size)) * (source.random(persons.size) < 0.1) * 20
    order = np.lexsort((times, persons))
    x, y = np.empty(persons.size), np.empty(persons.size)
    x[order], y[order] = np.cumsum(jumps + source.normal(0, 0.02, jumps.shape), axis=1)
    shuffled = source.permutation(persons.size)
    return tuple(column[shuffled] for column in (persons, times, x, y))


def by_person(persons, times):
    """The rows of each person, in time."""
    for person in np.unique(persons):
        rows = np.flatnonzero(persons == person)
        yield person, rows[np.argsort(times[rows], kind="stable")]


def prices(mechanism) -> tuple[Fraction, Fraction]:
    """Of a test and of a report, worked out anew: rates per step times the steps that points one unit apart can be."""
    step = Fraction(mechanism.mechanism.granularity)
    rate = Fraction(mechanism._noise._law.rate.exact)
    return rate * (1 / step + 1 + Fraction(math.sqrt(2))), Fraction(mechanism.mechanism.privacy.epsilon)


def test_reports__repeat_unless_they_are_new_and_costs_add_up():
    """Each row's cost follows from its flags, each person's is the exact sum of their rows, rounded up."""
    mechanism = predictive()
    persons, times, x, y = walk(300, 40)
    reports = mechanism.randomize(persons, times, x, y, rng=seeded())
    test, report = prices(mechanism)
    assert reports.persons.tolist() == np.unique(persons).tolist()
    for (_, rows), spent in zip(by_person(persons, times), reports.spent, strict=True):
        assert reports.is_new[rows[0]]
        assert not reports.is_tested[rows[0]]
        assert reports.is_tested[rows[1:]].all()
        again = rows[1:][~reports.is_new[rows[1:]]]
        before = rows[:-1][~reports.is_new[rows[1:]]]
        assert np.array_equal(reports.x[again], reports.x[before])
        assert np.array_equal(reports.y[again], reports.y[before])
        exact = (rows.size - 1) * test + int(reports.is_new[rows].sum()) * report
        assert exact <= Fraction(spent) <= exact * (1 + Fraction(1, 10**9))
        assert spent == pytest.approx(reports.costs[rows].sum(), rel=1e-12)
    assert 0.05 < reports.is_new.mean() < 0.5
    assert reports.privacy.epsilon == reports.spent.max()
    assert (reports.privacy.unit, reports.privacy.neighbours) == ("1 km", "replace")
    assert "reported anew" in repr(reports)


def test_reports__who_stays_pays_for_tests_and_who_moves_for_reports():
    """Forty points in one place cost far less than forty reports; in forty places they cost more than those."""
    mechanism = predictive(epsilon=2.0, test=0.2, threshold=40.0)
    persons, times = np.repeat([0, 1], 40), np.tile(np.arange(40), 2)
    x = np.concatenate((np.zeros(40), np.arange(40) * 1000.0))
    reports = mechanism.randomize(persons, times, x, np.zeros(80), rng=seeded())
    assert [int(reports.is_new[persons == person].sum()) for person in (0, 1)] == [1, 40]
    stays, moves = reports.spent
    assert stays == pytest.approx(2.0 + 39 * 0.2, rel=0.01)
    assert moves == pytest.approx(40 * 2.0 + 39 * 0.2, rel=0.01)
    assert mechanism.privacy_of(40).epsilon == moves


def test_reports__do_not_depend_on_the_order_of_rows_or_threads(threads):
    mechanism = predictive()
    columns = walk(200, 30)
    whole = mechanism.randomize(*columns, rng=seeded())
    back = np.random.default_rng(1).permutation(columns[0].size)
    threads(3)
    other = mechanism.randomize(*(column[back] for column in columns), rng=seeded())
    for name in ("x", "y", "is_new", "is_tested", "costs"):
        assert np.array_equal(getattr(whole, name)[back], getattr(other, name))


@pytest.mark.parametrize(("test", "distance"), [(0.5, 2.0), (1.5, 2.9), (4.0, 1.8)])
def test_test__has_its_exact_probability(test, distance):
    """P(steps + Z > threshold) for a two-sided geometric Z; a test_epsilon a tenth larger is told apart."""
    size, threshold = 400_000, 2.25
    mechanism = predictive(test=test, threshold=threshold, granularity=2.0**-4)
    far = mechanism._is_far(np.full(size, distance), np.zeros(size), np.zeros((2, size)), seeded())

    def chance(epsilon: float) -> float:
        snapped = math.floor(distance * 16)
        a, gap = math.exp(-epsilon / 16), math.floor(threshold * 16) - snapped
        return a ** (gap + 1) / (1 + a) if gap >= 0 else 1 - a**-gap / (1 + a)

    assert binomtest(int(far.sum()), size, chance(test)).pvalue > 1e-3
    assert binomtest(int(far.sum()), size, chance(test * 1.1)).pvalue < 1e-3


def test_test__costs_no_more_than_its_price():
    """Points one unit apart, anywhere around a report, differ by fewer steps than are paid for; a unit is too few."""
    mechanism = predictive(granularity=2.0**-2)
    source, most = random.Random(4), 0
    for _ in range(20_000):
        z = (source.randrange(-40, 40) / 4, source.randrange(-40, 40) / 4)
        a = (source.uniform(-9, 9), source.uniform(-9, 9))
        turn = source.uniform(0, 2 * math.pi)
        b = (a[0] + math.cos(turn), a[1] + math.sin(turn))
        one, other = (
            math.isqrt(round((round(p[0] * 4) - z[0] * 4) ** 2 + (round(p[1] * 4) - z[1] * 4) ** 2)) for p in (a, b)
        )
        most = max(most, abs(one - other))
    paid = mechanism._prices[0] / Fraction(mechanism._noise.privacy.epsilon)
    assert 4 < most <= paid < 4 + 2.5
    # What an outcome's probability changes by: at most the rate per step.
    rate = float(mechanism._noise._law.rate.exact)
    far = [math.exp(-rate * gap) / (1 + math.exp(-rate)) for gap in range(1, 60)]
    most = max(abs(math.log(p / q)) for p, q in zip(far, far[1:], strict=False))
    assert most <= mechanism._noise.privacy.epsilon * (1 + 1e-12)


def test_root__is_exact():
    edges = np.array([k * k + d for k in (1, 2, 3, 2**26, 2**30, 2**30 - 1) for d in (-1, 0, 1)], np.int64)
    assert _root(edges).tolist() == [math.isqrt(int(value)) for value in edges]


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 7.0])
def test_new_reports__follow_planar_laplace(epsilon):
    """Lengths of first reports against 1 - (1 + s) e**-s; an epsilon 3 % larger is told apart."""
    size = 60_000
    mechanism = predictive(epsilon=epsilon)
    reports = mechanism.randomize(np.arange(size), np.zeros(size), np.zeros(size), np.zeros(size), rng=seeded())
    lengths = np.hypot(reports.x, reports.y)

    def law(factor: float):
        return lambda r: 1 - (1 + epsilon * factor * r) * np.exp(-epsilon * factor * r)

    assert kstest(lengths, law(1.0)).pvalue > 1e-3
    assert kstest(lengths, law(1.03)).pvalue < 1e-3


def test_budget__is_never_exceeded_and_used_exactly():
    """Whoever cannot pay for a test and a report repeats the last report for nothing; a hair less affords one less."""
    test, report = predictive()._prices
    exact = Fraction(math.nextafter(float(3 * report + 2 * test), math.inf))
    for budget, most in ((float(exact), 3), (float(exact) * (1 - 1e-9), 2)):
        mechanism = predictive(budget=budget)
        persons, times = np.repeat(np.arange(50), 9), np.tile(np.arange(9), 50)
        x = times * 1000.0  # every test finds the last report far away
        reports = mechanism.randomize(persons, times, x, np.zeros(x.size), rng=seeded())
        drawn = np.bincount(persons[reports.is_new])
        assert drawn.tolist() == [most] * 50
        assert np.bincount(persons[reports.is_tested]).tolist() == [most - 1] * 50
        assert reports.spent.max() <= budget
        assert (reports.costs[times >= most] == 0).all()
        assert (reports.x[times >= most] == np.repeat(reports.x[times == most - 1], 9 - most)).all()
        assert mechanism.privacy_of(100).epsilon == budget
        assert mechanism.privacy_of(1).epsilon == pytest.approx(float(report))
    persons, times, x, y = walk(200, 60)
    limited = predictive(budget=12.0).randomize(persons, times, x, y, rng=seeded())
    free = predictive().randomize(persons, times, x, y, rng=seeded())
    assert limited.spent.max() <= 12.0 < free.spent.max()  # without the budget it is exceeded


@pytest.mark.parametrize("kind", ["predictive", "memoized"])
def test_latlon__moves_as_on_the_plane_also_at_the_date_line_and_the_pole(kind):
    """Distances on the ground from the true points follow the law's median, wherever the origin is."""
    size = 20_000
    for origin in ((-17.0, 179.99), (90.0, 0.0), (48.85, 2.35)):
        noise = fd.PlanarLaplace(epsilon=1.0, unit="km", origin=origin)
        mechanism = (
            fd.PredictiveTrajectory(mechanism=noise, threshold=1.0, test_epsilon=1.0)
            if kind == "predictive"
            else fd.MemoizedTrajectory(mechanism=noise)
        )
        given = np.full(size, origin[0]), np.full(size, origin[1])
        reports = mechanism.randomize_latlon(np.arange(size), np.zeros(size), *given, rng=seeded())
        lat, lon = np.radians(reports.x), np.radians(reports.y)
        phi, lam = math.radians(origin[0]), math.radians(origin[1])
        half = np.sin((lat - phi) / 2) ** 2 + np.cos(lat) * math.cos(phi) * np.sin((lon - lam) / 2) ** 2
        assert np.median(2 * 6371.0 * np.arcsin(np.sqrt(half))) == pytest.approx(noise.radius(0.5), rel=0.03)
        assert np.abs(reports.y).max() <= 180


def test_memoized__answers_the_same_cell_the_same_way_and_charges_it_once():
    """Per person and cell one report, drawn at the earliest visit; other people's and cells' reports differ."""
    mechanism = fd.MemoizedTrajectory(mechanism=fd.PlanarLaplace(epsilon=2.0, unit="km", granularity=0.5))
    source = np.random.default_rng(2)
    persons, times = source.integers(0, 40, 3_000), source.permutation(3_000)
    x, y = source.uniform(0, 2, (2, 3_000))
    reports = mechanism.randomize(persons, times, x, y, rng=seeded())
    cells = list(zip(persons.tolist(), np.rint(x * 2).tolist(), np.rint(y * 2).tolist(), strict=True))
    answers: dict = {}
    for row in np.argsort(times):
        answer = reports.x[row], reports.y[row]
        assert reports.is_new[row] == (cells[row] not in answers)
        assert answers.setdefault(cells[row], answer) == answer
    moved = {(answer[0] - cell[1] / 2, answer[1] - cell[2] / 2) for cell, answer in answers.items()}
    assert len(moved) > 50
    price = Fraction(mechanism.mechanism.privacy.epsilon)
    for person, spent in zip(reports.persons, reports.spent, strict=True):
        cost = len({cell for cell in cells if cell[0] == person}) * price
        assert cost <= Fraction(spent) <= cost * (1 + Fraction(1, 10**12))
    assert "returns shown" in reports.privacy.unit
    assert reports.costs.sum() == pytest.approx(float(price) * len(answers))


@pytest.mark.parametrize("mechanism", [
    predictive(), fd.MemoizedTrajectory(mechanism=fd.PlanarLaplace(epsilon=2.0, unit="km", granularity=0.5)),
], ids=["predictive", "memoized"])  # fmt: skip
def test_containers__come_back_as_they_went_in(mechanism):
    """Pandas, polars, arrow, lists; persons as text, times as timestamps: the same reports."""
    names = ["ada", "bob", "ada", "cyd", "bob", "ada"]
    days = np.array(["2026-01-03", "2026-01-01", "2026-01-01", "2026-01-02", "2026-01-02", "2026-01-02"], "M8[D]")
    x, y = [1.0, 2.0, 1.1, 9.0, 2.0, 1.0], [5.0, 6.0, 5.0, 9.0, 6.0, 5.5]
    plain = mechanism.randomize(names, days, np.array(x), np.array(y), rng=seeded())
    assert plain.persons.tolist() == ["ada", "bob", "cyd"]
    times = days.astype("M8[us]")

    def halves(values):
        return pa.chunked_array([values[:2], values[2:]])

    for who, when, wrap, kind in (
        (names, times, list, list),
        (pd.Series(names), pd.Series(times), pd.Series, pd.Series),
        (pl.Series(names), pl.Series(times), pl.Series, pl.Series),
        (pa.array(names).dictionary_encode(), pa.array(times), pa.array, pa.Array),
        (halves(names), pa.chunked_array([times]), halves, pa.ChunkedArray),
        ([4, 7, 4, 9, 7, 4], days.astype(np.int64), np.asarray, np.ndarray),
    ):  # fmt: skip
        reports = mechanism.randomize(who, when, wrap(x), wrap(y), rng=seeded())
        assert isinstance(reports.x, kind)
        assert list(map(float, reports.x)) == plain.x.tolist() if kind is not pa.Array else True
        assert np.array_equal(np.asarray(pl.Series(reports.y) if kind is pl.Series else reports.y), plain.y)
        assert np.array_equal(reports.spent, plain.spent)
    empty = mechanism.randomize([], [], [], [])
    assert (empty.x, empty.spent.size) == ([], 0)
    single = mechanism.randomize(names, days, np.array(x, np.float32), np.array(y, np.float32), rng=seeded())
    assert single.x.dtype == np.float32


@pytest.mark.parametrize("mechanism", [
    predictive(), fd.MemoizedTrajectory(mechanism=fd.PlanarLaplace(epsilon=2.0, unit="km", origin=(1.0, 2.0))),
], ids=["predictive", "memoized"])  # fmt: skip
def test_bad_input__is_refused_without_its_value(mechanism):
    good = [1, 1], [1.0, 2.0], [77.5, 77.5], [77.5, 77.5]
    for place, bad, error in (
        (0, [1], fd.SchemaError), (0, [1.5, 2.5], fd.SchemaError), (0, [1, "a"], fd.SchemaError),
        (0, pa.array([1, None]), fd.DomainError), (0, None, fd.SchemaError), (0, [[1, 2], [3]], fd.SchemaError),
        (0, [[1], [2]], fd.SchemaError),
        (1, [1.0, math.nan], fd.DomainError), (1, np.array(["2026-01-01", "NaT"], "M8[s]"), fd.DomainError),
        (1, ["a", "b"], fd.SchemaError), (2, [77.5, math.nan], fd.DomainError), (2, [77.5, math.inf], fd.DomainError),
        (3, pa.array([77.5, None]), fd.DomainError), (3, [77.5], fd.SchemaError), (2, ["77.5", "1"], fd.SchemaError),
    ):  # fmt: skip
        given = list(good)
        given[place] = bad
        with pytest.raises(error) as caught:
            mechanism.randomize(*given)
        assert "77" not in str(caught.value)
        assert type(mechanism).__name__ in str(caught.value)
    with pytest.raises((fd.DomainError, fd.ParameterError)):
        mechanism.randomize_latlon([1], [1], [91.0], [0.0])
    with pytest.raises(fd.ParameterError, match="rng"):
        mechanism.randomize(*good, rng=np.random.default_rng())


@pytest.mark.parametrize("given", [
    {"mechanism": fd.Laplace(epsilon=1.0, sensitivity=1.0)}, {"mechanism": None}, {"threshold": 0},
    {"threshold": math.nan}, {"threshold": 1e9}, {"test_epsilon": 0}, {"test_epsilon": True}, {"test_epsilon": "1"},
    {"test_epsilon": 1e-12}, {"test_epsilon": 5e-324}, {"test_epsilon": 1e6}, {"budget": 0},
    {"budget": 1.0}, {"budget": math.inf},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    noise = fd.PlanarLaplace(epsilon=2.0, unit="km")
    with pytest.raises(fd.ParameterError):
        fd.PredictiveTrajectory(**{"mechanism": noise, "threshold": 1.0, "test_epsilon": 1.0} | given)
    with pytest.raises(fd.ParameterError):
        fd.MemoizedTrajectory(mechanism=given.get("mechanism", 3))
    with pytest.raises(fd.ParameterError):
        predictive().privacy_of(0)
