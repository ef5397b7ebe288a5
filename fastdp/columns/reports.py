"""Reports of a fixed type, in and out: packed sets of bits, and records of a few named fields.

A report type is one field, or several with names. A field is a number, or ``width`` bytes or other numbers. In arrow it
is a number, a fixed-size binary or a fixed-size list, several are a struct; in numpy it is an array with one row per
report, several are a structured array. Arrow values give arrow reports, series give series of the same arrow types, and
everything else numpy reports. Engines without a fixed-size binary (polars, DuckDB) hold sets as a binary of any size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import blank_nulls, decode, is_arrow
from fastdp.columns.buffers import fresh
from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import Nulls, check_arrow
from fastdp.errors import SchemaError
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

Parts = tuple[np.ndarray, ...]
"""Reports by field: flat arrays, ``width`` bytes of one report after those of another."""
AT_ONCE = 1 << 18
"""Rows of a structured array that are taken apart together."""


@dataclass(frozen=True, slots=True)
class Field:
    """A number of ``dtype``, or ``width`` of them."""

    name: str
    dtype: np.dtype[Any]
    width: int | None = None

    @classmethod
    def packed(cls, name: str, bits: int) -> Field:
        """A set of numbers below ``bits``: number v is bit v % 8 of byte v // 8, and bits beyond are zero."""
        return cls(name, np.dtype(np.uint8), (bits + 7) // 8)

    @property
    def per_report(self) -> int:
        """Items of a flat array that one report takes."""
        return self.width or 1

    def arrow_type(self) -> pa.DataType:
        import pyarrow as pa

        if self.width is None:
            return pa.from_numpy_dtype(self.dtype)
        if self.dtype == np.uint8:
            return pa.binary(self.width)
        return pa.list_(pa.field("item", pa.from_numpy_dtype(self.dtype), nullable=False), self.width)

    def to_numpy(self, flat: np.ndarray) -> np.ndarray:
        return flat if self.width is None else flat.reshape(-1, self.width)

    def to_arrow(self, flat: np.ndarray, validity: pa.Buffer | None) -> pa.Array:
        import pyarrow as pa

        size, kind = flat.size // self.per_report, self.arrow_type()
        if pa.types.is_fixed_size_list(kind):
            return pa.Array.from_buffers(kind, size, [validity], children=[pa.array(flat)])
        return pa.Array.from_buffers(kind, size, [validity, pa.py_buffer(flat)])

    def from_arrow(self, owner: str, column: pa.Array) -> np.ndarray:
        """The numbers of an array of this field's type, one report's after another's."""
        import pyarrow as pa

        check_arrow(owner, column, "error")
        if pa.types.is_fixed_size_list(column.type):
            column = column.flatten()
            check_arrow(owner, column, "error")
            numbers: np.ndarray = column.to_numpy(zero_copy_only=True)
            return numbers
        if column.type != self.arrow_type():  # binary of any size, where each report has the right one
            try:
                column = column.cast(self.arrow_type())
            except pa.ArrowInvalid:
                raise SchemaError(f"{owner}: every report must have {self.width} bytes") from None
            except pa.ArrowNotImplementedError:
                raise SchemaError(f"{owner}: this pyarrow cannot convert {column.type}; use a newer one") from None
        start, stop = column.offset * self.per_report, (column.offset + len(column)) * self.per_report
        body = column.buffers()[1]
        flat = np.frombuffer(body, self.dtype) if body is not None else np.zeros(0, self.dtype)
        return flat[start:stop]


@dataclass(frozen=True, slots=True)
class ReportType:
    """The fields of a report; one field stands for itself."""

    fields: tuple[Field, ...]

    def arrow_type(self) -> pa.DataType:
        """The arrow type of an array of reports."""
        import pyarrow as pa

        if len(self.fields) == 1:
            return self.fields[0].arrow_type()
        return pa.struct([pa.field(field.name, field.arrow_type(), nullable=False) for field in self.fields])

    def numpy_dtype(self) -> np.dtype[Any]:
        """The numpy type of an array of reports with several fields."""
        return np.dtype([(f.name, f.dtype) if f.width is None else (f.name, f.dtype, (f.width,)) for f in self.fields])

    def allocate(self, count: int, values: Any) -> Buffer:
        """Room for ``count`` reports, in the kind of container that ``values`` came in."""
        if len(self.fields) > 1 and not is_arrow(values):
            return RowBuffer(self, fresh(count, self.numpy_dtype()))
        return ColumnBuffer(self, tuple(fresh(count * field.per_report, field.dtype) for field in self.fields))

    def cut(self, parts: Parts, start: int, stop: int) -> Parts:
        """Reports start:stop."""
        return tuple(
            part[start * field.per_report : stop * field.per_report]
            for field, part in zip(self.fields, parts, strict=True)
        )

    def wrap(self, buffers: Sequence[Buffer], values: Any) -> Any:
        """Reports in the kind of container that ``values`` came in; null where a public null was."""
        if not is_arrow(values):
            (buffer,) = buffers
            return buffer.content if isinstance(buffer, RowBuffer) else self.fields[0].to_numpy(buffer.content[0])
        import pyarrow as pa

        if isinstance(values, pa.Array):
            return self._to_arrow(buffers[0].content, values)
        chunks = [self._to_arrow(buffer.content, chunk) for buffer, chunk in zip(buffers, values.chunks, strict=False)]
        return pa.chunked_array(chunks, self.arrow_type())  # no chunks have one empty buffer

    def _to_arrow(self, parts: Parts, values: pa.Array) -> pa.Array:
        import pyarrow as pa

        rows = (field.to_numpy(part) for field, part in zip(self.fields, parts, strict=True))
        validity = blank_nulls(values, *rows)
        if len(self.fields) == 1:
            return self.fields[0].to_arrow(parts[0], validity)
        children = [field.to_arrow(part, None) for field, part in zip(self.fields, parts, strict=True)]
        return pa.Array.from_buffers(self.arrow_type(), len(values), [validity], children=children)

    def read(self, owner: str, reports: Column, *, nulls: Nulls = "error") -> Iterator[Parts]:
        """Pieces of reports by field, of exactly this type; ``nulls="public"`` drops reports that are null."""
        reports, _ = unwrap(owner, reports)
        if is_arrow(reports):
            import pyarrow as pa

            chunks = [reports] if isinstance(reports, pa.Array) else reports.chunks or [pa.array([], reports.type)]
            for chunk in chunks:
                yield self._from_arrow(owner, chunk, nulls)
        elif isinstance(reports, np.ndarray) and not isinstance(reports, np.ma.MaskedArray):
            yield from self._from_numpy(owner, reports)
        else:
            raise SchemaError(
                f"{owner}: cannot read reports from a {type(reports).__name__}; pass an array or a series"
            )

    def _from_numpy(self, owner: str, reports: np.ndarray) -> Iterator[Parts]:
        if len(self.fields) == 1:
            field = self.fields[0]
            shape = () if field.width is None else (field.width,)
            if reports.dtype != field.dtype or reports.ndim < 1 or reports.shape[1:] != shape:
                wanted = f"of shape (n, {field.width})" if field.width else "of one dimension"
                raise SchemaError(f"{owner}: reports must be a {field.dtype} array {wanted}")
            yield (np.require(reports, requirements=["C", "A"]).reshape(-1),)
            return
        if reports.dtype != self.numpy_dtype() or reports.ndim != 1:
            raise SchemaError(f"{owner}: reports must be a one-dimensional array of type {self.numpy_dtype()}")
        for start in range(0, reports.size, AT_ONCE):
            some = reports[start : start + AT_ONCE]
            yield tuple(np.ascontiguousarray(some[field.name]).reshape(-1) for field in self.fields)

    def _from_arrow(self, owner: str, reports: pa.Array, nulls: Nulls) -> Parts:
        check_arrow(owner, reports, nulls)
        plain = decode(reports)
        if plain is not reports:
            check_arrow(owner, plain, nulls)  # nulls of runs and dictionaries show only now
            reports = plain
        if reports.null_count:
            reports = reports.drop_null()
        if not _is_alike(reports.type, self.arrow_type()):
            raise SchemaError(f"{owner}: reports must be of arrow type {self.arrow_type()}, not {reports.type}")
        columns = [reports] if len(self.fields) == 1 else reports.flatten()
        return tuple(field.from_arrow(owner, column) for field, column in zip(self.fields, columns, strict=True))


@dataclass(frozen=True, slots=True)
class ColumnBuffer:
    """Reports field by field: what arrow holds."""

    kind: ReportType
    content: Parts

    def take(self, start: int, stop: int) -> Parts:
        """Where reports start:stop are to be written."""
        return self.kind.cut(self.content, start, stop)

    def put(self, start: int, stop: int, parts: Parts) -> None:
        """Nothing: they were written in place."""


@dataclass(frozen=True, slots=True)
class RowBuffer:
    """Reports row by row: what a structured array holds."""

    kind: ReportType
    content: Any

    def take(self, start: int, stop: int) -> Parts:
        """Columns for reports start:stop, to be put in place afterwards."""
        return tuple(np.empty((stop - start) * field.per_report, field.dtype) for field in self.kind.fields)

    def put(self, start: int, stop: int, parts: Parts) -> None:
        """Write the columns to their rows."""
        for field, part in zip(self.kind.fields, parts, strict=True):
            self.content[field.name][start:stop] = field.to_numpy(part)


Buffer = ColumnBuffer | RowBuffer


def _is_alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two types are the same up to what writers forget: names of items, absence of nulls, sizes of binaries."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(one) and pa.types.is_fixed_size_list(other):
        return bool(one.list_size == other.list_size and one.value_type == other.value_type)
    if pa.types.is_fixed_size_binary(other):
        is_free = pa.types.is_binary(one) or pa.types.is_large_binary(one) or pa.types.is_binary_view(one)
        return bool(is_free or one == other)
    if not (pa.types.is_struct(one) and pa.types.is_struct(other)):
        return bool(one == other)
    pairs = list(zip(one, other, strict=False))
    return one.num_fields == other.num_fields and all(a.name == b.name and _is_alike(a.type, b.type) for a, b in pairs)
