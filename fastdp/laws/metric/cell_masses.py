"""Masses of offsets between cells of side 1 that noise on a grid is drawn by, each to a small relative error."""

from __future__ import annotations

import numpy as np

from fastdp.channels import planar

ERROR = 2.0**-40
"""The largest relative error of a mass of at least 2**-127 of all; tests compare with 40 digits."""
SPAN = 110.0
"""Beyond this many scales from the outermost offset, less than 2**-60 of its mass is left: ``sqrt(i**2 + v**2) - i``
is at least 50 there for all i of at most 88 scales, beyond which there is no mass of 2**-127."""
LARGEST_RATE, SMALLEST_RATE = 10.0, 1 / 60


def geometric_quarter(rate: float, rows: int, columns: int) -> np.ndarray:
    """Masses e**(-rate |z|), not normalised, of offsets from (0, 0) on; the outermost hold all beyond."""
    return planar.geometric_quarter(rate, rows, columns, SPAN)


def laplace_quarter(rate: float, rows: int, columns: int) -> np.ndarray:
    """Masses of cells under planar Laplace noise, not normalised, from the peak's on; the outermost hold all beyond."""
    return planar.laplace_quarter(rate, rows, columns, SPAN)
