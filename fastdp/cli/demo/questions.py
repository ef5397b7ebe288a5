"""Three questions that the demo answers from its table: counts, a mean and a median, paid from its ledger."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fastdp.cli.demo.people import AGES, DISEASES, INCOMES, Truth

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.accounting.ledger import Ledger
    from fastdp.queries.plans.plan import ReleasePlan
    from fastdp.queries.plans.run import ReleaseAnswers

EPSILON = 0.5
"""What the three answers cost together."""


def release_plan() -> ReleasePlan:
    """How many have each disease, what people earn on average, and their median age."""
    from fastdp.queries.plans.plan import ReleasePlan

    return ReleasePlan(
        queries=[
            {"name": "disease", "group_by": "disease", "keys": list(DISEASES), "answers": ["count"]},
            {"name": "income", "answers": {"mean": "mean(income)"}},
            {"name": "age", "answers": {"median": "median(age)"}, "interval": 0.95},
        ],
        budget={"epsilon": EPSILON},
        source={"neighbours": "replace"},
        columns={"income": {"bounds": list(INCOMES)}, "age": {"bounds": list(AGES)}},
    )


def ask(
    table: Path | pa.Table, ledger: Ledger | None = None, progress: Callable[[int, int | None], None] | None = None
) -> ReleaseAnswers:
    """The answers, charged to the ledger before a record is read."""
    return release_plan().run(table, ledger=ledger, name="three questions", progress=progress)


def ask_timed(
    table: Path, ledger: Ledger, truth: Truth, progress: Callable[[int, int | None], None] | None
) -> tuple[list[dict[str, Any]], float]:
    """The answers beside the truth, and how many seconds they took."""
    began = time.perf_counter()
    answers = ask(table, ledger, progress)
    return compare(answers, truth), time.perf_counter() - began


def compare(answers: ReleaseAnswers, truth: Truth) -> list[dict[str, Any]]:
    """Answers and their intervals beside the truth, a line each."""
    lines = []
    for row in answers.to_arrow().to_pylist():
        given = {"answer": row["value"], "low": row["low"], "high": row["high"]}
        question, of, true = {
            "disease": ("people with", row["key"], float(truth.counts.get(("disease", row["key"]), 0))),
            "income": ("mean of", "income", truth.mean("income")),
            "age": ("median of", "age", float(truth.median_age)),
        }[row["query"]]
        lines.append({"question": question, "of": of, "truth": true, **given})
    return lines


def show(lines: list[dict[str, Any]], seconds: float) -> None:
    """The lines as a table."""
    from rich.console import Console
    from rich.table import Table

    from fastdp.cli.terminal.screen import in_digits

    shown = Table(box=None, pad_edge=False)
    for heading in ("question", "of", "truth", "answer", "95 % interval"):
        shown.add_column(heading, justify="left" if heading in {"question", "of"} else "right", no_wrap=True)
    for line in lines:
        truth, answer, low, high = (in_digits(line[part]) for part in ("truth", "answer", "low", "high"))
        shown.add_row(line["question"], line["of"], truth, answer, f"[{low}, {high}]")
    click.echo(
        f"\nThree questions about the table itself, answered for epsilon {EPSILON:g} together in {seconds:.1f} s\n"
    )
    Console(highlight=False, markup=False).print(shown)
