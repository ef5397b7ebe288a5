"""SynthesisPlan: which columns are made, from which budget, by which model."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.plans.documents.text import read_text
from fastdp.privacy import Privacy
from fastdp.queries.answers.noise import Spend
from fastdp.queries.unit import Unit
from fastdp.synthesis.columns import ColumnDomain
from fastdp.synthesis.fitting.axes import Columns
from fastdp.synthesis.fitting.trees import model_cells
from fastdp.synthesis.workload import read_empty, read_workload

OWNER = "synthesize"
TABLES = ("source", "budget", "columns", "model")
SOURCE = ("person", "max_rows", "neighbours")
BUDGET = ("epsilon", "delta", "rho", "ledger")
MODEL = ("choose", "ways", "workload", "zeros", "memory_mb", "rounds", "check")
CHOICES = ("adaptive", "tree", "given")
CELL_BYTES = 32
"""Of a fit, for each cell of its cliques: potentials, those of the next step, distributions and their average."""


@dataclass(frozen=True, slots=True, eq=False)
class SynthesisPlan:
    """What is made of a table, whom it protects and what it may cost; checked when it is made.

    Parameters
    ----------
    columns
        By name: a list of values, or a table with ``values`` or ``bins`` (edges, or a number and ``bounds``), ``nulls``
        and ``shape``.
    budget
        ``rho``; or ``epsilon`` and ``delta``, for discrete Gaussian noise; or ``epsilon`` alone, for geometric noise.
        ``ledger`` may name what pays.
    source
        ``person``, ``max_rows`` and ``neighbours``; empty if one row is one unit.
    model
        ``choose`` ("adaptive", "tree" or "given"), ``ways`` or ``workload``, ``zeros``, ``memory_mb``, ``rounds`` and
        ``check``.
    """

    columns: Any
    budget: Any
    source: Any = field(default_factory=dict)
    model: Any = field(default_factory=dict)
    domains: tuple[ColumnDomain, ...] = field(init=False, repr=False)
    unit: Unit = field(init=False, repr=False)
    workload: list[Columns] = field(init=False, repr=False)
    empty: dict[Columns, np.ndarray] = field(init=False, repr=False)
    ledger: Path | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self._read(None)

    def _read(self, folder: Path | None) -> None:
        for name, allowed in (("source", SOURCE), ("budget", BUDGET), ("model", MODEL)):
            given = getattr(self, name)
            if not isinstance(given, Mapping):
                raise ParameterError(f"{OWNER}: {name} must be a table")
            for key in given:
                if key not in allowed:
                    raise ParameterError(f"{OWNER}: {name}: {validation.unknown('key', key, allowed)}")
        if not isinstance(self.columns, Mapping) or not self.columns:
            raise ParameterError(
                f"{OWNER}: columns must give the domain of each column; they are declared, never inferred"
            )
        unit = Unit.read(
            OWNER, person=self.source.get("person"), neighbours=self.source.get("neighbours") or "add/remove",
            max_groups=None, max_rows=self.source.get("max_rows"), bound=None,
        )  # fmt: skip
        domains = tuple(ColumnDomain.read(OWNER, str(name), given) for name, given in self.columns.items())
        if unit.person in self.columns:
            raise ParameterError(f"{OWNER}: column {unit.person!r} names persons; it cannot be a synthetic column")
        ledger = self.budget.get("ledger")
        model = self.model
        set_ = object.__setattr__
        set_(self, "unit", unit)
        set_(self, "domains", domains)
        set_(self, "ledger", None if ledger is None else Path(folder or ".") / str(ledger))
        set_(self, "workload", read_workload(OWNER, domains, model.get("ways", 3), model.get("workload")))
        set_(self, "empty", read_empty(OWNER, domains, model.get("zeros")))
        self._check_budget()
        validation.one_of(OWNER, "choose", self.choose, CHOICES)
        validation.positive(OWNER, "memory_mb", self.memory_mb)
        if model.get("rounds") is not None:
            validation.positive_integer(OWNER, "rounds", model["rounds"])
        if not validation.is_number(self.check) or not 0 <= self.check < 1:
            raise ParameterError(f"{OWNER}: check must be a share of the budget from 0 to below 1, got {self.check!r}")
        self._check_memory()

    def _check_budget(self) -> None:
        given = {key: self.budget.get(key) for key in ("epsilon", "rho")}
        kind = validation.exactly_one(OWNER, **given)
        validation.positive(OWNER, kind, given[kind])
        delta = self.budget.get("delta")
        if delta is not None:
            validation.probability(OWNER, "delta", delta)
            if kind == "rho":
                raise ParameterError(
                    f"{OWNER}: rho states a guarantee without delta; give epsilon and delta, or rho alone"
                )

    def _check_memory(self) -> None:
        """Refuse a model that is too large before anything is spent."""
        base = [*self.empty, *((number,) for number in range(len(self.domains)))]
        asked = base + (self.workload if self.choose == "given" else [])
        bytes_ = CELL_BYTES * model_cells(self.sizes, asked)
        if bytes_ > self.memory_mb * 2**20:
            what = "the marginals of the workload" if self.choose == "given" else "single columns and zeros"
            way = (
                'leave marginals out, use fewer bins, or choose = "adaptive"'
                if self.choose == "given"
                else "fewer bins"
            )
            raise ParameterError(
                f"{OWNER}: a model that holds {what} takes {bytes_ / 2**20:,.0f} MB, above memory_mb = "
                f"{self.memory_mb:g}; {way}"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The codes of each column."""
        return tuple(domain.size for domain in self.domains)

    @property
    def choose(self) -> str:
        """How marginals are chosen."""
        return str(self.model.get("choose", "adaptive"))

    @property
    def memory_mb(self) -> float:
        """The most memory that the model may take, in MB."""
        given: float = self.model.get("memory_mb", 32)
        return given

    @property
    def check(self) -> float:
        """The share of the budget that measures how far the model is off."""
        given: float = self.model.get("check", 0.02)
        return given

    @property
    def rounds(self) -> int | None:
        """Rounds that an adaptive choice begins with; None for 16 per column, or with pure noise 1."""
        given: int | None = self.model.get("rounds")
        return given

    @property
    def spend(self) -> Spend:
        """The whole budget: epsilon for geometric noise, else rho."""
        if self.budget.get("rho") is not None:
            return Spend(rho=Fraction(self.budget["rho"]))
        epsilon = Fraction(self.budget["epsilon"])
        if self.budget.get("delta") is None:
            return Spend(epsilon=epsilon)
        return Spend(rho=_rho_of(float(epsilon), float(self.budget["delta"])))

    def privacy(self, cost: Spend) -> Privacy:
        """A cost as a guarantee for one unit, rounded up.

        Parameters
        ----------
        cost
            Epsilon or rho, as exact fractions.
        """
        about: dict[str, Any] = {"unit": self.unit.name, "neighbours": self.unit.neighbours}
        if cost.rho is None:
            assert cost.epsilon is not None
            return Privacy(epsilon=rounding.float_up(cost.epsilon), **about)
        rho, delta = rounding.float_up(cost.rho), self.budget.get("delta")
        if delta is None:
            return Privacy(rho=rho, **about)
        epsilon = Privacy(rho=rho).epsilon_at(float(delta))
        return Privacy(epsilon=epsilon, delta=float(delta), rho=rho, **about)

    @classmethod
    def load(cls, path: str | Path) -> SynthesisPlan:
        """Read a plan from a TOML file; the ledger lies beside it.

        Parameters
        ----------
        path
            The path of the TOML file.
        """
        return cls.loads(read_text(OWNER, path), folder=Path(path).parent)

    @classmethod
    def loads(cls, text: str, *, folder: Path | None = None) -> SynthesisPlan:
        """The plan of a TOML text.

        Parameters
        ----------
        text
            The text.
        folder
            Where the ledger is looked for; the current folder by default.
        """
        try:
            content = tomllib.loads(text)
        except (ValueError, TypeError) as error:
            raise ParameterError(f"{OWNER}: not valid TOML: {error}") from None
        except RecursionError:
            raise ParameterError(f"{OWNER}: values are nested too deeply") from None
        validation.all_known(OWNER, "table", content, TABLES)
        if "budget" not in content:
            raise ParameterError(f"{OWNER}: [budget] is missing: give rho, or epsilon and delta; there is no default")
        plan = cls.__new__(cls)
        for name in TABLES:
            object.__setattr__(plan, name, content.get(name, {}))
        plan._read(folder)  # noqa: SLF001
        return plan

    def to_dict(self) -> dict[str, Any]:
        """The plan in its own words."""
        model = dict(self.model) | {"choose": self.choose, "memory_mb": self.memory_mb, "check": self.check}
        return {
            "source": dict(self.source),
            "budget": {key: value for key, value in self.budget.items() if key != "ledger"},
            "columns": {domain.name: domain.to_dict() for domain in self.domains},
            "model": {key: value for key, value in model.items() if value is not None},
        }


def _rho_of(epsilon: float, delta: float) -> Fraction:
    """The largest rho, nearly, whose guarantee at delta is at most epsilon."""
    low, high = 0.0, epsilon + 1.0
    for _ in range(45):
        middle = (low + high) / 2
        if middle and Privacy(rho=middle).epsilon_at(delta) <= epsilon:
            low = middle
        else:
            high = middle
    if not low:
        raise ParameterError(f"{OWNER}: no rho gives epsilon {epsilon!r} at delta {delta!r}; give more of either")
    return Fraction(low * (1 - 2.0**-40))
