"""Trajectories: many reports of each person, and what they cost together."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding
from fastdp.columns.points import read_points
from fastdp.columns.visits import Visits
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import Mechanism
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.plane import Plane
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column
from fastdp.units.lengths import METRES


@dataclass(frozen=True, slots=True, eq=False)
class TrajectoryReports:
    """One report per point, in the order of the rows that were given, and what they cost.

    ``x`` and ``y`` (or latitudes and longitudes) are in the caller's kinds of container. ``is_new`` marks the rows that
    were drawn anew, ``is_tested`` which were tested first; ``costs`` has each row's epsilon. ``persons`` are the
    different people and ``spent`` the epsilon of all the rows of each. All are for points that differ by up to one
    unit, and rounded up. ``privacy`` is that of the person with the highest cost.
    """

    x: Column
    y: Column
    is_new: np.ndarray
    is_tested: np.ndarray
    costs: np.ndarray
    persons: np.ndarray
    spent: np.ndarray
    privacy: Privacy

    def __repr__(self) -> str:
        return (
            f"TrajectoryReports({self.is_new.size:,} points of {self.persons.size:,} people, {int(self.is_new.sum()):,}"
            f" reported anew, {self.privacy!r})"
        )


@dataclass(frozen=True, slots=True)
class _Points:
    """Points on the grid of a mechanism on a plane, and how reports become what was given."""

    x: np.ndarray
    y: np.ndarray
    mechanism: PlanarLaplace
    close: Callable[[np.ndarray, np.ndarray], Any]


def _snap(owner: str, mechanism: PlanarLaplace, parts: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Points moved to the nearest of the mechanism's grid, as it does itself."""
    x, y = (np.empty_like(part) for part in parts)
    for grid, part, out in zip(mechanism.grids(owner), parts, (x, y), strict=True):
        grid.add(part, np.zeros(part.size, np.int64), out)
    return x, y


def _open_points(owner: str, mechanism: PlanarLaplace, x: Column, y: Column) -> _Points:
    points = read_points(owner, x, y)

    def close(x: np.ndarray, y: np.ndarray) -> Any:
        return points.rebuild([part.astype(c.result_dtype) for part, c in zip((x, y), points.columns, strict=True)])

    return _Points(*_snap(owner, mechanism, points.flat(owner)), mechanism, close)


def _open_latlon(owner: str, mechanism: PlanarLaplace, latitude: Column, longitude: Column) -> _Points:
    flat = mechanism.on_plane()
    points = read_points(owner, latitude, longitude)
    plane, metres = Plane(owner, *mechanism.public_origin()), METRES[mechanism.unit]

    def close(x: np.ndarray, y: np.ndarray) -> Any:
        parts = plane.unproject(x * metres, y * metres)
        return points.rebuild([part.astype(c.result_dtype) for part, c in zip(parts, points.columns, strict=True)])

    projected = [part / metres for part in plane.project(*points.flat(owner))]
    return _Points(*_snap(owner, flat, projected), flat, close)


class Trajectories(Mechanism):
    """Mechanisms that report trajectories: reading, composition and reports."""

    __slots__ = ()
    mechanism: PlanarLaplace

    def _check_mechanism(self) -> None:
        if not isinstance(self.mechanism, PlanarLaplace):
            raise ParameterError(
                f"{type(self).__name__}: mechanism must be a PlanarLaplace, got {type(self.mechanism).__name__}"
            )

    @property
    def privacy(self) -> Privacy:
        """Refused: what a trajectory costs depends on its points, and its reports state it."""
        raise ParameterError(
            f"{type(self).__name__}: what a trajectory costs depends on its points; randomize it and read the privacy "
            "of its reports"
        )

    @property
    @abstractmethod
    def _prices(self) -> tuple[Fraction, Fraction]:
        """What a test costs and what a new report costs."""

    @abstractmethod
    def _unit(self) -> str:
        """What the costs protect."""

    @abstractmethod
    def _walk(
        self, visits: Visits, x: np.ndarray, y: np.ndarray, mechanism: PlanarLaplace, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Reports of points on the grid, and which rows were drawn anew and which were tested."""

    def randomize(
        self, persons: Column, times: Column, x: Column, y: Column, *, rng: Rng | None = None
    ) -> TrajectoryReports:
        """One report per point, and what it cost; rows in any order, who and when are public.

        ``persons`` are integers or strings, ``times`` numbers or timestamps. A person's whole trajectory belongs in one
        call: the next call knows nothing of it, and its costs add up.

        Parameters
        ----------
        persons
            Whose the values are, one identifier per value.
        times
            When each point was visited; any type that can be sorted.
        x
            The first coordinates; or both, in one container of two columns.
        y
            The second coordinates, where they are a column of their own.
        rng
            Where randomness comes from; by default the process's own stream, keyed by the operating system.
        """
        return self._report(persons, times, _open_points(type(self).__name__, self.mechanism, x, y), rng)

    def randomize_latlon(
        self, persons: Column, times: Column, latitude: Column, longitude: Column, *, rng: Rng | None = None
    ) -> TrajectoryReports:
        """The same for latitudes and longitudes, on the plane that touches the globe at the mechanism's origin.

        Parameters
        ----------
        persons, times, rng
            As in `randomize`.
        latitude, longitude
            Degrees of the points.
        """
        return self._report(persons, times, _open_latlon(type(self).__name__, self.mechanism, latitude, longitude), rng)

    def _report(self, persons: Column, times: Column, points: _Points, rng: Rng | None) -> TrajectoryReports:
        owner = type(self).__name__
        rng = resolve(owner, rng)
        visits = Visits.read(owner, persons, times, points.x.size)
        x, y, is_new, is_tested = self._walk(visits, points.x, points.y, points.mechanism, rng)
        return self._bill(visits, points.close(x, y), is_new, is_tested)

    def _bill(
        self, visits: Visits, reports: tuple[Any, Any], is_new: np.ndarray, is_tested: np.ndarray
    ) -> TrajectoryReports:
        test, report = self._prices
        size = len(visits.names)
        counted = [np.bincount(visits.persons[rows], minlength=size) for rows in (is_tested, is_new)]
        pairs, which = np.unique(np.stack(counted, axis=1), axis=0, return_inverse=True)
        totals = np.array([rounding.sum_up((int(t) * test, int(r) * report)) for t, r in pairs])
        each = np.array([[rounding.sum_up((t * test, r * report)) for r in (0, 1)] for t in (0, 1)])
        spent = totals[which.reshape(-1)] if size else np.zeros(0)
        highest = float(spent.max(initial=rounding.float_up(report)))
        return TrajectoryReports(
            *reports,
            is_new,
            is_tested,
            each[is_tested.astype(int), is_new.astype(int)],
            visits.names,
            spent,
            Privacy(epsilon=highest, unit=self._unit(), neighbours="replace"),
        )
