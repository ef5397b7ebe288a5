"""Columns as codes: integers of a narrow range as they are, anything else by the number of its value."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.anonymity.coding.codes import OWNER, Codes, Rows, code_type
from fastdp.anonymity.coding.grouping import number_rows
from fastdp.columns.arrow import is_encoded, plain_type, show_nulls
from fastdp.errors import DomainError, ParameterError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa


NULLS = ("error", "value", "drop")
WIDEST_RANGE = 1 << 32
"""Integers within so many of one another are their own codes."""
FIRST_ROWS = 1 << 16
"""Rows that the size of a column of bytes may be guessed from; a pass of its own is a fifth of counting."""


def merge_rows(ours: Rows, theirs: Rows) -> Rows:
    """The rows of both, over the values of both."""
    merged = [_merge(one.exact(), two.exact()) for one, two in zip(ours.columns, theirs.columns, strict=True)]
    weights = [
        np.ones(part.columns[0].codes.size, np.int64) if part.weights is None else part.weights
        for part in (ours, theirs)
    ]
    return reduce_rows(
        Rows(tuple(merged), np.concatenate(weights), ours.count + theirs.count, ours.dropped + theirs.dropped)
    )


def _merge(ours: Codes, theirs: Codes) -> Codes:
    import pyarrow as pa

    if ours.name != theirs.name:
        raise SchemaError(f"{OWNER}: only tables of the same columns can be counted together")
    if ours.kind != theirs.kind:
        raise SchemaError(
            f"{OWNER}: column {ours.name!r} is of type {ours.kind} in one table and {theirs.kind} in another; cast one"
        )
    if isinstance(ours.values, int) and isinstance(theirs.values, int) and not ours.null and not theirs.null:
        low = min(ours.values, theirs.values)
        size = max(ours.values + ours.size, theirs.values + theirs.size) - low
        if size <= WIDEST_RANGE:
            both = [_shifted(one.codes, one.values - low, size) for one in (ours, theirs)]
            return replace(ours, codes=np.concatenate(both), size=size, values=low)
    encoded = pa.chunked_array([ours.decoded(), theirs.decoded()]).dictionary_encode("encode").combine_chunks()
    encoded = encoded.chunk(0) if isinstance(encoded, pa.ChunkedArray) else encoded
    places = np.asarray(encoded.indices, np.uint32)
    values = encoded.dictionary
    null = bool(values.null_count)
    if null:  # to the end, where a missing value belongs
        order = np.argsort(np.asarray(values.is_null()), kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(order.size)
        places, values = ranks[places].astype(np.uint32), values.take(pa.array(order)).slice(0, len(values) - 1)
    codes = np.concatenate([places[: ours.size][ours.codes], places[ours.size :][theirs.codes]])
    size = len(values) + null
    return Codes(ours.name, codes.astype(code_type(size)), size, values, ours.kind, null)


def _shifted(codes: np.ndarray, by: int, size: int) -> np.ndarray:
    kind = code_type(size)
    return np.asarray(codes.astype(kind) + kind.type(by))


def value_type(kind: pa.DataType) -> pa.DataType:
    """The type of values, text of any length of offset being of one type."""
    import pyarrow as pa

    plain = plain_type(kind)
    return pa.string() if pa.types.is_large_string(plain) or pa.types.is_string_view(plain) else plain


def is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def check_nulls(owner: str, name: str, has: bool, nulls: str) -> None:
    if has and nulls == "error":
        raise DomainError(
            f"{owner}: column {name!r} holds missing values; count them as a value of their own (nulls='value') or "
            "leave those rows out (nulls='drop')"
        )


def encode(owner: str, name: str, column: pa.ChunkedArray, nulls: str, *, guess: bool) -> Codes:
    """The codes of a whole column."""
    import pyarrow as pa

    column = plain_column(owner, name, column)
    kind = value_type(column.type)
    has_nulls = bool(column.null_count)
    check_nulls(owner, name, has_nulls, nulls)
    if pa.types.is_boolean(kind):
        column, kind = column.cast(pa.uint8()), pa.uint8()
    storage = _storage(kind)
    if storage is not None and len(column) > column.null_count:
        integers = column.cast(storage) if storage != kind else column
        guess = guess and pa.types.is_uint8(kind) and not has_nulls and len(column) > FIRST_ROWS
        low, high = _bounds(integers.slice(0, FIRST_ROWS) if guess else integers, kind)
        if guess and low == 0:
            return replace(_from_integers(name, integers, kind, low, high, null=False), guessed=True)
        if guess:
            low, high = _bounds(integers, kind)
        if high - low < WIDEST_RANGE - 1:
            return _from_integers(name, integers, kind, low, high, null=has_nulls)
    if not is_encoded(column.type):
        column = column.dictionary_encode()
    codes, values = from_dictionary(column)
    size = len(values) + has_nulls
    return Codes(name, codes.astype(code_type(size), copy=False), size, values, kind, has_nulls)


def _bounds(integers: pa.ChunkedArray, kind: pa.DataType) -> tuple[int, int]:
    """The least and the largest value; 0 for the least where leaving codes as they are costs less than a pass."""
    import pyarrow.compute as pc

    found = pc.min_max(integers)
    low, high = found["min"].as_py(), found["max"].as_py()
    return (0 if 0 < low <= high // 4 and _is_small(kind) else low), high


def plain_column(owner: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column without runs, nulls where they are, and NaN, which equals nothing, as null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(plain_type(column.type)):
        raise SchemaError(f"{owner}: column {name!r} has arrow type {column.type}, whose values cannot be compared")
    chunks = [show_nulls(chunk) for chunk in column.chunks]
    column = pa.chunked_array(chunks, chunks[0].type if chunks else column.type)
    if pa.types.is_string_view(column.type) or pa.types.is_binary_view(column.type):  # which few functions take
        column = column.cast(pa.large_string() if pa.types.is_string_view(column.type) else pa.large_binary())
    if pa.types.is_floating(plain_type(column.type)):
        if is_encoded(column.type):
            column = column.cast(plain_type(column.type))
        gone = pc.is_nan(column)
        if pc.any(gone).as_py():
            column = pc.if_else(pc.fill_null(gone, fill_value=False), pa.scalar(None, column.type), column)
        column = pc.add(column, pa.scalar(0.0, column.type))  # -0.0 is 0.0
    return column


def _storage(kind: pa.DataType) -> pa.DataType | None:
    """The integers behind a type, None where there are none."""
    import pyarrow as pa

    if pa.types.is_integer(kind):
        return kind if kind != pa.uint64() else None
    if pa.types.is_date32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else None


def _is_small(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_unsigned_integer(kind) and kind.bit_width <= 16)


def _from_integers(name: str, column: Any, kind: pa.DataType, low: int, high: int, *, null: bool) -> Codes:
    """Integers of a narrow range: their distance from the smallest one."""
    size = high - low + 1 + null
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    absent = np.asarray(whole.is_null()) if null else None
    plain = (whole.fill_null(low) if null else whole).to_numpy(zero_copy_only=False)
    if low == 0 and plain.dtype.kind == "u" and plain.dtype.itemsize <= 4 and absent is None:
        return Codes(name, np.ascontiguousarray(plain), size, 0, kind)
    unsigned = plain.view(f"u{plain.dtype.itemsize}")
    codes = (unsigned - unsigned.dtype.type(low % (1 << 8 * plain.dtype.itemsize))).astype(code_type(size), copy=False)
    if absent is not None:
        codes[absent] = size - 1
    return Codes(name, codes, size, low, kind, null)


def from_dictionary(column: pa.DictionaryArray | pa.ChunkedArray) -> tuple[np.ndarray, pa.Array]:
    """Codes and values of a column of dictionaries, nulls coded one beyond the last value."""
    import pyarrow as pa

    whole = column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = whole.chunk(0) if whole.num_chunks else pa.array([], whole.type)
    values = whole.dictionary.cast(value_type(whole.type))
    indices = whole.indices.fill_null(len(values)) if whole.null_count else whole.indices
    unique = values.dictionary_encode()  # a dictionary may list a value twice
    codes = indices.to_numpy(zero_copy_only=False)
    if len(unique.dictionary) < len(values):
        places = np.append(unique.indices.to_numpy(zero_copy_only=False), len(unique.dictionary))
        codes, values = places[codes], unique.dictionary
    return codes, values


def drop_nulls(owner: str, columns: list[Codes], nulls: str) -> Rows:
    rows = {column.codes.size for column in columns}
    if len(rows) > 1:
        raise SchemaError(f"{owner}: the columns have different lengths")
    (count,) = rows
    if nulls != "drop" or not any(column.null for column in columns):
        return Rows(tuple(columns), None, count)
    kept = np.ones(count, bool)
    for column in columns:
        if column.null:
            kept &= column.codes != column.size - 1
    left = int(kept.sum())
    if not left:
        raise ParameterError(f"{owner}: every row has a missing value; none is left to count")
    parts = [
        replace(column, codes=column.codes[kept], size=column.size - column.null, null=False) for column in columns
    ]
    return Rows(tuple(parts), None, left, count - left, kept)


def reduce_rows(rows: Rows) -> Rows:
    """The distinct rows, and how often each occurs."""
    ids, first = number_rows(rows.columns)
    weights = np.bincount(ids, rows.weights, first.size) if rows.weights is not None else np.bincount(ids)
    columns = tuple(replace(column, codes=column.codes[first]) for column in rows.columns)
    return replace(rows, columns=columns, weights=weights.astype(np.int64))
