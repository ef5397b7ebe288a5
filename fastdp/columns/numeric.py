"""Numbers in and out: numpy arrays of any layout, Python scalars and sequences, arrow and other containers."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fastdp import validation
from fastdp.columns.containers import Rewrap, unwrap
from fastdp.errors import DomainError, InputCorruptError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

Kind = Literal["float", "integer"]
Nulls = Literal["error", "public"]

SUPPORTED = {
    "float": "float64, float32 or integers of up to 53 bits",
    "integer": "integers of any width",
}
EXACT_INTEGER = 1 << 53


@dataclass(frozen=True, slots=True)
class NumericColumn:
    """The pieces of a column in order, the type its results have, and how results become the caller's container."""

    pieces: list[np.ndarray]
    result_dtype: np.dtype[Any]
    rebuild: Callable[[list[np.ndarray]], Any]
    source: tuple[Any, Rewrap] | None = None
    """The arrow array that another library's values came in, and how reports go back."""

    @property
    def size(self) -> int:
        return sum(piece.size for piece in self.pieces)

    def wrapped(self, plain: Any, rewrap: Rewrap | None) -> NumericColumn:
        """The column with results in the container that was unwrapped."""
        if rewrap is None:
            return self
        return replace(self, rebuild=lambda results: rewrap(self.rebuild(results)), source=(plain, rewrap))


def read_numeric(owner: str, values: Any, kind: Kind, *, nulls: Nulls = "error") -> NumericColumn:
    """Any supported container as flat pieces; ``nulls="public"`` keeps nulls where they are, else they are refused."""
    validation.one_of(owner, "nulls", nulls, ("error", "public"))
    plain, rewrap = unwrap(owner, values)
    return _read_plain(owner, plain, kind, nulls).wrapped(plain, rewrap)


def _read_plain(owner: str, values: Any, kind: Kind, nulls: Nulls) -> NumericColumn:
    if isinstance(values, np.ma.MaskedArray):
        raise SchemaError(f"{owner}: masked arrays are not supported; fill them, or pass a pyarrow array with nulls")
    if isinstance(values, np.ndarray):
        array = np.asarray(values)  # np.matrix and its kin refuse to be flat
        dtype = _result_dtype(owner, array.dtype, kind)
        return NumericColumn([array], dtype, lambda results: results[0].reshape(array.shape))
    if isinstance(values, np.generic):
        dtype = _result_dtype(owner, values.dtype, kind)
        return NumericColumn([np.asarray(values)], dtype, lambda results: results[0].reshape(-1)[0])
    if validation.is_number(values) or isinstance(values, bool):
        array = _from_python(owner, values, kind)
        dtype = _result_dtype(owner, array.dtype, kind)
        return NumericColumn([array], dtype, lambda results: results[0].reshape(-1)[0].item())
    if isinstance(values, list | tuple):
        array = _from_python(owner, values, kind)
        dtype = _result_dtype(owner, array.dtype, kind)
        kind_of = (
            tuple if isinstance(values, tuple) else list
        )  # a named tuple has a fixed length and becomes a plain one
        return NumericColumn([array], dtype, lambda results: kind_of(results[0].reshape(array.shape).tolist()))
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        if isinstance(values, pa.ChunkedArray):
            columns = [_read_arrow(owner, chunk, kind, nulls) for chunk in values.chunks]
            if not columns:
                columns = [_read_arrow(owner, pa.array([], values.type), kind, nulls)]
            return NumericColumn(
                [column.pieces[0] for column in columns],
                columns[0].result_dtype,
                lambda results: pa.chunked_array(
                    [column.rebuild([result]) for column, result in zip(columns, results, strict=True)]
                ),
            )
        if isinstance(values, pa.Array):
            return _read_arrow(owner, values, kind, nulls)
    raise SchemaError(
        f"{owner}: cannot read a {type(values).__name__}; pass an array, a series, a number or a list of numbers"
    )


def _result_dtype(owner: str, dtype: np.dtype[Any], kind: Kind) -> np.dtype[Any]:
    """The type of the results for values of ``dtype``: the same, or float64 for integers that get real noise."""
    if dtype.kind in "iu":
        return dtype.newbyteorder("=") if kind == "integer" else np.dtype(np.float64)
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
    mixed = isinstance(values, list | tuple) and any(isinstance(value, bool) for value in values)
    if array.dtype.kind not in "iuf" or mixed:
        raise SchemaError(f"{owner}: the sequence does not hold numbers of at most 64 bits only")
    if (
        array.dtype.kind == "f"
        and array.ndim == 1
        and any(isinstance(v, int) and abs(v) > EXACT_INTEGER for v in values)
    ):
        raise DomainError(f"{owner}: integers beyond 2**53 have no exact float64; use an integer mechanism")
    return array


def check_arrow(owner: str, array: pa.Array | pa.ChunkedArray, nulls: Nulls) -> None:
    """Refuse an array that contradicts its own format, and nulls that were not declared public."""
    import pyarrow as pa

    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise InputCorruptError(f"{owner}: the arrow array contradicts its own format") from None
    if array.null_count and nulls == "error":
        raise DomainError(f'{owner}: the array holds nulls; drop or fill them, or pass nulls="public" to keep them')


def show_nulls(array: pa.Array) -> pa.Array:
    """The array, decoded where its nulls lie in runs or in a dictionary and its validity does not show them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    if pa.types.is_dictionary(array.type) and array.dictionary.null_count:
        return array.dictionary_decode()
    return array


def _read_arrow(owner: str, array: pa.Array, kind: Kind, nulls: Nulls) -> NumericColumn:
    """A pyarrow array without its nulls' hidden values, dictionaries, offsets or encodings."""
    import pyarrow as pa
    import pyarrow.compute as pc

    check_arrow(owner, array, nulls)
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    elif pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    kind_of_type = array.type
    if not (
        pa.types.is_integer(kind_of_type) or pa.types.is_float32(kind_of_type) or pa.types.is_float64(kind_of_type)
    ):
        raise SchemaError(f"{owner}: arrow type {kind_of_type} is not supported; it takes {SUPPORTED[kind]}")
    missing = None
    if array.null_count:
        check_arrow(owner, array, nulls)  # a dictionary may hold the nulls
        missing = array.is_null().to_numpy(zero_copy_only=False)
        array = array.fill_null(0)
    numbers = array.to_numpy(zero_copy_only=True)
    result_dtype = _result_dtype(owner, numbers.dtype, kind)
    result_type = kind_of_type if result_dtype == numbers.dtype else pa.from_numpy_dtype(result_dtype)

    def rebuild(results: list[np.ndarray]) -> pa.Array:
        (result,) = results
        validity = None
        if missing is not None:
            result[missing] = 0
            validity = pa.py_buffer(np.packbits(~missing, bitorder="little"))
        return pa.Array.from_buffers(result_type, result.size, [validity, pa.py_buffer(result)])

    return NumericColumn([numbers], result_dtype, rebuild)


def read_block(owner: str, piece: np.ndarray, start: int, stop: int, dtype: np.dtype[Any]) -> np.ndarray:
    """Values start:stop of a piece in C order, as a contiguous, aligned, read-only array of ``dtype``."""
    if piece.ndim == 1:
        block = piece[start:stop]
    elif piece.flags.c_contiguous:
        block = piece.reshape(-1)[start:stop]
    else:
        block = piece.flat[start:stop]
    if block.dtype != dtype or not block.flags.carray:
        if dtype.kind == "f" and block.dtype.kind in "iu" and block.dtype.itemsize == 8 and block.size:
            low, high = int(block.min()), int(block.max())
            if low < -EXACT_INTEGER or high > EXACT_INTEGER:
                raise DomainError(f"{owner}: integers beyond 2**53 have no exact float64; use an integer mechanism")
        block = np.require(block, dtype, ["C", "A"]).view()
    block.setflags(write=False)
    return block
