"""A source and a plan that fit each other, and the work of carrying one through the other."""

from __future__ import annotations

import logging
import math
import os
import warnings
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.columns.containers import check_known
from fastdp.errors import DomainError, FastDPError, InputCorruptError, ParameterError
from fastdp.io.base import Cancellable, Progress, Source, expected_rows
from fastdp.io.csv import CsvSource
from fastdp.io.open import open_source
from fastdp.io.outputs import Output
from fastdp.io.parquet import ParquetSource
from fastdp.io.sinks import Sink
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.plan import Plan
from fastdp.plans.policies import drop_rows
from fastdp.plans.text_types import text_types, unbounded
from fastdp.random.rng import Rng
from fastdp.tables.sanitizing.order_watch import OrderWatch
from fastdp.tables.sanitizing.payment import pay, settle
from fastdp.tables.sanitizing.pipeline import Pipeline
from fastdp.tables.sanitizing.public_column import keep, kept_type
from fastdp.tables.sanitizing.receipt import Receipt
from fastdp.tables.sanitizing.shuffle import ShuffledSink
from fastdp.typing import TableSource

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.accounting.ledger import Spending
    from fastdp.plans.part import PlanPart

OWNER = "sanitize"
SHUFFLE = b"shuffle"
"""The stream of the rows' order; bytes, for the names of columns are text."""
log = logging.getLogger("fastdp.tables")


class Job:
    """A source and a plan that fit each other: names and types are checked before a record is read."""

    def __init__(
        self,
        source: TableSource,
        plan: Plan,
        *,
        batch_rows: int | None = None,
        input_format: str | None = None,
        shuffle: bool = False,
        owner: str = OWNER,
    ) -> None:
        import pyarrow as pa

        if not isinstance(plan, Plan):
            raise ParameterError(f"{owner}: plan must be a fastdp.Plan, got {type(plan).__name__}")
        self._rows = None if batch_rows is None else validation.positive_integer(owner, "batch_rows", batch_rows)
        self.source: Source = open_source(owner, source, input_format=input_format, types=lambda: text_types(plan))
        if isinstance(self.source, CsvSource):
            self.source.unbounded = unbounded(plan)
        self.plan, self._shuffle, self._owner = plan, shuffle, owner
        plan.check_names(self.source.schema.names, owner=owner)
        types = {name: kind for part in plan.parts for name, kind in self._result_types(part).items()}
        if not types:
            raise ParameterError(f"{owner}: the plan drops every column; nothing would be written")
        # Labels that come as views are released as plain text, as kept ones are: views cannot be put in another order.
        types = {name: pa.large_string() if pa.types.is_string_view(kind) else kind for name, kind in types.items()}
        self.schema = pa.schema([pa.field(name, types[name]) for name in self.source.schema.names if name in types])
        entries = [plan.columns[name] for name in self.schema.names if name in plan.columns]
        self._parts: list[PlanPart] = [*entries, *plan.groups]
        kept = {entry.name for entry in entries if entry.action == "keep"}
        self.plain = {
            name
            for name, kind in types.items()
            if name not in kept and (pa.types.is_floating(kind) or pa.types.is_fixed_size_binary(kind))
        }
        self._dropping = plan.dropping
        self._labelled = [name for part in self._parts for name in part.labelled]
        self._batch_schema: pa.Schema | None = None
        self._paid: Spending | None = None
        self._guarantee: dict[str, Any] | None = None
        rows = "an unknown number of" if self.source.rows is None else f"{self.source.rows:,}"
        log.info("reading %s: %s, %s rows", self.source.path or "a table or stream", type(self.source).__name__, rows)
        for part in plan.parts:
            names = f"columns {part.name}" if len(part.columns) > 1 else f"column {part.name!r}"
            log.info("%s: %s", names, part.action if part.mechanism is None else type(part.mechanism).__name__)

    def _result_types(self, part: PlanPart) -> dict[str, pa.DataType]:
        """The types of the results of a part's columns, by their names; none of columns that are dropped."""
        import pyarrow as pa

        if part.action == "drop":
            return {}
        kinds = [self._type_of(name) for name in part.columns]
        if part.action == "keep":
            return {part.name: kept_type(self._owner, part.name, *kinds)}
        try:
            return dict(zip(part.columns, part.result_types(kinds), strict=True))
        except (FastDPError, pa.ArrowException) as error:
            raise _withheld(self._owner, part, error) from None

    def _type_of(self, column: str) -> pa.DataType:
        kind = self.source.schema.field(column).type
        check_known(f"{self._owner}: column {column!r}", kind)
        return kind

    def open_output(self, output: str | os.PathLike[str], **options: Any) -> Output:
        """Where the release goes; refused if that is the input or the plan, or exists."""
        return Output(self._owner, self.source, output, plan=self.plan.path, **options)

    def pay(
        self, ledger: Any, rng: Rng, output: Output | None = None, *, name: str = "", records: int | None = None
    ) -> None:
        """Spend what the release costs, before a record is read; from the plan's ledger if none is given."""
        self._paid = pay(ledger, self.plan, self.source, rng, output, name=name, records=records)

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
                part = self.plan.columns[name]
                (kinds[name],) = part.result_types([pa.dictionary(pa.int32(), pa.string())])
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
            randomized = [part for part in self.plan.parts if part.mechanism is not None]
            watches = {name: OrderWatch() for part in randomized for name in part.columns}

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
            receipt = sink.finish(self._receipt(rows, rng))
            assert isinstance(receipt, Receipt)
            log.info("complete, flushed and in place")
        except BaseException:
            sink.discard()
            raise
        if self._paid is not None:
            settle(self._paid, receipt)
        if not self._shuffle:
            _warn_of_order(watches)
        return receipt

    def _receipt(self, rows: int | None, rng: Rng) -> Receipt:
        stamp = None if self._paid is None else self._paid.stamp
        self._guarantee = self._guarantee or describe_guarantee(self.plan)
        path = self.source.path
        name = "standard input or a table in memory" if path is None else path.name
        about = {"name": name, "rows": self.source.rows, "columns": len(self.source.schema.names)}
        return Receipt.of(
            self.plan, rows, rng, shuffled=self._shuffle, ledger=stamp, source=about, guarantee=self._guarantee
        )

    def _sanitize(
        self, batch: pa.RecordBatch, rng: Rng, watches: dict[str, OrderWatch], *, copy: bool
    ) -> pa.RecordBatch:
        import pyarrow as pa

        results: dict[str, pa.Array] = {}
        for part in self._parts:
            values = [batch.column(name) for name in part.columns]
            if part.action == "keep":
                results[part.name] = keep(self._owner, part.name, *values, copy=copy)
                continue
            try:
                results |= zip(part.columns, part.randomize(values, part.stream(rng)), strict=True)
            except (FastDPError, pa.ArrowException, UnicodeDecodeError) as error:
                raise _withheld(self._owner, part, error) from None
            for name, column in zip(part.columns, values, strict=True):
                watches[name].add(column)
        schema = self._batch_schema or self.schema
        fitting = [
            results[name] if results[name].type == kind else results[name].cast(kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        ]
        made = pa.RecordBatch.from_arrays(fitting, schema=schema)
        return drop_rows(made, batch, self._dropping)


def _warn_of_order(watches: dict[str, OrderWatch]) -> None:
    for name, watch in watches.items():
        if watch.is_sorted:
            warnings.warn(
                f"{OWNER}: column {name!r} arrived sorted, so neighbouring rows tell what its noise hides; "
                "shuffle the rows (shuffle=True, --shuffle)",
                stacklevel=5,
            )


def _withheld(owner: str, part: PlanPart, error: Exception) -> FastDPError:
    """The error in the name of a part, without any of its values."""
    if isinstance(error, DomainError):
        or_else = f"; or let the plan say what becomes of them: {part.ways_out}" if part.ways_out else ""
        return DomainError(f"{owner}: {part.title}: {error}{or_else}")
    if isinstance(error, FastDPError):
        return type(error)(f"{owner}: {part.title}: {error}")
    return InputCorruptError(f"{owner}: {part.title} contradicts its own format")
