"""Places: grids over the map, the heat map behind noisy reports, and the experiment that compares mechanisms."""

from fastdp.locations.errors import MapErrors, compare
from fastdp.locations.grid import Grid
from fastdp.locations.heat import HeatMap, heat_map
from fastdp.locations.lecture import lecture
from fastdp.locations.survey import Survey, survey
from fastdp.locations.synthetic import clustered_checkins

__all__ = [
    "Grid", "HeatMap", "MapErrors", "Survey", "clustered_checkins", "compare", "heat_map", "lecture", "survey",
]  # fmt: skip
