"""``fastdp demo``: a table of people, sanitized in front of your eyes."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

BATCH = 1 << 20


class DemoColumn(NamedTuple):
    """A column to sanitize, and what is said of it."""

    name: str
    mechanism: Any
    make: Any

    @property
    def is_local(self) -> bool:
        """Whether statistics are won back from reports, rather than read off noisy numbers."""
        return hasattr(self.mechanism, "estimate")


class Outcome:
    """What sanitizing a column took, and how far the results are from the truth."""

    def __init__(self, column: DemoColumn) -> None:
        self._column = column
        self.seconds = 0.0
        self._rows, self._error = 0, 0.0
        self._true: Any = None
        self._counted: Any = None

    def add(self, truth: Any, result: Any, seconds: float) -> None:
        self.seconds += seconds
        self._rows += len(truth)
        mechanism = self._column.mechanism
        if not self._column.is_local:
            self._error += float(np.abs(result.to_numpy() - truth.to_numpy().astype(np.float64)).sum())
            return
        true, counted = mechanism.aggregate(truth), mechanism.aggregate(result)
        self._true = true if self._true is None else self._true + true
        self._counted = counted if self._counted is None else self._counted + counted

    def shown(self) -> tuple[str, str]:
        """The mean error and where 95 % of the noise lies; for reports, the same of the estimated frequencies."""
        mechanism = self._column.mechanism
        if not self._column.is_local:
            return f"{self._error / self._rows:,.4g}", f"±{float(mechanism.interval(0.95)[1]):,.4g}"
        estimate = mechanism.estimate(self._counted)
        errors = np.abs(estimate.frequencies - self._true.support / self._true.n)
        low, high = estimate.interval(0.95)
        return f"{100 * errors.mean():.2g} %", f"±{100 * float((high - low).max()) / 2:.2g} %"


def _columns() -> list[DemoColumn]:
    from fastdp import KRR, DiscreteGaussian, Gaussian, Geometric, Laplace, RandomizedResponse

    return [
        DemoColumn(
            "age",
            Geometric(epsilon=0.5, sensitivity=1, bounds=(0, 120)),
            lambda source, n: source.integers(0, 100, n, dtype=np.int8),
        ),
        DemoColumn(
            "income",
            Laplace(epsilon=1.0, sensitivity=1000.0),
            lambda source, n: source.gamma(2.0, 20_000.0, n),
        ),
        DemoColumn(
            "weight",
            Gaussian(epsilon=1.0, delta=1e-6, sensitivity=1.0),
            lambda source, n: source.normal(75.0, 12.0, n),
        ),
        DemoColumn(
            "visits",
            DiscreteGaussian(rho=0.02, sensitivity=1),
            lambda source, n: source.poisson(3.0, n).astype(np.int32),
        ),
        DemoColumn(
            "region",
            KRR(epsilon=2.0, domain=20),
            lambda source, n: np.minimum(source.geometric(0.3, n) - 1, 19).astype(np.uint8),
        ),
        DemoColumn("smoker", RandomizedResponse.two_coins(), lambda source, n: source.random(n) < 0.2),
    ]


def _guarantee(privacy: Any) -> str:
    if privacy.epsilon is None:
        return f"rho {privacy.rho:.4g}"
    return f"epsilon {privacy.epsilon:.4g}" + (f", delta {privacy.delta:.2g}" if privacy.delta else "")


def _rows(_context: click.Context, _parameter: click.Parameter, value: str) -> int:
    try:
        rows = int(float(value))
    except (ValueError, OverflowError):
        raise click.BadParameter("must be a number such as 1e6") from None
    if rows < 1:
        raise click.BadParameter("must be at least 1")
    return rows


@click.command("demo")
@click.option("--rows", default="1e7", show_default=True, callback=_rows, help="Records in the generated table.")
@click.option("--threads", type=click.IntRange(min=1), default=None, help="Threads to use; default: all cores.")
def command(rows: int, threads: int | None) -> None:
    """Sanitize a generated table of ten million records and show what it cost.

    \b
    Examples:
      fastdp demo
      fastdp demo --rows 1e6 --threads 1
    """
    import pyarrow as pa

    from fastdp import Rng, get_threads, set_threads

    if threads:
        set_threads(threads)
    notes, console = Console(stderr=True), Console()
    columns = _columns()
    rng = Rng()
    with notes.status("compiling, only the first time"):
        for column in columns:
            column.mechanism.randomize(pa.array(column.make(np.random.default_rng(0), 100)))
    source = np.random.default_rng(2026)
    outcomes = {column.name: Outcome(column) for column in columns}
    batches = []
    bar = (TextColumn("sanitizing"), BarColumn(), MofNCompleteColumn(), TextColumn("records"), TimeRemainingColumn())
    with Progress(*bar, console=notes, disable=not notes.is_terminal) as progress:
        task = progress.add_task("", total=rows)
        for start in range(0, rows, BATCH):
            count = min(BATCH, rows - start)
            batch = {}
            for column in columns:
                truth = pa.array(column.make(source, count))
                began = time.perf_counter()
                batch[column.name] = column.mechanism.randomize(truth, rng=rng.child(column.name))
                outcomes[column.name].add(truth, batch[column.name], time.perf_counter() - began)
            batches.append(pa.record_batch(batch))
            progress.advance(task, count)
    table = pa.Table.from_batches(batches)
    shown = Table(
        title=f"{table.num_rows:,} records sanitized, safe by default, on {get_threads()} threads",
        box=None,
        pad_edge=False,
    )
    for heading in ("column", "mechanism", "effective guarantee", "|error|", "95 %", "M/s"):
        shown.add_column(heading, justify="left" if heading in {"column", "mechanism"} else "right", no_wrap=True)
    for column in columns:
        shown.add_row(
            column.name,
            type(column.mechanism).__name__,
            _guarantee(column.mechanism.privacy),
            *outcomes[column.name].shown(),
            f"{rows / outcomes[column.name].seconds / 1e6:,.0f}",
        )
    console.print(shown)
    total = sum(outcome.seconds for outcome in outcomes.values())
    console.print(
        f"{len(columns) * rows / total / 1e6:,.0f} million values per second "
        f"({table.nbytes / total / 1e9:.2f} GB/s of output), noise from {rng!r}.",
        highlight=False,
    )
    console.print(
        "Each column protects one record's value in that column, at the sensitivity it declares. Of region and smoker "
        "each person's own report is private, and the errors are those of the shares estimated from the reports.",
        highlight=False,
    )
