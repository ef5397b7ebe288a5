"""The sums of a query about groups that get noise: what they hold, how far one unit moves them, what they cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.kernels.persons.bounding import FACTOR_BITS
from fastdp.mechanisms.central.key_selection import KeySelection
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.data.keys import BinKeys, ColumnKeys, Keys, OneGroup
from fastdp.queries.data.measures import Measure, check_numbers, read_bounds
from fastdp.queries.data.tally import Persons
from fastdp.queries.plans.questions import Question
from fastdp.queries.tasks.base import Setting
from fastdp.queries.tasks.nested import nested_tasks
from fastdp.queries.unit import Range, Sensitivity

if TYPE_CHECKING:
    pass

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


class GroupParts:
    """The measures of a query about groups, or about all rows, and the parts of them that get noise."""

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

    def _counted(self, column: str | None) -> tuple[str, str | None]:
        """The part that counts a column's rows."""
        return ("count", column) if ("count", column) in self._parts else ("count", None)
