"""The mechanism that loses least for its epsilon."""

from __future__ import annotations

import math

import numpy as np

from fastdp import optional, validation
from fastdp.channels import DenseChannel
from fastdp.errors import ParameterError
from fastdp.kernels.metric.probability_rows import Rows
from fastdp.measures.inputs import read_numbers
from fastdp.mechanisms.annotations import NumberMatrix, NumberVector, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.metric.exponential import DistanceMatrix, read_distance
from fastdp.mechanisms.metric.finite import read_prior
from fastdp.typing import Matrix

LARGEST_PROGRAM = 100
TOLERANCE = 1e-10
"""How far the solver may miss a constraint."""
LARGEST_SHARE = 1e-3
LARGEST_DILATION = 1000
SLACK = 1e-9
"""Paths count as no longer than their ends are apart up to this part."""


@frozen(eq=False)
class OptimalMechanism(DistanceMatrix):
    """The mechanism with the least expected loss under ``prior`` among all that are epsilon-d-private.

    A linear program, solved by HiGHS (scipy): one variable per value and report, and for each report one constraint per
    pair of values. Pairs that are implied by others along a shortest path are left out. ``dilation`` above 1 leaves out
    more: those with a path up to so many times as long, at epsilon divided by the most that any path is longer. That
    loses a little and solves larger domains: 64 cells in seconds at 1.1, 100 in minutes. ``loss`` has a row per value
    and a column per report, ``distance`` by default. What the solver misses by is made up for by a small uniform share
    of reports.

    2 random bytes per report for most. [Bordenabe, Chatzikokolakis, Palamidessi 2014]

    Parameters
    ----------
    epsilon
        The privacy per unit of distance.
    prior
        The weights of the values, whose expected loss is minimised.
    distance
        The matrix of distances between values.
    loss
        The loss of each report for each value, values by reports; the distance by default.
    dilation
        The largest detour, as a factor, over which a constraint may be implied by others; 1 leaves out only those
        that are redundant.
    unit
        The unit of distance, for the guarantee's text.

    >>> from fastdp.mechanisms.metric.optimal import OptimalMechanism
    >>> line = [[abs(x - y) for y in range(8)] for x in range(8)]
    >>> mechanism = OptimalMechanism(epsilon=0.7, prior=[1] * 8, distance=line)
    >>> round(mechanism.expected_loss, 6)
    0.99213
    """

    epsilon: float
    prior: NumberVector
    distance: NumberMatrix
    loss: Matrix | None = None
    dilation: float = 1.0
    unit: str = "unit"
    _loss: np.ndarray = computed(compare=True)
    _shares: list[list[int]] = computed(compare=True)
    _channel: DenseChannel = computed(compare=True)
    _rows: Rows = computed(compare=True)

    def __post_init__(self) -> None:
        owner = "OptimalMechanism"
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        dilation = validation.positive(owner, "dilation", self.dilation)
        if not 1 <= dilation <= LARGEST_DILATION:
            raise ParameterError(f"{owner}: dilation must be from 1 to {LARGEST_DILATION}, got {dilation!r}")
        distance = read_distance(owner, self.distance)
        if len(distance) > LARGEST_PROGRAM:
            raise ParameterError(f"{owner}: the linear program takes up to {LARGEST_PROGRAM} values")
        prior = read_prior(owner, self.prior, len(distance))
        loss = distance if self.loss is None else read_numbers(owner, "loss", self.loss, 2)
        if loss.shape != distance.shape:
            raise ParameterError(f"{owner}: loss must be a finite number for each value and report")
        set_fields(self, epsilon=epsilon, dilation=dilation, prior=prior, distance=distance, _loss=loss)
        # A constraint missed by t is kept again once t / (1 - e**(-epsilon d)) is added to all; t is also rounding.
        share = 16 * TOLERANCE * len(prior) / -math.expm1(-epsilon * float(distance[distance > 0].min()))
        if share > LARGEST_SHARE:
            raise ParameterError(
                f"{owner}: epsilon times the least distance is below the solver's resolution; choose fewer values"
            )
        edges, stretch = _spanner(distance, dilation)
        matrix = _solve(epsilon / stretch, prior[:, None] * loss, distance, edges)
        self._set_up((1 - share) * matrix + share / len(prior))

    @property
    def expected_loss(self) -> float:
        """The mean loss of a report under the prior."""
        return float(self.prior @ (self._channel.dense() * self._loss).sum(axis=1))


def _spanner(distance: np.ndarray, dilation: float) -> tuple[list[tuple[int, int]], float]:
    """Pairs such that any two values are joined by a path of them up to ``dilation`` times as long as their distance.

    Greedy: from the nearest pair on, one is added where the others so far leave no such path. With how many times as
    long the longest path really is, which is often less.
    """
    size = len(distance)
    lengths = np.where(np.eye(size, dtype=bool), 0.0, np.inf)
    first, second = np.triu_indices(size, 1)
    edges = []
    for index in np.argsort(distance[first, second], kind="stable"):
        x, other = int(first[index]), int(second[index])
        if lengths[x, other] > dilation * distance[x, other] * (1 + SLACK):
            edges.append((x, other))
            through = lengths[:, [x]] + distance[x, other] + lengths[other]
            lengths = np.minimum(lengths, np.minimum(through, through.T))
    apart = distance > 0
    return edges, max(1.0, float((lengths[apart] / distance[apart]).max()))


def _solve(epsilon: float, cost: np.ndarray, distance: np.ndarray, edges: list[tuple[int, int]]) -> np.ndarray:
    """The matrix with the least total cost whose rows sum to 1 and whose columns keep epsilon along the edges."""
    linprog = optional.load("OptimalMechanism", "scipy.optimize", extra="optimal").linprog
    coo_array = optional.load("OptimalMechanism", "scipy.sparse", extra="optimal").coo_array
    size = len(distance)
    both = np.array(edges + [edge[::-1] for edge in edges])
    outputs = np.arange(size)
    larger, smaller = ((both[:, [side]] * size + outputs).reshape(-1) for side in (0, 1))
    # Divided by e**(epsilon d), so that no coefficient is larger than 1.
    factors = np.repeat(np.exp(-epsilon * (1 - SLACK) * distance[both[:, 0], both[:, 1]]), size)
    rows = np.arange(larger.size)
    constraints = coo_array(
        (np.concatenate((factors, np.full(rows.size, -1.0))), (np.tile(rows, 2), np.concatenate((larger, smaller)))),
        shape=(rows.size, size * size),
    )
    sums = coo_array((np.ones(size * size), (np.repeat(outputs, size), np.arange(size * size))))
    options = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    solved = linprog(
        cost.reshape(-1), constraints.tocsr(), np.zeros(rows.size), sums.tocsr(), np.ones(size), method="highs",
        options=options,
    )  # fmt: skip
    if solved.x is None:
        raise ParameterError("OptimalMechanism: the solver found no mechanism; choose fewer values or a larger epsilon")
    matrix: np.ndarray = np.maximum(solved.x.reshape(size, size), 0.0)
    matrix /= matrix.sum(axis=1, keepdims=True)
    return matrix
