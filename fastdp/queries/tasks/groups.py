"""Counts, sums, means and variances, of all rows or per group; keys declared, binned or selected privately."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.kernels.persons.steps import SQUARE_BITS
from fastdp.queries.answers.answer import Answer, Answers
from fastdp.queries.answers.errors import AdditiveErrors, RatioErrors, SelectedErrors, VarianceErrors
from fastdp.queries.answers.noise import Spend
from fastdp.queries.data.tally import Tally
from fastdp.queries.plans.questions import Question
from fastdp.queries.tasks.group_parts import GroupParts

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng


class GroupTask(GroupParts):
    """One query about groups, or about all rows."""

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
        if keys.num_columns == 1 and pa.types.is_integer(keys.column(0).type):
            order = np.argsort(keys.column(0).to_numpy())
        else:
            order = pc.sort_indices(keys, sort_keys=[(name, "ascending") for name in keys.column_names]).to_numpy()
        return keys.take(order), codes[order]

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
            lines += [{"query": self.name, **stated} for stated in one.explain(level)]
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
            stated: dict[str, Any] = {"of": part.kind, "column": part.column, "step": part.step}
            if part.noise is None:
                assert self._selection is not None
                stated |= {"noise": "truncated geometric", "selection": self._selection.to_dict(),
                         "threshold": self._selection.threshold}  # fmt: skip
            else:
                stated |= part.noise.describe()
            parts.append(stated)
        parts += [one.describe() for one in self._nested]
        limits = {"groups": self._limits.groups, "rows": self._limits.rows, "mode": self._limits.mode}
        return {"query": self.name, "parts": parts, "limits": limits}
