"""Quantiles of all rows, and the number of distinct values of a column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.queries.answers.answer import Answer, Answers
from fastdp.queries.answers.errors import AdditiveErrors, BracketErrors, UnknownErrors
from fastdp.queries.answers.noise import Spend
from fastdp.queries.data.keys import ColumnKeys
from fastdp.queries.data.measures import Measure, check_numbers, read_bounds
from fastdp.queries.data.persons import Limits
from fastdp.queries.data.tally import Persons
from fastdp.queries.order_statistics import OrderStatistics
from fastdp.queries.plans.questions import Question
from fastdp.queries.quantiles import QuantileNoise, draw_brackets, draw_quantiles, rank_error_bound
from fastdp.queries.tasks.base import Setting
from fastdp.queries.tasks.counted import CountedTask

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

STEP_BITS = 30


class QuantileTask:
    """Quantiles of one column, of all rows."""

    needs_delta = False

    def __init__(
        self, setting: Setting, name: str, question: Question, *, interval: float | None = None,
        share: float | None = None,
    ) -> None:  # fmt: skip
        self._setting, self.name, self.share, self._question = setting, name, share, question
        self._owner, self._level = f"{setting.owner}: {name}", interval
        assert question.column is not None
        whole = check_numbers(self._owner, question.column, setting.check_column(question.column))
        spec = setting.column(question.column)
        low, high = read_bounds(self._owner, question.column, spec.bounds)
        self._measure = fine_grid(question.column, (low, high), spec.nulls, whole=whole)
        self._width = self._measure.ends[1] - self._measure.ends[0]
        self._persons = None
        if setting.unit.person is not None:
            setting.check_column(setting.unit.person)
            self._persons = Persons(self._owner, setting.schema, setting.unit.person, setting.seed + 1)
        self._noise: QuantileNoise | None = None

    @property
    def _choices(self) -> int:
        """Choices that pay one by one, rather than level by level."""
        return 0 if self._level is None else 3 * len(self._question.quantiles)

    def amounts(self) -> list[float]:
        return [float(self._setting.unit.rows)]

    def fund(self, parts: Sequence[Spend], delta: Fraction) -> None:  # noqa: ARG002
        (spend,) = parts
        if self._choices:
            spend = spend.part(Fraction(1, self._choices))
            self._noise = QuantileNoise.of(spend, 1, self._setting.unit)
        else:
            self._noise = QuantileNoise.of(spend, len(self._question.quantiles), self._setting.unit)

    @property
    def noise(self) -> QuantileNoise:
        assert self._noise is not None
        return self._noise

    @property
    def cost(self) -> Spend:
        one = self.noise.cost(pure=self._setting.pure)
        times = max(1, self._choices)
        return Spend(None if one.epsilon is None else one.epsilon * times, None if one.rho is None else one.rho * times)

    @property
    def columns(self) -> list[str]:
        return [self._measure.column, *([] if self._persons is None else [self._persons.column])]

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        self._pieces: list[np.ndarray] = []
        self._rows = None
        if self._persons is not None:
            limits = Limits(1, self._setting.unit.rows, "rows")
            self._rows = StepRows(self._measure, self._persons, limits, rng.child("bounding"), expected_rows)

    def add(self, batch: pa.RecordBatch) -> None:
        if self._rows is not None:
            self._rows.add(batch)
            return
        steps = np.empty(batch.num_rows, np.int32)
        self._measure.write_steps(batch.column(self._measure.column), steps)
        self._pieces.append(steps)

    def answer(self, rng: Rng) -> Answers:
        import pyarrow as pa

        pieces = self._pieces if self._rows is None else [self._rows.finish()]
        rows, quantiles = OrderStatistics(pieces, self._width), self._question.quantiles
        errors: Any
        if self._level is None:
            steps = draw_quantiles(rows, quantiles, self.noise, self._width, rng.child("ranks"))
            values = self._values(steps)
            errors = UnknownErrors(values)
        else:
            found = draw_brackets(rows, quantiles, self.noise, self._width, rng.child("ranks"), self._level)
            values, low, high = (self._values(one) for one in found)
            errors = BracketErrors(low, high, self._level)
        keys = pa.table({"quantile": [float(quantile) for quantile in quantiles]})
        privacy = self._setting.privacy(self.cost)
        answer = Answer(self._question.name, values, errors, privacy, keys, self._rank_error)
        return Answers(self.name, {self._question.name: answer}, privacy)

    def _rank_error(self, level: float) -> float:
        return rank_error_bound(self.noise, self._question.quantiles, self._width, level)

    def _values(self, steps: np.ndarray) -> np.ndarray:
        values = self._measure.middle + steps * self._measure.grid
        return np.clip(values, self._measure.low, self._measure.high)

    def explain(self, level: float) -> list[dict[str, Any]]:
        return [{
            "query": self.name, "answer": self._question.name, "std_error": math.nan, "half_width": math.nan,
            "of": f"ranks are off by at most {math.ceil(self._rank_error(level)):,} rows at {100 * level:g} %",
        }]  # fmt: skip

    def describe(self) -> dict[str, Any]:
        return {
            "query": self.name, "quantiles": [float(one) for one in self._question.quantiles],
            "column": self._question.column, "step": self._measure.grid, "epsilon per level": float(self.noise.epsilon),
            "levels": self.noise.levels, "choices": self._choices,
        }  # fmt: skip


def fine_grid(column: str, bounds: tuple[float, float], nulls: Any, *, whole: bool) -> Measure:
    """Steps from 0 at the lower bound on, 2**30 of them at the most."""
    low, high = bounds
    grid = 2.0 ** (math.ceil(math.log2(high - low)) - STEP_BITS)
    if whole and low.is_integer() and high.is_integer():
        grid = max(grid, 1.0)
    while max(abs(low), abs(high)) / grid >= 1 << 52:
        grid *= 2
    return Measure(column, low, high, nulls, grid, round(low / grid), 1)


class StepRows:
    """The steps of each person's rows, at most so many of each person."""

    def __init__(self, measure: Measure, persons: Persons, limits: Limits, rng: Rng, expected_rows: int | None) -> None:
        from fastdp.queries.data.persons import PersonRows

        self._measure, self._persons, self._limits = measure, persons, limits
        self._rows = PersonRows(rng, np.zeros(0, np.int64), expected_rows=expected_rows)

    def add(self, batch: pa.RecordBatch) -> None:
        steps = np.empty(batch.num_rows, np.int32)
        self._measure.write_steps(batch.column(self._measure.column), steps)
        identities, absent = self._persons.read(batch)
        if absent is not None:
            steps = np.where(absent, np.int32(-1), steps)
        self._rows.add(identities, steps, np.empty((0, steps.size), np.int32))

    def finish(self) -> np.ndarray:
        found: list[np.ndarray] = []

        def use(_thread: int, kept: np.ndarray, count: int) -> None:
            found.append(np.repeat(kept[:count, 0], kept[:count, 2]).astype(np.int32))

        try:
            self._rows.bounded(self._limits, use, seeds=self._persons.seeds)
        finally:
            self._rows.close()
        return np.concatenate(found) if found else np.zeros(0, np.int32)


class DistinctTask(CountedTask):
    """How many distinct values a column has, of persons of whom each counts in so many of them at the most."""

    def __init__(self, setting: Setting, name: str, question: Question, *, share: float | None = None) -> None:
        assert question.column is not None
        setting.check_column(question.column)
        keys = ColumnKeys(f"{setting.owner}: {name}", setting.schema, [question.column], setting.seed, None)
        super().__init__(setting, name, keys, known=None, share=share)
        self._question = question
        self._sensitivity = setting.unit.distinct(self._limits)

    def amounts(self) -> list[float]:
        return [float(self._sensitivity.l1)]

    def answer(self, rng: Rng) -> Answers:
        sums = self._tally.finish()
        count = np.array([np.count_nonzero(sums[:, 0 if self._persons is not None else 1])], np.int64)
        noisy = self.noise.add(count, rng.child("distinct"))
        privacy = self._setting.privacy(self.cost)
        answer = Answer(self._question.name, noisy, AdditiveErrors(noisy, self.noise, 1.0, is_count=True), privacy)
        return Answers(self.name, {self._question.name: answer}, privacy)

    def explain(self, level: float) -> list[dict[str, Any]]:
        return [{
            "query": self.name, "answer": self._question.name, "std_error": math.sqrt(self.noise.variance),
            "half_width": float(self.noise.half_width(level)),
        }]  # fmt: skip

    def describe(self) -> dict[str, Any]:
        return {"query": self.name, "distinct": self._question.column, **self.noise.describe()}
