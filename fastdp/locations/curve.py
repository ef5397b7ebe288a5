"""What other epsilons would give: reports simulated from a map, and restored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.estimators.estimate import estimate
from fastdp.locations.errors import MapErrors, compare, gather
from fastdp.locations.grid import Grid
from fastdp.locations.mechanisms import channel_on, make_mechanism

FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
LARGEST_SIMULATED = 2_500
"""Cells; a larger map is simulated in blocks of them."""
SEED = 20261116


@dataclass(frozen=True, slots=True, eq=False)
class CurvePoint:
    """Errors at one epsilon, per unit of the grid."""

    epsilon: float
    noisy: MapErrors
    restored: MapErrors


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Privacy against utility: errors by epsilon, simulated from the map called ``basis`` on cells of side ``cell``."""

    basis: str
    cell: float
    points: tuple[CurvePoint, ...]

    def to_dict(self) -> dict[str, Any]:
        """The curve, for JSON."""
        points = [
            {"epsilon": point.epsilon, "noisy": point.noisy.to_dict(), "restored": point.restored.to_dict()}
            for point in self.points
        ]
        return {"simulated_from": self.basis, "cell": self.cell, "points": points}


def trace_curve(grid: Grid, mechanism: str, epsilon: float, shares: np.ndarray, n: int, basis: str) -> Curve:
    """Errors of as many reports through the mechanism's channel, at multiples of epsilon from a quarter to four.

    Simulated from the map alone: of a map that is private, this is private too.
    """
    block = 1
    while gather(shares, block).size > LARGEST_SIMULATED:
        block += 1
    cells = gather(shares, block)
    rows, columns = (side * grid.cell * block for side in cells.shape)
    coarse = Grid(
        x=(grid.x[0], grid.x[0] + columns), y=(grid.y[1] - rows, grid.y[1]), cell=grid.cell * block, unit=grid.unit
    )
    source, points = np.random.default_rng(SEED), []
    for factor in FACTORS:
        try:
            channel = channel_on(coarse, make_mechanism(coarse, mechanism, factor * epsilon))
        except ParameterError:  # beyond what the mechanism can resolve on such cells
            continue
        chances = channel.forward(cells.reshape(-1))
        counts = source.multinomial(n, chances / chances.sum())
        found = estimate(channel, counts, progress=False).distribution
        points.append(CurvePoint(factor * epsilon, compare(coarse, counts, cells), compare(coarse, found, cells)))
    return Curve(basis, coarse.cell, tuple(points))
