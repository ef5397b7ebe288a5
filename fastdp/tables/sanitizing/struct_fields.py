"""Structs by field: a table whose plan names "address.city" is read as if that were a column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from fastdp.io.base import Cancellable, Measured, Source

if TYPE_CHECKING:
    import pyarrow as pa


def by_field(source: Source, names: Iterable[str]) -> Source:
    """The source, with the fields of those structs as columns that a plan names by field."""
    import pyarrow as pa

    planned = set(names)
    structs = {
        field.name
        for field in source.schema
        if pa.types.is_struct(field.type)
        and field.name not in planned
        and any(name.startswith(f"{field.name}.") for name in planned)
    }
    if not structs:
        return source
    return by_field(FlatSource(source, structs), planned)


class FlatSource:
    """A source with the fields of some structs as columns of their own, named ``struct.field``."""

    def __init__(self, source: Source, structs: set[str]) -> None:
        import pyarrow as pa

        self._source, self._structs = source, structs
        fields, self._homes = [], {}
        for field in source.schema:
            parts = list(field.type) if field.name in structs else [None]
            for part in parts:
                name = field.name if part is None else f"{field.name}.{part.name}"
                fields.append(pa.field(name, field.type if part is None else part.type))
                self._homes[name] = (field.name, None if part is None else part.name)
        self.schema: pa.Schema = pa.schema(fields, source.schema.metadata)

    @property
    def rows(self) -> int | None:
        return self._source.rows

    @property
    def path(self) -> Path | None:
        return self._source.path

    @property
    def part(self) -> float | None:
        return self._source.part if isinstance(self._source, Measured) else None

    def cancel(self) -> None:
        if isinstance(self._source, Cancellable):
            self._source.cancel()

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        import pyarrow.compute as pc

        homes = list(dict.fromkeys(self._homes[name][0] for name in columns))
        plain = [name for name in encoded if self._homes[name][1] is None]
        for batch in self._source.batches(homes, rows, plain):
            arrays = []
            for name in columns:
                home, field = self._homes[name]
                values = batch.column(home)
                arrays.append(values if field is None else pc.struct_field(values, field))
            yield pa.RecordBatch.from_arrays(arrays, names=columns)
