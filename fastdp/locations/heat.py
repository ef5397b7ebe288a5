"""Heat maps estimated from noisy locations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels import Channel
from fastdp.errors import NotIdentifiableError, ParameterError
from fastdp.estimators.estimate import estimate
from fastdp.estimators.ibu import ibu
from fastdp.estimators.inversion import invert
from fastdp.estimators.result import Estimate, Interval
from fastdp.locations.errors import MapErrors, compare
from fastdp.locations.grid import Grid
from fastdp.locations.mechanisms import channel_on
from fastdp.mechanisms.base import Mechanism
from fastdp.renamed import renamed
from fastdp.typing import Matrix, Numbers, Progress

if TYPE_CHECKING:
    import pyarrow as pa

METHODS = ("cv", "early", "smooth", "ibu", "inversion")


@dataclass(frozen=True, slots=True, eq=False)
class HeatMap:
    """Estimated share of people per cell, ``restored`` from counts of reports, as an array with north up."""

    grid: Grid
    counts: np.ndarray
    restored: np.ndarray
    method: str
    """How it was restored."""
    iterations: int
    estimate: Estimate | None = None
    """The estimate behind the restored map; None for an inversion, which has no intervals."""

    def share(self, block: ArrayLike, level: float) -> Interval:
        """Confidence interval of the share of people in a block of cells, given as a mask of the map's shape.

        It covers whatever the true map is. Reports hardly ever determine a single cell; blocks whose sides are a few
        times as long as the noise are well determined.

        Parameters
        ----------
        block
            A truth value for each cell, in the map's shape.
        level
            The probability that an interval holds the truth, between 0 and 1.

        >>> from fastdp.channels import KRRChannel
        >>> grid = Grid(x=(0, 3000), y=(0, 3000), cell=500)
        >>> heat = heat_map(KRRChannel(36, 0.5, 0.5 / 35), np.full((6, 6), 1000), grid)
        >>> west = np.zeros((6, 6), bool)
        >>> west[:, :3] = True
        >>> found = heat.share(west, 0.95)
        >>> found.low < 0.5 < found.high < 0.55
        True
        """
        if self.estimate is None:
            raise NotIdentifiableError("HeatMap: an inversion has no intervals; restore the map by another method")
        mask = np.asarray(block)
        if mask.dtype != bool or mask.shape != self.grid.shape:
            raise ParameterError(f"HeatMap: block must be a mask of the shape of the grid, {self.grid.shape}")
        return self.estimate.share(mask.reshape(-1), level)

    def quadrants(self, level: float) -> dict[str, Interval]:
        """Confidence intervals of the shares of the four quarters of the map.

        Parameters
        ----------
        level
            The probability that an interval holds the truth, between 0 and 1.
        """
        rows, columns = (np.arange(side) < (side + 1) // 2 for side in self.grid.shape)
        return {
            f"{north}-{west}": self.share(np.outer(rows == (north == "north"), columns == (west == "west")), level)
            for north in ("north", "south")
            for west in ("west", "east")
        }

    @property
    def noisy(self) -> np.ndarray:
        """The share of reports per cell."""
        shares: np.ndarray = self.counts / self.counts.sum()
        return shares

    def errors(self, truth: Matrix | Numbers) -> MapErrors:
        """How far the restored map is from the true one, counts or parts.

        Parameters
        ----------
        truth
            The true map: counts or shares of the cells.
        """
        return compare(self.grid, self.restored, truth)

    def noisy_errors(self, truth: Matrix | Numbers) -> MapErrors:
        """How far the reports are from the true map.

        Parameters
        ----------
        truth
            The true map: counts or shares of the cells.
        """
        return compare(self.grid, self.noisy, truth)

    def to_arrow(self) -> pa.Table:
        """A row per cell."""
        from fastdp.locations.tables import grid_table

        return grid_table(self.grid, {"noisy": self.noisy, "restored": self.restored})


@renamed(iterations="max_iterations")
def heat_map(
    mechanism: Mechanism | Channel,
    counts: Matrix | Numbers,
    grid: Grid,
    *,
    method: str = "cv",
    max_iterations: int | None = None,
    progress: Progress | bool | None = None,
) -> HeatMap:
    """Estimate the map behind a mechanism's reports on ``grid``, as a :class:`HeatMap`.

    ``counts`` are of reports in cells: ``grid.count(x, y)``, ``grid.count_latlon(latitude, longitude)`` or
    ``grid.count_cells(cells)``, added up over batches. The mechanism is a `PlanarLaplace` on points, which are taken to
    be uniform within their cells, or one on cells: `GridLaplace`, `GridGeometric`, `KRR`, or any channel. What was
    reported outside the grid must have been clamped onto its border, as counting does.

    ``method="cv"`` is :func:`fastdp.estimate`'s default, ``"early"`` and ``"smooth"`` its other rules; ``"ibu"`` takes
    ``max_iterations`` steps of the iterative Bayesian update, or goes on to the maximum of the likelihood;
    ``"inversion"`` is projected onto the simplex. Up to 512 x 512 cells, by Fourier transforms.

    Parameters
    ----------
    mechanism
        The mechanism on points or cells that the reports come from, or its channel.
    counts
        The number of reports per cell.
    grid
        The cells of the map.
    method
        "cv", "early", "smooth", "ibu" or "inversion".
    max_iterations
        The number of steps of ``method="ibu"``.
    progress
        Called with the steps done and the most there can be. True or False shows a bar, or none; by default there is
        one on a terminal, after two seconds.

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
    if max_iterations is not None and method != "ibu":
        raise ParameterError('heat_map: max_iterations is for method="ibu"; the other methods choose their own')
    if max_iterations is not None:
        max_iterations = validation.positive_integer("heat_map", "max_iterations", max_iterations)
    if not isinstance(grid, Grid):
        raise ParameterError("heat_map: grid must be a Grid")
    channel = channel_on(grid, mechanism)
    cells = np.asarray(counts)
    if cells.shape not in {grid.shape, (grid.size,)}:
        raise ParameterError(f"heat_map: counts must be as the grid is, {grid.shape}, got {cells.shape}")
    flat = cells.reshape(-1)
    if method == "inversion":
        p, name, steps = invert(channel, flat, project="simplex"), "inversion, projected onto the simplex", 0
        found = None
    else:
        if method == "ibu":
            how = "auto" if max_iterations is None else "em"
            found = ibu(channel, flat, method=how, max_iterations=max_iterations, progress=progress)
        else:
            found = estimate(channel, flat, regularize=method, shape=grid.shape, progress=progress)
        p, name, steps = found.distribution, found.method, found.iterations
    return HeatMap(grid, cells.reshape(grid.shape), p.reshape(grid.shape), name, steps, found)
