"""Columns of attributes of which each person is asked for one: read, faked and reported block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import is_arrow, plain_type, to_labels
from fastdp.columns.categories import out_of_domain, read_codes
from fastdp.columns.containers import unwrap
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import NumericColumn, read_block
from fastdp.columns.pieces import Piece
from fastdp.columns.tables import unwrap_table
from fastdp.engine.uniform import KeptCodes, UniformCodes, keep_codes
from fastdp.errors import ParameterError, SchemaError
from fastdp.laws.coins import log_up
from fastdp.mechanisms.local.frequencies import Counts, FrequencyProtocol
from fastdp.random.rng import Rng
from fastdp.threads import BLOCK
from fastdp.typing import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa


class TableCounts(dict[str, Counts]):
    """Support counts by attribute; those of batches and machines add up."""

    def __add__(self, other: TableCounts) -> TableCounts:
        if not isinstance(other, TableCounts) or list(other) != list(self):
            raise ParameterError("TableCounts: only counts of the same attributes add up")
        return TableCounts({name: self[name] + other[name] for name in self})


@dataclass(frozen=True, slots=True)
class Asked:
    """Who is asked for attribute ``number``: those who drew it."""

    drawn: UniformCodes | KeptCodes
    number: int

    def read(self, start: int, stop: int) -> np.ndarray:
        """One truth value for each of the persons start:stop."""
        asked: np.ndarray = self.drawn.read(start, stop) == self.number
        return asked


def draw_attributes(rng: Rng, size: int, count: int) -> UniformCodes | KeptCodes:
    """For each of ``size`` persons the number of the attribute that is asked for, uniform below ``count``."""
    return keep_codes(UniformCodes.draw(rng.child("attribute that is sampled"), size, count), size)


@dataclass(frozen=True, slots=True)
class _Lazy:
    """Codes that are computed when they are read."""

    size: int
    read: Callable[[int, int], np.ndarray]


def read_checked(owner: str, values: Column, domain: Domain) -> NumericColumn:
    """A column whose codes are refused as they are read where they are not in the domain."""
    column = read_codes(owner, values, domain)

    def checked(piece: Any) -> Piece:
        def read(start: int, stop: int) -> np.ndarray:
            codes = read_block(owner, piece, start, stop, column.result_dtype)
            if codes.size and (codes.min() < 0 or codes.max() >= domain.size):
                raise out_of_domain(owner)
            return codes

        return _Lazy(piece.size, read)

    return replace(column, pieces=[checked(piece) for piece in column.pieces], source=(values, None))


def _starts(column: NumericColumn) -> Iterator[int]:
    """The first row of each piece."""
    return accumulate((piece.size for piece in column.pieces[:-1]), initial=0)


def with_fakes(column: NumericColumn, asked: Asked, fakes: UniformCodes) -> NumericColumn:
    """The column with the codes of those who are not asked replaced by fakes."""

    def mixed(piece: Any, at: int) -> Piece:
        def read(start: int, stop: int) -> np.ndarray:
            codes = fakes.read(at + start, at + stop)
            np.copyto(codes, piece.read(start, stop), where=asked.read(at + start, at + stop), casting="unsafe")
            return codes

        return _Lazy(piece.size, read)

    return replace(column, pieces=[mixed(*pair) for pair in zip(column.pieces, _starts(column), strict=True)])


def report_some(mechanism: FrequencyProtocol, column: NumericColumn, like: Column, asked: Asked, rng: Rng) -> pa.Array:
    """Reports of those who are asked, as an arrow array; null for the others."""
    import pyarrow as pa

    parts, at = [], 0
    for codes in column.blocks("") if column.size else [np.empty(0, column.result_dtype)]:
        rows = asked.read(at, at + codes.size)
        values = _as_arrow(codes[rows], mechanism.domain, like)
        places = np.cumsum(rows, dtype=np.int32) - np.int32(1)
        parts.append(mechanism.randomize(values, rng=rng).take(pa.array(places, mask=~rows)))
        at += codes.size
    return _join(parts, asked, column.size)


def _join(parts: list[pa.Array], asked: Asked, size: int) -> pa.Array:
    """One array of all parts. Numbers and sets are freed as they are copied; other types are held twice meanwhile."""
    import pyarrow as pa

    kind = parts[0].type
    if len(parts) == 1 or not (pa.types.is_integer(kind) or pa.types.is_fixed_size_binary(kind)):
        return parts[0] if len(parts) == 1 else pa.concat_arrays(parts)
    width = kind.bit_width // 8
    body, bits, end = np.empty(size * width, np.uint8), np.empty((size + 7) // 8, np.uint8), 0
    for part in (parts.pop(0) for _ in range(len(parts))):
        start, end = end, end + len(part) * width
        body[start:end] = np.frombuffer(part.buffers()[1], np.uint8)[part.offset * width :][: end - start]
    for start in range(0, size, BLOCK):
        rows = asked.read(start, min(start + BLOCK, size))
        bits[start // 8 : (start + BLOCK) // 8] = np.packbits(rows, bitorder="little")
    return pa.Array.from_buffers(kind, size, [pa.py_buffer(bits), pa.py_buffer(body)])


def _as_arrow(codes: np.ndarray, domain: Domain, like: Any) -> pa.Array:
    """Codes as arrow values of the domain, of the type that the column has if it is of arrow too."""
    import pyarrow as pa

    if not is_arrow(like):
        return to_labels(codes, domain)
    if pa.types.is_dictionary(like.type) and domain.labels is not None:
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(domain.labels))
    kind = plain_type(like.type)
    return to_labels(codes, domain, pa.string() if pa.types.is_string_view(kind) else kind)  # views cannot be taken


def one_attribute_cost(each: list[tuple[Fraction, int]]) -> float:
    """What a report of one true and otherwise uniform attributes costs when one attribute changes, rounded up.

    ``each`` are the probability to keep the value and the size k of each attribute's domain. A report's probability is
    proportional to the sum over the attributes of k P(its value | the true one): 1 - keep, and k keep more where it is
    the truth. The change of attribute j takes k keep away; the others hide that least where none of them is the truth.
    One value's probability may be short of its share by three units of 2**-128, as in the law of k-RR.
    """
    others = sum(1 - keep for keep, _ in each)
    shortfall = max(Fraction(8 * k, 1 << 126) / (1 - keep) for keep, k in each)
    return log_up(1 + max(k * keep for keep, k in each) / others * (1 + shortfall) + shortfall)


def read_attributes(
    owner: str, table: Column | Table, names: list[str]
) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]:
    """The declared columns, all of one length, and how columns become the caller's kind of table again."""
    opened = unwrap_table(owner, table)
    if opened is None:
        raise SchemaError(f"{owner}: cannot read a {type(table).__name__}; pass a table or a dict of columns")
    found, rebuild = opened
    columns = dict(found)
    if len(columns) != len(found):
        raise SchemaError(f"{owner}: the table has two columns of one name")
    if set(columns) != set(names):
        missing, more = sorted(set(names) - set(columns)), sorted(map(str, set(columns) - set(names)))
        raise SchemaError(f"{owner}: the table must have the declared columns; missing: {missing}, undeclared: {more}")
    unwrapped = {name: unwrap(owner, columns[name]) for name in names}
    plain = {name: values for name, (values, _) in unwrapped.items()}
    if not all(hasattr(values, "__len__") for values in plain.values()):
        raise SchemaError(f"{owner}: the columns must be arrays or lists")
    if len({len(values) for values in plain.values()}) > 1:
        raise SchemaError(f"{owner}: the columns have different lengths")

    def rewrap(reports: dict[str, Any]) -> Any:
        wrappers = {name: wrapper for name, (_, wrapper) in unwrapped.items() if wrapper is not None}
        return rebuild({name: wrappers[name](r) if name in wrappers else r for name, r in reports.items()})

    return plain, rewrap


def without_nulls(column: Column) -> Any:
    return column.drop_null() if is_arrow(column) else column
