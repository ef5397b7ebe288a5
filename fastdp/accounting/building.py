"""The factors of a composition: equal losses are counted, and what each may be off by is added up."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from fastdp.accounting.factors import DATA, MOST_COINS, UNIT, Factors
from fastdp.errors import ParameterError
from fastdp.losses import (
    AtomicLoss,
    CellsLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    Loss,
    SampledGaussianLoss,
)

FEW_STEPS = 4
"""Steps up to which a geometric loss is a list of atoms, whose compositions may be enumerated."""


def build(losses: Iterable[tuple[Loss, int]], *, reverse: bool = False, below: bool = False) -> Factors:
    """The factors of a composition of (loss, count) pairs, of Q against P where ``reverse``.

    ``below`` takes of losses in cells the pair that lies below.
    """
    merged: dict[Any, int] = {}
    for loss, count in losses:
        merged[loss] = merged.get(loss, 0) + count
    parts = _Parts(reverse, below)
    for loss, count in merged.items():
        parts.add(loss, count)
    return parts.factors()


class _Parts:
    """What factors are made of, one loss after the other."""

    def __init__(self, reverse: bool, below: bool) -> None:
        self._reverse, self._below = reverse, below
        self._laplace: list[tuple[float, float, int]] = []
        self._sampled: list[tuple[float, float, int, bool]] = []
        self._atoms: list[tuple[AtomicLoss, int]] = []
        self._coins: dict[tuple[float, float], int] = {}
        self._size = 0
        self._sums = dict.fromkeys(("variance", "log_finite", "margin", "shift", "spread", "distance"), 0.0)

    def add(self, loss: Loss, count: int) -> None:
        """Add ``count`` equal losses."""
        sums = self._sums
        self._size += 1
        sums["margin"] += count * loss.margin
        sums["distance"] += count * loss.distance
        match loss:
            case AtomicLoss() if _is_coin(loss):
                rate = abs(float(loss.losses[0]))
                self._add_coin(rate * (1 - DATA), rate * (1 + DATA), count)
            case AtomicLoss():
                self._atoms.append((loss, count))
            case GaussianLoss():
                sums["variance"] += count * loss.mu**2
            case LaplaceLoss():
                self._laplace.append((loss.epsilon, 0.0, count))
            case SampledGaussianLoss():
                self._sampled.append((1 / loss.mu, loss.rate, count, self._reverse != loss.reverse))
            case GeometricLoss(steps=1):
                self._add_coin(loss.rate, loss.rate, count)
            case GeometricLoss() if loss.steps <= FEW_STEPS:
                self._atoms.append((geometric_atoms(loss), count))
            case GeometricLoss():
                epsilon = loss.rate * loss.steps
                sums["shift"] += count * 4 * UNIT * epsilon
                sums["spread"] += count * 4 * UNIT * (1 + epsilon)
                self._laplace.append((epsilon, loss.rate, count))
            case CellsLoss():
                self._atoms.append((loss.below if self._below else loss.above, count))
            case _:
                raise ParameterError(f"compose: a {type(loss).__name__} has no moment function here")

    def _add_coin(self, low: float, high: float, count: int) -> None:
        self._coins[low, high] = self._coins.get((low, high), 0) + count

    def factors(self) -> Factors:
        """All that was added."""
        others = self._atoms or self._laplace or self._sampled or self._sums["variance"]
        coin = next(iter(self._coins)) if len(self._coins) == 1 and not others else None
        coin = coin if coin and self._coins[coin] <= MOST_COINS else None
        losses, masses, sizes, counts = self._gather_atoms()
        if self._coins:
            more, tossed = self._gather_coins(exact=coin is not None)
            losses, masses = (np.concatenate([old, new]) for old, new in zip((losses, masses), more, strict=True))
            sizes, counts = np.append(sizes, np.full(tossed.size, 2)), np.append(counts, tossed)
        sums = {name: value * (1 + 4 * UNIT * (self._size + 1)) for name, value in self._sums.items()}
        return Factors(
            laplace=np.array(self._laplace, float).reshape(-1, 3),
            sampled=np.array(self._sampled, float).reshape(-1, 4),
            losses=losses, masses=masses, starts=np.concatenate([[0], np.cumsum(sizes)]), counts=counts, coin=coin,
            **sums,
        )  # fmt: skip

    def _gather_atoms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All lists of atoms, those without mass left out: their losses and masses, their sizes and counts."""
        if not self._atoms:
            return np.empty(0), np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64)
        lists, sums = [loss for loss, _ in self._atoms], self._sums
        counts = np.array([count for _, count in self._atoms], np.int64)
        sizes = np.array([loss.losses.size for loss in lists], np.int64)
        losses = np.concatenate([loss.losses for loss in lists])
        masses = np.concatenate([loss.q if self._reverse else loss.p for loss in lists])
        losses = -losses if self._reverse else losses
        infinite = np.array([loss.q_infinite if self._reverse else loss.p_infinite for loss in lists])
        if infinite.any():
            with np.errstate(divide="ignore"):
                sums["log_finite"] += float((counts * np.log1p(-np.minimum(infinite, 1.0))).sum())
        sums["spread"] += DATA * int(counts.sum())
        if not (masses.all() and sizes.all()):
            kept = masses > 0
            sizes = np.bincount(np.repeat(np.arange(sizes.size), sizes)[kept], minlength=sizes.size)
            losses, masses, counts, sizes = losses[kept], masses[kept], counts[sizes > 0], sizes[sizes > 0]
        if sizes.size:
            largest = np.maximum.reduceat(np.abs(losses), np.cumsum(sizes) - sizes)
            sums["shift"] += DATA * float(counts @ largest)
        return losses, masses, sizes, counts

    def _gather_coins(self, *, exact: bool) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray]:
        """Losses and masses of all coins, two each, and how often each is tossed; of a sum of one coin no error."""
        low, high = np.array(list(self._coins)).T
        tossed = np.array(list(self._coins.values()), np.int64)
        if not exact:
            self._sums["shift"] += float(tossed @ (high - low))
            self._sums["spread"] += float(tossed @ (high - low + 4 * UNIT))
        less = np.maximum(np.exp(-high), 5e-324)  # a mass of 0 would be no atom
        return (np.stack([high, -high], 1).ravel(), np.stack([1 / (1 + less), less / (1 + less)], 1).ravel()), tossed


def _is_coin(loss: AtomicLoss) -> bool:
    """Whether these are the atoms of randomized response."""
    if loss.losses.size != 2 or loss.p_infinite or loss.q_infinite:
        return False
    mirrored = loss.losses[0] == -loss.losses[1] and loss.p[0] == loss.q[1] and loss.p[1] == loss.q[0]
    return bool(mirrored and loss.losses[0] > 0)


def geometric_atoms(loss: GeometricLoss) -> AtomicLoss:
    """The atoms (steps - 2 j) * rate of geometric noise.

    >>> geometric_atoms(GeometricLoss(rate=1.0, steps=1)).losses.tolist()
    [1.0, -1.0]
    """
    a, inner = math.exp(-loss.rate), -math.expm1(-loss.rate)
    j = np.arange(loss.steps + 1)
    p = inner * np.exp(-loss.rate * j)
    p[0], p[-1] = 1.0, math.exp(-loss.rate * loss.steps)
    p /= 1 + a
    return AtomicLoss(
        losses=(loss.steps - 2 * j) * loss.rate, p=p, q=p[::-1].copy(), margin=loss.margin, distance=loss.distance
    )
