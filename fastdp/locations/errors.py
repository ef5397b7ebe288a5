"""How far one map is from another."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.locations.grid import Grid
from fastdp.measures import total_variation, wasserstein
from fastdp.measures.transport import LARGEST_PROGRAM

LARGEST_TRANSPORT = 2_000_000
"""Pairs of cells between which mass may be carried; a second."""


@dataclass(frozen=True, slots=True, eq=False)
class MapErrors:
    """Distances of a map from the truth."""

    total_variation: float
    wasserstein: float | None
    """The earth mover's distance, in the grid's unit: how far mass is off, on average; None where no solver is."""
    blocks: int
    """It is between blocks of so many cells each way, off by at most a block's diagonal; 1 for cells."""
    per_cell: np.ndarray
    """Map minus truth, in parts of all."""

    @property
    def largest(self) -> float:
        """The largest error of a cell, in parts of all."""
        return float(np.abs(self.per_cell).max())

    def to_dict(self) -> dict[str, float | None]:
        """The distances, for JSON."""
        return {
            "total_variation": self.total_variation,
            "earth_movers_distance": self.wasserstein,
            "largest_error_of_a_cell": self.largest,
        }


def compare(grid: Grid, given: Any, truth: Any) -> MapErrors:
    """The errors of a map of counts or parts against a true one."""
    maps = [_shares(grid, one) for one in (given, truth)]
    moved, blocks = _transport(grid, *maps)
    return MapErrors(total_variation(*(one.reshape(-1) for one in maps)), moved, blocks, maps[0] - maps[1])


def _shares(grid: Grid, given: Any) -> np.ndarray:
    cells = np.asarray(given, np.float64)
    if cells.shape not in {grid.shape, (grid.size,)} or not np.isfinite(cells).all() or (cells < 0).any():
        raise ParameterError(f"compare: a map must hold numbers >= 0, as many as the grid, {grid.shape}")
    if not cells.sum() > 0:
        raise ParameterError("compare: a map must not be empty")
    return (cells / cells.sum()).reshape(grid.shape)


def _transport(grid: Grid, given: np.ndarray, truth: np.ndarray) -> tuple[float | None, int]:
    """The earth mover's distance between the smallest blocks of cells for which there is a solver."""
    has_network = importlib.util.find_spec("ot") is not None
    if not has_network and importlib.util.find_spec("scipy") is None:
        return None, 1
    most = LARGEST_TRANSPORT if has_network else LARGEST_PROGRAM
    block = 1
    while True:
        p, q = (gather(one, block) for one in (given, truth))
        if np.count_nonzero(p > q) * np.count_nonzero(q > p) <= most:
            break
        block += 1
    rows, columns = p.shape
    places = np.stack(np.divmod(np.arange(p.size), columns), axis=1) * (grid.cell * block)
    if rows == 1 or columns == 1:
        return wasserstein(p.reshape(-1), q.reshape(-1), positions=places.max(axis=1)), block
    return wasserstein(p.reshape(-1), q.reshape(-1), positions=places), block


def gather(cells: np.ndarray, block: int) -> np.ndarray:
    """Sums over blocks of ``block`` by ``block`` cells, the last ones cut short."""
    for axis in (0, 1):
        cells = np.add.reduceat(cells, np.arange(0, cells.shape[axis], block), axis=axis)
    return cells
