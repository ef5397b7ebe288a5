"""Estimates from sanitized tables: counts in one streaming pass, then an estimate per column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fastdp import validation
from fastdp.columns.containers import check_known
from fastdp.errors import ParameterError, SchemaError
from fastdp.io.base import Cancellable, Progress, Source, expected_rows
from fastdp.plans.plan import Plan
from fastdp.renamed import renamed
from fastdp.tables.estimating.estimable_parts import Subject, choose, open_part
from fastdp.tables.estimating.null_tally import NOT_BINNED, open_tally
from fastdp.tables.estimating.number_readers import check_bins
from fastdp.tables.estimating.results import TableEstimate
from fastdp.tables.sanitizing.pipeline import Pipeline
from fastdp.tables.sanitizing.receipt_lookup import open_with_plan
from fastdp.typing import TableSource

if TYPE_CHECKING:
    import pyarrow as pa

LEVEL = 0.95


@renamed(confidence="level")
def estimate_table(
    source: TableSource,
    plan: Plan | None = None,
    columns: Sequence[str] | None = None,
    *,
    level: float = LEVEL,
    bins: int | None = None,
    unbiased: bool = False,
    input_format: str | None = None,
    csv: Mapping[str, str | None] | None = None,
    progress: Progress | None = None,
) -> TableEstimate:
    """Estimate shares, means and distributions from a sanitized table or file, as a :class:`TableEstimate`.

    All columns are counted in one pass, in memory that does not depend on the number of rows. By kind of mechanism:
    shares of categories and truth values; the distribution and mean of square wave reports; the mean of other numbers,
    and with ``bins`` their distribution over as many ranges, where bounds are declared and reports tell it; shares of
    the combinations of a joint group. Noise that is clamped, folded or redrawn at bounds pulls a plain mean towards
    their middle; that is corrected, and what is left of the bias widens the interval.

    Without a plan, that of the table's receipt is taken; with one, a receipt that contradicts it is an error. Shares
    are estimated by :func:`fastdp.estimate`, or with ``unbiased`` one by one, so that they may lie below 0. Nulls are
    left out.

    Parameters
    ----------
    source
        A sanitized table, or the path of a file or folder; "-" is standard input.
    plan
        The plan that the table was sanitized with; by default that of its receipt.
    columns
        The columns to estimate; by default all that can be.
    level
        The confidence level of intervals, each by itself and not all together.
    bins
        The number of ranges for the distributions of numbers.
    unbiased
        Debias shares one by one instead of maximising their likelihood.
    input_format
        "parquet", "arrow" or "csv", for a file whose content and ending do not show its format.
    csv
        How CSV is written, as in `fastdp.sanitize`.
    progress
        Called with the rows done and the rows in all, after every batch.

    >>> import fastdp as fd, pyarrow as pa
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 2.0}})
    >>> private = fd.sanitize(pa.table({"ill": [True, False] * 5000}), plan, rng=fd.Rng.unsafe_seed(1))
    >>> [(line.value, round(line.estimate, 1)) for line in estimate_table(private)["ill"].lines]
    [(False, 0.5), (True, 0.5)]
    """
    level = validation.level("estimate", level)
    opened, subjects, skipped = open_subjects(
        source, plan, columns, bins=bins, unbiased=unbiased, input_format=input_format, csv=csv
    )
    _count(opened, subjects, progress)
    if not any(subject.reports for subject in subjects):
        raise ParameterError("estimate: there are no reports")
    skipped |= {subject.name: "it holds nothing but nulls" for subject in subjects if not subject.reports}
    found = [found for subject in subjects if subject.reports for found in subject.conclude(level)]
    return TableEstimate(tuple(found), skipped)


def open_subjects(
    source: TableSource,
    plan: Plan | None,
    columns: Sequence[str] | None,
    *,
    bins: int | None = None,
    unbiased: bool = False,
    input_format: str | None = None,
    csv: Mapping[str, str | None] | None = None,
) -> tuple[Source, list[Subject], dict[str, str]]:
    """A sanitized table, what of it is to be estimated, and why the rest is not; no row is read yet."""
    if plan is not None and not isinstance(plan, Plan):
        raise ParameterError(f"estimate: plan must be a fastdp.Plan, got {type(plan).__name__}")
    bins = check_bins(bins)
    asked = list(dict.fromkeys(columns or ()))
    opened, plan = open_with_plan(source, plan, asked, input_format, csv)
    skipped: dict[str, str] = {}
    subjects = []
    for part in choose(plan, asked):
        reader = open_part(part, bins=bins, unbiased=unbiased)
        if reader is not None:
            subjects.append(Subject(part, reader, nulls=open_tally(part)))
        why = part.not_estimable if reader is None else reader.missing
        if part.null_share is not None and bins is not None:
            why = NOT_BINNED
        if why is not None:
            skipped[part.name] = why
            if asked and reader is None:
                raise ParameterError(f"estimate: column {part.name!r} has no estimate: {why}")
    if not subjects:
        raise ParameterError("estimate: the plan randomizes no column whose reports can be estimated from")
    for column in (column for subject in subjects for column in subject.columns):
        if opened.schema.names.count(column) != 1:
            raise SchemaError(f"estimate: the table must hold column {column!r} once")
        check_known(f"estimate: column {column!r}", opened.schema.field(column).type)
    return opened, subjects, skipped


def _count(opened: Source, subjects: list[Subject], progress: Progress | None) -> None:
    """One pass: every reader takes its columns of every batch."""
    rows = 0

    def work(batch: pa.RecordBatch) -> None:
        nonlocal rows
        for subject in subjects:
            subject.add(batch)
        rows += batch.num_rows
        if progress is not None:
            progress(rows, expected_rows(opened, rows))

    names = [name for subject in subjects for name in subject.columns]
    labels = [name for subject in subjects for name in subject.labels]
    cancel = opened.cancel if isinstance(opened, Cancellable) else None
    Pipeline().run(opened.batches(names, None, labels), work, lambda _: None, cancel)
