"""Truth values in and out: bytes, or the packed bits of an arrow column, which are never unpacked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.columns.arrow import blank_nulls, decode, is_arrow, is_encoded
from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import Nulls, check_arrow
from fastdp.errors import SchemaError
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Truths:
    """``size`` truth values: bits from ``offset`` on if they are packed, else bytes, of which any but 0 is true."""

    data: np.ndarray
    size: int
    packed: bool
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TruthColumn:
    """The pieces of a column in order, and how results (packed as their pieces are) become the caller's container."""

    pieces: list[Truths]
    rebuild: Callable[[list[np.ndarray]], Any]

    @property
    def size(self) -> int:
        return self.pieces[0].size if len(self.pieces) == 1 else sum(piece.size for piece in self.pieces)


def read_truths(owner: str, values: Column, *, nulls: Nulls = "error") -> TruthColumn:
    """Any supported container of bools; ``nulls="public"`` keeps nulls where they are, else they are refused."""
    if nulls not in ("error", "public"):
        validation.one_of(owner, "nulls", nulls, ("error", "public"))
    plain, rewrap = unwrap(owner, values)
    column = _read_plain(owner, plain, nulls)
    if rewrap is None:
        return column
    return replace(column, rebuild=lambda results: rewrap(column.rebuild(results)))


def truths_result_type(owner: str, arrow_type: pa.DataType) -> pa.DataType:
    """The arrow type of reports of truth values of this type, which may be encoded."""
    import pyarrow as pa

    encoded = pa.types.is_dictionary(arrow_type) or pa.types.is_run_end_encoded(arrow_type)
    plain = arrow_type.value_type if encoded else arrow_type
    if not pa.types.is_boolean(plain):
        raise SchemaError(f"{owner}: arrow type {plain} is not supported; it takes bools")
    return pa.bool_()


def _read_plain(owner: str, values: Any, nulls: Nulls) -> TruthColumn:
    if isinstance(values, np.ndarray) and not isinstance(values, np.ma.MaskedArray):
        array = np.asarray(values)
        if array.dtype != np.bool_:
            raise _wrong_type(owner, f"values of type {array.dtype}")
        return TruthColumn([_of_bytes(array)], lambda results: results[0].view(np.bool_).reshape(array.shape))
    if isinstance(values, bool | np.bool_):
        kind = type(values)
        return TruthColumn([_of_bytes(np.array([values]))], lambda results: kind(results[0][0]))
    if isinstance(values, list | tuple):
        if not all(isinstance(value, bool | np.bool_) for value in values):
            raise _wrong_type(owner, "sequences of anything else")
        kind_of = tuple if isinstance(values, tuple) else list
        array = np.array(values, np.bool_)
        return TruthColumn([_of_bytes(array)], lambda results: kind_of(results[0].view(np.bool_).tolist()))
    if is_arrow(values):
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            columns = [_read_arrow(owner, chunk, nulls) for chunk in values.chunks or [pa.array([], values.type)]]
            return TruthColumn(
                [column.pieces[0] for column in columns],
                lambda results: pa.chunked_array(
                    [column.rebuild([result]) for column, result in zip(columns, results, strict=True)], pa.bool_()
                ),
            )
        return _read_arrow(owner, values, nulls)
    raise _wrong_type(owner, f"a {type(values).__name__}")


def _wrong_type(owner: str, given: str) -> SchemaError:
    return SchemaError(f"{owner}: {given} are not supported; it takes bools in an array, a series or a list")


def _of_bytes(array: np.ndarray) -> Truths:
    flat = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return Truths(flat, flat.size, packed=False)


def _read_arrow(owner: str, array: pa.Array, nulls: Nulls) -> TruthColumn:
    import pyarrow as pa

    check_arrow(owner, array, nulls)
    if is_encoded(array.type):
        array = decode(array)
        check_arrow(owner, array, nulls)  # a dictionary may hold the nulls
    if not pa.types.is_boolean(array.type):
        raise SchemaError(f"{owner}: arrow type {array.type} is not supported; it takes bools")
    size = len(array)
    body = array.buffers()[1] if size else None
    bits = np.frombuffer(body, np.uint8) if body is not None else np.zeros(1, np.uint8)

    def rebuild(results: list[np.ndarray]) -> pa.Array:
        (result,) = results
        validity = blank_nulls(array)
        if validity is not None:
            result &= np.frombuffer(validity, np.uint8)  # nothing hides under a null
        return pa.Array.from_buffers(pa.bool_(), size, [validity, pa.py_buffer(result)])

    return TruthColumn([Truths(bits, size, packed=True, offset=array.offset)], rebuild)
