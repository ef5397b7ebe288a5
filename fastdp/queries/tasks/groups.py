"""Counts, sums, means and variances, of all rows or per group; keys declared, binned or selected privately."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.kernels.persons.bounding import FACTOR_BITS
from fastdp.kernels.persons.steps import SQUARE_BITS
from fastdp.mechanisms.central.key_selection import KeySelection
from fastdp.queries.answers.answer import Answer, Answers
from fastdp.queries.answers.errors import AdditiveErrors, RatioErrors, SelectedErrors, VarianceErrors
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.data.keys import BinKeys, ColumnKeys, Keys, OneGroup
from fastdp.queries.data.measures import Measure, check_numbers, read_bounds
from fastdp.queries.data.tally import Persons, Tally
from fastdp.queries.plans.questions import Question
from fastdp.queries.tasks.base import Setting
from fastdp.queries.tasks.nested import nested_tasks
from fastdp.queries.unit import Range, Sensitivity

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

SELECT = "select"


@dataclass(slots=True)
class _Part:
    """One vector of sums that gets noise: where it is in the tally, and what a step is worth."""

    kind: str
    column: str | None
    sensitivity: Sensitivity
    row: float
    """The largest contribution of one row, in steps: what errors are measured in."""
    step: float
    place: int
    noise: Noise | None = None

    def amount(self, *, pure: bool) -> float:
        moved = self.sensitivity.l1 if pure else math.sqrt(self.sensitivity.l2_squared)
        return moved / self.row


class GroupTask:
    """One query about groups, or about all rows."""

    def __init__(
        self, setting: Setting, name: str, questions: Sequence[Question], *, group_by: Sequence[str] = (),
        keys: Any = None, edges: np.ndarray | None = None, share: float | None = None, interval: float | None = None,
    ) -> None:  # fmt: skip
        self._setting, self.name, self.share = setting, name, share
        self._asked = list(questions)
        self._questions = [question for question in questions if question.kind not in {"quantiles", "distinct"}]
        self._selects = isinstance(keys, str) and keys == SELECT
        self._owner = f"{setting.owner}: {name}"
        self._keys = self._make_keys(group_by, keys, edges)
        self._count = None if self._selects else self._keys.size
        unit = setting.unit
        self._limits = unit.limits(self._owner, self._count, setting.norm)
        self._persons = None
        if unit.person is not None:
            setting.check_column(unit.person)
            self._persons = Persons(self._owner, setting.schema, unit.person, setting.seed + 1)
        self._nested = nested_tasks(
            setting, self._owner, questions, self._keys, self._persons, self._count, interval
        )  # fmt: skip
        self._spreads: dict[str, float] = {}
        self._selection: KeySelection | None = None
        self._check()
        self._build()

    def _make_keys(self, group_by: Sequence[str], keys: Any, edges: np.ndarray | None) -> Keys:
        if edges is not None:
            check_numbers(self._owner, group_by[0], self._setting.check_column(group_by[0]))
            return BinKeys(group_by[0], edges)
        if not group_by:
            return OneGroup()
        for column in group_by:
            self._setting.check_column(column)
        if keys is None:
            raise ParameterError(
                f'{self._owner}: keys is missing: list the groups, or select them privately: keys = "select"'
            )
        declared = None if self._selects else list(keys)
        return ColumnKeys(self._owner, self._setting.schema, group_by, self._setting.seed, declared)

    def _check(self) -> None:
        names = [question.name for question in self._questions] + [name for one in self._nested for name in one.names]
        if len(set(names)) < len(names):
            raise ParameterError(f"{self._owner}: two answers have the same name")
        if not names:
            raise ParameterError(f"{self._owner}: asks for nothing")
        for question in self._questions:
            if question.kind == "persons" and self._setting.unit.person is None:
                raise ParameterError(f"{self._owner}: persons are counted where a person is named: person = ...")
            if question.column is not None and question.kind != "count":
                check_numbers(self._owner, question.column, self._setting.check_column(question.column))
                read_bounds(self._owner, question.column, self._setting.column(question.column).bounds)
            elif question.column is not None:
                self._setting.check_column(question.column)
        if self._selects and not self._setting.delta:
            raise ParameterError(f"{self._owner}: selecting keys needs a delta in the budget, such as 1e-9")

    def _build(self) -> None:
        """The measures, with the finest grid that the noise allows, and the parts that get noise."""
        self._measures: list[Measure] = []
        self._parts: dict[tuple[str, str | None], _Part] = {}
        unit, limits, place = self._setting.unit, self._limits, 2
        count_step = 2.0**-FACTOR_BITS if limits.is_scaled else 1.0
        one_row = 1 / count_step
        asked = {(question.kind, question.column) for question in self._questions}
        if self._selects:
            self._add("selection", None, unit.persons(), 1.0, 1.0, 0 if unit.person else 1)
        elif ("persons", None) in asked:
            self._add("persons", None, unit.persons(), 1.0, 1.0, 0)
        rows_wanted, rows_divide = ("count", None) in asked, False
        for column in dict.fromkeys(question.column for question in self._questions if question.column):
            kinds = {kind for kind, name in asked if name == column}
            spec = self._setting.column(column)
            if spec.nulls != "drop" and kinds & {"count", "mean", "variance"}:
                rows_wanted = rows_divide = True
            for centred, wanted in ((True, kinds & {"mean", "variance"}), (False, kinds & {"sum"})):
                counted = kinds == {"count"} and centred is False and spec.nulls == "drop"
                if not wanted and not counted and not (kinds == {"count", "sum"} and not centred):
                    continue
                width = 3 if "variance" in wanted else 2 if centred or "count" in kinds else 1
                measure = self._measure(column, centred=centred, width=width)
                self._measures.append(measure)
                null = measure.may_be_null
                if width > 1 and null and ("count", column) not in self._parts:
                    self._add("count", column, unit.count(limits, may_be_null=True), one_row, count_step, place)
                if wanted:
                    low, high = measure.ends
                    amount = unit.total(low, high, may_be_null=null)
                    kind, at = ("centred" if centred else "sum"), place + (width > 1)
                    self._add(kind, column, amount, float(max(abs(low), abs(high))), measure.grid, at)
                if width == 3:
                    squares = measure.square_ends
                    amount = unit.total(*squares, may_be_null=True)  # rounding may bring a small one to 0
                    self._add("squares", column, amount, float(squares[1]), measure.square_grid, place + 2)
                place += width
        if self._selects and unit.person is None and not rows_divide:
            rows_wanted = False  # one row is one unit: the count comes with the selection
        if rows_wanted:
            self._add("count", None, unit.count(limits), one_row, count_step, 1)

    def _measure(self, column: str, *, centred: bool, width: int) -> Measure:
        spec = self._setting.column(column)
        bounds, whole = spec.bounds, True
        if bounds is None:
            bounds = (0.0, 1.0)  # only counted
        else:
            whole = check_numbers(self._owner, column, self._setting.check_column(column))
        return Measure.make(
            column, bounds, spec.nulls, centred=centred, width=width, whole=whole,
            spread=self._spreads.get(f"{column} {centred}", 1.0),
        )  # fmt: skip

    def _add(self, kind: str, column: str | None, amount: Range, row: float, step: float, place: int) -> None:
        limits = self._limits
        if kind in {"persons", "selection"} and limits.is_scaled:
            limits = replace(limits, mode="sample")  # persons count whole, in the first few of their groups
        sensitivity = self._setting.unit.sensitivity(
            amount, limits, self._count, always=isinstance(self._keys, OneGroup)
        )
        self._parts[kind, column] = _Part(kind, column, sensitivity, row, step, place)

    def amounts(self) -> list[float]:
        own = [part.amount(pure=self._setting.pure) for part in self._parts.values()]
        return own + [one.amount for one in self._nested]

    @property
    def needs_delta(self) -> bool:
        return self._selects

    def fund(self, parts: Sequence[Spend], delta: Fraction) -> None:
        for one, spend in zip(self._nested, parts[len(self._parts) :], strict=True):
            one.fund(spend)
        funded = dict(zip(self._parts, parts, strict=False))
        for (kind, column), part in self._parts.items():
            if kind in {"centred", "sum", "squares"}:
                spend = funded[kind, column]
                less = float(spend.epsilon or 0) or math.sqrt(2 * float(spend.rho or 0)) or 1.0
                name = f"{column} {kind != 'sum'}"
                spread = part.amount(pure=self._setting.pure) / less
                self._spreads[name] = max(self._spreads.get(name, 1.0), spread)
        self._build()
        for (kind, column), part in self._parts.items():
            spend = funded[kind, column]
            if kind == "selection":
                self._selection = self._select_with(spend, delta)
            else:
                part.noise = Noise.of(self._owner, spend, part.sensitivity)

    def _select_with(self, spend: Spend, delta: Fraction) -> KeySelection:
        groups = self._setting.unit.selected(self._limits.groups)
        each = spend.as_epsilon(rho_of=Fraction(1, 2), times=groups)
        epsilon = float(each * groups * (1 - Fraction(1, 1 << 40)))
        return KeySelection(epsilon=epsilon, delta=float(delta), max_groups=groups)

    def _part_cost(self, part: _Part) -> Spend:
        if part.kind != "selection":
            assert part.noise is not None
            return part.noise.cost
        assert self._selection is not None
        stated = self._selection.privacy
        assert stated.epsilon is not None
        delta, epsilon = Fraction(stated.delta), Fraction(stated.epsilon)
        if self._setting.pure:
            return Spend(epsilon=epsilon, delta=delta)
        each = epsilon / self._selection.max_groups
        return Spend(rho=self._selection.max_groups * each**2 / 2, delta=delta)

    @property
    def cost(self) -> Spend:
        own = [self._part_cost(part) for part in self._parts.values()]
        return sum(own + [one.cost for one in self._nested], Spend())

    @property
    def has_tables(self) -> bool:
        """Whether keys or persons are found by hash tables."""
        return self._persons is not None or not isinstance(self._keys, OneGroup)

    @property
    def columns(self) -> list[str]:
        person = [] if self._persons is None else [self._persons.column]
        nested = [column for one in self._nested for column in one.columns]
        return list(dict.fromkeys([*self._keys.columns, *person, *(one.column for one in self._measures), *nested]))

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        self._tally = Tally(
            self._keys, self._measures, persons=self._persons, limits=self._limits, rng=rng.child("bounding"),
            expected_rows=expected_rows,
        )  # fmt: skip
        for number, one in enumerate(self._nested):
            one.start(rng.child(f"rows {number}"), expected_rows)

    def add(self, batch: pa.RecordBatch) -> None:
        self._tally.add(batch)
        for one in self._nested:
            one.add(batch)

    def answer(self, rng: Rng) -> Answers:
        sums, labels = self._tally.finish(), self._keys.labels()
        keys: pa.Table | None = None
        codes = np.arange(len(sums))
        if labels:
            keys, codes = self._in_order(labels, codes)
            sums = sums[codes]
        noisy: dict[tuple[str, str | None], np.ndarray] = {}
        if self._selection is not None:
            assert keys is not None
            place = self._parts["selection", None].place
            kept = self._selection.select(np.ascontiguousarray(sums[:, place]), rng=rng.child("selection"))
            keys, sums, codes = keys.take(kept.indices), sums[kept.indices], codes[kept.indices]
            noisy["selection", None] = kept.counts
        for (kind, column), part in self._parts.items():
            if part.noise is not None:
                values = np.ascontiguousarray(sums[:, part.place])
                noisy[kind, column] = part.noise.add(values, rng.child(f"{kind} {column}"))
        answers: dict[str, Answer] = {}
        nested = iter(self._nested)
        for question in self._asked:
            if question in self._questions:
                answers[question.name] = self._answer(question, noisy, keys)
            else:
                found = next(nested).answer(rng.child(f"rows {question.name}"), codes, keys)
                answers |= {one.name: one for one in found}
        return Answers(self.name, answers, self._setting.privacy(self.cost))

    def _in_order(self, labels: dict[str, pa.Array], codes: np.ndarray) -> tuple[pa.Table, np.ndarray]:
        """Groups in canonical order, and their codes: as declared, or sorted; never that of their appearance."""
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = pa.table(labels)
        if not self._selects:
            return keys, codes
        order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names])
        return keys.take(order), codes[order.to_numpy()]

    def _counted(self, column: str | None) -> tuple[str, str | None]:
        """The part that counts a column's rows."""
        return ("count", column) if ("count", column) in self._parts else ("count", None)

    def _answer(self, question: Question, noisy: dict[Any, np.ndarray], keys: pa.Table | None) -> Answer:
        errors: Any
        kind, column = question.kind, question.column
        if kind in {"count", "persons"}:
            key: tuple[str, str | None] = ("persons", None) if kind == "persons" else self._counted(column)
            if key not in self._parts:
                key = ("selection", None)
            used, values = [key], noisy[key]
            part = self._parts[key]
            if key[0] == "selection":
                assert self._selection is not None
                errors = SelectedErrors(values, self._selection)
            else:
                assert part.noise is not None
                errors = AdditiveErrors(values, part.noise, part.step, is_count=True)
                values = values if part.step == 1.0 else values * part.step
        elif kind == "sum":
            part = self._parts["sum", column]
            used = [("sum", column)]
            assert part.noise is not None
            errors = AdditiveErrors(noisy["sum", column], part.noise, part.step)
            values = noisy["sum", column] * (int(part.step) if part.step >= 1 else part.step)
        else:
            used = [("centred", column), self._counted(column)]
            mean = self._ratio(column, "centred", noisy)
            errors = mean
            if kind == "variance":
                used.append(("squares", column))
                errors = VarianceErrors(mean, self._ratio(column, "squares", noisy))
            values = errors.values
        return Answer(question.name, values, errors, self._answer_privacy(used), keys)

    def _answer_privacy(self, used: list[tuple[str, str | None]]) -> Any:
        cost = sum([self._part_cost(self._parts[key]) for key in used], Spend())
        if cost.epsilon is None and cost.rho is None:
            cost = Spend(epsilon=Fraction(1, 1 << 60))  # public; no guarantee states nothing
        return self._setting.privacy(cost)

    def _ratio(self, column: str | None, kind: str, noisy: dict[Any, np.ndarray]) -> RatioErrors:
        measure = next(one for one in self._measures if one.column == column and one.width >= 2)
        key = self._counted(column)
        part, count = self._parts[kind, column], self._parts[key]
        low, high = measure.ends
        largest = max(abs(low), abs(high))
        squares = kind == "squares"
        assert part.noise is not None
        assert count.noise is not None
        return RatioErrors(
            sums=noisy[kind, column], counts=noisy[key], noise=part.noise, count_noise=count.noise,
            count_step=count.step, grid=part.step, middle=0.0 if squares else measure.middle,
            largest=(largest * largest >> int(SQUARE_BITS)) + 1 if squares else largest,
        )  # fmt: skip

    def explain(self, level: float) -> list[dict[str, Any]]:
        lines = []
        for question in self._questions:
            key = {"persons": ("persons", None), "sum": ("sum", question.column)}.get(
                question.kind, ("centred", question.column)
            )
            if question.kind == "count":
                key = self._counted(question.column)
            if key not in self._parts:
                key = ("selection", None)
            part = self._parts[key]
            line: dict[str, Any] = {"query": self.name, "answer": question.name}
            if part.noise is None:
                assert self._selection is not None
                dummy = SelectedErrors(np.array([4 * self._selection.threshold]), self._selection)
                low, high = dummy.interval(level)
                line |= {"std_error": float(dummy.std_error[0]), "half_width": float(high[0] - low[0]) / 2}
            else:
                line |= {
                    "std_error": math.sqrt(part.noise.variance) * part.step,
                    "half_width": part.noise.half_width(level) * part.step,
                }
            if question.kind in {"mean", "variance"}:
                line["of"] = "the sum; divide by the number of rows"
            lines.append(line)
        for one in self._nested:
            lines += [{"query": self.name, **said} for said in one.explain(level)]
        if self._selection is not None:
            for line in lines:
                line["smallest_group"] = self._likely_group()
        return lines

    def _likely_group(self) -> int:
        """The smallest number of persons with which a key appears with a chance of 95 %."""
        assert self._selection is not None
        low, high = 1, 2 * self._selection.threshold + 1
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self._selection.keep_probability(middle) >= 0.95 else (middle + 1, high)
        return low

    def describe(self) -> dict[str, Any]:
        parts = []
        for part in self._parts.values():
            said: dict[str, Any] = {"of": part.kind, "column": part.column, "step": part.step}
            if part.noise is None:
                assert self._selection is not None
                said |= {"noise": "truncated geometric", "selection": self._selection.to_dict(),
                         "threshold": self._selection.threshold}  # fmt: skip
            else:
                said |= part.noise.describe()
            parts.append(said)
        parts += [one.describe() for one in self._nested]
        limits = {"groups": self._limits.groups, "rows": self._limits.rows, "mode": self._limits.mode}
        return {"query": self.name, "parts": parts, "limits": limits}
