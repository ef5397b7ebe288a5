"""Events that separate two inputs: chosen on training draws, proven on fresh ones.

An event S proves that epsilon is at least ln((P(S | a) - delta) / P(S | b)), with P(S | a) bounded from below and
P(S | b) from above. 32 events per direction share the error. Half of it goes to the event that promises most, since
events that are known in advance should pay little for the others. Ordering cells and choosing among events on the same
draws would prefer cells that were lucky, so each half of the training draws judges the order of the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fastdp.binomial import lower_limit, upper_limit

EVENTS = 32
"""Events per direction."""


@dataclass(frozen=True, slots=True)
class Family:
    """The events of one direction: for each, which cells it holds and its share of the error."""

    masks: np.ndarray
    shares: np.ndarray
    promise: float
    """What the best event is expected to prove."""


def promised(p: np.ndarray, q: np.ndarray, own: float, n: int, z: float, delta: float) -> np.ndarray:
    """What events of these frequencies in ``own`` training draws are expected to prove with ``n`` draws."""
    q = np.minimum(q, 1.0)
    low = p - delta - z * np.sqrt(p * (1 - p) / n)
    high = q + z * np.sqrt(q * (1 - q) / n) + z * z / (2 * n)
    unsure = np.sqrt(1 / np.maximum(p * own, 1) + 1 / np.maximum(q * own, 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.where(low > 0, np.log(np.maximum(low, 1e-300) / high) - unsure, -math.inf)
    return np.asarray(value)


def choose_events(
    halves: Sequence[tuple[np.ndarray, np.ndarray]], *, ordered: bool, n: int, alpha: float, delta: float
) -> Family:
    """Events for which the first input is more likely, from two halves of the training draws, each (a, b) per cell."""
    z = NormalDist().inv_cdf(1 - min(alpha / 8, 0.25))
    (a1, b1), (a2, b2) = halves
    a, b = a1 + a2, b1 + b2
    own = float(a2.sum())
    order = cautious_order(a1, b1)
    p, q = np.cumsum(a2[order]) / own, (np.cumsum(b2[order]) + 0.5) / max(float(b2.sum()), 1.0)
    values = promised(p, q, own, n, z, delta)
    best = int(np.argmax(values))
    top, promise = _prefix(order, best), float(values[best])
    if ordered:
        for turn in (slice(None), slice(None, None, -1)):
            ends = np.arange(a.size)[turn]
            p, q = np.cumsum(a[ends]) / (2 * own), (np.cumsum(b[ends]) + 0.5) / max(float(b.sum()), 1.0)
            values = promised(p, q, 2 * own, n, z, delta)
            best = _middle(values, p, q, 2 * own)
            if values[best] > promise - 0.02:  # of two that promise the same, the one without an order that was fitted
                top, promise, order = _prefix(ends, best), float(values[best]), ends
    masks = [top, *_nested(order, a, _mass(a, top), 2 * own)]
    shares = np.full(len(masks), 0.5 / max(len(masks) - 1, 1))
    shares[0] = 0.5 if len(masks) > 1 else 1.0
    return Family(np.array(masks), shares, promise)


def _middle(values: np.ndarray, p: np.ndarray, q: np.ndarray, own: float) -> int:
    """The middle of the half-lines that promise as much as the best, up to half a standard error of the best."""
    best = int(np.argmax(values))
    error = math.sqrt(1 / max(p[best] * own, 1) + 1 / max(q[best] * own, 1))
    return int(np.median(np.flatnonzero(values >= values[best] - error / 2)))


def cautious_order(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Cells by how surely they are likelier under a: the log ratio less two of its standard errors."""
    score = np.log((a + 1.0) / (b + 1.0)) - 2.0 * np.sqrt(1.0 / (a + 1.0) + 1.0 / (b + 1.0))
    return np.argsort(-score, kind="stable")


def _prefix(order: np.ndarray, last: int) -> np.ndarray:
    mask = np.zeros(order.size, bool)
    mask[order[: last + 1]] = True
    return mask


def _mass(counts: np.ndarray, mask: np.ndarray) -> float:
    return float(counts[mask].sum())


def _nested(order: np.ndarray, counts: np.ndarray, best: float, total: float) -> list[np.ndarray]:
    """Prefixes of the order: half of them near the mass of the best event, half over all probabilities."""
    mass = np.cumsum(counts[order])
    near = best * np.geomspace(0.5, 2.0, EVENTS // 2)
    wide = np.geomspace(10, max(0.9999 * total, 20), EVENTS // 2 - 1)
    ends = np.unique(np.minimum(np.searchsorted(mass, np.concatenate([near, wide])), order.size - 1))
    return [_prefix(order, int(end)) for end in ends]


@dataclass(frozen=True, slots=True)
class Proof:
    """What one event proves: its counts among the draws of both inputs, and limits of its probabilities."""

    mask: np.ndarray
    counts: tuple[int, int]
    low: float
    high: float

    def epsilon(self, delta: float) -> float:
        """The proven epsilon at ``delta``, rounded down."""
        if self.low <= delta:
            return 0.0
        gap = math.nextafter(self.low - delta, 0.0)
        return max(0.0, math.log(gap / self.high) - 1e-15)


def prove(family: Family, a: np.ndarray, b: np.ndarray, n: int, alpha: float) -> list[Proof]:
    """Limits on both probabilities of every event, all of which hold together but for a probability of ``alpha``."""
    in_a, in_b = family.masks @ a, family.masks @ b
    errors = alpha * family.shares / 2
    return [
        Proof(mask, (int(x), int(y)), lower_limit(int(x), n, error), upper_limit(int(y), n, error))
        for mask, error, x, y in zip(family.masks, errors.tolist(), in_a, in_b, strict=True)
    ]
