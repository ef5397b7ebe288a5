"""sanitize: a table or file, column by column as its plan says."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.errors import FastDPError, InputCorruptError, OutputExistsError, ParameterError
from fastdp.random.rng import Rng, resolve
from fastdp.tables.atomic import check_free
from fastdp.tables.kept import keep, kept_type
from fastdp.tables.order import OrderWatch
from fastdp.tables.pipeline import Pipeline
from fastdp.tables.plan import Plan
from fastdp.tables.receipt import Receipt
from fastdp.tables.sinks import ParquetSink, Sink, TableSink, receipt_path
from fastdp.tables.sources import Source, open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.entry import Entry

ARROW_ENDINGS = (".arrow", ".feather", ".ipc")
Progress = Callable[[int, int | None], None]
"""``progress(rows done, rows in all)``, after every batch."""


def sanitize(
    source: Any,
    plan: Plan,
    output: str | os.PathLike[str] | None = None,
    *,
    rng: Rng | None = None,
    force: bool = False,
    batch_rows: int | None = None,
    progress: Progress | None = None,
) -> Any:
    """The sanitized table in memory, or the receipt of the file that ``output`` names.

    A pandas or polars data frame comes back as one, with its rows numbered afresh; anything else as a pyarrow table.

    ``source`` is a pyarrow table, record batch or reader, any object with an Arrow stream, or the path of a Parquet
    or Arrow file; an output that ends in .arrow, .feather or .ipc is an Arrow file, any other a Parquet file. Files are
    streamed: memory is bounded by a few batches, whatever the size of the file and its row groups. The
    output appears when it is complete, with its receipt beside it and in its metadata; on any error nothing is left.

    The guarantee is ``plan.privacy``, for one record replaced by another. Results depend on the key of ``rng`` alone,
    not on batches or threads; without one, the operating system keys the job.

    >>> import fastdp as fd, pyarrow as pa
    >>> plan = Plan(columns={"name": "drop", "ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> sanitize(pa.table({"name": ["Ann", "Bob"], "ill": [True, False]}), plan).column_names
    ['ill']
    """
    job = Job(source, plan, batch_rows=batch_rows)
    if output is None:
        sink = TableSink(job.schema)
        job.run(sink, rng, progress)
        return _same_kind(sink.table, source)
    path = Path(output)
    job.check_output(path, force=force)
    chosen = Rng() if rng is None else resolve("sanitize", rng)
    return job.run(job.open_sink(path, chosen, force=force), chosen, progress)


class Job:
    """A source and a plan that fit each other: names and types are checked before a record is read."""

    def __init__(self, source: Any, plan: Plan, *, batch_rows: int | None = None) -> None:
        import pyarrow as pa

        if not isinstance(plan, Plan):
            raise ParameterError(f"sanitize: plan must be a fastdp.Plan, got {type(plan).__name__}")
        self._rows = None if batch_rows is None else validation.positive_integer("sanitize", "batch_rows", batch_rows)
        self.source: Source = open_source(source)
        self.plan = plan
        plan.check_names(self.source.schema.names)
        self._entries = [plan.columns[name] for name in self.source.schema.names if plan.columns[name].action != "drop"]
        if not self._entries:
            raise ParameterError("sanitize: the plan drops every column; nothing would be written")
        self.schema = pa.schema([pa.field(entry.column, self._result_type(entry)) for entry in self._entries])
        self.plain = {
            entry.column
            for entry, field in zip(self._entries, self.schema, strict=True)
            if entry.action == "randomize" and _seldom_repeats(field.type)
        }

    def _result_type(self, entry: Entry) -> pa.DataType:
        """The type of a column's results; for a mechanism, that of its results for no records at all."""
        import pyarrow as pa

        kind = self.source.schema.field(entry.column).type
        if entry.action == "keep":
            return kept_type(entry.column, kind)
        return _randomize(entry, pa.nulls(0, kind), Rng()).type

    def check_output(self, path: Path, *, force: bool) -> None:
        """Refuse an output that is the input, or that exists."""
        given = self.source.path
        if given is not None and path.exists() and path.samefile(given):
            raise OutputExistsError("sanitize: the output is the input; in place is refused, choose another name")
        for taken in (path, receipt_path(path)):
            check_free(taken, force=force)

    def open_sink(self, path: Path, rng: Rng, *, force: bool) -> Sink:
        """A file on its way: Arrow's own format by the name's ending, else Parquet."""
        if path.suffix.lower() in ARROW_ENDINGS:
            from fastdp.tables.ipc import IpcSink

            return IpcSink(path, self.schema, Receipt.of(self.plan, None, rng), force=force)
        return ParquetSink(path, self.schema, self.plain, force=force)

    def run(self, sink: Sink, rng: Rng | None, progress: Progress | None = None) -> Receipt:
        """Everything from the source to the sink, which is left without a trace if anything fails."""
        try:
            chosen = Rng() if rng is None else resolve("sanitize", rng)
            rows, watches = 0, {entry.column: OrderWatch() for entry in self.plan.randomized}

            def work(batch: pa.RecordBatch) -> pa.RecordBatch:
                nonlocal rows
                result = self._sanitize(batch, chosen, watches, copy=sink.keeps_buffers)
                rows += batch.num_rows
                if progress is not None:
                    progress(rows, self.source.rows)
                return result

            names = [entry.column for entry in self._entries]
            labelled = [entry.column for entry in self._entries if _has_labels(entry)]
            Pipeline().run(self.source.batches(names, self._rows, labelled), work, sink.write)
            receipt = Receipt.of(self.plan, rows, chosen)
            sink.finish(receipt)
        except BaseException:
            sink.discard()
            raise
        for name, watch in watches.items():
            if watch.is_sorted:
                warnings.warn(
                    f"sanitize: column {name!r} arrived sorted, so neighbouring rows tell what its noise hides; "
                    "shuffle the rows first",
                    stacklevel=3,
                )
        return receipt

    def _sanitize(
        self, batch: pa.RecordBatch, rng: Rng, watches: dict[str, OrderWatch], *, copy: bool
    ) -> pa.RecordBatch:
        import pyarrow as pa

        results = []
        for entry in self._entries:
            values = batch.column(entry.column)
            if entry.action == "keep":
                results.append(keep(entry.column, values, copy=copy))
                continue
            result = _randomize(entry, values, rng.child(entry.column))
            kind = self.schema.field(entry.column).type
            results.append(result if result.type == kind else result.cast(kind))
            watches[entry.column].add(values)
        return pa.RecordBatch.from_arrays(results, schema=self.schema)


def _same_kind(table: pa.Table, source: Any) -> Any:
    """A data frame for a data frame, with rows numbered afresh; else the table."""
    library = type(source).__module__.partition(".")[0]
    if type(source).__name__ != "DataFrame" or library not in {"pandas", "polars"}:
        return table
    if library == "pandas":
        return table.replace_schema_metadata(None).to_pandas()
    return type(source)(table.replace_schema_metadata(None))


def _randomize(entry: Entry, values: pa.Array, rng: Rng) -> pa.Array:
    """Reports of a column; errors name it and hold none of its values."""
    import pyarrow as pa

    try:
        return entry.randomize(values, rng)
    except FastDPError as error:
        raise type(error)(f"sanitize: column {entry.column!r}: {error}") from None
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputCorruptError(f"sanitize: column {entry.column!r} contradicts its own format") from None


def _has_labels(entry: Entry) -> bool:
    domain = getattr(entry.mechanism, "domain", None)
    return domain is not None and domain.labels is not None and isinstance(domain.labels[0], str)


def _seldom_repeats(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_fixed_size_binary(kind)
