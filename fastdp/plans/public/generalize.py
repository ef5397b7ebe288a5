"""Public columns made coarser: the first characters of a code, an interval, a month, a label of a tree.

Coarse values are public, as kept ones are: this bounds what is released, not what can be inferred from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.columns.arrow import decode
from fastdp.errors import DomainError, FastDPError, ParameterError, SchemaError
from fastdp.hierarchies.hierarchy import Hierarchy
from fastdp.hierarchies.labels import ANY

if TYPE_CHECKING:
    import pyarrow as pa

WAYS = ("prefix", "intervals", "dates", "labels", "hierarchy_file")
KEYS = ("action", *WAYS, "start", "level")


@dataclass(frozen=True, slots=True)
class Generalized:
    """The label of each value at one level of a hierarchy."""

    hierarchy: Hierarchy
    level: int
    words: str

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any]) -> Generalized:
        """From a plan's keys: one of `WAYS`, ``start`` for intervals, and ``level`` where there are several.

        >>> Generalized.read("Plan", {"prefix": 3}).words
        'the first 3 characters'
        """
        named = [key for key in WAYS if key in given]
        if len(named) != 1:
            raise ParameterError(f"{owner}: generalize needs one of {', '.join(WAYS)}")
        (way,) = named
        entry = {way: given[way]} | ({"start": given["start"]} if "start" in given else {})
        if way == "hierarchy_file":
            raise ParameterError(f"{owner}: hierarchy_file must be the path of a CSV file")
        try:
            hierarchy = Hierarchy.from_dict(entry)
        except FastDPError as error:
            raise ParameterError(f"{owner}: {error}") from None
        level = validation.positive_integer(owner, "level", given.get("level", 1))
        if level > hierarchy.levels - 2:
            raise ParameterError(f"{owner}: level must be from 1 to {hierarchy.levels - 2}; to show nothing, drop it")
        return cls(hierarchy, level, _in_words(way, given[way], level))

    def result_type(self, owner: str, kind: pa.DataType) -> pa.DataType:
        """Text; refused for types that have no labels."""
        import pyarrow as pa

        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise SchemaError(f"{owner}: arrow type {kind} cannot be generalized; drop it")
        return pa.string()

    def apply(self, owner: str, values: pa.Array) -> pa.Array:
        """The labels; only distinct values are looked up."""
        import pyarrow as pa
        import pyarrow.compute as pc

        plain = decode(values)
        if self.hierarchy.kind == "dates" and (pa.types.is_timestamp(plain.type) or pa.types.is_date64(plain.type)):
            plain = _days_of(plain)
        elif self.hierarchy.kind == "intervals" and pa.types.is_floating(plain.type):
            width, start = float(self.hierarchy.parameters[0][self.level - 1]), float(self.hierarchy.parameters[1])
            numbers = plain.cast(pa.float64())
            if not pc.all(pc.is_finite(numbers), skip_nulls=True).as_py() and len(numbers) > numbers.null_count:
                raise DomainError(f"{owner}: the values hold NaN or infinities, which are in no interval")
            plain = pa.array(
                np.floor((numbers.fill_null(start).to_numpy() - start) / width) * width + start + width / 4,
                mask=numbers.is_null().to_numpy(zero_copy_only=False),
            )
        elif pa.types.is_integer(plain.type) and self.hierarchy.kind in {"prefix", "labels"}:
            plain = plain.cast(pa.string())
        if self.hierarchy.kind == "prefix" and (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
            return _prefixes(plain.cast(pa.string()), self.hierarchy.parameters[self.level - 1])
        coded = pc.dictionary_encode(plain)
        labels = self.hierarchy.generalize(coded.dictionary.to_pylist(), self.level, owner=owner)
        return pa.array(labels, pa.string()).take(coded.indices)


def _in_words(way: str, given: Any, level: int) -> str:
    value = given[level - 1] if isinstance(given, list) else given
    if way == "prefix":
        return f"the first {value} characters"
    if way == "dates":
        return f"the {value}"
    return f"intervals of {value}" if way == "intervals" else f"level {level} of a hierarchy"


def _prefixes(texts: pa.Array, length: int) -> pa.Array:
    """The first characters, and ``ANY`` for each of the others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    hidden = pc.max_element_wise(pc.subtract(pc.utf8_length(texts), length), 0, skip_nulls=False)
    rest = pa.array([ANY * count for count in range((pc.max(hidden).as_py() or 0) + 1)]).take(hidden)
    return pc.binary_join_element_wise(pc.utf8_slice_codeunits(texts, 0, length), rest, "")


def _days_of(values: pa.Array) -> pa.Array:
    """The day of each moment, in UTC where it has a zone."""
    import pyarrow as pa

    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = values.cast(pa.timestamp(values.type.unit))
    return values.cast(pa.date32(), safe=False)
