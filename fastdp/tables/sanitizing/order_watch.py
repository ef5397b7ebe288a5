"""Whether a column arrives sorted: then its neighbours tell what its noise hides."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastdp.columns.arrow import decode

if TYPE_CHECKING:
    import pyarrow as pa

ENOUGH = 100
"""Rows below which an order may be chance."""
GLANCE = 256
"""Values that are looked at first: most columns are out of order by then."""


class OrderWatch:
    """Follows one column through its batches."""

    def __init__(self) -> None:
        self._rows = 0
        self._rising = self._falling = True
        self._last: pa.Array | None = None

    @property
    def is_sorted(self) -> bool:
        """Whether all rows so far rise, or all fall, and not all are equal."""
        return self._rows >= ENOUGH and self._rising != self._falling

    def add(self, values: pa.Array) -> None:
        """Take the next batch into account; a batch that cannot be compared counts as unsorted."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not (self._rising or self._falling) or not len(values):
            return
        self._rows += len(values)
        for part in (values[:GLANCE], values[GLANCE:]):
            if not (self._rising or self._falling) or not len(part):
                return
            try:
                encoded = pa.types.is_dictionary(part.type) or pa.types.is_run_end_encoded(part.type)
                own = (decode(part) if encoded else part).drop_null()
                joined = own if self._last is None else pa.concat_arrays([self._last, own])
                before, after = joined[:-1], joined[1:]
                self._rising = self._rising and pc.all(pc.less_equal(before, after), min_count=0).as_py()
                self._falling = self._falling and pc.all(pc.greater_equal(before, after), min_count=0).as_py()
                self._last = joined[-1:]
            except pa.ArrowException:
                self._rising = self._falling = False
