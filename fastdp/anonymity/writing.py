"""The second pass: rows with generalized labels, recounted while they are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp.anonymity.certificate import Certificate
from fastdp.anonymity.classes import Classes
from fastdp.anonymity.coding.codes import Codes
from fastdp.anonymity.coding.encoding import plain_column
from fastdp.anonymity.coding.reading import read_batches
from fastdp.anonymity.findings import failures
from fastdp.anonymity.generalization import Ladder
from fastdp.anonymity.mondrian import Parts
from fastdp.anonymity.requirements import Requirement
from fastdp.errors import InputCorruptError, SchemaError
from fastdp.hierarchies import ANY, Hierarchy

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.base import Source
    from fastdp.io.sinks import Sink

OWNER = "anonymize"


class Writer(Protocol):
    """Makes output rows of input rows."""

    sorts: bool
    """Whether the output is sorted, which needs all of it at once."""

    def schema(self, source: pa.Schema, columns: Sequence[str]) -> pa.Schema:
        """The schema of the output."""

    def convert(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        """The rows of a batch that are written."""

    def complete(self, table: pa.Table) -> pa.Table:
        """The whole output, with records that are added."""


@dataclass(frozen=True)
class Dummies:
    """Classes that are filled up: the group of each column, and how many records each class gets."""

    groups: np.ndarray
    counts: np.ndarray


class LevelWriter:
    """Writes every column at its level, and leaves out the rows of some classes."""

    def __init__(
        self,
        ladders: Sequence[Ladder],
        levels: Sequence[int],
        left_out: np.ndarray,
        dummies: Dummies | None,
        nulls: str,
        sensitive: Sequence[str],
    ) -> None:
        self._names = [ladder.name for ladder in ladders]
        self._ladders = dict(zip(self._names, ladders, strict=True))
        self._levels = dict(zip(self._names, levels, strict=True))
        self._dummies, self._nulls, self._sensitive = dummies, nulls, sensitive
        self._left_out = _as_words(left_out, self._sizes())
        self.sorts = dummies is not None

    def _sizes(self) -> list[int]:
        return [int(self._ladders[name].groups[self._levels[name]].max()) + 1 for name in self._names]

    def schema(self, source: pa.Schema, columns: Sequence[str]) -> pa.Schema:
        import pyarrow as pa

        fields = [
            pa.field(name, pa.string() if self._levels.get(name) else _released(source.field(name).type))
            for name in columns
        ]
        return pa.schema(fields)

    def convert(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        import pyarrow as pa

        codes, kept = {}, np.ones(batch.num_rows, bool)
        for name in self._names:
            found = _look_up(self._ladders[name].column, batch.column(name), self._nulls)
            kept &= found >= 0
            codes[name] = np.maximum(found, 0)
        for name in self._sensitive if self._nulls == "drop" else ():
            secret = plain_column(OWNER, name, pa.chunked_array([batch.column(name)]))
            kept &= ~np.asarray(secret.is_null()) if secret.null_count else True
        groups = np.stack([self._ladders[name].groups[self._levels[name]][codes[name]] for name in self._names])
        if self._left_out.size:
            kept &= ~np.isin(_as_words(groups, self._sizes()), self._left_out)
        columns = []
        for name in schema.names:
            if self._levels.get(name):
                labels = pa.array(self._ladders[name].labels[self._levels[name]], pa.string())
                columns.append(labels.take(pa.array(groups[self._names.index(name)])))
            else:
                columns.append(batch.column(name))
        made = pa.RecordBatch.from_arrays(columns, schema=schema)
        return made if kept.all() else made.filter(pa.array(kept))

    def complete(self, table: pa.Table) -> pa.Table:
        if self._dummies is None:
            return table
        import pyarrow as pa

        total = int(self._dummies.counts.sum())
        owner = np.repeat(np.arange(self._dummies.counts.size), self._dummies.counts)
        donors = ((2 * np.arange(total) + 1) * table.num_rows) // (2 * total)
        donors = donors[
            np.argsort((np.arange(total) * 0.6180339887498949) % 1.0, kind="stable")
        ]  # far rows side by side
        added = table.take(pa.array(donors))
        for j, name in enumerate(self._names):
            labels = self._ladders[name].labels[self._levels[name]]
            values = pa.array(labels, table.schema.field(name).type)
            place = table.schema.get_field_index(name)
            added = added.set_column(
                place, table.schema.field(name), values.take(pa.array(self._dummies.groups[j][owner]))
            )
        return pa.concat_tables([table, added])


class PartWriter:
    """Writes the range of each column in the part of every row."""

    sorts = False

    def __init__(
        self, columns: Sequence[Codes], hierarchies: Sequence[Hierarchy | None], parts: Parts, kept: np.ndarray | None
    ) -> None:
        self._labels, penalties = {}, []
        for j, (column, hierarchy) in enumerate(zip(columns, hierarchies, strict=True)):
            labels, penalty = _range_labels(column, hierarchy, parts.low[:, j], parts.high[:, j])
            self._labels[column.name] = labels
            penalties.append(float((penalty * parts.sizes).sum()) / parts.part.size)
        self.loss = sum(penalties) / len(penalties)
        """Normalized certainty penalty: of a label the values that it stands for, less 1, over all values less 1."""
        self._part, self._kept, self._seen, self._used = parts.part, kept, 0, 0

    def schema(self, source: pa.Schema, columns: Sequence[str]) -> pa.Schema:
        import pyarrow as pa

        return pa.schema(
            [
                pa.field(name, pa.string() if name in self._labels else _released(source.field(name).type))
                for name in columns
            ]
        )

    def convert(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        import pyarrow as pa

        rows = slice(self._seen, self._seen + batch.num_rows)
        self._seen += batch.num_rows
        if self._kept is not None:
            batch = batch.filter(pa.array(self._kept[rows]))
        parts = pa.array(self._part[self._used : self._used + batch.num_rows])
        if len(parts) < batch.num_rows:
            raise _changed()
        self._used += batch.num_rows
        columns = [
            self._labels[name].take(parts) if name in self._labels else batch.column(name) for name in schema.names
        ]
        return pa.RecordBatch.from_arrays(columns, schema=schema)

    def complete(self, table: pa.Table) -> pa.Table:
        return table


def _released(kind: pa.DataType) -> pa.DataType:
    """The type of a column that is written as it is: text that comes as views is plain text, which can be filtered."""
    import pyarrow as pa

    if pa.types.is_string_view(kind):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(kind) else kind


def _changed() -> InputCorruptError:
    return InputCorruptError(f"{OWNER}: the input changed between its two readings; nothing was written")


def _look_up(column: Codes, array: pa.Array, nulls: str) -> np.ndarray:
    """The code of each value, -1 where the row is left out for a missing one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    plain = plain_column(OWNER, column.name, pa.chunked_array([array])).combine_chunks()
    plain = plain.chunk(0) if isinstance(plain, pa.ChunkedArray) else plain
    if pa.types.is_boolean(plain.type):
        plain = plain.cast(pa.uint8())
    values = column.decoded()
    coded = pa.types.is_dictionary(plain.type)
    listed = plain.dictionary if coded else plain
    places = pc.index_in(listed, values.slice(0, column.size - column.null).cast(listed.type))
    if coded:
        places = places.take(plain.indices)
    found: np.ndarray = places.fill_null(-1).to_numpy(zero_copy_only=False)
    absent = np.asarray(plain.is_null()) if plain.null_count else np.zeros(len(plain), bool)
    if (found[~absent] < 0).any() or (absent.any() and nulls == "error"):
        raise _changed()
    if nulls == "value" and absent.any():
        found = np.where(absent, column.size - 1, found)
    return found


def _as_words(groups: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """One key per row of groups: a word where they fit, else two."""
    words, used = [np.zeros(groups.shape[1], np.uint64)], 1
    for row, size in zip(groups, sizes, strict=True):
        if used * size >= 1 << 64:
            words.append(np.zeros(groups.shape[1], np.uint64))
            used = 1
        words[-1] = words[-1] * np.uint64(size) + row.astype(np.uint64)
        used *= size
    if len(words) == 1:
        return words[0]
    whole = np.empty(groups.shape[1], [(f"w{i}", np.uint64) for i in range(len(words))])
    for i, word in enumerate(words):
        whole[f"w{i}"] = word
    return whole


def _range_labels(
    column: Codes, hierarchy: Hierarchy | None, low: np.ndarray, high: np.ndarray
) -> tuple[pa.Array, np.ndarray]:
    """The label of every part, a value, a range, or the lowest label that all values share, and its penalty."""
    import pyarrow as pa

    values = column.decoded().to_pylist()
    levels = [] if hierarchy is None else [
        [_text(label) for label in hierarchy.generalize(values, level, owner=OWNER)]
        for level in range(hierarchy.levels)
    ]  # fmt: skip

    def name(a: int, b: int) -> tuple[str, int]:
        if a == b:
            return _text(values[a]), 1
        for labels in levels:
            if len(set(labels[a : b + 1])) == 1:
                return labels[a], labels.count(labels[a])
        return f"{_text(values[a])}..{_text(values[b])}", b - a + 1

    pairs, places = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    found = [name(int(a), int(b)) for a, b in pairs.T]
    places = np.ravel(places)
    penalty = np.array([count - 1 for _, count in found]) / max(len(values) - 1, 1)
    return pa.array([text for text, _ in found], pa.string()).take(pa.array(places)), penalty[places]


def _text(value: Any) -> str:
    return ANY if value is None else str(value)


def write(
    source: Source,
    writer: Writer,
    sink: Sink,
    schema: pa.Schema,
    certificate: Certificate,
    quasi: Sequence[str],
    sensitive: Sequence[str],
    requirement: Requirement,
) -> tuple[Certificate, Classes]:
    """Write all rows, count what was written, and finish only if it meets the requirement."""
    names = [*quasi, *sensitive]
    written = 0

    def rows() -> Iterator[Any]:
        nonlocal written
        for batch in _batches(source, writer, schema):
            if batch.num_rows:
                written += batch.num_rows
                sink.write(batch)
                yield batch.select(names)

    try:
        coded = read_batches(OWNER, rows(), names, schema, "value")
        recount = Classes(quasi=tuple(quasi), sensitive=tuple(sensitive), coded=coded, nulls="value")
        failed = failures(recount, requirement)
        if failed:
            raise InputCorruptError(
                f"{OWNER}: the recount of the output failed at {', '.join(failed)}; nothing was written"
            )
        certificate = replace(certificate, recount=recount.figures(), written=written)
        sink.finish(certificate)
    except BaseException:
        sink.discard()
        raise
    return certificate, recount


def _batches(source: Source, writer: Writer, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """The batches of the output."""
    import pyarrow as pa

    needed = schema.names
    plain = pa.schema([pa.field(name, _released(source.schema.field(name).type)) for name in needed])
    made = (writer.convert(batch.cast(plain), schema) for batch in source.batches(needed, None, []))
    if not writer.sorts:
        yield from made
        return
    table = writer.complete(pa.Table.from_batches(list(made), schema))
    try:
        table = table.sort_by([(name, "ascending") for name in schema.names])
    except (pa.ArrowException, TypeError):
        raise SchemaError(
            f"{OWNER}: with dummy records the output is sorted, and a column's type has no order; drop it"
        ) from None
    yield from table.to_batches()
