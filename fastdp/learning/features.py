"""Features within declared bounds: rows of the unit ball, by a map that does not depend on the data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.typing import Numbers

Bounds = Sequence[float | Numbers]
"""A pair (low, high), of one number each or of one per feature."""
EDGE = 1 - 2.0**-40
"""Rows end just inside the unit ball, whatever the products after are rounded by."""


@dataclass(frozen=True, slots=True)
class UnitBall:
    """Rows (x - centre) / scale, clipped to the unit ball together with a constant column for the intercept.

    A row z of norm at most ``radius`` becomes (z / radius, c) / sqrt(1 + c**2), c the ``intercept_scale``.
    """

    centre: np.ndarray
    scale: np.ndarray
    radius: float
    intercept_scale: float

    @classmethod
    def read(
        cls, owner: str, features: int, bounds: Bounds | None, radius: float | None, intercept_scale: float
    ) -> UnitBall:
        """From the declared ``bounds`` of the features, or the largest norm of a row, or both; neither is refused."""
        if bounds is None and radius is None:
            raise ParameterError(
                f"{owner}: declare what the features can be: bounds=(low, high), one number or one per feature, or "
                "radius, the largest norm of a row; they must not be computed from the data"
            )
        centre, scale = np.zeros(features), np.ones(features)
        if bounds is not None:
            low, high = _read_bounds(owner, features, bounds)
            centre, scale = (low + high) / 2, (high - low) / 2
        chosen = math.sqrt(features) if radius is None else validation.positive(owner, "radius", radius)
        return cls(centre, scale, chosen, validation.positive(owner, "intercept_scale", intercept_scale))

    def rows(self, X: np.ndarray) -> np.ndarray:
        """The rows, of norm at most 1 each; features beyond their bounds are clamped."""
        z = (X - self.centre) / self.scale
        if self.scale.size and not (self.scale == 1).all():
            np.clip(z, -1, 1, out=z)
        norms = np.sqrt(np.einsum("ij,ij->i", z, z))
        z *= (1 / np.maximum(norms, self.radius))[:, None]
        constant = np.full((len(z), 1), self.intercept_scale)
        return np.asarray(np.hstack([z, constant]) * (EDGE / math.sqrt(1 + self.intercept_scale**2)))

    def coefficients(self, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coefficients and intercepts for the features as they were given, of weights (outputs, features + 1)."""
        shrink = EDGE / math.sqrt(1 + self.intercept_scale**2)
        coef = weights[:, :-1] * shrink / (self.radius * self.scale)
        return coef, weights[:, -1] * shrink * self.intercept_scale - coef @ self.centre


def _read_bounds(owner: str, features: int, bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise ParameterError(f"{owner}: bounds must be a pair (low, high), of one number each or one per feature")
    low, high = (validation.floats(owner, "bounds", side) for side in bounds)
    if not all(side.shape in ((), (features,)) for side in (low, high)):
        raise ParameterError(f"{owner}: bounds must be two numbers, or two arrays of {features} numbers")
    low, high = np.broadcast_to(low, features).astype(float), np.broadcast_to(high, features).astype(float)
    if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        raise ParameterError(f"{owner}: bounds must be finite numbers with low < high")
    return low, high
