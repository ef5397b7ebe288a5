"""How far one map is from another."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.locations.grid import Grid
from fastdp.measures import total_variation, wasserstein
from fastdp.measures.transport import LARGEST_PROGRAM
from fastdp.typing import Matrix, Numbers

LARGEST_TRANSPORT = 10_000_000
"""Pairs of cells between which mass may be carried; two seconds."""


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

    def to_dict(self) -> dict[str, float | int | None]:
        """The distances, for JSON."""
        return {
            "total_variation": self.total_variation,
            "earth_movers_distance": self.wasserstein,
            "earth_movers_distance_is_between_blocks_of": self.blocks,
            "largest_error_of_a_cell": self.largest,
        }


def compare(grid: Grid, given: Matrix | Numbers, truth: Matrix | Numbers) -> MapErrors:
    """The errors of a map of counts or parts against a true one.

    Parameters
    ----------
    grid
        The grid of both maps.
    given
        A map, as counts or shares.
    truth
        The true map, as counts or shares.
    """
    return compare_all(grid, {"map": given}, truth)["map"]


def compare_all(grid: Grid, maps: Mapping[str, Any], truth: Matrix | Numbers) -> dict[str, MapErrors]:
    """The errors of several maps, by name, against a true one; earth mover's distances between blocks of one size."""
    true, shares = _shares(grid, truth), {name: _shares(grid, given) for name, given in maps.items()}
    blocks = max((_smallest_blocks(one, true) for one in shares.values()), default=1)
    return {
        name: MapErrors(
            total_variation(one.reshape(-1), true.reshape(-1)), _moved(grid, one, true, blocks), blocks, one - true
        )
        for name, one in shares.items()
    }


def _shares(grid: Grid, given: Any) -> np.ndarray:
    try:
        cells = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        cells = np.zeros(0)
    if cells.shape not in {grid.shape, (grid.size,)} or not np.isfinite(cells).all() or (cells < 0).any():
        raise ParameterError(f"compare: a map must hold numbers >= 0, as many as the grid, {grid.shape}")
    if not cells.sum() > 0:
        raise ParameterError("compare: a map must not be empty")
    shares: np.ndarray = (cells / cells.sum()).reshape(grid.shape)
    return shares


def _solver() -> int | None:
    """Pairs of cells that the solver at hand may be given; None where there is none."""
    if importlib.util.find_spec("ot") is not None:
        return LARGEST_TRANSPORT
    return None if importlib.util.find_spec("scipy") is None else LARGEST_PROGRAM


def _smallest_blocks(given: np.ndarray, truth: np.ndarray) -> int:
    """How many cells each way must be taken together for the solver at hand."""
    most, block = _solver(), 1
    while most is not None:
        p, q = (gather(one, block) for one in (given, truth))
        if np.count_nonzero(p > q) * np.count_nonzero(q > p) <= most:
            break
        block += 1
    return block


def _moved(grid: Grid, given: np.ndarray, truth: np.ndarray, block: int) -> float | None:
    """The earth mover's distance between blocks of cells; None where no solver is."""
    if _solver() is None:
        return None
    p, q = (gather(one, block) for one in (given, truth))
    rows, columns = p.shape
    places = np.stack(np.divmod(np.arange(p.size), columns), axis=1) * (grid.cell * block)
    positions = places.max(axis=1) if rows == 1 or columns == 1 else places
    return wasserstein(p.reshape(-1), q.reshape(-1), positions=positions)


def gather(cells: np.ndarray, block: int) -> np.ndarray:
    """Sums over blocks of ``block`` by ``block`` cells, the last ones cut short."""
    for axis in (0, 1):
        cells = np.add.reduceat(cells, np.arange(0, cells.shape[axis], block), axis=axis)
    return cells
