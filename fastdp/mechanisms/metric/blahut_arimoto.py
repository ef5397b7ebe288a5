"""The mechanism that reveals least for its distortion."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fastdp import validation
from fastdp.channels import DenseChannel
from fastdp.errors import ParameterError
from fastdp.kernels.metric.probability_rows import Rows
from fastdp.mechanisms.annotations import NumberMatrix, NumberVector, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.metric.exponential import DistanceMatrix, read_distance
from fastdp.mechanisms.metric.finite import read_prior
from fastdp.renamed import renamed_fields
from fastdp.typing import Numbers


@renamed_fields(iterations="max_iterations")
@frozen(eq=False)
class BlahutArimoto(DistanceMatrix):
    """Report y instead of x with probability proportional to q(y) e**(-beta d(x, y)), q the reports' own distribution.

    The fixed point has the least mutual information between values and reports among all mechanisms with its expected
    distance under ``prior``. It is found by alternating q and the mechanism, from a uniform q ``max_iterations`` times.
    2 beta-d-private at most; `privacy` states what it is. The prior is public, or an estimate from private reports:
    `privic` alternates the two. Counts are divided by their sum.

    2 random bytes per report for most. [Blahut 1972; Arimoto 1972; Biswas, Palamidessi 2023]

    Parameters
    ----------
    prior
        The weights of the values.
    distance
        The matrix of distances between values.
    beta
        The trade-off between leakage and distance: reports are at most 2 * beta-d-private.
    max_iterations
        The number of iterations.
    unit
        The unit of distance, for the guarantee's text.

    >>> from fastdp.mechanisms.metric.blahut_arimoto import BlahutArimoto
    >>> mechanism = BlahutArimoto(prior=[0.5, 0.3, 0.2], distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]], beta=0.5)
    >>> mechanism.privacy.epsilon <= 1.0
    True
    """

    prior: NumberVector
    distance: NumberMatrix
    beta: float
    max_iterations: int = 10
    unit: str = "unit"
    _shares: list[list[int]] = computed(compare=True)
    _channel: DenseChannel = computed(compare=True)
    _rows: Rows = computed(compare=True)

    def __post_init__(self) -> None:
        owner = "BlahutArimoto"
        distance = read_distance(owner, self.distance)
        prior = read_prior(owner, self.prior, len(distance))
        beta = validation.positive(owner, "beta", self.beta)
        iterations = validation.positive_integer(owner, "max_iterations", self.max_iterations)
        set_fields(self, prior=prior, distance=distance, beta=beta, max_iterations=iterations)
        with np.errstate(over="ignore"):
            kernel = np.exp(-beta * distance)
        reports = np.full(len(prior), 1 / len(prior))
        for _ in range(iterations):
            matrix = reports * kernel
            with np.errstate(invalid="ignore"):
                matrix /= matrix.sum(axis=1, keepdims=True)
            reports = prior @ matrix
        if not np.isfinite(matrix).all():
            raise ParameterError(
                f"{owner}: beta times the distances is beyond float64, e**-745, for values that the prior leaves out; "
                "choose a smaller beta, or give them some of the prior"
            )
        self._set_up(matrix)

    def for_prior(self, prior: Numbers) -> BlahutArimoto:
        """The same mechanism made for another prior.

        Parameters
        ----------
        prior
            The weight of each value.
        """
        return replace(self, prior=prior)
