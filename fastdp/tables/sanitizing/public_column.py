"""Public columns, stripped of everything but their visible values.

Its values go through as they are. What hides beside them does not: values under nulls, dictionary entries that no
record uses, other rows of the same buffers, bits inside NaN, metadata of fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastdp.columns.arrow import decode, is_encoded, validate
from fastdp.errors import InputCorruptError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

MAPS = 'drop it (action = "drop"), or store its keys as columns or a struct, whose fields a plan can name'
SUPPORTED = "numbers, truth values, times, decimals, text, bytes, and lists and structs of these"


def kept_type(owner: str, column: str, kind: pa.DataType) -> pa.DataType:
    """The type of a kept column's result: the same without dictionaries, runs, views and metadata."""
    import pyarrow as pa

    types = pa.types
    if is_encoded(kind):
        return kept_type(owner, column, kind.value_type)
    if isinstance(kind, pa.BaseExtensionType) or types.is_union(kind) or types.is_map(kind):
        way = MAPS if types.is_map(kind) else "drop it, or store it as one of these"
        raise SchemaError(
            f"{owner}: column {column!r} has arrow type {kind}, which cannot be kept; it takes {SUPPORTED}; {way}"
        )
    if types.is_string_view(kind):  # views share buffers with other rows
        return pa.large_string()
    if types.is_binary_view(kind):
        return pa.large_binary()
    if not types.is_nested(kind):
        return kind

    def clean(field: pa.Field) -> pa.Field:
        if is_encoded(field.type):
            raise SchemaError(
                f"{owner}: column {column!r} nests encoded values, which cannot be kept; decode them first"
            )
        return pa.field(field.name, kept_type(owner, column, field.type))  # nullable: under a null there is nothing

    if types.is_struct(kind):
        return pa.struct([clean(field) for field in kind])
    if types.is_fixed_size_list(kind):
        return pa.list_(clean(kind.value_field), kind.list_size)
    if types.is_large_list(kind):
        return pa.large_list(clean(kind.value_field))
    if types.is_list(kind):
        return pa.list_(clean(kind.value_field))
    raise SchemaError(f"{owner}: column {column!r} has arrow type {kind}, which cannot be kept; it takes {SUPPORTED}")


def keep(owner: str, column: str, values: pa.Array, *, copy: bool) -> pa.Array:
    """The values alone, in their plain type; ``copy`` for results that keep their buffers instead of writing values."""
    import pyarrow as pa

    kind = kept_type(owner, column, values.type)
    try:
        validate(values)
    except pa.ArrowInvalid:
        raise InputCorruptError(f"{owner}: column {column!r} contradicts its own format") from None
    try:
        if is_encoded(values.type):
            values, copy = decode(values), False
        if not values.type.equals(kind, check_metadata=True):
            values = values.cast(kind)
        return _visible(values, copy=copy)
    except pa.ArrowException:  # its message may hold a value
        raise SchemaError(f"{owner}: column {column!r} has arrow type {values.type}, which cannot be kept") from None


def _visible(values: pa.Array, *, copy: bool) -> pa.Array:
    """What can be read of the values, and of NaN only that it is one; nested ones are always copied."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if pa.types.is_struct(kind):
        parts = [_visible(part, copy=True) for part in values.flatten()]  # under a null, each part is null
        return pa.StructArray.from_arrays(parts, fields=list(kind), mask=values.is_null())
    if pa.types.is_fixed_size_list(kind):
        size = kind.list_size
        places = np.arange(values.offset * size, (values.offset + len(values)) * size)
        missing = np.repeat(values.is_null().to_numpy(zero_copy_only=False), size)
        items = _visible(values.values.take(pa.array(places, mask=missing)), copy=False)
        return pa.FixedSizeListArray.from_arrays(items, type=kind, mask=values.is_null())
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        lengths = pc.fill_null(pc.list_value_length(values), 0).to_numpy()
        offsets = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        make, width = (pa.ListArray, np.int32) if pa.types.is_list(kind) else (pa.LargeListArray, np.int64)
        items = _visible(values.flatten(), copy=True)
        return make.from_arrays(pa.array(offsets.astype(width)), items, type=kind, mask=values.is_null())
    if copy:
        values = pc.take(values, pa.array(np.arange(len(values))))
    if pa.types.is_floating(kind) and pc.any(pc.is_nan(values)).as_py():
        values = pc.if_else(pc.is_nan(values), pa.scalar(float("nan"), kind), values)
    return values
