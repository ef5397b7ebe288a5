"""Categories in and out: codes of any integer width, or labels in any container of text or integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import decode, plain_type
from fastdp.columns.containers import unwrap
from fastdp.columns.domain import Domain
from fastdp.columns.labels import CODES, label_writer
from fastdp.columns.numeric import (
    Nulls,
    NumericColumn,
    check_arrow,
    numeric_result_type,
    read_block,
    read_numeric,
    refuse_nulls,
)
from fastdp.columns.pieces import Named, Piece, Windows, cut
from fastdp.errors import DomainError, ParameterError, SchemaError
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

LARGE = 1 << 14
"""Labels whose table of hashes takes about as long to build as a block of rows to look up."""


def read_codes(owner: str, values: Column, domain: Domain, *, nulls: Nulls = "error") -> NumericColumn:
    """Any supported container as flat pieces of codes; results are codes again, and become the caller's labels.

    A column that was read already stays as it is.
    """
    if isinstance(values, NumericColumn):
        return values
    if domain.labels is not None:
        plain, rewrap = unwrap(owner, values)
        column = _read_labels(owner, plain, domain, nulls)
        return column if rewrap is None else column.wrapped(plain, rewrap)
    column = read_numeric(owner, values, "integer", nulls=nulls)
    _check_width(owner, column.result_dtype, domain)
    return column


def codes_result_type(owner: str, arrow_type: pa.DataType, domain: Domain) -> pa.DataType:
    """The arrow type of reports that are categories again, for categories of this type, which may be encoded."""
    import pyarrow as pa

    if domain.labels is None:
        plain = numeric_result_type(owner, arrow_type, "integer")
        _check_width(owner, np.dtype(plain.to_pandas_dtype()), domain)
        return plain
    labels = _arrow_labels(owner, domain)
    encoded = pa.types.is_dictionary(arrow_type)
    plain = arrow_type.value_type if encoded or pa.types.is_run_end_encoded(arrow_type) else arrow_type
    _check_type(owner, plain, labels)
    label_writer(owner, labels, None if encoded else plain)  # which refuses a type too narrow for the labels
    return pa.dictionary(pa.int32(), labels.type) if encoded else plain


def _check_width(owner: str, dtype: np.dtype[Any], domain: Domain) -> None:
    if domain.size - 1 > np.iinfo(dtype).max:
        raise SchemaError(f"{owner}: {dtype} cannot hold {domain.size} codes; convert to a wider type")


def flat_codes(owner: str, values: Column, domain: Domain) -> np.ndarray:
    """The codes of a column without nulls in one int64 array, all of them in the domain."""
    read = read_codes(owner, values, domain)
    pieces = [read_block(owner, piece, 0, piece.size, read.result_dtype).astype(np.int64) for piece in read.pieces]
    codes = np.concatenate(pieces or [np.zeros(0, np.int64)])
    if codes.size and (codes.min() < 0 or codes.max() >= domain.size):
        raise out_of_domain(owner)
    return codes


def out_of_domain(owner: str) -> DomainError:
    """The error for a value that was not declared; the value is withheld."""
    return DomainError(
        f"{owner}: the column holds values outside its declared domain; values withheld. Declare them all"
    )


def _arrow_labels(owner: str, domain: Domain) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(domain.labels)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        raise ParameterError(f"{owner}: labels of the domain must be integers of 64 bits or valid text") from None


def _read_labels(owner: str, values: Any, domain: Domain, nulls: Nulls) -> NumericColumn:
    import pyarrow as pa

    labels = _arrow_labels(owner, domain)
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _read_arrow(owner, values, labels, nulls)
    if isinstance(values, np.ma.MaskedArray) or not isinstance(values, np.ndarray | list | tuple):
        raise SchemaError(f"{owner}: cannot read labels from a {type(values).__name__}; pass an array or a list")
    if isinstance(values, np.ndarray) or (values and isinstance(values[0], list | tuple | np.ndarray)):
        return _read_array(owner, values, domain, labels)
    names = np.array(domain.labels, object)
    piece = _in_windows(PlainLabels(owner, values, labels), labels)

    def rebuild(results: list[Any]) -> Any:
        return results[0] if type(values) is list else type(values)(results[0])

    return NumericColumn([piece], CODES, rebuild, rooms=lambda _number: Named(names, [None] * len(values)))


def _read_array(owner: str, values: Any, domain: Domain, labels: pa.Array) -> NumericColumn:
    """Labels in a numpy array of any shape, or in nested lists."""
    import pyarrow as pa

    expected = "U" if pa.types.is_string(labels.type) else "iu"
    plain = np.asarray(values) if len(values) else np.zeros(0, expected[0])
    if plain.dtype.kind not in expected + "O":
        raise SchemaError(f"{owner}: the values are not of the labels' type")
    names = np.array(domain.labels, object if plain.dtype.kind == "O" else None)

    def rebuild(results: list[Any]) -> Any:
        named = results[0].reshape(plain.shape)
        return named if isinstance(values, np.ndarray) else type(values)(named.tolist())

    piece = _in_windows(PlainLabels(owner, plain, labels), labels)
    return NumericColumn([piece], CODES, rebuild, rooms=lambda _number: Named(names, np.empty(plain.size, names.dtype)))


@dataclass(frozen=True, slots=True)
class PlainLabels:
    """The codes of labels in a numpy array or a list."""

    owner: str
    values: Any
    labels: pa.Array

    @property
    def size(self) -> int:
        return self.values.size if isinstance(self.values, np.ndarray) else len(self.values)

    def read(self, start: int, stop: int) -> np.ndarray:
        import pyarrow as pa

        if isinstance(self.values, np.ndarray):
            part = cut(self.values, start, stop)
            part = part.astype(part.dtype.newbyteorder("="), copy=False)
        else:
            part = self.values[start:stop]
        try:  # of the type that the values have: one that is asked for would cut digits off
            plain = pa.array(part) if len(part) else pa.array([], self.labels.type)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError):
            raise SchemaError(f"{self.owner}: the values are not all of the labels' type") from None
        if plain.null_count:
            raise DomainError(f"{self.owner}: the values hold None; drop or replace them first")
        both_integers = pa.types.is_integer(plain.type) and pa.types.is_integer(self.labels.type)
        if plain.type != self.labels.type and not both_integers:
            raise SchemaError(f"{self.owner}: the values are not all of the labels' type")
        return _in_domain(self.owner, _places(self.owner, plain, self.labels))


def _read_arrow(owner: str, values: pa.Array | pa.ChunkedArray, labels: pa.Array, nulls: Nulls) -> NumericColumn:
    """String, integer or dictionary columns; nulls stay where they are if they are public.

    Results are the declared labels, in their public order, whatever dictionary came in.
    """
    import pyarrow as pa

    check_arrow(owner, values, nulls)
    encoded = pa.types.is_dictionary(values.type)
    kind = plain_type(values.type)
    _check_type(owner, kind, labels)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    for chunk in chunks:
        refuse_nulls(owner, chunk, nulls)
    writer = label_writer(owner, labels, None if encoded else kind)

    def rebuild(results: list[Any]) -> Any:
        labelled = [writer.finish(content, chunk) for content, chunk in zip(results, chunks, strict=True)]
        if isinstance(values, pa.ChunkedArray):
            return pa.chunked_array(labelled, labelled[0].type if labelled else values.type if encoded else kind)
        return labelled[0]

    return NumericColumn(
        [_codes_of(owner, chunk, labels) for chunk in chunks],
        writer.dtype,
        rebuild,
        rooms=lambda number: writer.room(len(chunks[number])),
    )


def _codes_of(owner: str, chunk: pa.Array, labels: pa.Array) -> Piece:
    import pyarrow as pa

    if pa.types.is_dictionary(chunk.type) and not chunk.dictionary.null_count:
        return DictionaryCodes(owner, chunk, _places(owner, chunk.dictionary, labels))
    return _in_windows(ArrowLabels(owner, chunk, labels), labels)


def _in_windows(piece: Piece, labels: pa.Array) -> Piece:
    """Many rows at once where labels are so many that a table of them costs more than a block of rows."""
    size = len(labels)
    return Windows(piece, min(max(4 * size, 1 << 19), 1 << 21)) if size > LARGE else piece


@dataclass(frozen=True, slots=True)
class DictionaryCodes:
    """The codes of a dictionary array, 0 under a null; dictionary entries that no value uses may be anything."""

    owner: str
    array: pa.DictionaryArray
    entries: np.ndarray

    @property
    def size(self) -> int:
        return len(self.array)

    def read(self, start: int, stop: int) -> np.ndarray:
        part = self.array.slice(start, stop - start)
        if part.null_count == len(part):
            return np.zeros(len(part), np.int32)
        if not part.null_count:
            return _in_domain(self.owner, self.entries[part.indices.to_numpy()])
        places = self.entries[part.indices.fill_null(0).to_numpy()]
        return _in_domain(self.owner, _zero_nulls(part, places))


@dataclass(frozen=True, slots=True)
class ArrowLabels:
    """The codes of an arrow array of labels, 0 under a null."""

    owner: str
    array: pa.Array
    labels: pa.Array

    @property
    def size(self) -> int:
        return len(self.array)

    def read(self, start: int, stop: int) -> np.ndarray:
        part = decode(self.array.slice(start, stop - start))
        places = _places(self.owner, part, self.labels)
        return _in_domain(self.owner, _zero_nulls(part, places) if part.null_count else places)


def _zero_nulls(values: pa.Array, places: np.ndarray) -> np.ndarray:
    return np.where(values.is_null().to_numpy(zero_copy_only=False), np.int32(0), places)


def _in_domain(owner: str, places: np.ndarray) -> np.ndarray:
    if places.size and places.min() < 0:
        raise out_of_domain(owner)
    return places


def _check_type(owner: str, kind: pa.DataType, labels: pa.Array) -> None:
    """Text for text, integers for integers: a cast would take a number for a text, or a time for a number."""
    import pyarrow as pa

    if pa.types.is_string(labels.type):
        fits = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)
    else:
        fits = pa.types.is_integer(kind)
    if not fits:
        raise SchemaError(f"{owner}: arrow type {kind} does not hold the labels' type")


def _places(owner: str, values: pa.Array, labels: pa.Array) -> np.ndarray:
    """The place of each value among the labels, -1 where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        plain = values.cast(labels.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # such as an unsigned integer beyond any label
        raise out_of_domain(owner) from None
    places = pc.index_in(plain, labels, skip_nulls=True)
    codes: np.ndarray = (places.fill_null(-1) if places.null_count else places).to_numpy()
    return codes
