"""Rows in a new, uniformly random order, within bounded memory.

Every row gets a random key; rows are released in the order of their keys. Rows with the same key, which are few, get
further keys among themselves, so every order is equally likely. The order depends on the stream of keys alone, not on
batches nor on how much memory there is.

More rows than memory holds are spilled by the first bits of their keys into files, each of which is then sorted by
itself, or spilled once more. Only sanitized rows are spilled; but files that tell their old order must not outlive the
job, so they have no names: when the process ends, however it ends, they are gone.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from fastdp.engine.uniform import uniform_codes
from fastdp.io.base import intact, suitable_rows
from fastdp.random.rng import Rng
from fastdp.tables.sanitizing.pipeline import Pipeline

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.sinks import Sink
    from fastdp.io.stamps import Stamp

MEMORY = 64 << 20
"""Bytes of rows that are sorted at once."""
KEY = "key"
HALF_BITS, KEY_BITS = 31, 62
SPLIT_BITS = 6
"""Bits of a key that choose among the files of one level."""
log = logging.getLogger("fastdp.tables")


def random_keys(count: int, rng: Rng) -> np.ndarray:
    """Independent uniform integers of KEY_BITS bits; two halves, each exactly uniform."""
    high = uniform_codes(rng.child("high"), count, 1 << HALF_BITS)
    keys: np.ndarray = (high << HALF_BITS) | uniform_codes(rng.child("low"), count, 1 << HALF_BITS)
    return keys


def random_order(keys: np.ndarray, ties: Rng) -> np.ndarray:
    """The places of the rows in the order of their keys; those with the same key in a random order of their own."""
    order = np.argsort(keys, kind="stable")
    ranked = keys[order]
    same = ranked[1:] == ranked[:-1]
    if not same.any():
        return order
    edges = np.flatnonzero(np.concatenate([[True], ~same, [True]]))
    for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if stop - start > 1:
            order[start:stop] = order[start:stop][random_order(random_keys(stop - start, ties), ties)]
    return order


class Shuffler:
    """Takes rows in any batches, gives them back in a random order."""

    def __init__(self, schema: pa.Schema, rng: Rng, folder: Path | None, memory: float | None = None) -> None:
        """``folder`` is where files without names are made, if rows take more than ``memory`` bytes."""
        import pyarrow as pa

        self._schema = schema
        self._rng, self._ties = rng.child("keys"), rng.child("ties")
        self._pile = _Pile(
            pa.schema([*schema, pa.field(_free_name(schema), pa.int64())]),
            KEY_BITS,
            folder,
            MEMORY if memory is None else memory,
        )

    def add(self, batch: pa.RecordBatch) -> None:
        import pyarrow as pa

        keys = pa.array(random_keys(batch.num_rows, self._rng))
        self._pile.add(pa.RecordBatch.from_arrays([*batch.columns, keys], schema=self._pile.schema))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, once."""
        rows = suitable_rows(self._schema)
        for table in self._pile.tables():
            order = random_order(table.column(table.num_columns - 1).to_numpy(), self._ties)
            values = table.select(range(table.num_columns - 1))
            for start in range(0, len(order), rows):
                yield from values.take(order[start : start + rows]).combine_chunks().to_batches()

    @property
    def where(self) -> str:
        """Where the rows wait."""
        return "from temporary files" if self._pile.is_spilled else "from memory"

    def close(self) -> None:
        self._pile.close()


class _Pile:
    """Rows that share the first bits of their keys: in memory while they are few, else in files by the next bits."""

    def __init__(self, schema: pa.Schema, bits: int, folder: Path | None, memory: float) -> None:
        self.schema, self._bits, self._folder, self._memory = schema, bits, folder, memory
        self._held: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0
        self._files: list[_Spill] = []

    @property
    def is_spilled(self) -> bool:
        return bool(self._files)

    def add(self, batch: pa.RecordBatch) -> None:
        if self._files:
            self._spill(batch)
            return
        self._held.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._bytes > self._memory and self._bits >= SPLIT_BITS and self._rows > 1:
            self._files = [_Spill(self.schema, self._folder) for _ in range(1 << SPLIT_BITS)]
            held, self._held = self._held, []
            for earlier in held:
                self._spill(earlier)

    def _spill(self, batch: pa.RecordBatch) -> None:
        """Each row to the file of its bits; what is written are fresh copies of the rows."""
        keys = batch.column(batch.num_columns - 1).to_numpy()
        places = (keys >> (self._bits - SPLIT_BITS)) & ((1 << SPLIT_BITS) - 1)
        grouped = batch.take(np.argsort(places, kind="stable"))
        edges = np.concatenate([[0], np.cumsum(np.bincount(places, minlength=1 << SPLIT_BITS))]).tolist()
        for file, start, stop in zip(self._files, edges[:-1], edges[1:], strict=True):
            if stop > start:
                file.write(grouped.slice(start, stop - start))

    def tables(self) -> Iterator[pa.Table]:
        """The rows in pieces that memory holds, in the order of their first bits."""
        import pyarrow as pa

        if not self._files:
            held, self._held = self._held, []
            if held:
                yield pa.Table.from_batches(held, self.schema).combine_chunks()
            return
        for file in self._files:
            pile = _Pile(self.schema, self._bits - SPLIT_BITS, self._folder, self._memory)
            try:
                for batch in file.batches():
                    pile.add(batch)
                file.close()
                yield from pile.tables()
            finally:
                pile.close()

    def close(self) -> None:
        self._held.clear()
        for file in self._files:
            file.close()


class _Spill:
    """Rows in a file without a name."""

    def __init__(self, schema: pa.Schema, folder: Path | None) -> None:
        import pyarrow as pa

        self._file: IO[bytes] = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - closed by close
        self._writer: Any = pa.ipc.new_stream(self._file, schema)

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)

    def batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        self._writer.close()
        self._file.flush()
        self._file.seek(0)
        with intact("sanitize", "the temporary file"):
            yield from pa.ipc.open_stream(self._file)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # it goes away whether or not it can still be written
            self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()


def _free_name(schema: pa.Schema) -> str:
    name = KEY
    while name in schema.names:
        name += "_"
    return name


class ShuffledSink:
    """Another sink, which gets all rows in a random order when they are complete."""

    keeps_buffers = False  # rows are copied on their way

    def __init__(
        self, sink: Sink, schema: pa.Schema, rng: Rng, folder: Path | None, memory: float | None = None
    ) -> None:
        self._sink = sink
        self._shuffler = Shuffler(schema, rng, folder, memory)

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        import pyarrow as pa

        for part in batch.to_batches() if isinstance(batch, pa.Table) else [batch]:
            self._shuffler.add(part)

    def finish(self, receipt: Stamp) -> Stamp:
        log.info("all rows are in; releasing them in a random order, %s", self._shuffler.where)
        Pipeline().run(self._shuffler.batches(), lambda batch: batch, self._sink.write)
        self._shuffler.close()
        return self._sink.finish(receipt)

    def discard(self) -> None:
        self._shuffler.close()
        self._sink.discard()
