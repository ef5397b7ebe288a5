"""Quantiles and distinct values of each group: what a query about groups asks of rows, not of sums."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.kernels.persons.steps import NULL
from fastdp.queries.answers.answer import Answer
from fastdp.queries.answers.errors import AdditiveErrors, BracketErrors, UnknownErrors
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.data.keys import ColumnKeys, Keys
from fastdp.queries.data.measures import check_numbers, read_bounds
from fastdp.queries.data.nested import NestedRows
from fastdp.queries.data.persons import EACH, Limits
from fastdp.queries.data.tally import Persons
from fastdp.queries.order_statistics import SortedRows
from fastdp.queries.plans.questions import Question
from fastdp.queries.quantiles import QuantileNoise, draw_brackets, draw_quantiles, rank_error_bound
from fastdp.queries.tasks.base import Setting
from fastdp.queries.tasks.ranks import fine_grid
from fastdp.queries.unit import Range

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng


class NestedTask(ABC):
    """One question about the rows of each group; the query that it belongs to chooses the groups."""

    _is_distinct = False

    def __init__(
        self, setting: Setting, owner: str, question: Question, keys: Keys, persons: Persons | None, known: int | None
    ) -> None:
        self._setting, self._owner, self._question = setting, owner, question
        self._keys, self._persons, self._known = keys, persons, known
        self._limits = Limits(setting.unit.groups(owner, known), setting.unit.rows, EACH)

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of its answers."""

    @property
    @abstractmethod
    def amount(self) -> float:
        """Its sensitivity, in rows."""

    @abstractmethod
    def fund(self, spend: Spend) -> None:
        """Choose its noise."""

    @property
    @abstractmethod
    def cost(self) -> Spend:
        """What it costs as it will be drawn."""

    @property
    @abstractmethod
    def columns(self) -> list[str]:
        """The columns that it reads besides keys and persons."""

    @abstractmethod
    def _steps(self, batch: pa.RecordBatch) -> np.ndarray:
        """One int32 per row, NULL where there is no value."""

    @abstractmethod
    def answer(self, rng: Rng, codes: np.ndarray, keys: pa.Table | None) -> list[Answer]:
        """Its answers for the groups with these codes, whose names are ``keys``."""

    @abstractmethod
    def explain(self, level: float) -> list[dict[str, Any]]:
        """What each answer will be like."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What was drawn, for the receipt."""

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        """Make ready for the pass over the data."""
        self._rows = NestedRows(
            self._keys, self._persons, self._limits, rng, expected_rows, distinct=self._is_distinct
        )  # fmt: skip

    def add(self, batch: pa.RecordBatch) -> None:
        """One batch of rows."""
        self._rows.add(batch, self._keys.find(batch), self._steps(batch))


class NestedQuantiles(NestedTask):
    """Quantiles of a column in each group; each group answers from its own rows."""

    def __init__(self, *given: Any, interval: float | None = None) -> None:
        super().__init__(*given)
        column = self._question.column
        assert column is not None
        whole = check_numbers(self._owner, column, self._setting.check_column(column))
        spec = self._setting.column(column)
        self._measure = fine_grid(column, read_bounds(self._owner, column, spec.bounds), spec.nulls, whole=whole)
        self._width, self._level = self._measure.ends[1] - self._measure.ends[0], interval

    @property
    def names(self) -> list[str]:
        quantiles, name = self._question.quantiles, self._question.name
        return [name] if len(quantiles) == 1 else [f"{name}_{float(quantile):g}" for quantile in quantiles]

    @property
    def amount(self) -> float:
        groups = self._limits.groups
        return self._limits.rows * (groups if self._setting.pure else math.sqrt(groups))

    @property
    def columns(self) -> list[str]:
        return [self._measure.column]

    @property
    def _choices(self) -> int:
        """Choices that pay one by one, rather than level by level."""
        return 1 if self._level is None else 3 * len(self._question.quantiles)

    def fund(self, spend: Spend) -> None:
        count = len(self._question.quantiles) if self._level is None else 1
        share = Spend(
            None if spend.epsilon is None else spend.epsilon / self._choices,
            None if spend.rho is None else spend.rho / self._choices,
        )
        self._noise = QuantileNoise.of(share, count, self._setting.unit, self._limits.groups)

    @property
    def cost(self) -> Spend:
        return sum([self._noise.cost(pure=self._setting.pure)] * self._choices, Spend())

    def _steps(self, batch: pa.RecordBatch) -> np.ndarray:
        steps = np.empty(batch.num_rows, np.int32)
        self._measure.write_steps(batch.column(self._measure.column), steps)
        return steps

    def answer(self, rng: Rng, codes: np.ndarray, keys: pa.Table | None) -> list[Answer]:
        groups, steps = self._rows.finish()
        first, last = np.searchsorted(groups, codes, "left"), np.searchsorted(groups, codes, "right")
        quantiles, parts = self._question.quantiles, 1 if self._level is None else 3
        found = np.empty((parts, codes.size, len(quantiles)), np.int64)
        for place in range(codes.size):
            rows = SortedRows(steps[first[place] : last[place]], self._width)
            if self._level is None:
                found[0, place] = draw_quantiles(rows, quantiles, self._noise, self._width, rng)
            else:
                found[:, place] = draw_brackets(rows, quantiles, self._noise, self._width, rng, self._level)
        values = np.clip(self._measure.middle + found * self._measure.grid, self._measure.low, self._measure.high)
        privacy, answers = self._setting.privacy(self.cost), []
        for place, name in enumerate(self.names):
            own = np.ascontiguousarray(values[0, :, place])
            errors: Any = UnknownErrors(own)
            if self._level is not None:
                errors = BracketErrors(values[1, :, place], values[2, :, place], self._level)
            answers.append(Answer(name, own, errors, privacy, keys, self._rank_error))
        return answers

    def _rank_error(self, level: float) -> float:
        return rank_error_bound(self._noise, self._question.quantiles, self._width, level)

    def explain(self, level: float) -> list[dict[str, Any]]:
        off = math.ceil(self._rank_error(level))
        stated = {"std_error": math.nan, "half_width": math.nan}
        return [
            {"answer": name, **stated, "of": f"ranks are off by at most {off:,} rows of a group at {100 * level:g} %"}
            for name in self.names
        ]

    def describe(self) -> dict[str, Any]:
        return {
            "of": "quantiles", "column": self._question.column, "step": self._measure.grid,
            "quantiles": [float(one) for one in self._question.quantiles], "groups": self._noise.groups,
            "epsilon per level": float(self._noise.epsilon), "levels": self._noise.levels, "choices": self._choices,
        }  # fmt: skip


class NestedDistinct(NestedTask):
    """How many distinct values a column has in each group; of a person so many of a group count at the most."""

    _is_distinct = True

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        column, setting = self._question.column, self._setting
        assert column is not None
        setting.check_column(column)
        self._values = ColumnKeys(self._owner, setting.schema, [column], setting.seed + 3, None)
        self._sensitivity = setting.unit.sensitivity(Range(0, setting.unit.rows), self._limits, self._known)

    @property
    def names(self) -> list[str]:
        return [self._question.name]

    @property
    def amount(self) -> float:
        return float(self._sensitivity.l1) if self._setting.pure else math.sqrt(self._sensitivity.l2_squared)

    @property
    def columns(self) -> list[str]:
        return self._values.columns

    def fund(self, spend: Spend) -> None:
        self._noise = Noise.of(self._owner, spend, self._sensitivity)

    @property
    def cost(self) -> Spend:
        return self._noise.cost

    def _steps(self, batch: pa.RecordBatch) -> np.ndarray:
        codes = self._values.find(batch)
        return np.where(codes < 0, NULL, codes)

    def answer(self, rng: Rng, codes: np.ndarray, keys: pa.Table | None) -> list[Answer]:
        groups, _ = self._rows.finish(self._values.tags)
        counts = np.bincount(groups, minlength=int(codes.max(initial=-1)) + 1)[codes].astype(np.int64)
        noisy = self._noise.add(counts, rng)
        errors = AdditiveErrors(noisy, self._noise, 1.0, is_count=True)
        return [Answer(self._question.name, noisy, errors, self._setting.privacy(self.cost), keys)]

    def explain(self, level: float) -> list[dict[str, Any]]:
        stated = {"std_error": math.sqrt(self._noise.variance), "half_width": float(self._noise.half_width(level))}
        return [{"answer": self._question.name, **stated}]

    def describe(self) -> dict[str, Any]:
        return {"of": "distinct", "column": self._question.column, **self._noise.describe()}


def nested_tasks(
    setting: Setting, owner: str, questions: Sequence[Question], keys: Keys, persons: Persons | None,
    known: int | None, interval: float | None,
) -> list[NestedTask]:  # fmt: skip
    """The tasks of the questions that ask rows."""
    given = setting, owner
    found: list[NestedTask] = []
    for question in questions:
        about = (*given, question, keys, persons, known)
        if question.kind == "quantiles":
            found.append(NestedQuantiles(*about, interval=interval))
        elif question.kind == "distinct":
            found.append(NestedDistinct(*about))
    return found
