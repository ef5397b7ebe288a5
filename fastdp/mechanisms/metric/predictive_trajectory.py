"""Repeated reports of one person: predict, test, and spend only if the prediction is too far off."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.visits import Visits
from fastdp.errors import ParameterError
from fastdp.mechanisms.annotations import computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.central.geometric import Geometric
from fastdp.mechanisms.central.parameters import check_rate
from fastdp.mechanisms.metric.planar_laplace import ROOT_TWO, SMALLEST_FLOAT, PlanarLaplace
from fastdp.mechanisms.metric.trajectory import Trajectories
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng

FARTHEST = float(1 << 30)
"""Steps each way beyond which two points count as no farther apart, so that squares fit 64 bits."""


@frozen()
class PredictiveTrajectory(Trajectories):
    """Report a person's last report again while it is near enough, by a private test, and spend on a new one if not.

    Each point after a person's first is compared with the last report: d(point, report) plus discrete Laplace noise of
    ``test_epsilon`` per unit, in whole steps of the grid, against ``threshold`` units. Below it the last report is
    given again; above it ``mechanism``, a PlanarLaplace, draws a new one. Every test costs, and every new report: a
    person who stays pays little more than for the tests.

    The cost is for two trajectories with the same times, all of whose points differ by up to one unit: the sum over
    the tests and the new reports, both of which can be seen in what is released. So what a run has cost depends on what
    came out. A guarantee from the start needs ``budget``, the epsilon that no person's trajectory exceeds: once a test
    and a new report no longer fit, the last report is repeated untested and for nothing.

    Vectorised over people: time goes with the longest trajectory, not with the number of points alone.
    [Chatzikokolakis, Palamidessi, Stronati 2014]

    Parameters
    ----------
    mechanism
        The planar mechanism that makes new reports.
    threshold
        The distance from the last report, in units, up to which it is repeated.
    test_epsilon
        The privacy of one test, per unit of distance.
    budget
        The largest epsilon that one person's trajectory may cost; without it there is no guarantee from the start.

    >>> import fastdp as fd
    >>> noise = fd.PlanarLaplace(epsilon=2.0, unit="km")
    >>> mechanism = fd.PredictiveTrajectory(mechanism=noise, threshold=30.0, test_epsilon=0.5)
    >>> reports = mechanism.randomize([7, 7, 7], [1, 2, 3], [0.0, 0.1, 0.2], [5.0, 5.0, 5.1])
    >>> reports.is_new.tolist(), reports.x[0] == reports.x[2]
    ([True, False, False], True)
    >>> round(reports.privacy.epsilon, 2)  # 2 + 2 * 0.5, not 3 * 2
    3.01
    """

    mechanism: PlanarLaplace
    threshold: float
    test_epsilon: float
    budget: float | None = None
    _noise: Any = computed()

    def __post_init__(self) -> None:
        owner = "PredictiveTrajectory"
        self._check_mechanism()
        threshold = validation.positive(owner, "threshold", self.threshold)
        test_epsilon = validation.positive(owner, "test_epsilon", self.test_epsilon)
        step = self.mechanism.granularity
        if not threshold / step < FARTHEST:
            raise ParameterError(f"{owner}: threshold must be below 2**30 steps of the mechanism's grid")
        rate = max(test_epsilon * step, SMALLEST_FLOAT)
        check_rate(owner, rate, 1)
        noise = Geometric(scale=1 / rate, sensitivity=1)
        set_fields(self, threshold=threshold, test_epsilon=test_epsilon, _noise=noise)
        if self.budget is not None:
            budget = validation.positive(owner, "budget", self.budget)
            if self._prices[1] > budget:
                raise ParameterError(
                    f"{owner}: a first report costs {float(self._prices[1]):.6g}, more than the budget {budget:g}"
                )
            set_fields(self, budget=budget)

    @property
    def privacy(self) -> Privacy:
        """The budget that no trajectory exceeds; without one the cost depends on the points, and reports state it."""
        if self.budget is None:
            raise ParameterError(
                "PredictiveTrajectory: without a budget the cost of a trajectory depends on its points; read the "
                "privacy of its reports, or privacy_of a number of points"
            )
        return Privacy(epsilon=self.budget, unit=self._unit(), neighbours="replace")

    @property
    def _prices(self) -> tuple[Fraction, Fraction]:
        """For points up to one unit apart.

        A distance in whole steps changes by less than the points are apart once they are rounded, and one more: that is
        a unit and sqrt(2) + 1 steps. The points being farther apart by a factor costs at most so many times as much.
        """
        steps = self.mechanism.steps_apart(Fraction(1)) + ROOT_TWO + 1
        return Fraction(self._noise.privacy.epsilon) * steps, Fraction(self.mechanism.epsilon_at(1.0))

    def _unit(self) -> str:
        return f"1 {self.mechanism.unit}"

    def privacy_of(self, points: int) -> Privacy:
        """The most that a trajectory of so many points can cost, whatever comes out.

        Parameters
        ----------
        points
            The number of points of a trajectory.
        """
        points = validation.positive_integer("PredictiveTrajectory.privacy_of", "points", points)
        test, report = self._prices
        epsilon = rounding.sum_up(((points - 1) * test, points * report))
        if self.budget is not None:
            epsilon = min(epsilon, self.budget)
        return Privacy(epsilon=epsilon, unit=self._unit(), neighbours="replace")

    def _walk(
        self, visits: Visits, x: np.ndarray, y: np.ndarray, mechanism: PlanarLaplace, rng: Rng
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        reports = np.empty((2, x.size))
        is_new, is_tested = np.zeros(x.size, bool), np.zeros(x.size, bool)
        # Longest first, so that those who still move are the first so many.
        people = np.argsort(-visits.lengths, kind="stable")
        last = np.empty((2, people.size))
        tests, drawn = np.zeros(people.size, np.int64), np.zeros(people.size, np.int64)
        affords = self._affordable(int(visits.lengths.max(initial=0)))
        lengths = visits.lengths[people]
        for moment in range(int(visits.lengths.max(initial=0))):
            count = int(np.searchsorted(-lengths, -moment, "left"))
            rows = visits.order[visits.first[people[:count]] + moment]
            if moment == 0:
                moving = np.ones(count, bool)
            else:
                tested = affords(tests[:count], drawn[:count])
                moving = np.zeros(count, bool)
                here = np.flatnonzero(tested)
                moving[here] = self._is_far(x[rows[here]], y[rows[here]], last[:, here], rng)
                tests[here] += 1
                is_tested[rows[here]] = True
            fresh = np.flatnonzero(moving)
            if fresh.size:
                last[:, fresh] = mechanism.randomize(x[rows[fresh]], y[rows[fresh]], rng=rng)
                drawn[fresh] += 1
                is_new[rows[fresh]] = True
            reports[:, rows] = last[:, :count]
        return reports[0], reports[1], is_new, is_tested

    def _is_far(self, x: np.ndarray, y: np.ndarray, last: np.ndarray, rng: Rng) -> np.ndarray:
        """The private test, of whole steps and integer noise; all coordinates are on the grid."""
        step = self.mechanism.granularity
        away = np.clip((np.stack((x, y)) - last) / step, -FARTHEST, FARTHEST).astype(np.int64)
        noisy: np.ndarray = self._noise.randomize(_root(away[0] ** 2 + away[1] ** 2), rng=rng)
        return noisy > math.floor(self.threshold / step)

    def _affordable(self, points: int) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
        """Whether one more test and one more report fit the budget, exactly, after so many of both."""
        if self.budget is None:
            return lambda tests, _drawn: np.ones(tests.size, bool)
        test, report = self._prices
        budget = Fraction(self.budget)
        most = np.array([min(max(-1, (budget - r * report) // test), points) for r in range(points + 2)], np.int64)
        return lambda tests, drawn: tests + 1 <= most[drawn + 1]


def _root(squares: np.ndarray) -> np.ndarray:
    """Square roots of integers, rounded down, exactly."""
    roots = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    roots -= roots * roots > squares
    roots += (roots + 1) * (roots + 1) <= squares
    return roots
