"""Privacy curves written out: of two rows of probabilities, and of losses as data."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import mpmath
import numpy as np

from fastdp.losses import AtomicLoss, GaussianLoss, GeometricLoss, Loss


def of_rows(p: np.ndarray, q: np.ndarray, epsilon: float) -> float:
    """The largest P(A) - e**epsilon Q(A) over all sets of outcomes."""
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def of_channel(rows: np.ndarray, epsilon: float) -> float:
    """The same over all pairs of rows."""
    return max(of_rows(x, y, epsilon) for x, y in itertools.permutations(rows, 2))


def geometric_atoms(loss: GeometricLoss) -> AtomicLoss:
    """The closed form written out: one atom for each of the steps + 1 losses."""
    a, steps = math.exp(-loss.rate), np.arange(loss.steps + 1)
    p = np.exp(-loss.rate * steps) * -math.expm1(-loss.rate) / (1 + a)
    p[0], p[-1] = 1 / (1 + a), math.exp(-loss.rate * loss.steps) / (1 + a)
    return AtomicLoss(losses=(loss.steps - 2 * steps) * loss.rate, p=p, q=p[::-1], margin=loss.margin)


def join(losses: Sequence[Loss]) -> AtomicLoss:
    """The loss of independent parts: sums of losses, products of masses."""
    total = AtomicLoss(losses=np.zeros(1), p=np.ones(1), q=np.ones(1))
    for loss in losses:
        part = geometric_atoms(loss) if isinstance(loss, GeometricLoss) else loss
        assert isinstance(part, AtomicLoss)
        total = AtomicLoss(
            losses=np.add.outer(total.losses, part.losses).ravel(),
            p=np.multiply.outer(total.p, part.p).ravel(),
            q=np.multiply.outer(total.q, part.q).ravel(),
            p_infinite=1 - (1 - total.p_infinite) * (1 - part.p_infinite),
            q_infinite=1 - (1 - total.q_infinite) * (1 - part.q_infinite),
            margin=total.margin + part.margin,
            distance=total.distance + part.distance,
        )
    return total


def largest(losses: Sequence[Loss]) -> float:
    """The curve at delta 0: the largest loss of all parts together, with their margins; infinite with mass there."""
    total = 0.0
    for loss in losses:
        if isinstance(loss, GaussianLoss) or loss.distance:
            return math.inf
        if isinstance(loss, GeometricLoss):
            total += loss.rate * loss.steps
        elif isinstance(loss, AtomicLoss):
            total += math.inf if loss.p_infinite or loss.q_infinite else float(loss.losses.max())
        total += 2 * loss.margin
    return total


def of_losses(losses: Sequence[Loss], epsilon: float) -> float:
    """The delta that losses are charged: e**margin delta(epsilon - 2 margin) and (1 + e**epsilon) distance."""
    if isinstance(losses[0], GaussianLoss):
        (loss,) = losses
        delta = float(_normal(loss.mu, epsilon - 2 * loss.margin))
    else:
        loss = join(losses)
        gains = -np.expm1(np.minimum(epsilon - 2 * loss.margin - loss.losses, 0))
        delta = float((loss.p * gains).sum()) + loss.p_infinite
    return delta * math.exp(loss.margin) + loss.distance * (1 + math.exp(epsilon))


def _normal(mu: float, epsilon: float) -> mpmath.mpf:
    """P[N > e/mu - mu/2] - e**e P[N > e/mu + mu/2], to 50 digits."""
    with mpmath.workdps(50):
        place, half = mpmath.mpf(epsilon) / mu, mpmath.mpf(mu) / 2
        return mpmath.ncdf(half - place) - mpmath.exp(epsilon) * mpmath.ncdf(-half - place)
