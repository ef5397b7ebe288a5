"""What a remap must know of the noise whose reports it replaces."""

from __future__ import annotations

from fastdp.mechanisms.annotations import OptionalPair, Region
from fastdp.mechanisms.base import PointMechanism


class PlanarNoise(PointMechanism):
    """Noise on points whose density is proportional to e**(-epsilon |z|), ``epsilon`` per ``unit``.

    Reports on the plane are clamped to ``region``, if there is one; those on the globe are on the plane that touches it
    at ``origin``.
    """

    __slots__ = ()
    epsilon: float
    unit: str
    region: Region
    origin: OptionalPair
