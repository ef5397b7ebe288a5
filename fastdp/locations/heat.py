"""The heat map behind reports of places."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.estimators.ibu import ibu
from fastdp.estimators.inversion import invert
from fastdp.estimators.reports import estimate
from fastdp.locations.errors import MapErrors, compare
from fastdp.locations.grid import Grid
from fastdp.locations.mechanisms import channel_on

if TYPE_CHECKING:
    import pyarrow as pa

METHODS = ("cv", "early", "smooth", "ibu", "inversion")


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Where people were, in parts of all, ``restored`` from counts of what they reported; arrays as the map lies."""

    grid: Grid
    counts: np.ndarray
    restored: np.ndarray
    method: str
    """How it was restored."""
    iterations: int

    @property
    def noisy(self) -> np.ndarray:
        """The reports as they are, in parts of all."""
        shares: np.ndarray = self.counts / self.counts.sum()
        return shares

    def errors(self, truth: Any) -> MapErrors:
        """How far the restored map is from the true one, counts or parts."""
        return compare(self.grid, self.restored, truth)

    def noisy_errors(self, truth: Any) -> MapErrors:
        """How far the reports are from the true map."""
        return compare(self.grid, self.noisy, truth)

    def to_arrow(self) -> pa.Table:
        """A row per cell."""
        from fastdp.locations.tables import grid_table

        return grid_table(self.grid, {"noisy": self.noisy, "restored": self.restored})


def heat_map(
    mechanism: Any,
    counts: Any,
    grid: Grid,
    *,
    method: str = "cv",
    iterations: int | None = None,
    progress: bool | None = None,
) -> HeatMap:
    """The map that a mechanism's reports on ``grid`` came from, as a :class:`HeatMap`.

    ``counts`` are of reports in cells: ``grid.count(x, y)``, ``grid.count_latlon(latitude, longitude)`` or
    ``grid.count_cells(cells)``, added up over batches. The mechanism is a `PlanarLaplace` on points, which are taken to
    be uniform within their cells, or one on cells: `GridLaplace`, `GridGeometric`, `KRR`, or any channel. What was
    reported outside the grid must have been clamped onto its border, as counting does.

    ``method="cv"`` is :func:`fastdp.estimate`'s default, ``"early"`` and ``"smooth"`` its other rules; ``"ibu"`` takes
    as many steps of the iterative Bayesian update as ``iterations`` says, or goes on to the likeliest map;
    ``"inversion"`` is projected onto the simplex. Up to 512 x 512 cells, by Fourier transforms.

    >>> import fastdp as fd
    >>> grid = Grid(x=(0, 3000), y=(0, 3000), cell=500)
    >>> x, y = np.full(5000, 1200.0), np.full(5000, 800.0)
    >>> mechanism = fd.PlanarLaplace(epsilon=0.01, unit="m", region=grid.bounds)
    >>> reports = mechanism.randomize(x, y, rng=fd.Rng.unsafe_seed(7))
    >>> heat = heat_map(mechanism, grid.count(*reports), grid)
    >>> truth = grid.count(x, y)
    >>> heat.errors(truth).total_variation < heat.noisy_errors(truth).total_variation
    True
    """
    validation.one_of("heat_map", "method", method, METHODS)
    if iterations is not None and method != "ibu":
        raise ParameterError('heat_map: iterations are for method="ibu"; the other methods choose their own')
    if iterations is not None:
        iterations = validation.positive_integer("heat_map", "iterations", iterations)
    if not isinstance(grid, Grid):
        raise ParameterError("heat_map: grid must be a Grid")
    channel = channel_on(grid, mechanism)
    cells = np.asarray(counts)
    if cells.shape not in {grid.shape, (grid.size,)}:
        raise ParameterError(f"heat_map: counts must be as the grid is, {grid.shape}, got {cells.shape}")
    flat = cells.reshape(-1)
    if method == "inversion":
        p, name, steps = invert(channel, flat, project="simplex"), "inversion, projected onto the simplex", 0
    else:
        if method == "ibu":
            how = "auto" if iterations is None else "em"
            found = ibu(channel, flat, method=how, max_iterations=iterations, progress=progress)
        else:
            found = estimate(channel, flat, regularize=method, shape=grid.shape, progress=progress)
        p, name, steps = found.distribution, found.method, found.iterations
    return HeatMap(grid, cells.reshape(grid.shape), p.reshape(grid.shape), name, steps)
