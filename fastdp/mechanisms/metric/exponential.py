"""Mechanisms on any finite metric: a matrix of probabilities, realised in integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.channels import DenseChannel
from fastdp.engine.runner import Block
from fastdp.errors import ParameterError
from fastdp.kernels.metric.probability_rows import Rows
from fastdp.laws.metric.probability_rows import arrange, realise_row, to_floats
from fastdp.measures.inputs import read_numbers
from fastdp.mechanisms.annotations import NumberMatrix, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.metric.finite import CodeMechanism
from fastdp.mechanisms.metric.matrix import draw_rows
from fastdp.privacy import Privacy
from fastdp.typing import Matrix

LARGEST_MATRIX = 1024
LOG_ERROR = 2.0**-43
"""How far float64 can be off in a log-ratio of two probabilities that are at least 2**-128."""
SMALLEST_STEP = 2.0**-20
"""Epsilon of the nearest values from which on LOG_ERROR is less than what the exponential mechanism leaves unused."""
TRIANGLE_SLACK = 2.0**-49
"""The part of the largest distance by which rounding may break the triangle inequality."""


def read_distance(owner: str, distance: Matrix) -> np.ndarray:
    """A matrix of distances: symmetric, finite, 0 on the diagonal and above 0 elsewhere; copied, read-only."""
    matrix = read_numbers(owner, "distance", distance, 2)
    if matrix.shape[0] != matrix.shape[1] or not 2 <= len(matrix) <= LARGEST_MATRIX:
        raise ParameterError(f"{owner}: distance must be a square matrix for 2 to {LARGEST_MATRIX} values")
    apart = ~np.eye(len(matrix), dtype=bool)
    if not ((matrix[apart] > 0).all() and (matrix[~apart] == 0).all()):
        raise ParameterError(f"{owner}: distances must be 0 from a value to itself and above 0 between others")
    if not np.array_equal(matrix, matrix.T):
        raise ParameterError(f"{owner}: distances must be the same both ways")
    matrix.setflags(write=False)
    return matrix


def read_metric(owner: str, distance: Matrix) -> np.ndarray:
    """As ``read_distance``, and no detour is shorter: what relies on a third value would cost more than was asked."""
    metric = read_distance(owner, distance)
    slack = float(metric.max()) * TRIANGLE_SLACK
    if any((metric > row[:, None] + row + slack).any() for row in metric):
        raise ParameterError(
            f"{owner}: distance must obey the triangle inequality; take the shortest paths, or use OptimalMechanism"
        )
    return metric


class DistanceMatrix(CodeMechanism):
    """What mechanisms with a matrix share: reports drawn from integers, and the guarantee of those integers.

    Values and reports are the numbers of the rows and columns of ``distance``.
    """

    __slots__ = ()
    distance: NumberMatrix
    unit: str
    _shares: list[list[int]]
    _channel: DenseChannel
    _rows: Rows

    def _set_up(self, matrix: np.ndarray) -> None:
        owner = type(self).__name__
        if not isinstance(self.unit, str) or not self.unit:
            raise ParameterError(f"{owner}: unit must be the name of a length, such as 'km'")
        possible = matrix.max(axis=0) > 0
        shares = [realise_row(row, possible) for row in matrix]
        channel = DenseChannel(np.stack([to_floats(row) for row in shares]))
        set_fields(self, _shares=shares, _channel=channel, _rows=arrange(shares))

    def __eq__(self, other: object) -> bool:
        """Whether both are of one kind and draw the same reports with the same guarantee."""
        if not isinstance(other, DistanceMatrix) or type(self) is not type(other) or self.unit != other.unit:
            return False
        return np.array_equal(self.distance, other.distance) and bool(self._shares == other._shares)

    def __hash__(self) -> int:
        return hash((type(self), self.unit, self.distance.tobytes()))

    @property
    def privacy(self) -> Privacy:
        """The guarantee for two values one unit apart, of the integers that are drawn from, rounded up.

        It is the largest log-ratio of any report's probabilities per unit of distance, over all pairs of values; two
        values d apart cost at most d times as much.
        """
        nearest = float(self.distance[self.distance > 0].min())
        epsilon = rounding.up(self._channel.epsilon(self.distance) + LOG_ERROR / nearest)
        return Privacy(epsilon=epsilon, unit=f"1 {self.unit}", neighbours="replace")

    def channel(self) -> DenseChannel:
        """The channel between the values, that of the integers that are drawn from."""
        return self._channel

    def _values(self) -> int:
        return len(self.distance)

    @property
    def middle(self) -> int:
        """A value in the middle of the others, by its number."""
        return len(self.distance) // 2

    def distances_from(self, value: int) -> np.ndarray:
        """The distance of every value from this one, in units."""
        return self.distance[value]  # type: ignore[no-any-return]

    def _losses(self, loss: Any) -> tuple[Any, Any]:
        if not isinstance(loss, str):
            return loss, None
        validation.one_of(type(self).__name__, "loss", loss, ("absolute", "squared", "zero-one"))
        named = {"absolute": self.distance, "squared": self.distance**2}
        return named.get(loss, (self.distance > 0).astype(np.float64)), None

    def _block(self) -> Block:
        return draw_rows(type(self).__name__, self._rows)


@frozen(eq=False)
class MetricMatrix(DistanceMatrix):
    """Mechanisms that follow from epsilon and a metric alone: their fields, checked by `_read`."""

    epsilon: float
    distance: NumberMatrix
    unit: str = "unit"
    _shares: list[list[int]] = computed(compare=True)
    _channel: DenseChannel = computed(compare=True)
    _rows: Rows = computed(compare=True)

    def _read(self) -> tuple[str, float, np.ndarray]:
        """The name, and the checked parameters, which are set."""
        owner = type(self).__name__
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        distance = read_metric(owner, self.distance)
        set_fields(self, epsilon=epsilon, distance=distance)
        return owner, epsilon, distance


@frozen(eq=False)
class ExponentialMetric(MetricMatrix):
    """Report y instead of x with probability proportional to e**(-epsilon d(x, y) / 2).

    epsilon-d-private for one report per person: the exponential mechanism with d as its score. Half of epsilon pays for
    the change of e**(-epsilon d / 2), the other half for that of the sum it is divided by. ``epsilon`` is per ``unit``
    of ``distance``, a matrix that obeys the triangle inequality.

    2 random bytes per report for most. [McSherry, Talwar 2007; Chatzikokolakis et al. 2013]

    Parameters
    ----------
    epsilon
        The privacy per unit of distance.
    distance
        The matrix of distances between values, inputs by outputs.
    unit
        The unit of distance, for the guarantee's text.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.metric.exponential import ExponentialMetric
    >>> mechanism = ExponentialMetric(epsilon=1.0, distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]], unit="km")
    >>> mechanism.randomize([0, 1, 2], rng=fd.Rng.unsafe_seed(7))
    [0, 2, 2]
    >>> mechanism.privacy.epsilon <= 1.0
    True
    """

    distance: NumberMatrix

    def __post_init__(self) -> None:
        owner, epsilon, distance = self._read()
        with np.errstate(over="ignore"):
            weights = np.exp(-epsilon / 2 * distance)
        self._set_up(weights / weights.sum(axis=1, keepdims=True))
        nearest = float(distance[distance > 0].min())
        if epsilon * nearest < SMALLEST_STEP and (self.privacy.epsilon or 0.0) > epsilon:
            raise ParameterError(
                f"{owner}: epsilon times the least distance is beyond float64's resolution; choose a larger epsilon"
            )
