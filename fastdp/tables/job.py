"""A source and a plan that fit each other, and the work of carrying one through the other."""

from __future__ import annotations

import logging
import math
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.errors import DomainError, FastDPError, InputCorruptError, ParameterError
from fastdp.random.rng import Rng
from fastdp.tables.csv_files import text_types
from fastdp.tables.kept import keep, kept_type
from fastdp.tables.order import OrderWatch
from fastdp.tables.outputs import Output
from fastdp.tables.pipeline import Pipeline
from fastdp.tables.plan import Plan
from fastdp.tables.policies import drop_rows
from fastdp.tables.receipt import Receipt
from fastdp.tables.shuffle import ShuffledSink
from fastdp.tables.sinks import Sink
from fastdp.tables.sources import Cancellable, ParquetSource, Progress, Source, expected_rows, open_source

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.entry import Entry
    from fastdp.tables.group import Group

SHUFFLE = b"shuffle"
"""The stream of the rows' order; bytes, for the names of columns are text."""
log = logging.getLogger("fastdp.tables")


class Job:
    """A source and a plan that fit each other: names and types are checked before a record is read."""

    def __init__(
        self,
        source: Any,
        plan: Plan,
        *,
        batch_rows: int | None = None,
        input_format: str | None = None,
        shuffle: bool = False,
    ) -> None:
        import pyarrow as pa

        if not isinstance(plan, Plan):
            raise ParameterError(f"sanitize: plan must be a fastdp.Plan, got {type(plan).__name__}")
        self._rows = None if batch_rows is None else validation.positive_integer("sanitize", "batch_rows", batch_rows)
        self.source: Source = open_source(source, input_format=input_format, types=text_types(plan))
        self.plan, self._shuffle = plan, shuffle
        plan.check_names(self.source.schema.names)
        types = {entry.column: self._result_type(entry) for entry in plan.columns.values() if entry.action != "drop"}
        for group in plan.groups:
            types |= self._group_types(group)
        if not types:
            raise ParameterError("sanitize: the plan drops every column; nothing would be written")
        types = {name: _without_views(kind) for name, kind in types.items()}
        self.schema = pa.schema([pa.field(name, types[name]) for name in self.source.schema.names if name in types])
        self._entries = [plan.columns[name] for name in self.schema.names if name in plan.columns]
        kept = {entry.column for entry in self._entries if entry.action == "keep"}
        self.plain = {name for name, kind in types.items() if name not in kept and _seldom_repeats(kind)}
        self._labelled = [entry.column for entry in self._entries if _has_labels(entry)]
        self._labelled += [name for group in plan.groups for name in group.labelled]
        self._batch_schema: pa.Schema | None = None
        rows = "an unknown number of" if self.source.rows is None else f"{self.source.rows:,}"
        log.info("reading %s: %s, %s rows", self.source.path or "a table or stream", type(self.source).__name__, rows)
        for entry in plan.columns.values():
            what = entry.action if entry.mechanism is None else type(entry.mechanism).__name__
            log.info("column %r: %s", entry.column, what)
        for group in plan.groups:
            log.info("columns %s: %s", group.name, type(group.mechanism).__name__)

    def _result_type(self, entry: Entry) -> pa.DataType:
        """The type of a column's results; for a mechanism, that of its results for no records at all."""
        import pyarrow as pa

        kind = self.source.schema.field(entry.column).type
        if entry.action == "keep":
            return kept_type(entry.column, kind)
        return _randomize(entry, pa.nulls(0, kind), Rng()).type

    def _group_types(self, group: Group) -> dict[str, pa.DataType]:
        """The types of a group's results, those for no records at all."""
        import pyarrow as pa

        nothing = [pa.nulls(0, self.source.schema.field(name).type) for name in group.columns]
        results = _randomize_group(group, nothing, Rng())
        return {name: result.type for name, result in zip(group.columns, results, strict=True)}

    def place(self, output: str | os.PathLike[str], **options: Any) -> Output:
        """Where the release goes; refused if that is the input, or exists."""
        return Output(self.source, output, **options)

    def write(self, output: Output, rng: Rng, progress: Progress | None = None) -> Receipt:
        """Everything from the source to the output."""
        log.info("writing %s to %s", output.kind, output.target.path or "standard output")
        if output.kind == "parquet" and not self._shuffle:
            self._batch_schema = self._with_dictionaries()
        sink = output.open(self.schema, self.plain, self._receipt(None, rng), dictionaries=self._batch_schema)
        return self.run(sink, rng, progress, output)

    def _with_dictionaries(self) -> pa.Schema | None:
        """The schema of batches whose labels stay in dictionaries; None if there are none.

        A Parquet file holds them as such anyway: written out as text, they would all be looked up again.
        """
        import pyarrow as pa

        if not isinstance(self.source, ParquetSource):
            return None
        kinds = {}
        for name in self._labelled:
            if name in self.plan.columns and pa.types.is_string(self.schema.field(name).type):
                nothing = pa.nulls(0, pa.dictionary(pa.int32(), pa.string()))
                kinds[name] = _randomize(self.plan.columns[name], nothing, Rng()).type
        if not any(pa.types.is_dictionary(kind) for kind in kinds.values()):
            return None
        return pa.schema([pa.field(field.name, kinds.get(field.name, field.type)) for field in self.schema])

    def run(self, sink: Sink, rng: Rng, progress: Progress | None = None, output: Output | None = None) -> Receipt:
        """Everything from the source to the sink, which is left without a trace if anything fails."""
        try:
            if self._shuffle:
                memory, folder = (math.inf, None) if output is None else (None, output.folder)
                sink = ShuffledSink(sink, self.schema, rng.child(SHUFFLE), folder, memory)
            seen = rows = 0
            watched = [
                *(entry.column for entry in self.plan.randomized),
                *(n for g in self.plan.groups for n in g.columns),
            ]
            watches = {name: OrderWatch() for name in watched}

            def work(batch: pa.RecordBatch) -> pa.RecordBatch:
                nonlocal seen, rows
                result = self._sanitize(batch, rng, watches, copy=sink.keeps_buffers)
                seen += batch.num_rows
                rows += result.num_rows
                if progress is not None:
                    progress(seen, expected_rows(self.source, seen))
                return result

            names, labelled = self.schema.names, self._labelled
            cancel = self.source.cancel if isinstance(self.source, Cancellable) else None
            pipeline = Pipeline()
            pipeline.run(self.source.batches(names, self._rows, labelled), work, sink.write, cancel)
            log.info("%s rows sanitized; seconds busy: %s", f"{seen:,}", pipeline.busy)
            receipt = self._receipt(rows, rng)
            sink.finish(receipt)
            log.info("complete, flushed and in place")
        except BaseException:
            sink.discard()
            raise
        if not self._shuffle:
            _warn_of_order(watches)
        return receipt

    def _receipt(self, rows: int | None, rng: Rng) -> Receipt:
        return Receipt.of(self.plan, rows, rng, shuffled=self._shuffle)

    def _sanitize(
        self, batch: pa.RecordBatch, rng: Rng, watches: dict[str, OrderWatch], *, copy: bool
    ) -> pa.RecordBatch:
        import pyarrow as pa

        results: dict[str, pa.Array] = {}
        for entry in self._entries:
            values = batch.column(entry.column)
            if entry.action == "keep":
                results[entry.column] = keep(entry.column, values, copy=copy)
                continue
            results[entry.column] = _randomize(entry, values, rng.child(entry.column))
            watches[entry.column].add(values)
        for group in self.plan.groups:
            columns = [batch.column(name) for name in group.columns]
            results |= zip(group.columns, _randomize_group(group, columns, group.stream(rng)), strict=True)
            for name, values in zip(group.columns, columns, strict=True):
                watches[name].add(values)
        schema = self._batch_schema or self.schema
        fitting = [
            results[name] if results[name].type == kind else results[name].cast(kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        made = pa.RecordBatch.from_arrays(fitting, schema=schema)
        return drop_rows(made, batch, self.plan.dropping)


def _warn_of_order(watches: dict[str, OrderWatch]) -> None:
    for name, watch in watches.items():
        if watch.is_sorted:
            warnings.warn(
                f"sanitize: column {name!r} arrived sorted, so neighbouring rows tell what its noise hides; "
                "shuffle the rows (shuffle=True, --shuffle)",
                stacklevel=5,
            )


def _randomize(entry: Entry, values: pa.Array, rng: Rng) -> pa.Array:
    """Reports of a column; errors name it and hold none of its values."""
    with _withheld(f"column {entry.column!r}", entry.ways_out):
        return entry.randomize(values, rng)


def _randomize_group(group: Group, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
    """Reports of the columns of a group; errors name them and hold none of their values."""
    with _withheld(f"group ({group.name})"):
        return group.randomize(values, rng)


@contextmanager
def _withheld(what: str, ways_out: str = "") -> Iterator[None]:
    import pyarrow as pa

    try:
        yield
    except DomainError as error:
        or_else = f"; or let the plan say what becomes of them: {ways_out}" if ways_out else ""
        raise DomainError(f"sanitize: {what}: {error}{or_else}") from None
    except FastDPError as error:
        raise type(error)(f"sanitize: {what}: {error}") from None
    except (pa.ArrowException, UnicodeDecodeError):
        raise InputCorruptError(f"sanitize: {what} contradicts its own format") from None


def _has_labels(entry: Entry) -> bool:
    domain = getattr(entry.mechanism, "domain", None)
    return domain is not None and domain.labels is not None and isinstance(domain.labels[0], str)


def _without_views(kind: pa.DataType) -> pa.DataType:
    """Labels that come as views are released as plain text, as kept ones are: views cannot be put in another order."""
    import pyarrow as pa

    return pa.large_string() if pa.types.is_string_view(kind) else kind


def _seldom_repeats(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return pa.types.is_floating(kind) or pa.types.is_fixed_size_binary(kind)
