"""Repeated reports of one person: the same place is answered the same way, and paid for once."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fastdp.columns.visits import Visits
from fastdp.mechanisms.annotations import frozen
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.mechanisms.metric.trajectory import Trajectories
from fastdp.random.rng import Rng


@frozen()
class MemoizedTrajectory(Trajectories):
    """Report the same cell of one person the same way every time: home is asked for daily and paid for once.

    ``mechanism`` is a PlanarLaplace, and cells are those of its grid: a coarse ``granularity`` makes places of them. A
    person pays for each different cell once, in one call. What is not hidden is which points share a cell, and so that
    a person came back: the cost is for two trajectories that return at the same times, whose points differ by up to one
    unit. Where that itself is secret, use `PredictiveTrajectory`.

    [Erlingsson, Pihur, Korolova 2014; Andres et al. 2013]

    Parameters
    ----------
    mechanism
        The planar mechanism that makes new reports.

    >>> import fastdp as fd
    >>> mechanism = fd.MemoizedTrajectory(mechanism=fd.PlanarLaplace(epsilon=2.0, unit="km", granularity=0.25))
    >>> reports = mechanism.randomize(["ada"] * 3, [1, 2, 3], [0.0, 9.0, 0.1], [5.0, 5.0, 5.1])
    >>> reports.x[0] == reports.x[2], reports.is_new.tolist()
    (True, [True, True, False])
    """

    mechanism: PlanarLaplace

    def __post_init__(self) -> None:
        self._check_mechanism()

    @property
    def _prices(self) -> tuple[Fraction, Fraction]:
        return Fraction(0), Fraction(self.mechanism.epsilon_at(1.0))

    def _unit(self) -> str:
        return f"1 {self.mechanism.unit}, returns shown"

    def _walk(
        self, visits: Visits, x: np.ndarray, y: np.ndarray, mechanism: PlanarLaplace, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        order = visits.order
        # Stable, so that of equal cells the earliest comes first.
        by_cell = order[np.lexsort((y[order], x[order], visits.persons[order]))]
        keys = np.stack((visits.persons[by_cell], x[by_cell], y[by_cell]))
        begins = np.append(True, (keys[:, 1:] != keys[:, :-1]).any(axis=0))[: x.size]
        firsts, which = by_cell[begins], np.cumsum(begins) - 1
        drawn = mechanism.randomize(x[firsts], y[firsts], rng=rng)
        reports = np.empty((2, x.size))
        reports[:, by_cell] = np.stack(drawn)[:, which]
        is_new = np.zeros(x.size, bool)
        is_new[firsts] = True
        return reports[0], reports[1], is_new, np.zeros(x.size, bool)
