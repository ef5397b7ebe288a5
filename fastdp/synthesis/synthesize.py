"""fd.synthesize: a private model of a table, and rows drawn from it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.accounting.ledger import Ledger
from fastdp.errors import SchemaError
from fastdp.io.open import open_source
from fastdp.privacy import Neighbours
from fastdp.queries.answers.noise import Spend
from fastdp.random.rng import Rng, resolve
from fastdp.synthesis.choosing import choose_and_fit, estimates_of, planned
from fastdp.synthesis.curator import OWNER, Curator
from fastdp.synthesis.plan import SynthesisPlan
from fastdp.synthesis.receipt import SynthesisReceipt
from fastdp.synthesis.result import Checked, Synthesis
from fastdp.synthesis.workload import cells_of
from fastdp.validation import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.privacy import Privacy

Report = Callable[[float, str], None]


def synthesize(
    data: object,
    domains: Mapping[str, Any],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    rho: float | None = None,
    choose: str = "adaptive",
    ways: int = 3,
    workload: Sequence[Sequence[str]] | None = None,
    zeros: Sequence[Mapping[str, Any]] | None = None,
    person: str | None = None,
    max_rows: int | None = None,
    neighbours: Neighbours = "add/remove",
    memory_mb: float = 32,
    rounds: int | None = None,
    check: float = 0.02,
    ledger: Ledger | str | Path | None = None,
    rng: Rng | None = None,
) -> Synthesis:
    """A private model of a table, fitted to noisy marginals; draw rows from it with `Synthesis.rows` or ``write``.

    Everything after the noise is postprocessing: rows in any number cost nothing more.

    Parameters
    ----------
    data
        A table, data frame, file or folder.
    domains
        By column: a list of values, or a table with ``values`` or ``bins`` (edges, or their number and ``bounds``), and
        ``nulls=True`` if nulls are a category. Rows with other values are dropped. Columns that are not named are left
        out.
    epsilon, delta, rho
        The budget: ``rho``, or ``epsilon`` and ``delta``, for discrete Gaussian noise; ``epsilon`` alone for geometric
        noise.
    choose
        Which marginals are measured: "adaptive" (the worst told, round by round), "tree" (pairs that join all columns)
        or "given" (all of the workload).
    ways, workload
        What the rows are judged by: all marginals of 2 to ``ways`` columns, or those listed.
    zeros
        Combinations that cannot occur, each a table of values by column.
    person, max_rows, neighbours
        The unit: a row, or ``max_rows`` rows of a person.
    memory_mb
        The most that the model may take; what would exceed it is refused, or not chosen.
    rounds
        Rounds that an adaptive choice plans for.
    check
        The share of the budget that measures how far the model is off.
    ledger
        The `Ledger` that pays, or its path; charged before anything is read.
    rng
        Where randomness comes from; a fresh stream by default.

    >>> import fastdp as fd
    >>> table = {"smokes": [True, False] * 500, "ill": [True, False] * 500}
    >>> made = fd.synthesize(table, {"smokes": [True, False], "ill": [True, False]}, epsilon=2.0, delta=1e-6,
    ...                      rng=fd.Rng.unsafe_seed(1))
    >>> made.modelled()
    [('smokes', 'ill')]
    """
    budget = {"epsilon": epsilon, "delta": delta, "rho": rho}
    source = {"person": person, "max_rows": max_rows, "neighbours": neighbours}
    model = {
        "choose": choose, "ways": ways, "workload": workload, "zeros": zeros, "memory_mb": memory_mb, "rounds": rounds,
        "check": check,
    }  # fmt: skip
    plan = SynthesisPlan(
        columns=domains, budget=_given(budget), source=_given(source), model=_given(model)
    )  # fmt: skip
    return run(plan, data, ledger=ledger, rng=rng)


def _given(values: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}


class Job:
    """A plan bound to a source, of which the schema is read and nothing else."""

    def __init__(self, plan: SynthesisPlan, data: object, *, input_format: str | None = None) -> None:
        self.plan, self._data = plan, data
        self._source = open_source(OWNER, data, input_format=input_format, types=self._types)
        names = self._source.schema.names
        for name in [*(domain.name for domain in plan.domains), *([plan.unit.person] if plan.unit.person else [])]:
            if name not in names:
                raise SchemaError(f"{OWNER}: {unknown('column', name, tuple(names))}")
            if names.count(name) > 1:
                raise SchemaError(f"{OWNER}: column {name!r} appears more than once; rename one")
        Curator(plan, self._source.schema, Rng(), 0)  # which refuses domains that are not of their columns' types

    def _types(self) -> dict[str, pa.DataType]:
        """Types of a CSV file's columns, as their domains have them."""
        import datetime as dt

        import pyarrow as pa

        types: dict[str, pa.DataType] = {}
        for domain in self.plan.domains:
            held = domain.values if domain.values is not None else domain.edges or ()
            if all(isinstance(one, bool) for one in held):
                types[domain.name] = pa.bool_()
            elif all(isinstance(one, dt.datetime) for one in held):
                types[domain.name] = pa.timestamp("us")
            elif all(isinstance(one, dt.date) for one in held):
                types[domain.name] = pa.date32()
            elif domain.values is None:
                types[domain.name] = pa.float64()
            elif all(isinstance(one, int) for one in held):
                types[domain.name] = pa.int64()
        return types

    @property
    def privacy(self) -> Privacy:
        """What it costs."""
        return self.plan.privacy(self.plan.spend)

    @property
    def path(self) -> Path | None:
        """The file that is read."""
        return self._source.path

    def explain(self) -> list[dict[str, Any]]:
        """A line per marginal of the workload: its cells, and the error that noise alone would make, if it is known.

        The error is that of the shares, half their L1 distance, relative to the source's number of rows; None where
        that is not known, or where the marginals are chosen as noisy answers tell.
        """
        plan, rows = self.plan, self._source.rows
        measured = planned(plan, plan.spend.part(1 - Fraction(plan.check).limit_denominator(1 << 30)))
        lines = []
        for subset in plan.workload:
            variance = measured.get(subset)
            cells = cells_of(plan.domains, subset)
            known = variance is not None and rows
            expected = cells * math.sqrt(2 * variance / math.pi) / (2 * rows) if known else None  # type: ignore[operator]
            names = " × ".join(plan.domains[column].name for column in subset)
            lines.append({"marginal": names, "cells": cells, "expected": expected})
        return lines

    def run(
        self, *, ledger: Ledger | str | Path | None = None, rng: Rng | None = None, name: str = "",
        report: Report = lambda _share, _doing: None,
    ) -> Synthesis:  # fmt: skip
        """Charge the ledger, read the data, measure, fit."""
        plan, chosen = self.plan, Rng() if rng is None else resolve(OWNER, rng)
        privacy, spending = self.privacy, None
        book = plan.ledger if ledger is None else ledger
        if book is not None:
            spending = (book if isinstance(book, Ledger) else Ledger(book)).spend(privacy, name=name)
        curator = Curator(plan, self._source.schema, chosen, self._source.rows)
        for batch in self._source.batches(curator.columns, None, curator.columns):
            curator.add(batch)
        curator.finish()
        share = Fraction(plan.check).limit_denominator(1 << 30)
        spend = plan.spend.part(1 - Fraction(1, 1 << 30))
        model, measured = choose_and_fit(plan, curator, spend.part(1 - share), report)
        checked = None
        if share:
            checked = Checked(*curator.distances(estimates_of(model, plan.workload), spend.part(share)))
        _check_cost(curator.cost, plan.spend)
        curator.close()
        stamp = None if spending is None else spending.stamp
        receipt = SynthesisReceipt(plan, privacy, curator.parts, chosen.is_unsafe, chosen.generator, stamp)
        if spending is not None:
            spending.settle(receipt)
        like = None if isinstance(self._data, str | os.PathLike) else self._data
        secret = chosen.child("rows").reserve(1).key.tobytes()[:32]
        return Synthesis(plan, privacy, receipt, model, measured, checked, curator.coders, secret, like)


def _check_cost(cost: Spend, budget: Spend) -> None:
    """What was drawn never costs more than what was charged."""
    for drawn, most in ((cost.epsilon, budget.epsilon), (cost.rho, budget.rho)):
        assert drawn is None or (most is not None and drawn <= most), "more was drawn than was charged"


def run(
    plan: SynthesisPlan, data: object, *, ledger: Ledger | str | Path | None = None, rng: Rng | None = None
) -> Synthesis:
    """The synthesis of a plan.

    Parameters
    ----------
    plan
        What is made.
    data
        A table, data frame, file or folder.
    ledger, rng
        As in `synthesize`.
    """
    return Job(plan, data).run(ledger=ledger, rng=rng)
