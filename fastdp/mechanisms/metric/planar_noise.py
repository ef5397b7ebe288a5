"""What a remap must know of the noise whose reports it replaces."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from fastdp.columns.numeric import Nulls
from fastdp.mechanisms.annotations import OptionalPair, Region
from fastdp.mechanisms.base import Mechanism
from fastdp.random.rng import Rng
from fastdp.typing import Column


class PlanarNoise(Mechanism):
    """Noise on points whose density is proportional to e**(-epsilon |z|), ``epsilon`` per ``unit``.

    Reports on the plane are clamped to ``region``, if there is one; those on the globe are on the plane that touches it
    at ``origin``.
    """

    __slots__ = ()
    epsilon: float
    unit: str
    region: Region
    origin: OptionalPair

    @abstractmethod
    def randomize(self, x: Column, y: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One point per point."""

    @abstractmethod
    def randomize_latlon(
        self, latitude: Column, longitude: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """One latitude and one longitude per point."""
