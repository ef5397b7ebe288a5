"""Numbers in and out: numpy arrays of any layout, Python scalars and sequences, arrow and other containers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastdp import validation
from fastdp.columns.arrow import blank_nulls, holds_nulls, is_arrow, is_encoded, plain_type, validate
from fastdp.columns.buffers import fresh
from fastdp.columns.containers import Rewrap, unwrap
from fastdp.columns.pieces import ArrowNumbers, InPlace, Piece, Room, cut
from fastdp.errors import DomainError, InputCorruptError, SchemaError
from fastdp.threads import BLOCK
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["float", "integer"]
Nulls = Literal["error", "public"]
Widen = Callable[["np.dtype[Any]"], "np.dtype[Any]"]

SUPPORTED = {
    "float": "float64, float32, float16 or integers of up to 53 bits",
    "integer": "integers of any width",
}
EXACT_INTEGER = 1 << 53


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """The pieces of a column in order, the type its results have, and how results become the caller's container."""

    pieces: list[np.ndarray | Piece]
    result_dtype: np.dtype[Any]
    rebuild: Callable[[list[Any]], Any]
    source: tuple[Any, Rewrap | None] | None = None
    """The arrow array that another library's values came in, and how reports go back."""
    rooms: Callable[[int], Room] | None = None
    """Where the results of a piece go, by its number; an array of their type if there is nothing else."""
    read_dtype: np.dtype[Any] | None = None
    """The type that blocks are read as; that of the results if there is nothing else."""

    @property
    def size(self) -> int:
        return self.pieces[0].size if len(self.pieces) == 1 else sum(piece.size for piece in self.pieces)

    def room(self, number: int) -> Room:
        """Where the results of a piece go."""
        if self.rooms is not None:
            return self.rooms(number)
        return InPlace(fresh(self.pieces[number].size, self.result_dtype))

    def blocks(self, owner: str) -> Iterator[np.ndarray]:
        """All values in order, block by block, as :func:`read_block` gives them."""
        for piece in self.pieces:
            for start in range(0, piece.size, BLOCK):
                yield read_block(owner, piece, start, min(start + BLOCK, piece.size), self.result_dtype)

    def flat(self, owner: str) -> np.ndarray:
        """All values in one array of float64."""
        pieces = [
            read_block(owner, piece, 0, piece.size, self.result_dtype).astype(np.float64, copy=False)
            for piece in self.pieces
        ]
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def wrapped(self, plain: Any, rewrap: Rewrap | None) -> NumericColumn:
        """The column with results in the container that was unwrapped."""
        if rewrap is None:
            return self
        return replace(self, rebuild=lambda results: rewrap(self.rebuild(results)), source=(plain, rewrap))


def read_numeric(
    owner: str, values: Column, kind: Kind, *, nulls: Nulls = "error", widen: Widen | None = None
) -> NumericColumn:
    """Any supported container as flat pieces; ``nulls="public"`` keeps nulls where they are, else they are refused.

    ``widen`` is the type of results for values of a type; blocks are then read as they are.
    """
    if nulls not in ("error", "public"):
        validation.one_of(owner, "nulls", nulls, ("error", "public"))
    plain, rewrap = unwrap(owner, values)
    column = _read_plain(owner, plain, kind, nulls, widen)
    return column if rewrap is None else column.wrapped(plain, rewrap)


def _numbers(
    pieces: list[Any], dtype: np.dtype[Any], widen: Widen | None, rebuild: Callable[[list[Any]], Any]
) -> NumericColumn:
    """A column of these pieces, read as ``dtype``."""
    return NumericColumn(pieces, dtype if widen is None else widen(dtype), rebuild, read_dtype=dtype)


def _read_plain(owner: str, values: Any, kind: Kind, nulls: Nulls, widen: Widen | None) -> NumericColumn:
    if isinstance(values, np.ma.MaskedArray):
        raise SchemaError(f"{owner}: masked arrays are not supported; fill them, or pass a pyarrow array with nulls")
    if isinstance(values, np.ndarray):
        array = np.asarray(values)  # np.matrix and its kin refuse to be flat
        dtype = _result_dtype(owner, array.dtype, kind)
        result_dtype = dtype if widen is None else widen(dtype)
        return NumericColumn([array], result_dtype, lambda results: results[0].reshape(array.shape), read_dtype=dtype)
    if isinstance(values, np.generic):
        dtype = _result_dtype(owner, values.dtype, kind)
        return _numbers([np.asarray(values)], dtype, widen, lambda results: results[0].reshape(-1)[0])
    if isinstance(values, list | tuple):
        array = _from_python(owner, values, kind)
        dtype = _result_dtype(owner, array.dtype, kind)
        kind_of = (
            tuple if isinstance(values, tuple) else list
        )  # a named tuple has a fixed length and becomes a plain one
        return _numbers([array], dtype, widen, lambda results: kind_of(results[0].reshape(array.shape).tolist()))
    if is_arrow(values):
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            columns = [_read_arrow(owner, chunk, kind, nulls, widen) for chunk in values.chunks]
            if not columns:
                columns = [_read_arrow(owner, pa.array([], values.type), kind, nulls, widen)]
            return NumericColumn(
                [column.pieces[0] for column in columns],
                columns[0].result_dtype,
                lambda results: pa.chunked_array(
                    [column.rebuild([result]) for column, result in zip(columns, results, strict=True)]
                ),
                read_dtype=columns[0].read_dtype,
            )
        return _read_arrow(owner, values, kind, nulls, widen)
    if validation.is_number(values) or isinstance(values, bool):
        array = _from_python(owner, values, kind)
        dtype = _result_dtype(owner, array.dtype, kind)
        return _numbers([array], dtype, widen, lambda results: results[0].reshape(-1)[0].item())
    raise SchemaError(
        f"{owner}: cannot read a {type(values).__name__}; pass an array, a series, a number or a list of numbers"
    )


def _result_dtype(owner: str, dtype: np.dtype[Any], kind: Kind) -> np.dtype[Any]:
    """The type of the results for values of ``dtype``: the same, or float64 for integers that get real noise."""
    if dtype.kind in "iu":
        return dtype.newbyteorder("=") if kind == "integer" else np.dtype(np.float64)
    if dtype == np.float16 and kind == "float":
        return np.dtype(np.float32)  # which half floats widen to
    if dtype.kind == "f" and dtype.itemsize in (4, 8) and kind == "float":
        return dtype.newbyteorder("=")
    raise SchemaError(f"{owner}: values of type {dtype} are not supported; it takes {SUPPORTED[kind]}")


def _from_python(owner: str, values: Any, kind: Kind) -> np.ndarray:
    """Python numbers as an array; an empty list has the mechanism's own type."""
    try:
        array = np.asarray(values)
    except (TypeError, ValueError, OverflowError):
        raise SchemaError(f"{owner}: the sequence does not hold numbers only, or is ragged") from None
    if array.size == 0:
        return np.zeros(array.shape, np.float64 if kind == "float" else np.int64)
    if array.dtype.kind not in "iuf":
        raise SchemaError(f"{owner}: the sequence does not hold numbers of at most 64 bits only")
    check_sequence(owner, values, is_float=array.dtype.kind == "f")
    return array


def check_sequence(owner: str, values: Sequence[object], *, is_float: bool) -> None:
    """Refuse truth values among numbers, and integers that numpy has rounded to make one float array of them all.

    ``values`` is a number, an array, or a sequence of these to any depth. Other containers inside a sequence are
    refused if the whole became floats: what they held before is not known.
    """
    if isinstance(values, list | tuple):
        for value in values:
            if type(value) is not float:
                check_sequence(owner, value, is_float=is_float)
        return
    known = isinstance(values, np.ndarray | np.generic | int | float)
    if isinstance(values, bool) or (isinstance(values, np.ndarray | np.generic) and values.dtype.kind not in "iuf"):
        known = False
    if not known and (is_float or isinstance(values, bool | np.bool_ | np.ndarray)):
        raise SchemaError(f"{owner}: the sequence does not hold numbers of at most 64 bits only")
    if is_float:
        check_exact(owner, values)


def check_exact(owner: str, *values: Any) -> None:
    """Refuse arrays and numbers with integers that have no exact float64: rounded, values 1 apart become 2 apart."""
    for part in values:
        low = high = part if isinstance(part, int) else 0
        if isinstance(part, np.ndarray | np.generic) and part.dtype.kind in "iu" and part.itemsize == 8 and part.size:
            low, high = int(part.min()), int(part.max())
        if low < -EXACT_INTEGER or high > EXACT_INTEGER:
            raise DomainError(f"{owner}: integers beyond 2**53 have no exact float64; use an integer mechanism")


def check_arrow(owner: str, array: pa.Array | pa.ChunkedArray, nulls: Nulls) -> None:
    """Refuse an array that contradicts its own format, and nulls that were not declared public."""
    import pyarrow as pa

    try:
        if pa.types.is_nested(array.type):
            validate(array)
        else:
            array.validate(full=True)
    except pa.ArrowInvalid:
        raise InputCorruptError(f"{owner}: the arrow array contradicts its own format") from None
    if array.null_count and nulls == "error":
        raise DomainError(f'{owner}: the array holds nulls; drop or fill them, or pass nulls="public" to keep them')


def refuse_nulls(owner: str, array: pa.Array, nulls: Nulls) -> None:
    """Refuse nulls that were not declared public, also those within runs or a dictionary."""
    if nulls == "error" and holds_nulls(array):
        raise DomainError(f'{owner}: the array holds nulls; drop or fill them, or pass nulls="public" to keep them')


def numeric_result_type(owner: str, arrow_type: pa.DataType, kind: Kind) -> pa.DataType:
    """The arrow type of the results for values of this type, which may be encoded."""
    import pyarrow as pa

    plain = plain_type(arrow_type)
    if not (
        pa.types.is_integer(plain)
        or pa.types.is_float16(plain)
        or pa.types.is_float32(plain)
        or pa.types.is_float64(plain)
    ):
        raise SchemaError(f"{owner}: arrow type {plain} is not supported; it takes {SUPPORTED[kind]}")
    dtype = np.dtype(plain.to_pandas_dtype())
    result_dtype = _result_dtype(owner, dtype, kind)
    return plain if result_dtype == dtype else pa.from_numpy_dtype(result_dtype)


def _read_arrow(owner: str, array: pa.Array, kind: Kind, nulls: Nulls, widen: Widen | None) -> NumericColumn:
    """A pyarrow array without its nulls' hidden values, dictionaries, offsets or encodings."""
    import pyarrow as pa

    check_arrow(owner, array, nulls)
    read_dtype = np.dtype(numeric_result_type(owner, array.type, kind).to_pandas_dtype())
    result_dtype = read_dtype if widen is None else widen(read_dtype)
    encoded = is_encoded(array.type)
    if encoded:
        refuse_nulls(owner, array, nulls)

    def rebuild(results: list[np.ndarray]) -> pa.Array:
        (result,) = results
        validity = blank_nulls(array, result)
        return pa.Array.from_buffers(pa.from_numpy_dtype(result_dtype), result.size, [validity, pa.py_buffer(result)])

    piece = ArrowNumbers(array) if encoded or array.null_count else array.to_numpy(zero_copy_only=True)
    return NumericColumn([piece], result_dtype, rebuild, read_dtype=read_dtype)


def read_block(owner: str, piece: np.ndarray | Piece, start: int, stop: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Values start:stop of a piece in C order, as a contiguous, aligned, read-only array of ``dtype``."""
    if isinstance(piece, np.ndarray):
        block = piece[start:stop] if piece.ndim == 1 else cut(piece, start, stop)
    else:
        block = piece.read(start, stop)
    if block.dtype != dtype and dtype.kind == "f":
        check_exact(owner, block)
    if block.dtype != dtype or not block.flags.carray:
        block = np.require(block, dtype, ["C", "A"]).view()
    block.setflags(write=False)
    return block
