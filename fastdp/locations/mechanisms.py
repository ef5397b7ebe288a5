"""Mechanisms on a grid's places, and their channels between its cells."""

from __future__ import annotations

import math

from fastdp import validation
from fastdp.channels import Channel, GridChannel
from fastdp.channels.planar import spread_masses
from fastdp.errors import ParameterError
from fastdp.locations.grid import Grid
from fastdp.mechanisms.base import FiniteMechanism, Mechanism
from fastdp.mechanisms.metric.grid import GridLaplace, GridNoise
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.units.lengths import METRES

STEPS_PER_CELL = 32
"""Points are rounded to steps a metre wide, or finer where cells are small: the channel takes them to be anywhere."""
LEAST_STEPS = 4
"""Below, what rounding does to the counts is larger than what there is to see in them."""


def make_mechanism(grid: Grid, kind: str, epsilon: float) -> PlanarLaplace | GridLaplace:
    """Planar Laplace noise on points ("planar"), clamped to the grid, or on its cells ("grid"); epsilon per unit."""
    if validation.one_of("survey", "mechanism", kind, ("planar", "grid")) == "grid":
        return GridLaplace(epsilon=epsilon, shape=grid.shape, cell=grid.cell, unit=grid.unit)
    metre, fine = 1 / METRES[grid.unit], grid.cell / STEPS_PER_CELL
    granularity = 2.0 ** math.floor(math.log2(min(metre, fine)))
    return PlanarLaplace(
        epsilon=epsilon, unit=grid.unit, granularity=granularity, region=grid.bounds, origin=grid.origin
    )


def channel_on(grid: Grid, mechanism: Mechanism | Channel) -> Channel:
    """The channel from the cell where one is to the cell of the report."""
    if isinstance(mechanism, PlanarLaplace):
        _check_region(grid, mechanism)
        if mechanism.granularity * METRES[mechanism.unit] * LEAST_STEPS > grid.cell * METRES[grid.unit]:
            raise ParameterError(
                f"heat_map: cells must be at least {LEAST_STEPS} times as wide as the mechanism's granularity, for "
                "points are rounded to that; take larger cells or a finer granularity"
            )
        rate = mechanism.epsilon * grid.cell * METRES[grid.unit] / METRES[mechanism.unit]
        return GridChannel(spread_masses(rate, grid.shape), grid.shape)
    if not isinstance(mechanism, Channel | FiniteMechanism):
        raise ParameterError(f"heat_map: {type(mechanism).__name__} has no channel between cells")
    channel = mechanism if isinstance(mechanism, Channel) else mechanism.channel()
    shape = mechanism.shape if isinstance(mechanism, GridNoise) else grid.shape
    if channel.shape != (grid.size, grid.size) or shape != grid.shape:
        raise ParameterError(f"heat_map: the mechanism must be on the grid's cells, {grid.shape[0]} x {grid.shape[1]}")
    return channel


def _check_region(grid: Grid, mechanism: PlanarLaplace) -> None:
    """A narrower region would clamp reports inside the grid, where the channel expects none to be."""
    if mechanism.region is None:
        return
    factor = METRES[mechanism.unit] / METRES[grid.unit]
    for (low, high), (first, last) in zip(mechanism.region, grid.bounds, strict=True):
        if low * factor > first + grid.cell / 100 or high * factor < last - grid.cell / 100:
            raise ParameterError("heat_map: the mechanism's region must cover the grid; region=grid.bounds is best")
