"""Lists by an explicit rule: one element of each, drawn at random, or the first few, each with its part of epsilon."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import rounding, validation
from fastdp.errors import ParameterError, SchemaError
from fastdp.privacy import Privacy, compose

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

DRAWS = 1 << 31
MOST = 64
"""Elements of a list that are released at the most."""


@dataclass(frozen=True, slots=True)
class Items:
    """What is taken of each list: one element drawn at random, or the first ``length``, with nulls up to that."""

    length: int | None = None

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any]) -> Items | None:
        """From a plan's ``items``; None if it has none.

        >>> Items.read("Plan", {"items": 3, "nulls": "public", "epsilon": 1.0}), Items.read("Plan", {})
        (Items(length=3), None)
        """
        if "items" not in given:
            return None
        asked = given["items"]
        if asked == "one":
            return cls()
        if type(asked) is not int or not 1 <= asked <= MOST:
            raise ParameterError(f'{owner}: items must be "one" or a number of elements from 1 to {MOST}')
        if given.get("nulls", "error") in ("error", "drop"):
            raise ParameterError(
                f"{owner}: items = {asked} fills shorter lists up with nulls; say what they count as (nulls = a value, "
                'or nulls = "category" and null_label), or nulls = "public", which shows how long lists are'
            )
        if given.get("epsilon") is None or {"unit", "null_share", "rho", "delta"} & given.keys():
            raise ParameterError(
                f"{owner}: items = {asked} gives each element a part of epsilon; give epsilon alone, without unit, "
                "null_share, rho or delta"
            )
        return cls(asked)

    @property
    def count(self) -> int:
        """Elements that are released of a record."""
        return self.length or 1

    def part_of(self, owner: str, epsilon: object) -> float:
        """The epsilon of each element, which add up to at most all of it."""
        whole = validation.positive(owner, "epsilon", epsilon)
        return -rounding.float_up(-Fraction(whole) / self.count)

    def privacy(self, of_one: Privacy) -> Privacy:
        """The guarantee of all elements of a record."""
        return compose([of_one] * self.count, owner="Plan")

    def pick(self, values: pa.Array, rng: Rng) -> pa.Array:
        """The elements that are randomized, those of a list side by side."""
        return draw_items(values, rng) if self.length is None else first_items(values, self.length)

    def released_type(self, kind: pa.DataType) -> pa.DataType:
        """The type of what is released, of the type of reports."""
        import pyarrow as pa

        return kind if self.length is None else pa.list_(kind, self.length)

    def release(self, reports: pa.Array) -> pa.Array:
        """The reports of each record, as a list where there may be several."""
        import pyarrow as pa

        return reports if self.length is None else pa.FixedSizeListArray.from_arrays(reports, self.length)

    def reports_in(self, released: pa.Array) -> pa.Array:
        """The reports in what was released."""
        return released if self.length is None else released.flatten()


def first_items(values: pa.Array, length: int) -> pa.Array:
    """The first elements of each list, and nulls where a list is shorter."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    lengths = pc.list_value_length(values).fill_null(0).to_numpy().astype(np.int64)
    places = (np.cumsum(lengths) - lengths)[:, None] + np.arange(length)
    missing = np.arange(length) >= lengths[:, None]
    return values.flatten().take(pa.array(places.reshape(-1), mask=missing.reshape(-1)))


def item_type(owner: str, kind: pa.DataType) -> pa.DataType:
    """The type of the elements of a list."""
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return kind.value_type
    raise SchemaError(f"{owner}: arrow type {kind} is no list; items is for lists")


def check_single(owner: str, name: str, kind: pa.DataType) -> None:
    """Refuse types that hold no single value per record that a mechanism takes, with what to do instead."""
    import pyarrow as pa

    types = pa.types
    if types.is_map(kind):
        way = "drop it, or store its keys as columns or a struct"
    elif types.is_struct(kind):
        field = kind[0].name if kind.num_fields else "field"
        way = f'name its fields instead, such as [columns."{name}.{field}"], or drop it'
    elif types.is_nested(kind) and not types.is_run_end_encoded(kind):
        way = 'say items = "one" for one element of each list, items = 3 for the first three, or drop it'
    elif types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind):
        way = "keep it as it is (public), drop it, or store text as such"
    else:
        return
    raise SchemaError(f"{owner}: arrow type {kind} is no single value that a mechanism takes; {way}")


def draw_items(values: pa.Array, rng: Rng) -> pa.Array:
    """An element of each list, each as likely as the others to 2**-31; null for lists that are empty or null.

    The draw is made from the record's own values, before they are randomized, so that the guarantee needs nothing of
    it. One slot per list.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    from fastdp.engine.uniform import uniform_codes

    if pa.types.is_fixed_size_list(values.type):
        values = values.cast(pa.list_(values.type.value_type))
    lengths = pc.list_value_length(values).fill_null(0).to_numpy().astype(np.int64)
    drawn = uniform_codes(rng, len(values), DRAWS).astype(np.int64)
    starts = np.zeros(len(values), np.int64)
    np.cumsum(lengths[:-1], out=starts[1:])
    places = starts + drawn * lengths // DRAWS
    return values.flatten().take(pa.array(places, mask=lengths == 0))
