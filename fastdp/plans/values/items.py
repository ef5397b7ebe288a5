"""Lists by an explicit rule: one element of each, drawn at random, is the record's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fastdp.errors import SchemaError

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

DRAWS = 1 << 31


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
    elif types.is_nested(kind):
        way = 'say items = "one" for one element of each list, or drop it'
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
