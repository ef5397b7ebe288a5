"""The WGS 84 ellipsoid: constants that kernels bake in live among the kernels, so that the compile cache sees them."""

from __future__ import annotations

AXIS, FLATTENING = 6378137.0, 1 / 298.257223563
"""The longer half-axis in metres, and by how much of it the other one is shorter."""
SQUARED = FLATTENING * (2 - FLATTENING)
"""The square of the eccentricity."""
