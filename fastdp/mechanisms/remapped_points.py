"""The optimal remap of planar noise: each noisy point replaced by the place that loses least given it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.columns.numeric import Nulls
from fastdp.columns.points import PointColumns, read_points
from fastdp.errors import ParameterError
from fastdp.measures.inputs import read_numbers
from fastdp.measures.payoff import named_payoff
from fastdp.mechanisms.additive import set_fields
from fastdp.mechanisms.finite import read_prior
from fastdp.mechanisms.planar_laplace import PlanarLaplace
from fastdp.plane import Plane
from fastdp.privacy import Privacy
from fastdp.quantities import METRES
from fastdp.random.rng import Rng

LARGEST_PLACES = 4096
AT_ONCE = 1 << 22
"""Weights of reports and places that are held together; 32 MB."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RemappedPoints:
    """The reports of planar Laplace noise, each replaced by the place with the least expected loss given it.

    As private as ``mechanism``, a PlanarLaplace without a region: it is post-processing. ``places`` are pairs of
    coordinates in the mechanism's unit, or latitudes and longitudes where it has an origin, and ``prior`` their
    probabilities or counts, public or estimated from private reports. ``loss`` is ``"absolute"`` (the distance),
    ``"squared"`` or ``"zero-one"``. People are taken to be at the places; for people elsewhere it is as private.

    Time goes with reports x places, and x places once more for the losses. [Chatzikokolakis, Elsalamouny,
    Palamidessi 2017]

    >>> import fastdp as fd
    >>> noise = fd.PlanarLaplace(epsilon=5.0, unit="km")
    >>> mechanism = fd.RemappedPoints(mechanism=noise, places=[(0, 0), (9, 9)], prior=[0.5, 0.5])
    >>> mechanism.randomize([0.0, 9.0, 8.9], [0.1, 9.0, 9.1])
    ([0.0, 9.0, 9.0], [0.0, 9.0, 9.0])
    >>> mechanism.privacy == noise.privacy
    True
    """

    mechanism: Any
    places: Any
    prior: Any
    loss: Any = "absolute"
    _flat: np.ndarray = field(init=False, repr=False)
    _losses: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        owner = "RemappedPoints"
        mechanism = self.mechanism
        if not isinstance(mechanism, PlanarLaplace) or mechanism.region is not None:
            raise ParameterError(f"{owner}: mechanism must be a PlanarLaplace without a region")
        places = read_numbers(owner, "places", self.places, 2)
        if places.shape[1] != 2 or len(places) > LARGEST_PLACES:
            raise ParameterError(f"{owner}: places must be 1 to {LARGEST_PLACES} pairs of numbers")
        places.setflags(write=False)
        flat = places
        if mechanism.origin is not None:
            plane = Plane(owner, *mechanism.origin)
            flat = np.stack(plane.project(*places.T), axis=1) / METRES[mechanism.unit]
        prior = read_prior(owner, self.prior, len(places))
        loss = validation.one_of(owner, "loss", self.loss, ("absolute", "squared", "zero-one"))
        losses = named_payoff(owner, "loss", loss, flat, flat).part(slice(None), slice(None))
        set_fields(self, places=places, prior=prior, _flat=flat, _losses=losses)

    @property
    def privacy(self) -> Privacy:
        """The mechanism's own guarantee: post-processing costs nothing."""
        return self.mechanism.privacy  # type: ignore[no-any-return]

    def randomize(self, x: Any, y: Any = None, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One place per point, as two columns in the caller's own kinds of container, or in one of both.

        Latitudes and longitudes where the mechanism has an origin, else coordinates in its unit.
        """
        owner, mechanism = "RemappedPoints", self.mechanism
        missing = mechanism.origin or (0.0, 0.0)
        points = read_points(owner, x, y, nulls=nulls, missing=missing)
        draw = mechanism.randomize if mechanism.origin is None else mechanism.randomize_latlon
        reports = draw(*points.flat(owner), rng=rng)
        if mechanism.origin is not None:
            plane = Plane(owner, *mechanism.origin)
            reports = [part / METRES[mechanism.unit] for part in plane.project(*reports)]
        return self._place(points, self.guess(np.stack(reports, axis=1)))

    def guess(self, reports: np.ndarray) -> np.ndarray:
        """For each report, a pair of coordinates on the plane, the number of the place that loses least."""
        possible = np.flatnonzero(self.prior)
        logs, sites = np.log(self.prior[possible]), self._flat[possible]
        chosen = np.empty(len(reports), np.intp)
        step = max(1, AT_ONCE // len(self.prior))
        for start in range(0, len(reports), step):
            some = reports[start : start + step]
            apart = np.hypot(some[:, [0]] - sites[:, 0], some[:, [1]] - sites[:, 1])
            scores = logs - self.mechanism.epsilon * apart
            scores -= scores.max(axis=1, keepdims=True)
            chosen[start : start + step] = (np.exp(scores) @ self._losses[:, possible].T).argmin(axis=1)
        return chosen

    def _place(self, points: PointColumns, chosen: np.ndarray) -> Any:
        results = self.places[chosen].T
        return points.rebuild([
            part.astype(column.result_dtype) for part, column in zip(results, points.columns, strict=True)
        ])  # fmt: skip
