"""Tables on sets of columns: sums over the other columns, and products with smaller tables."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np

from fastdp.kernels.synthesis.axes import add_along, multiply_along, sum_onto

Columns = tuple[int, ...]
"""Numbers of columns, ascending."""


@dataclass(frozen=True, slots=True, eq=False)
class Axes:
    """How the cells of a table lie in a smaller one on some of its columns; neighbouring axes of a kind are one."""

    shape: np.ndarray
    strides: np.ndarray
    place: np.ndarray
    cells: int

    def sum(self, table: np.ndarray) -> np.ndarray:
        """The table summed over what the smaller one lacks."""
        out = np.zeros(self.cells)
        sum_onto(table, self.shape, self.strides, self.place, out)
        return out

    def add(self, source: np.ndarray, table: np.ndarray, factor: float = 1.0) -> None:
        """Add the smaller table to the larger one, along the axes that it lacks."""
        add_along(source, factor, self.shape, self.strides, self.place, table)

    def multiply(self, source: np.ndarray, table: np.ndarray) -> None:
        """Multiply the larger table by the smaller one."""
        multiply_along(source, self.shape, self.strides, self.place, table)


@functools.lru_cache(maxsize=1 << 14)
def axes(larger: Columns, smaller: Columns, sizes: tuple[int, ...]) -> Axes:
    """The axes of a table on ``larger`` columns, as one on ``smaller`` columns has them; sizes are of all columns."""
    shape: list[int] = []
    kept: list[bool] = []
    for column in larger:
        is_kept = column in smaller
        if kept and kept[-1] == is_kept:
            shape[-1] *= sizes[column]
        else:
            shape.append(sizes[column])
            kept.append(is_kept)
    strides, cells = [0] * len(shape), 1
    for place in reversed(range(len(shape))):
        if kept[place]:
            strides[place], cells = cells, cells * shape[place]
    return Axes(
        np.array(shape or [1], np.int64),
        np.array(strides or [0], np.int64),
        np.zeros(max(len(shape), 1), np.int64),
        cells,
    )
