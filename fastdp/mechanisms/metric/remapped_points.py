"""The optimal remap of planar noise: each noisy point replaced by the place that loses least given it."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp import validation
from fastdp.columns.numeric import Nulls
from fastdp.columns.points import read_points
from fastdp.errors import ParameterError
from fastdp.measures.inputs import read_numbers
from fastdp.measures.payoff import named_payoff
from fastdp.mechanisms.annotations import NumberMatrix, NumberVector, computed, frozen
from fastdp.mechanisms.base import Mechanism, set_fields
from fastdp.mechanisms.metric.finite import read_prior
from fastdp.mechanisms.metric.planar_noise import PlanarNoise
from fastdp.plane import Plane
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.threads import BLOCK
from fastdp.typing import Column
from fastdp.units.lengths import METRES

LARGEST_PLACES = 4096
AT_ONCE = 1 << 18
"""Weights of reports and places that are held together: some six temporary arrays of 2 MiB."""


@frozen(eq=False)
class RemappedPoints(Mechanism):
    """The reports of planar Laplace noise, each replaced by the place with the least expected loss given it.

    As private as ``mechanism``, a PlanarLaplace without a region: it is post-processing. ``places`` are pairs of
    coordinates in the mechanism's unit, or latitudes and longitudes where it has an origin, and ``prior`` their
    probabilities or counts, public or estimated from private reports. ``loss`` is ``"absolute"`` (the distance),
    ``"squared"`` or ``"zero-one"``. People are taken to be at the places; for people elsewhere it is as private.

    Time goes with reports x places, and x places once more for the losses. [Chatzikokolakis, Elsalamouny,
    Palamidessi 2017]

    Parameters
    ----------
    mechanism
        The planar mechanism whose reports are remapped.
    places
        The coordinates of the places people may be at, x and y in rows.
    prior
        The weight of each place.
    loss
        The loss whose expectation is minimised: "absolute" (the distance), "squared" or "zero-one".

    >>> import fastdp as fd
    >>> noise = fd.PlanarLaplace(epsilon=5.0, unit="km")
    >>> mechanism = fd.RemappedPoints(mechanism=noise, places=[(0, 0), (9, 9)], prior=[0.5, 0.5])
    >>> mechanism.randomize([0.0, 9.0, 8.9], [0.1, 9.0, 9.1])
    ([0.0, 9.0, 9.0], [0.0, 9.0, 9.0])
    >>> mechanism.privacy == noise.privacy
    True
    """

    mechanism: PlanarNoise
    places: NumberMatrix
    prior: NumberVector
    loss: str = "absolute"
    _flat: np.ndarray = computed(compare=True)
    _losses: np.ndarray = computed(compare=True)

    def __post_init__(self) -> None:
        owner = "RemappedPoints"
        mechanism = self.mechanism
        if not isinstance(mechanism, PlanarNoise) or mechanism.region is not None:
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

    def __eq__(self, other: object) -> bool:
        """Whether both replace the reports of equal mechanisms by the same places, for the same prior and loss."""
        if not isinstance(other, RemappedPoints) or (self.mechanism, self.loss) != (other.mechanism, other.loss):
            return False
        return np.array_equal(self.places, other.places) and np.array_equal(self.prior, other.prior)

    def __hash__(self) -> int:
        return hash((RemappedPoints, self.mechanism, self.places.tobytes()))

    @property
    def privacy(self) -> Privacy:
        """The mechanism's own guarantee: post-processing costs nothing."""
        return self.mechanism.privacy

    def randomize(self, x: Column, y: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One place per point, as two columns in the caller's own kinds of container, or in one of both.

        Latitudes and longitudes where the mechanism has an origin, else coordinates in its unit.

        Parameters
        ----------
        x, y, rng, nulls
            As in `PointMechanism.randomize`.
        """
        owner, mechanism = "RemappedPoints", self.mechanism
        missing = mechanism.origin or (0.0, 0.0)
        points = read_points(owner, x, y, nulls=nulls, missing=missing)
        rng, results = resolve(owner, rng), points.begin()
        for first, last in points.spans():
            for start in range(first, last, BLOCK):
                stop = min(start + BLOCK, last)
                chosen = self.guess(self._draw(points.read(owner, start, stop), rng))
                results.fill(start, stop, self.places[chosen].T)
        return results.finish()

    def _draw(self, values: list[np.ndarray], rng: Rng) -> np.ndarray:
        """Noisy points on the plane, a row for each."""
        mechanism, values = self.mechanism, [part.astype(np.float64) for part in values]
        if mechanism.origin is None:
            return np.stack(mechanism.randomize(*values, rng=rng), axis=1)
        plane = Plane("RemappedPoints", *mechanism.origin)
        reports = plane.project(*mechanism.randomize_latlon(*values, rng=rng))
        return np.stack([part / METRES[mechanism.unit] for part in reports], axis=1)

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
