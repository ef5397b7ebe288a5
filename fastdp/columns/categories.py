"""Categories in and out: codes of any integer width, or labels in any container of text or integers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.containers import unwrap
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import Nulls, NumericColumn, check_arrow, read_block, read_numeric, show_nulls
from fastdp.errors import DomainError, ParameterError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa


def read_codes(owner: str, values: Any, domain: Domain, *, nulls: Nulls = "error") -> NumericColumn:
    """Any supported container as flat pieces of codes; results are codes again, and become the caller's labels."""
    if domain.labels is not None:
        plain, rewrap = unwrap(owner, values)
        return _read_labels(owner, plain, domain, nulls).wrapped(plain, rewrap)
    column = read_numeric(owner, values, "integer", nulls=nulls)
    if domain.size - 1 > np.iinfo(column.result_dtype).max:
        raise SchemaError(f"{owner}: {column.result_dtype} cannot hold {domain.size} codes; convert to a wider type")
    return column


def flat_codes(owner: str, values: Any, domain: Domain) -> np.ndarray:
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


def _read_labels(owner: str, values: Any, domain: Domain, nulls: Nulls) -> NumericColumn:
    import pyarrow as pa

    try:
        labels = pa.array(domain.labels)
    except (pa.ArrowInvalid, OverflowError, UnicodeEncodeError):
        raise ParameterError(f"{owner}: labels of the domain must be integers of 64 bits or valid text") from None
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return _read_arrow(owner, values, labels, nulls)
    if isinstance(values, np.ma.MaskedArray) or not isinstance(values, np.ndarray | list | tuple):
        raise SchemaError(f"{owner}: cannot read labels from a {type(values).__name__}; pass an array or a list")
    expected = "U" if pa.types.is_string(labels.type) else "iu"
    plain = np.asarray(values) if len(values) else np.zeros(0, expected[0])
    if plain.dtype.kind not in expected + "O":
        raise SchemaError(f"{owner}: the values are not of the labels' type")
    if plain.dtype.kind == "O" and any(value is None for value in plain.reshape(-1).tolist()):
        raise DomainError(f"{owner}: the values hold None; drop or replace them first")
    if any(isinstance(value, bool) for value in (values if isinstance(values, list | tuple) else ())):
        raise SchemaError(f"{owner}: the values are not all of the labels' type")
    try:
        flat = pa.array(plain.reshape(-1).astype(plain.dtype.newbyteorder("=")), labels.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError, UnicodeEncodeError):
        raise SchemaError(f"{owner}: the values are not all of the labels' type") from None
    codes = _codes(owner, flat, labels)
    names = np.array(domain.labels, object if plain.dtype.kind == "O" else None)

    def rebuild(results: list[np.ndarray]) -> Any:
        named = names[results[0]].reshape(plain.shape)
        return named if isinstance(values, np.ndarray) else type(values)(named.tolist())

    return NumericColumn([codes], codes.dtype, rebuild)


def _read_arrow(owner: str, values: pa.Array | pa.ChunkedArray, labels: pa.Array, nulls: Nulls) -> NumericColumn:
    """String, integer or dictionary columns; nulls stay where they are if they are public."""
    import pyarrow as pa

    check_arrow(owner, values, nulls)
    encoded = pa.types.is_dictionary(values.type)
    wrapped = encoded or pa.types.is_run_end_encoded(values.type)
    kind = values.type.value_type if wrapped else values.type
    _check_type(owner, kind, labels)
    chunks = values.chunks if isinstance(values, pa.ChunkedArray) else [values]
    pieces, missing = [], []
    for chunk in chunks:
        plain = show_nulls(chunk)
        check_arrow(owner, plain, nulls)
        missing.append(plain.is_null().to_numpy(zero_copy_only=False) if plain.null_count else None)
        pieces.append(_codes(owner, plain, labels))

    def dress(codes: np.ndarray, absent: np.ndarray | None) -> pa.Array:
        """Codes as the declared labels, in their public order, whatever dictionary came in."""
        indices = pa.array(codes, mask=absent)
        if encoded:
            return pa.DictionaryArray.from_arrays(indices, labels)
        return labels.take(indices).cast(kind)

    def rebuild(results: list[np.ndarray]) -> Any:
        dressed = [dress(codes, absent) for codes, absent in zip(results, missing, strict=True)]
        if isinstance(values, pa.ChunkedArray):
            return pa.chunked_array(dressed, dressed[0].type if dressed else values.type if encoded else kind)
        return dressed[0]

    return NumericColumn(pieces, np.dtype(np.int32), rebuild)


def _codes(owner: str, values: pa.Array, labels: pa.Array) -> np.ndarray:
    """The place of each value among the labels; 0 under a null. Entries that no value uses may be anything."""
    import pyarrow as pa

    absent = values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None
    if pa.types.is_dictionary(values.type):
        entries = _places(owner, values.dictionary, labels)
        places = entries[values.indices.fill_null(0).to_numpy()] if len(entries) else np.zeros(len(values), np.int32)
    else:
        places = _places(owner, values, labels)
    if absent is not None:
        places = np.where(absent, np.int32(0), places)
    if (places < 0).any():
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
    return pc.index_in(plain, labels, skip_nulls=True).fill_null(-1).to_numpy().astype(np.int32)
