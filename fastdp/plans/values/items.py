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
    raise SchemaError(f'{owner}: arrow type {kind} is no list; items = "one" is for lists')


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
