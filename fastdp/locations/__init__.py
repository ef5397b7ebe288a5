"""Places: grids over the map, the heat map behind noisy reports, and the experiment that compares mechanisms on it."""

from fastdp.locations.errors import MapErrors, compare
from fastdp.locations.grid import Grid
from fastdp.locations.heat import HeatMap, heat_map

__all__ = ["Grid", "HeatMap", "MapErrors", "compare", "heat_map"]
