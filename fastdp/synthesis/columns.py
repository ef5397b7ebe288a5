"""The columns of a synthetic table: categories by their domain, numbers and dates by public bins, nulls."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.columns.arrow import decode, plain_type
from fastdp.errors import ParameterError, SchemaError
from fastdp.queries.data.codes import declared_array, nulls_of
from fastdp.queries.data.keys import ColumnKeys
from fastdp.queries.data.measures import check_numbers, to_floats

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("values", "bins", "bounds", "nulls", "shape")
SHAPES = ("uniform", "fitted")
MOST_VALUES = 1 << 16


@dataclass(frozen=True, slots=True)
class ColumnDomain:
    """What a column can hold: ``values``, or bins between ``edges``; and nulls, as the last code.

    Numbers are drawn inside their bin uniformly, or by a density that leans towards the heavier neighbour ("fitted").
    """

    name: str
    values: tuple[Any, ...] | None
    edges: tuple[Any, ...] | None
    nulls: bool = False
    shape: str = "uniform"

    @classmethod
    def read(cls, owner: str, name: str, given: Any) -> ColumnDomain:
        """A list of values, or a table with values, or with bins (edges, or their number and bounds)."""
        place = f"{owner}: column {name!r}"
        if isinstance(given, np.ndarray | range):
            given = [one.item() if isinstance(one, np.generic) else one for one in given]
        spec = {"values": given} if isinstance(given, list | tuple) else given
        if not isinstance(spec, Mapping):
            raise ParameterError(f"{place}: give its values as a list, or a table with values or bins")
        for key in spec:
            if key not in KEYS:
                raise ParameterError(f"{place}: {validation.unknown('key', key, KEYS)}")
        nulls: Any = spec.get("nulls", False)
        shape: Any = spec.get("shape", "uniform")
        if not isinstance(nulls, bool):
            raise ParameterError(
                f"{place}: nulls must be true, if they are a category, or false; then they are dropped"
            )
        validation.one_of(place, "shape", shape, SHAPES)
        validation.exactly_one(place, values=spec.get("values"), bins=spec.get("bins"))
        if spec.get("values") is not None:
            if "bounds" in spec or "shape" in spec:
                raise ParameterError(f"{place}: bounds and shape belong to bins, not to values")
            values = tuple(spec["values"]) if isinstance(spec["values"], list | tuple | range) else ()
            if not 1 <= len(values) <= MOST_VALUES - 1:
                raise ParameterError(f"{place}: values must list from 1 to {MOST_VALUES - 1:,} of them")
            return cls(name, values, None, nulls)
        return cls(name, None, _edges(place, spec["bins"], spec.get("bounds")), nulls, shape)

    @property
    def size(self) -> int:
        """The codes of the column."""
        return (len(self.values) if self.values is not None else len(self.edges or ()) - 1) + self.nulls

    def to_dict(self) -> dict[str, Any]:
        """The same words again."""
        stated: dict[str, Any] = {"nulls": True} if self.nulls else {}
        if self.values is not None:
            return {"values": list(self.values), **stated}
        edges = [edge.isoformat() if isinstance(edge, dt.date) else edge for edge in self.edges or ()]
        return {"bins": edges, **({} if self.shape == "uniform" else {"shape": self.shape}), **stated}


def _edges(place: str, bins: Any, bounds: Any) -> tuple[Any, ...]:
    if isinstance(bins, int) and not isinstance(bins, bool):
        if bounds is None:
            raise ParameterError(f"{place}: a number of bins needs bounds; they are declared, never inferred")
        count = validation.positive_integer(place, "bins", bins)
        low, high = (_plain(place, end) for end in _pair(place, bounds))
        if isinstance(low, dt.date) or isinstance(high, dt.date):
            if type(low) is not type(high) or not low < high:
                raise ParameterError(f"{place}: bounds must be two dates or times, the earlier first")
            return (*tuple(low + (high - low) * number / count for number in range(count)), high)
        low, high = validation.bounds(place, (low, high), integers=False)
        return (*tuple(low + (high - low) * number / count for number in range(count)), high)
    if bounds is not None:
        raise ParameterError(f"{place}: bounds go with a number of bins; edges have theirs")
    if not isinstance(bins, list | tuple | np.ndarray) or not 2 <= len(bins) <= MOST_VALUES:
        raise ParameterError(f"{place}: bins must be a number, or a list of two edges or more")
    edges = tuple(_plain(place, edge) for edge in (bins.tolist() if isinstance(bins, np.ndarray) else bins))
    dated = {isinstance(edge, dt.date) for edge in edges}
    if len(dated) > 1 or len({type(edge) for edge in edges if isinstance(edge, dt.date)}) > 1:
        raise ParameterError(f"{place}: edges must all be numbers, all dates or all times")
    if not all(a < b for a, b in pairwise(edges)):
        raise ParameterError(f"{place}: edges must ascend")
    return edges


def _pair(place: str, bounds: Any) -> tuple[Any, Any]:
    if not isinstance(bounds, list | tuple) or len(bounds) != 2:
        raise ParameterError(f"{place}: bounds must be two values")
    return bounds[0], bounds[1]


def _plain(place: str, edge: Any) -> Any:
    if isinstance(edge, str):
        try:
            moment = dt.datetime.fromisoformat(edge)
        except ValueError:
            raise ParameterError(f"{place}: an edge is neither a number nor a date") from None
        return moment.date() if len(edge) <= 10 else moment
    if isinstance(edge, dt.date):
        return edge
    if not validation.is_number(edge) or not np.isfinite(float(edge)):
        raise ParameterError(f"{place}: edges must be finite numbers, or dates")
    return edge.item() if isinstance(edge, np.generic) else edge


class Coder:
    """One column bound to the data's type: values to codes, and codes to values."""

    def __init__(self, owner: str, schema: pa.Schema, domain: ColumnDomain, seed: int) -> None:
        import pyarrow as pa

        self.domain, self._owner = domain, f"{owner}: column {domain.name!r}"
        plain = plain_type(schema.field(domain.name).type)
        self.type = pa.string() if pa.types.is_string_view(plain) else plain  # which arrow cannot take from
        self._keys: ColumnKeys | None = None
        self._whole = True
        if domain.values is not None:
            self._names = declared_array(owner, domain.name, self.type, domain.values)
            self._keys = ColumnKeys(owner, schema, [domain.name], seed, domain.values)
            return
        edges = domain.edges or ()
        if pa.types.is_temporal(self.type) and not pa.types.is_interval(self.type):
            self._edges = self._ticks(edges)
        else:
            if isinstance(edges[0], dt.date):
                raise SchemaError(f"{self._owner}: its bins are dates, its type is {self.type}")
            self._whole = check_numbers(owner, domain.name, self.type)
            self._edges = np.array(edges, np.float64)
        if not np.all(np.diff(self._edges) > 0):
            raise ParameterError(f"{self._owner}: two edges are the same in its type, {self.type}")

    def _ticks(self, edges: Sequence[Any]) -> np.ndarray:
        import pyarrow as pa

        try:
            array = pa.array(list(edges)).cast(self.type)
        except (pa.ArrowException, TypeError, ValueError, OverflowError):
            raise SchemaError(f"{self._owner}: its edges are not of its type, {self.type}") from None
        return self._numbers(array)

    def _numbers(self, array: pa.Array) -> np.ndarray:
        import pyarrow as pa

        if not pa.types.is_temporal(self.type):
            return to_floats(array)
        plain = decode(array)
        ticks = plain.view(pa.int32() if plain.type.bit_width == 32 else pa.int64())
        found: np.ndarray = ticks.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float64)
        return found

    def encode(self, batch: pa.RecordBatch) -> np.ndarray:
        """The code of each value as int32, -1 for one that was not declared."""
        column = batch.column(self.domain.name)
        absent = nulls_of(column)
        if self._keys is not None:
            codes = np.array(self._keys.find(batch), np.int32)
        else:
            numbers = self._numbers(column)
            codes = np.searchsorted(self._edges, numbers, "right").astype(np.int32) - np.int32(1)
            codes[numbers == self._edges[-1]] = self._edges.size - 2
            codes[(codes > self._edges.size - 2) | np.isnan(numbers)] = -1
        if absent is not None:
            codes[absent] = self.domain.size - 1 if self.domain.nulls else -1
        return codes

    def decode(self, codes: np.ndarray, uniforms: np.ndarray, masses: np.ndarray) -> pa.Array:
        """Values of these codes; numbers anywhere in their bin, by a uniform and the bins' masses."""
        import pyarrow as pa

        last = self.domain.size - self.domain.nulls
        absent = codes == last if self.domain.nulls else np.zeros(codes.size, bool)
        if self._keys is not None:
            return self._names.take(pa.array(codes, mask=absent))
        inside = np.minimum(codes, last - 1)
        low, width = self._edges[inside], np.diff(self._edges)[inside]
        if self.domain.shape == "fitted":
            uniforms = _lean(uniforms, _slopes(masses[:last], np.diff(self._edges))[inside])
        drawn = low + uniforms * width
        if self._whole:
            first = np.ceil(low)
            ends = self._edges[inside + 1]
            final = np.where(inside == last - 1, np.floor(ends), np.ceil(ends) - 1)
            drawn = np.clip(
                first + np.floor(uniforms * np.maximum(final - first + 1, 1)), first, np.maximum(first, final)
            )
        return self._typed(drawn, absent)

    def _typed(self, drawn: np.ndarray, absent: np.ndarray) -> pa.Array:
        import pyarrow as pa

        mask = pa.array(absent)
        if pa.types.is_temporal(self.type):
            kind = pa.int32() if self.type.bit_width == 32 else pa.int64()
            return pa.array(drawn.astype(np.int64), mask=absent).cast(kind).view(self.type)
        if pa.types.is_boolean(self.type):
            return pa.array(drawn > 0.5, mask=absent)
        if pa.types.is_integer(self.type):
            return pa.array(drawn.astype(np.int64), mask=absent).cast(self.type)
        if pa.types.is_decimal(self.type):
            import pyarrow.compute as pc

            whole = pc.round(pa.array(drawn, mask=absent), self.type.scale)
            return whole.cast(self.type, safe=False)
        del mask
        return pa.array(drawn, mask=absent).cast(self.type)


def _slopes(masses: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """How far each bin's density leans: from -1, all mass at its low end, to 1; 0 is uniform."""
    density = masses / widths
    left, right = np.roll(density, 1), np.roll(density, -1)
    left[0], right[-1] = density[0], density[-1]
    lean = np.divide(right - left, 4 * density, out=np.zeros_like(density), where=density > 0)
    found: np.ndarray = np.clip(lean, -1.0, 1.0)
    return found


def _lean(uniforms: np.ndarray, slopes: np.ndarray) -> np.ndarray:
    """The quantile function of the density 1 + s (2 x - 1) on [0, 1]."""
    with np.errstate(divide="ignore", invalid="ignore"):
        root = np.sqrt((1 - slopes) ** 2 + 4 * slopes * uniforms)
        bent = (root - (1 - slopes)) / (2 * slopes)
    found: np.ndarray = np.where(np.abs(slopes) < 1e-9, uniforms, np.clip(bent, 0.0, np.nextafter(1.0, 0.0)))
    return found
