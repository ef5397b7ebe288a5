"""Losses with many or infinitely many values as two lists of atoms, between whose curves theirs lies.

Outcomes are gathered to cells of consecutive losses. Merging a cell to one outcome is post-processing: the curve lies
below. Spreading its masses under P and Q to the two ends of its losses, so that both are kept, replaces a convex
function of e^epsilon by chords: the curve lies above. [Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fastdp.losses import AtomicLoss, CellsLoss, GaussianLoss, GeometricLoss, LaplaceLoss

CELLS = 1 << 10
GAUSSIAN_CELLS = 1 << 12
CELLS_WIDTH = 2e-5
"""About the relative width of epsilon that so many cells leave."""
GAUSSIAN_REACH = 12.0
"""Deviations on either side; what lies beyond them is one cell."""
MARGIN = 2.0**-40
"""What masses of cells, differences of distribution functions, may be off by, and how they are spread."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Masses of consecutive cells, and the losses of the outcomes that each begins and ends with.

    The last cell may end at an infinite loss.
    """

    p: np.ndarray
    q: np.ndarray
    first: np.ndarray
    last: np.ndarray

    @classmethod
    def of(cls, loss: GaussianLoss | LaplaceLoss | GeometricLoss) -> Cells:
        """The cells of a loss in closed form."""
        match loss:
            case GaussianLoss():
                return _gaussian(loss.mu)
            case LaplaceLoss():
                return _laplace(loss.epsilon)
            case GeometricLoss():
                return _geometric(loss.rate, loss.steps)

    def mixed(self, rate: float) -> Cells:
        """(1 - rate) Q + rate P against Q: cells keep their order."""
        first, last = (mix(ends, rate) for ends in (self.first, self.last))
        return Cells((1 - rate) * self.q + rate * self.p, self.q, first, last)

    def loss(self, *, margin: float = 0.0, distance: float = 0.0) -> CellsLoss:
        """Both lists of atoms, largest loss first."""
        margin += MARGIN
        middle = np.clip(np.log(self.p / self.q), self.first, self.last)
        below = AtomicLoss(losses=middle[::-1], p=self.p[::-1], q=self.q[::-1], margin=margin, distance=distance)
        width = self.last - self.first
        with np.errstate(invalid="ignore", divide="ignore"):
            share = np.where(width > 0, np.expm1(self.first - middle) / np.expm1(-width), 0.0)
            upper = self.p * share
            lower = self.p - upper
            upper_q = np.where(np.isfinite(self.last), upper * np.exp(-self.last), 0.0)
            lower_q = np.maximum(self.q - upper_q, 0.0)
        finite = np.isfinite(self.last) & (upper > 0)
        losses = np.concatenate([self.first, self.last[finite]])
        order = np.argsort(-losses, kind="stable")
        above = AtomicLoss(
            losses=losses[order], p=np.concatenate([lower, upper[finite]])[order],
            q=np.concatenate([lower_q, upper_q[finite]])[order],
            p_infinite=float(upper[~np.isfinite(self.last)].sum()) * (1 + MARGIN), margin=margin, distance=distance,
        )  # fmt: skip
        return CellsLoss(below=below, above=above, margin=margin, distance=distance)


def mix(losses: np.ndarray, rate: float) -> np.ndarray:
    """ln(1 - rate + rate e^loss)."""
    x = np.minimum(losses, 500.0)
    mixed = np.log1p(rate * np.expm1(x)) if rate <= 0.5 else np.log((1 - rate) + rate * np.exp(x))
    return np.where(losses > 500, losses + math.log(rate), mixed)


def _gaussian(mu: float) -> Cells:
    """Cells of equal width of the noise, and all beyond them on either side."""
    edges = np.linspace(-GAUSSIAN_REACH, mu + GAUSSIAN_REACH, GAUSSIAN_CELLS + 1)
    ends = [-math.inf, *edges.tolist(), math.inf]
    p = np.array([_normal_mass(a - mu, b - mu) for a, b in pairwise(ends)])
    q = np.array([_normal_mass(a, b) for a, b in pairwise(ends)])
    losses = np.array(ends) * mu - mu * mu / 2
    kept = (p > 1e-300) & (q > 1e-300)
    return Cells(p[kept], q[kept], losses[:-1][kept], losses[1:][kept])


def _normal_mass(a: float, b: float) -> float:
    """The probability of a standard normal number between a and b, to a few units also in the tails."""
    if a > 0:
        return (math.erfc(a / math.sqrt(2)) - math.erfc(b / math.sqrt(2))) / 2
    if b < 0:
        return _normal_mass(-b, -a)
    return (math.erf(b / math.sqrt(2)) - math.erf(a / math.sqrt(2))) / 2


def _laplace(epsilon: float) -> Cells:
    """Cells of equal width of the loss between the atoms 1/2 at epsilon and e^-epsilon / 2 at -epsilon."""
    edges = np.linspace(-epsilon, epsilon, CELLS + 1)
    inner = -math.expm1(-epsilon / CELLS) / 2
    p = np.concatenate([[math.exp(-epsilon) / 2], np.exp((edges[1:] - epsilon) / 2) * inner, [0.5]])
    first, last = (
        np.concatenate([[-epsilon], edges[:-1], [epsilon]]),
        np.concatenate([[-epsilon], edges[1:], [epsilon]]),
    )
    return Cells(p, p[::-1].copy(), first, last)


def _geometric(rate: float, steps: int) -> Cells:
    """Cells of consecutive losses (steps - 2 j) rate, about equally many in each, the two outermost alone."""
    starts = np.unique(np.linspace(1, steps, CELLS + 1).astype(np.int64))
    counts = np.diff(starts)
    starts = starts[:-1]
    whole = 1 + math.exp(-rate)
    p = np.exp(-rate * starts) * -np.expm1(-rate * counts) / whole
    q = np.exp(-rate * (steps - starts - counts + 1)) * -np.expm1(-rate * counts) / whole
    ends = np.array([1.0, math.exp(-rate * steps)]) / whole
    p, q = (
        np.concatenate([[outer], inner, [other]])
        for outer, inner, other in ((ends[0], p, ends[1]), (ends[1], q, ends[0]))
    )
    last = (steps - 2.0 * np.concatenate([[0], starts, [steps]])) * rate
    first = (steps - 2.0 * np.concatenate([[0], starts + counts - 1, [steps]])) * rate
    return Cells(p[::-1], q[::-1], first[::-1], last[::-1])
