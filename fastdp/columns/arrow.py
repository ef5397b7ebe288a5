"""Arrow arrays: what they are encoded as, where their nulls are, and codes as labels."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from fastdp.columns.domain import Domain
from fastdp.threads import BLOCK

if TYPE_CHECKING:
    import pyarrow as pa


def is_arrow(values: object) -> TypeGuard[Any]:
    """Whether values are a pyarrow array, chunked or not, without importing pyarrow."""
    if "pyarrow" not in sys.modules:
        return False
    import pyarrow as pa

    return isinstance(values, pa.Array | pa.ChunkedArray)


def is_encoded(kind: pa.DataType) -> bool:
    """Whether a type holds its values in a dictionary or in runs."""
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type of the values themselves, whatever they are encoded as."""
    while is_encoded(kind):
        kind = kind.value_type
    return kind


def show_nulls(array: pa.Array) -> pa.Array:
    """The array, decoded where its nulls lie in runs or in a dictionary and its validity does not show them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        return array.dictionary_decode()
    return array


def validate(array: pa.Array | pa.ChunkedArray) -> None:
    """Raise ArrowInvalid where an array contradicts its own format.

    Of lists that are a slice of more, only their own elements are looked at: Arrow would check all of them, once for
    each of the slices.
    """
    import pyarrow as pa

    types = pa.types
    if isinstance(array, pa.ChunkedArray) or not (types.is_list(array.type) or types.is_large_list(array.type)):
        array.validate(full=True)
        return
    array.validate()
    if not len(array):
        return
    kind = np.dtype(np.int32 if types.is_list(array.type) else np.int64)
    offsets = np.frombuffer(array.buffers()[1], kind, len(array) + 1, array.offset * kind.itemsize)
    first, last = int(offsets[0]), int(offsets[-1])
    if first < 0 or last > len(array.values) or (offsets[1:] < offsets[:-1]).any():
        raise pa.ArrowInvalid("offsets of lists are not in order")
    validate(array.values.slice(first, last - first))


def decode(array: pa.Array) -> pa.Array:
    """The values of an array, without runs or a dictionary."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def to_labels(codes: np.ndarray, domain: Domain, kind: pa.DataType | None = None) -> pa.Array:
    """Codes as the labels that a domain declares, or as they are if it declares none; of type ``kind`` if given."""
    import pyarrow as pa

    indices = pa.array(codes)
    values = indices if domain.labels is None else pa.array(domain.labels).take(indices)
    return values if kind is None else values.cast(kind)


def _may_hold_nulls(array: pa.Array) -> bool:
    import pyarrow as pa

    if pa.types.is_run_end_encoded(array.type):
        return bool(array.values.null_count)
    return bool(array.null_count or (pa.types.is_dictionary(array.type) and array.dictionary.null_count))


def holds_nulls(array: pa.Array) -> bool:
    """Whether there is a null, in the validity, a run or a dictionary entry that is used."""
    if not _may_hold_nulls(array):
        return False
    return any(show_nulls(array.slice(start, BLOCK)).null_count for start in range(0, len(array), BLOCK))


def blank_nulls(values: pa.Array, *results: np.ndarray, blank: int = 0) -> pa.Buffer | None:
    """Write ``blank`` into results, one row per value, where values are null; their validity, None without nulls."""
    import pyarrow as pa

    if not _may_hold_nulls(values):
        return None
    bits = np.zeros((len(values) + 7) // 8, np.uint8)
    for start in range(0, len(values), BLOCK):
        absent = show_nulls(values.slice(start, BLOCK)).is_null().to_numpy(zero_copy_only=False)
        for result in results:
            result[start : start + BLOCK][absent] = blank
        bits[start // 8 : (start + BLOCK) // 8] = np.packbits(~absent, bitorder="little")
    return pa.py_buffer(bits)
