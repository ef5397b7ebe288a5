"""A source and a plan that fit each other, and the work of carrying one through the other."""

from __future__ import annotations

import logging
import math
import os
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.errors import InputChangedError, ParameterError
from fastdp.io.base import Cancellable, Placed, Progress, Source, expected_rows
from fastdp.io.csv import CsvSource
from fastdp.io.folders import FolderSource
from fastdp.io.ipc import IpcSource
from fastdp.io.memory import TableSource as MemorySource
from fastdp.io.open import open_source
from fastdp.io.outputs import Output
from fastdp.io.parquet import ParquetSource
from fastdp.io.sinks import Sink
from fastdp.plans.plan import Plan
from fastdp.plans.text_types import text_types, unbounded
from fastdp.random.job import JobKey
from fastdp.tables.chunks import WHOLE, Chunk, rechunk
from fastdp.tables.sanitizing.columns import Columns
from fastdp.tables.sanitizing.order_watch import OrderWatch
from fastdp.tables.sanitizing.payment import Budget, once, pay, settle
from fastdp.tables.sanitizing.pipeline import Pipeline
from fastdp.tables.sanitizing.receipt import Receipt
from fastdp.tables.sanitizing.shuffle import ShuffledSink
from fastdp.tables.sanitizing.struct_fields import by_field
from fastdp.tables.task import Task
from fastdp.typing import TableSource

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.accounting.ledger import Spending

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
        csv: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(plan, Plan):
            raise ParameterError(f"{owner}: plan must be a fastdp.Plan, got {type(plan).__name__}")
        self._rows = None if batch_rows is None else validation.positive_integer(owner, "batch_rows", batch_rows)
        self.source: Source = open_source(
            owner, source, input_format=input_format, types=lambda: text_types(plan), csv=csv
        )
        self._csv = csv
        if isinstance(self.source, CsvSource):
            self.source.unbounded = unbounded(plan)
        self.plan, self._shuffle, self._owner = plan, shuffle, owner
        self.source = by_field(self.source, plan.names)
        self.columns = Columns(self.source.schema, plan, owner=owner)
        self.schema = self.columns.schema
        self._paid: Spending | None = None
        self._expected: str | None = None
        rows = "an unknown number of" if self.source.rows is None else f"{self.source.rows:,}"
        log.info("reading %s: %s, %s rows", self.source.path or "a table or stream", type(self.source).__name__, rows)
        for part in plan.parts:
            names = f"columns {part.name}" if len(part.columns) > 1 else f"column {part.name!r}"
            log.info("%s: %s", names, part.action if part.mechanism is None else type(part.mechanism).__name__)

    def open_output(self, output: str | os.PathLike[str], **options: Any) -> Output:
        """Where the release goes; refused if that is the input or the plan, or exists."""
        return Output(self._owner, self.source, output, plan=self.plan.path, csv=self._csv, **options)

    def pay(
        self,
        ledger: Budget,
        key: JobKey,
        output: Output | None = None,
        *,
        name: str = "",
        records: int | None = None,
        repeatable: bool = False,
    ) -> None:
        """Spend what the release costs, before noise is drawn; from the plan's ledger if none is given.

        Under a key that is ``repeatable``, for the caller has it, the input is read for its tags first: what was paid
        for and is the same to the byte is free.
        """
        charged = ledger is not None or self.plan.ledger is not None
        root = self._read_root(key) if repeatable and charged else None
        stated = once(self.plan, self.source, key, root) if charged else {}
        may_repeat = root is not None and not key.is_unsafe
        self._paid = pay(
            ledger, self.plan, self.source, stated, output, name=name, records=records, may_repeat=may_repeat
        )
        self._expected = root

    def _read_root(self, key: JobKey) -> str | None:
        """One fingerprint of the input's places and of what draws the noise; None for a stream, which is read once."""
        if not isinstance(self.source, ParquetSource | FolderSource | IpcSource | MemorySource):
            return None
        task = Task.of(self.columns, key)
        for chunks in self._chunks(self.columns.randomized):
            task.note(chunks)
        return task.root

    def _chunks(self, names: list[str] | None = None) -> Iterator[list[Chunk]]:
        """The rows of these columns, by default all that are released, in the chunks of their places."""
        labelled = self.columns.labelled
        if names is None:
            names = self.schema.names
        else:
            labelled = [name for name in labelled if name in names]
        batches = self.source.batches(names, self._rows, labelled)
        places = self.source.places if isinstance(self.source, Placed) else None
        return rechunk(batches, ((WHOLE, None),) if places is None else places)

    def write(self, output: Output, key: JobKey, progress: Progress | None = None) -> Receipt:
        """Everything from the source to the output."""
        log.info("writing %s to %s", output.kind, output.target.path or "standard output")
        stated = None
        if output.kind == "parquet" and not self._shuffle and isinstance(self.source, ParquetSource):
            stated = self.columns.stated if self.columns.state_dictionaries() else None
        about = self._about(key)
        sink = output.open(self.schema, self.columns.plain, about, dictionaries=stated)
        return self._run(sink, key, about, progress, output)

    def run(self, sink: Sink, key: JobKey, progress: Progress | None = None) -> Receipt:
        """Everything from the source to the sink, which is left without a trace if anything fails."""
        return self._run(sink, key, self._about(key), progress)

    def _run(
        self, sink: Sink, key: JobKey, about: Receipt, progress: Progress | None, output: Output | None = None
    ) -> Receipt:
        """Everything from the source to the sink, which is left without a trace if anything fails."""
        import pyarrow as pa

        try:
            if self._shuffle:
                memory, folder = (math.inf, None) if output is None else (None, output.folder)
                order = key.rng(SHUFFLE, WHOLE, b"")
                sink = ShuffledSink(sink, self.schema, order, folder, memory)
            seen = rows = 0
            task = Task.of(self.columns, key)
            watches = {name: OrderWatch() for name in self.columns.randomized}

            def work(chunks: list[Chunk]) -> pa.Table:
                nonlocal seen, rows
                made = pa.Table.from_batches(task.sanitize(chunks, copy=sink.keeps_buffers), self.columns.stated)
                for chunk in chunks:
                    seen += chunk.rows.num_rows
                    for name, watch in watches.items():
                        watch.add(chunk.rows.column(name))
                rows += made.num_rows
                if progress is not None:
                    progress(seen, expected_rows(self.source, seen))
                return made

            def write(made: pa.Table) -> None:
                sink.write(made)
                if not sink.keeps_buffers:  # what was written goes back to the system, not to be kept for later batches
                    pa.default_memory_pool().release_unused()

            cancel = self.source.cancel if isinstance(self.source, Cancellable) else None
            pipeline = Pipeline()
            pipeline.run(self._chunks(), work, write, cancel)
            task.tags.close()
            if self._expected is not None and task.root != self._expected:
                raise InputChangedError(
                    f"{self._owner}: the input is not what it was when it was paid for; nothing was released"
                )
            log.info("%s rows sanitized; seconds busy: %s", f"{seen:,}", pipeline)
            receipt = sink.finish(replace(about, rows=rows, tags=task.tags))
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

    def _about(self, key: JobKey) -> Receipt:
        """The receipt, as far as it is known before a row was read."""
        stamp = None if self._paid is None else self._paid.stamp
        path = self.source.path
        name = "standard input or a table in memory" if path is None else path.name
        about = {"name": name, "rows": self.source.rows, "columns": len(self.source.schema.names)}
        return Receipt.of(self.plan, None, key, shuffled=self._shuffle, ledger=stamp, source=about)


def _warn_of_order(watches: dict[str, OrderWatch]) -> None:
    for name, watch in watches.items():
        if watch.is_sorted:
            warnings.warn(
                f"{OWNER}: column {name!r} arrived sorted, so neighbouring rows tell what its noise hides; "
                "shuffle the rows (shuffle=True, --shuffle)",
                stacklevel=5,
            )
