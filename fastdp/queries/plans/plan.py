"""ReleasePlan: what is released of a table, about whom, and from which budget."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.errors import ParameterError
from fastdp.plans.documents.text import read_text
from fastdp.privacy import Privacy
from fastdp.queries.plans.budget import Budget
from fastdp.queries.plans.columns import ColumnSpec
from fastdp.queries.plans.query import Query
from fastdp.queries.unit import Unit
from fastdp.validation import unknown

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger
    from fastdp.io.base import Progress
    from fastdp.queries.plans.run import ReleaseAnswers
    from fastdp.random.rng import Rng

TABLES = ("source", "budget", "columns", "queries")
SOURCE = ("person", "neighbours", "max_groups", "max_rows", "bound")


@dataclass(frozen=True, slots=True, eq=False)
class ReleasePlan:
    """What is asked of a table, whom it protects, and what it may cost; checked when it is made.

    Parameters
    ----------
    queries
        One table per query: ``group_by`` with ``keys`` and ``answers``, or ``histogram``, or ``marginals``.
    budget
        ``epsilon`` or ``rho``, and ``delta`` where keys are selected; ``ledger`` may name what pays for it.
    source
        ``person``, ``max_groups``, ``max_rows``, ``neighbours`` and ``bound``; empty if one row is one unit.
    columns
        By name: ``bounds`` (two numbers, or "private"), and ``nulls``.

    >>> plan = ReleasePlan(queries=[{"answers": ["count", "mean(income)"]}], budget={"epsilon": 1.0},
    ...                    columns={"income": {"bounds": [0, 200_000]}})
    >>> import pyarrow as pa
    >>> answers = plan.run(pa.table({"income": [30_000.0] * 1000}))
    >>> sorted(answers["query_1"])
    ['count', 'mean_income']
    """

    queries: Sequence[Any]
    budget: Any
    source: Any = field(default_factory=dict)
    columns: Any = field(default_factory=dict)
    unit: Unit = field(init=False, repr=False)
    ledger: Path | None = field(default=None, init=False, repr=False)
    path: Path | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._read(None)

    def _read(self, folder: Path | None) -> None:
        owner = "ReleasePlan"
        if not isinstance(self.source, Mapping):
            raise ParameterError(f"{owner}: source must be a table")
        for key in self.source:
            if key not in SOURCE:
                raise ParameterError(f"{owner}: source: {unknown('key', key, SOURCE)}")
        given = {key: self.source.get(key) for key in SOURCE}
        given["neighbours"] = given["neighbours"] or "add/remove"
        unit = Unit.read(owner, **given)
        if not isinstance(self.columns, Mapping):
            raise ParameterError(f"{owner}: columns must be a table by name")
        columns = {
            name: spec if isinstance(spec, ColumnSpec) else ColumnSpec.read(owner, str(name), spec)
            for name, spec in self.columns.items()
        }
        if not isinstance(self.queries, list | tuple) or not self.queries:
            raise ParameterError(f"{owner}: asks no query")
        queries = tuple(
            query if isinstance(query, Query) else Query.read(owner, number, query, folder)
            for number, query in enumerate(self.queries, 1)
        )
        if len({query.name for query in queries}) < len(queries):
            raise ParameterError(f"{owner}: two queries have the same name")
        if not isinstance(self.budget, Budget):
            ledger = self.budget.get("ledger") if isinstance(self.budget, Mapping) else None
            if ledger is not None:
                object.__setattr__(self, "ledger", Path(folder or ".") / str(ledger))
            object.__setattr__(self, "budget", Budget.read(owner, self.budget))
        object.__setattr__(self, "unit", unit)
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "queries", queries)

    @classmethod
    def load(cls, path: str | Path) -> ReleasePlan:
        """Read a plan from a TOML file; files with keys and the ledger lie beside it.

        Parameters
        ----------
        path
            The path of the TOML file.
        """
        plan = cls.loads(read_text("ReleasePlan", path), folder=Path(path).parent)
        object.__setattr__(plan, "path", Path(path))
        return plan

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> ReleasePlan:
        """The plan of a TOML text.

        Parameters
        ----------
        text
            The text.
        folder
            Where files with keys are looked for; the current folder by default.
        """
        try:
            content = tomllib.loads(text)
        except (ValueError, TypeError) as error:
            raise ParameterError(f"ReleasePlan: not valid TOML: {error}") from None
        except RecursionError:
            raise ParameterError("ReleasePlan: values are nested too deeply") from None
        for key in content:
            if key not in TABLES:
                raise ParameterError(f"ReleasePlan: {unknown('table', key, TABLES)}")
        if "budget" not in content:
            raise ParameterError("ReleasePlan: [budget] is missing: give epsilon or rho; there is no default")
        plan = cls.__new__(cls)
        for name, default in (("queries", ()), ("budget", None), ("source", {}), ("columns", {})):
            object.__setattr__(plan, name, content.get(name, default))
        object.__setattr__(plan, "ledger", None)
        object.__setattr__(plan, "path", None)
        plan._read(folder)  # noqa: SLF001
        return plan

    def to_dict(self) -> dict[str, Any]:
        """The plan in its own words."""
        stated = {
            "person": self.unit.person, "neighbours": self.unit.neighbours, "max_groups": self.unit.max_groups,
            "max_rows": self.unit.max_rows, "bound": self.unit.bound,
        }  # fmt: skip
        return {
            "source": {key: value for key, value in stated.items() if value is not None},
            "budget": self.budget.to_dict(),
            "columns": {name: spec.to_dict() for name, spec in self.columns.items()},
            "queries": [query.to_dict() for query in self.queries],
        }

    def privacy(self, source: object) -> Privacy:
        """What a release of this source will cost, exactly; reads its schema only.

        Parameters
        ----------
        source
            A table, a stream, or the path of a file or folder.
        """
        from fastdp.queries.plans.run import Job

        return Job(self, source).privacy

    def explain(self, source: object, *, level: float = 0.95) -> list[dict[str, Any]]:
        """Each answer's expected error and interval, and the smallest group that appears; reads the schema only.

        Parameters
        ----------
        source
            A table, a stream, or the path of a file or folder.
        level
            The level of confidence of the intervals.
        """
        from fastdp.queries.plans.run import Job

        return Job(self, source).explain(level)

    def run(
        self,
        source: object,
        *,
        rng: Rng | None = None,
        ledger: Ledger | str | Path | None = None,
        name: str = "",
        progress: Progress | None = None,
    ) -> ReleaseAnswers:
        """The answers, from one pass over the data (two where bounds are found privately).

        Parameters
        ----------
        source
            A table or data frame of any kind, or the path of a Parquet, Arrow or CSV file, or of a folder.
        rng
            Where randomness comes from; a fresh stream by default.
        ledger
            The `Ledger` that pays for it, or its path; by default the plan's own. It is charged before any noise.
        name
            The name of the ledger's entry.
        progress
            Called with the rows done and the rows in all, after every batch.
        """
        from fastdp.queries.plans.run import Job

        return Job(self, source).run(rng=rng, ledger=ledger, name=name, progress=progress)
