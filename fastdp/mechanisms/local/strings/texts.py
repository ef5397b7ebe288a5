"""Columns of text as 64-bit words, first byte highest, cut or filled with zeros; and words as text again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import decode
from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import Nulls, NumericColumn, check_arrow
from fastdp.errors import SchemaError
from fastdp.kernels.local.strings import pack_texts

if TYPE_CHECKING:
    import pyarrow as pa


def read_texts(owner: str, values: Any, width: int, nulls: Nulls) -> tuple[np.ndarray, NumericColumn, Any]:
    """The words of every string, a column of their places, and the container that reports are like."""
    import pyarrow as pa

    plain, rewrap = unwrap(owner, values)
    if isinstance(plain, pa.Array | pa.ChunkedArray):
        arrays = [plain] if isinstance(plain, pa.Array) else plain.chunks
    else:
        arrays = [_to_arrow(owner, plain)]
    words = [_words(owner, array, width, nulls) for array in arrays]
    pieces: list[Any] = [np.zeros(len(one), np.int64) for one in words] or [np.zeros(0, np.int64)]
    flat = np.concatenate([*words, np.empty((0, width), np.uint64)])
    column = NumericColumn(pieces, np.dtype(np.int64), lambda results: results)
    return flat, column.wrapped(plain, rewrap), plain


def _to_arrow(owner: str, values: Any) -> pa.Array:
    import pyarrow as pa

    is_array = isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray) and values.ndim == 1
    if not is_array and not isinstance(values, list | tuple):
        raise SchemaError(f"{owner}: cannot read strings from a {type(values).__name__}; pass an array or a list")
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    if not all(isinstance(one, str) for one in listed):
        raise SchemaError(f"{owner}: the values must all be strings")
    try:
        return pa.array(listed, pa.large_string())
    except (pa.ArrowException, UnicodeEncodeError):
        raise SchemaError(f"{owner}: the values must be valid text") from None


def _words(owner: str, array: pa.Array, width: int, nulls: Nulls) -> np.ndarray:
    import pyarrow as pa

    check_arrow(owner, array, nulls)
    plain = decode(array)
    check_arrow(owner, plain, nulls)
    kind = plain.type
    views = pa.types.is_string_view(kind)
    if not (views or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        raise SchemaError(f"{owner}: strings must be text, not {kind}")
    if views:
        plain = plain.cast(pa.large_string())
    _, offsets, data = plain.buffers()
    words = np.empty((len(plain), width), np.uint64)
    if not len(plain):
        return words
    places = np.frombuffer(offsets, np.int64 if pa.types.is_large_string(plain.type) else np.int32)
    body = np.frombuffer(data, np.uint8) if data is not None else np.zeros(1, np.uint8)
    pack_texts(places[plain.offset : plain.offset + len(plain) + 1], body, words)
    return words


def name_words(words: np.ndarray) -> Iterator[str]:
    """The strings of words, without the zeros behind them; a letter that was cut is left out."""
    for row in words.astype(">u8"):
        yield row.tobytes().rstrip(b"\0").decode("utf-8", "ignore")
