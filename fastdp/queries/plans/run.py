"""The run of a plan: everything is checked, the ledger is charged, the data are read, then noise is drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.accounting.ledger import Ledger
from fastdp.errors import ParameterError
from fastdp.io.base import expected_rows
from fastdp.io.open import open_source
from fastdp.privacy import Privacy
from fastdp.queries.answers.answer import Answers
from fastdp.queries.answers.noise import Spend
from fastdp.queries.bounds import WIDEST, BoundsTask
from fastdp.queries.plans.receipt import ReleaseReceipt
from fastdp.queries.tasks.base import Setting, Task, to_privacy
from fastdp.queries.tasks.groups import GroupTask
from fastdp.random.rng import Rng, resolve

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.base import Progress, Source
    from fastdp.queries.plans.columns import ColumnSpec
    from fastdp.queries.plans.plan import ReleasePlan

OWNER = "release"


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseAnswers(Mapping[str, Answers]):
    """All answers of a release, by query; what they cost together, and the receipt."""

    queries: Mapping[str, Answers]
    privacy: Privacy
    receipt: ReleaseReceipt

    def __getitem__(self, name: str) -> Answers:
        return self.queries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """One row per query, group and answer; keys as text."""
        import pyarrow as pa

        rows: dict[str, list[Any]] = {
            name: [] for name in ("query", "key", "answer", "value", "std_error", "low", "high")
        }
        for query, answers in self.queries.items():
            for name, answer in answers.items():
                table = answer.to_arrow(level)
                names = table.column_names[:-4]
                for row in table.to_pylist():
                    rows["query"].append(query)
                    rows["key"].append(", ".join(str(row[key]) for key in names) if names else None)
                    rows["answer"].append(name)
                    for column in ("value", "std_error", "low", "high"):
                        rows[column].append(None if row[column] is None else float(row[column]))
        kinds = {"query": pa.string(), "key": pa.string(), "answer": pa.string()}
        return pa.table({name: pa.array(values, kinds.get(name, pa.float64())) for name, values in rows.items()})

    def __repr__(self) -> str:
        return f"ReleaseAnswers({', '.join(self.queries)}; {self.privacy})"


class Job:
    """A plan bound to a source: its schema is read, nothing else."""

    def __init__(self, plan: ReleasePlan, source: object, *, input_format: str | None = None) -> None:
        self.plan = plan
        self._given, self._format = source, input_format
        self._source: Source | None = self._open()
        self._seed = 0
        self._private = [name for name, spec in plan.columns.items() if spec.share is not None and self._uses(name)]
        self._kept = self._bounds_share()
        self._bounds = self._bound()
        self.tasks = self._bind(dict.fromkeys(self._private, WIDEST))

    def _bound(self) -> list[BoundsTask]:
        spend = self.plan.budget.spend
        return [BoundsTask(self._setting({}), name, spend.part(self._share_of(name))) for name in self._private]

    def _open(self) -> Source:
        return open_source(OWNER, self._given, input_format=self._format, types=self._types)

    def _types(self) -> dict[str, Any]:
        """Types of a CSV file's columns: numbers where a column has bounds or edges; keys as they are declared."""
        import pyarrow as pa

        types: dict[str, Any] = {name: pa.float64() for name, spec in self.plan.columns.items()}
        for query in self.plan.queries:
            if query.edges is not None:
                types[query.histogram] = pa.float64()
            for question in query.questions:
                if question.column and question.kind in {"sum", "mean", "variance", "quantiles"}:
                    types[question.column] = pa.float64()
            declared = query.keys if isinstance(query.keys, tuple) else ()
            columns = query.group_by or ((query.histogram,) if query.histogram else ())
            for place, column in enumerate(columns):
                values = [key[place] if isinstance(key, tuple) else key for key in declared]
                if values and all(isinstance(value, int) and not isinstance(value, bool) for value in values):
                    types[column] = pa.int64()
        return types

    def _uses(self, column: str) -> bool:
        return any(question.column == column for query in self.plan.queries for question in query.questions)

    def _share_of(self, column: str) -> Fraction:
        return Fraction(self.plan.columns[column].share or 0).limit_denominator(1 << 30)

    def _bounds_share(self) -> Fraction:
        kept = sum([self._share_of(name) for name in self._private], Fraction(0))
        if kept >= 1:
            raise ParameterError(f"{OWNER}: the shares for private bounds leave nothing of the budget for answers")
        return kept

    def _setting(self, found: Mapping[str, tuple[float, float]]) -> Setting:
        assert self._source is not None
        columns: dict[str, ColumnSpec] = {
            name: replace(spec, bounds=found[name]) if name in found else spec
            for name, spec in self.plan.columns.items()
        }
        budget = self.plan.budget
        return Setting(
            self.plan.unit, columns, budget.pure, budget.spend.delta, self._source.schema, self._seed, OWNER
        )  # fmt: skip

    def _bind(self, found: Mapping[str, tuple[float, float]]) -> list[Task]:
        setting = self._setting(found)
        tasks = [task for query in self.plan.queries for task in query.bind(setting)]
        self.plan.budget.fund(OWNER, tasks, self._kept)
        return tasks

    @property
    def cost(self) -> Spend:
        """What the release costs as it will be drawn."""
        costs = [task.cost for task in self.tasks] + [task.cost for task in self._bounds]
        if self._private:  # noise is chosen again once bounds are known, never for more than its share
            spend = self.plan.budget.spend
            return Spend(spend.epsilon, spend.rho, sum([cost.delta for cost in costs], Fraction(0)))
        return sum(costs, Spend())

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the whole release, for one unit, rounded up; never above the budget."""
        return to_privacy(self.cost, self.plan.unit)

    def explain(self, level: float = 0.95) -> list[dict[str, Any]]:
        """A line per answer; those of columns whose bounds are still to be found have no numbers yet."""
        lines = [line for task in self.tasks for line in task.explain(level)]
        if not self._private:
            return lines
        hidden = {"std_error": None, "half_width": None, "of": "known once bounds are found"}
        return [{**line, **hidden} if any(name in line["answer"] for name in self._private) else line for line in lines]

    @property
    def schema(self) -> pa.Schema:
        """The schema of the data."""
        assert self._source is not None
        return self._source.schema

    @property
    def path(self) -> Path | None:
        """The file that is read."""
        assert self._source is not None
        return self._source.path

    def run(
        self,
        *,
        rng: Rng | None = None,
        ledger: Ledger | str | Path | None = None,
        name: str = "",
        progress: Progress | None = None,
    ) -> ReleaseAnswers:
        """Charge the ledger, read the data, draw the noise."""
        chosen = Rng() if rng is None else resolve(OWNER, rng)
        privacy = self.privacy
        self._check_passes()
        spending = self._pay(ledger, privacy, name)
        self._seed = int.from_bytes(chosen.child("tables").reserve(1).key.tobytes()[:6], "little")
        self._bounds = self._bound()
        if self._bounds:
            self._pass(self._bounds, chosen.child("bounds"), None)
            found = {task.column: task.finish(chosen.child(f"bounds of {task.column}")) for task in self._bounds}
            self._source = self._open()
            self.tasks = self._bind(found)
        elif not all(isinstance(task, GroupTask) and not task.has_tables for task in self.tasks):
            self.tasks = self._bind({})  # again, with tables keyed by this release's own randomness
        self._pass(self.tasks, chosen, progress)
        queries: dict[str, dict[str, Any]] = {}
        parts: dict[str, list[Privacy]] = {}
        for number, task in enumerate(self.tasks):
            answered = task.answer(chosen.child(f"noise {number} {task.name}"))
            queries.setdefault(task.name, {}).update(answered.answers)
            parts.setdefault(task.name, []).append(answered.privacy)
        costs = {task.name: Spend() for task in self.tasks}
        for task in self.tasks:
            costs[task.name] += task.cost
        answers = {
            name: Answers(name, found, _stated(costs[name], self.plan.unit, privacy)) for name, found in queries.items()
        }
        described = [one.describe() for one in self._bounds] + [task.describe() for task in self.tasks]
        stamp = None if spending is None else spending.stamp
        receipt = ReleaseReceipt(self.plan, privacy, described, chosen.is_unsafe, chosen.generator, stamp)
        if spending is not None:
            spending.settle(receipt)
        return ReleaseAnswers(answers, privacy, receipt)

    def _check_passes(self) -> None:
        """Bounds are found in a pass of their own: refuse what can be read but once."""
        import pyarrow as pa

        once = isinstance(self._given, pa.RecordBatchReader) or (isinstance(self._given, str) and self._given == "-")
        if self._bounds and once:
            raise ParameterError(f"{OWNER}: private bounds need two passes over the data; name a file, or pass a table")

    def _pay(self, ledger: Any, privacy: Privacy, name: str) -> Any:
        chosen = self.plan.ledger if ledger is None else ledger
        if chosen is None:
            return None
        book = chosen if isinstance(chosen, Ledger) else Ledger(chosen)
        return book.spend(privacy, name=name)

    def _pass(self, tasks: Any, rng: Rng, progress: Progress | None) -> None:
        """One pass over the data, for all tasks."""
        source = self._source
        assert source is not None
        columns = list(dict.fromkeys(column for task in tasks for column in task.columns)) or source.schema.names[:1]
        for number, task in enumerate(tasks):
            task.start(rng.child(f"task {number}"), source.rows)
        done = 0
        for batch in source.batches(columns, None, columns):
            for task in tasks:
                task.add(batch)
            done += batch.num_rows
            if progress is not None:
                progress(done, expected_rows(source, done))


def _stated(cost: Spend, unit: Any, whole: Privacy) -> Privacy:
    return whole if cost.epsilon is None and cost.rho is None else to_privacy(cost, unit)


def to_json(answers: ReleaseAnswers, level: float = 0.95) -> str:
    """All answers and the receipt as JSON."""
    rows = answers.to_arrow(level).to_pylist()
    return json.dumps({"level": level, "answers": rows, "receipt": answers.receipt.to_dict()}, indent=2) + "\n"
