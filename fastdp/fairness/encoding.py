"""Columns of labels, decisions and attributes as small codes, whatever container they come in."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.containers import unwrap
from fastdp.errors import DomainError, ParameterError, SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

OWNER = "fairness"
MOST_VALUES = 1 << 16
"""Distinct values of one column."""
FIRST_ROWS = 1 << 16
"""Rows that the number of codes of a column of bytes is guessed from."""


@dataclass(frozen=True, slots=True)
class Codes:
    """One code per row, and the value that each code stands for.

    ``guessed``: the values are those of the first rows, and whoever reads all of them finds out whether there are more.
    """

    codes: np.ndarray
    values: tuple[Any, ...]
    guessed: bool = False

    def exact(self) -> Codes:
        """The same, with all values."""
        return Codes(self.codes, tuple(range(int(self.codes.max()) + 1))) if self.guessed else self


def encode(name: str, column: Any) -> Codes:
    """The codes of a column of any container; nulls are refused, never counted as a value of their own."""
    plain, _ = unwrap(OWNER, column)
    if _is_arrow_integers(plain):
        plain = plain.to_numpy() if hasattr(plain, "chunks") else plain.to_numpy(zero_copy_only=False)
    if isinstance(plain, np.ndarray) and plain.ndim == 1 and plain.dtype.kind in "bui":
        small = _small(plain)
        if small is not None:
            return small
    return _dictionary(name, _to_arrow(name, plain))


def _is_arrow_integers(plain: Any) -> bool:
    """Whether it is an Arrow column of integers or truth values without nulls."""
    import pyarrow as pa

    return (
        isinstance(plain, pa.Array | pa.ChunkedArray)
        and plain.null_count == 0
        and (pa.types.is_integer(plain.type) or pa.types.is_boolean(plain.type))
    )


def _small(plain: np.ndarray) -> Codes | None:
    """Truth values and integers below 256 are their own codes."""
    if plain.dtype == np.bool_:
        return Codes(plain.view(np.uint8), (False, True))
    if plain.dtype == np.uint8 and plain.size > FIRST_ROWS:  # a pass of its own over all rows would be a fifth more
        return Codes(np.ascontiguousarray(plain), tuple(range(int(plain[:FIRST_ROWS].max()) + 1)), guessed=True)
    if plain.size == 0 or (plain.dtype.kind == "i" and plain.min() < 0):
        return None
    largest = int(plain.max())
    return Codes(np.ascontiguousarray(plain, np.uint8), tuple(range(largest + 1))) if largest < 256 else None


def _to_arrow(name: str, plain: Any) -> pa.Array:
    import pyarrow as pa

    if isinstance(plain, pa.ChunkedArray):
        return plain.combine_chunks()
    if isinstance(plain, pa.Array):
        return plain
    if not isinstance(plain, np.ndarray | list | tuple) or np.ndim(plain) != 1:
        raise SchemaError(f"{OWNER}: {name} must be a column of one dimension, got a {type(plain).__name__}")
    try:
        return pa.array(plain)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):  # whose message may hold a value
        raise SchemaError(f"{OWNER}: {name} holds values of several types, or of none that arrow has") from None


def _dictionary(name: str, array: pa.Array) -> Codes:
    import pyarrow as pa

    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    if encoded.null_count or encoded.dictionary.null_count:
        raise DomainError(f"{OWNER}: {name} holds nulls; drop those rows, or give them a value of their own")
    values = [_plain(value) for value in encoded.dictionary.to_pylist()]
    if any(isinstance(value, float) and np.isnan(value) for value in values):
        raise DomainError(f"{OWNER}: {name} holds NaN; drop those rows, or give them a value of their own")
    order = sorted(range(len(values)), key=lambda i: (str(type(values[i])), values[i]))
    if len(values) > MOST_VALUES:
        raise DomainError(f"{OWNER}: {name} has more than {MOST_VALUES:,} different values; group them first")
    places = np.empty(max(len(values), 1), np.uint8 if len(values) <= 256 else np.uint16)
    places[order] = np.arange(len(values))
    return Codes(places[encoded.indices.to_numpy(zero_copy_only=False)], tuple(values[i] for i in order))


def group_places(groups: Sequence[tuple[Any, ...]], sensitive: Any) -> np.ndarray:
    """The number of each row's group among ``groups``, from a column, or from a dict of one column per attribute."""
    columns = sensitive if isinstance(sensitive, Mapping) else {"sensitive": sensitive}
    if len(columns) != len(groups[0]):
        raise ParameterError(f"{OWNER}: sensitive must be a dict of {len(groups[0])} columns, in the table's order")
    codes = [encode(name, column).exact() for name, column in columns.items()]
    if len({one.codes.size for one in codes}) > 1:
        raise SchemaError(f"{OWNER}: the sensitive columns have different lengths")
    where = {group: place for place, group in enumerate(groups)}
    shape = [len(one.values) for one in codes]
    known = np.array([where.get(group, -1) for group in itertools.product(*(one.values for one in codes))], np.int64)
    places = np.asarray(known.reshape(shape)[tuple(one.codes for one in codes)])
    if (places < 0).any():
        raise DomainError(f"{OWNER}: sensitive holds a group that the table does not have")
    return places


def _plain(value: Any) -> Any:
    """Whole floats as integers: a column of 0.0 and 1.0 holds truth values."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def as_floats(name: str, column: Any) -> np.ndarray:
    """A column of numbers of any container as float64, NaN for nulls."""
    from fastdp import validation

    plain, _ = unwrap(OWNER, column)
    if hasattr(plain, "to_numpy"):
        plain = plain.to_numpy() if hasattr(plain, "chunks") else plain.to_numpy(zero_copy_only=False)
    numbers = validation.floats(OWNER, name, plain)
    if numbers.ndim != 1:
        raise SchemaError(f"{OWNER}: {name} must be a column of one dimension")
    return numbers
