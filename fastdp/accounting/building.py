"""The factors of a composition: equal losses are counted, and what each may be off by is added up."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.accounting.factors import DATA, MOST_COINS, UNIT, Factors
from fastdp.errors import ParameterError
from fastdp.losses import (
    HEAD,
    AtomicLoss,
    CellsLoss,
    GaussianLoss,
    GeometricLoss,
    LaplaceLoss,
    Loss,
    SampledGaussianLoss,
)

MOST_TIMES = 1 << 53
FEW_STEPS = 4
"""Steps up to which a geometric loss is a list of atoms, whose compositions may be enumerated."""

Item = tuple[Loss, int]
Groups = dict[type, tuple[list[Any], list[int]]]
"""Losses and counts of each type."""


def build(losses: Iterable[Item], *, reverse: bool = False, below: bool = False) -> Factors:
    """The factors of a composition of (loss, count) pairs, of Q against P where ``reverse``.

    ``below`` takes of losses in cells the pair that lies below.
    """
    return gather(by_kind(list(losses)), reverse=reverse, below=below).factors()


def gather(groups: Groups, *, reverse: bool = False, below: bool = False) -> Parts:
    """The parts that `build` makes factors of."""
    parts = Parts(reverse, below)
    for kind, (group, counts) in groups.items():
        parts.add(kind, group, counts)
    return parts


def by_kind(items: list[Item]) -> Groups:
    """Losses and counts of each type."""
    losses, counts = map(list, zip(*items, strict=True)) if items else ([], [])
    kinds = set(map(type, losses))
    if len(kinds) == 1:
        return {kinds.pop(): (losses, counts)}
    groups: Groups = {kind: ([], []) for kind in kinds}
    for loss, count in items:
        groups[type(loss)][0].append(loss)
        groups[type(loss)][1].append(count)
    return groups


def _merge_rows(rows: np.ndarray) -> np.ndarray:
    """Rows that end with a count, equal ones counted together."""
    if len(set(rows[:, 0].tolist())) == len(rows):
        return rows
    merged, places = np.unique(rows[:, :-1], axis=0, return_inverse=True)
    return np.column_stack([merged, np.bincount(places.ravel(), rows[:, -1])])


def _merge_equal(packed: list[bytes], times: np.ndarray) -> tuple[list[bytes], np.ndarray]:
    """One of each content, and how often."""
    merged: dict[bytes, float] = {}
    for one, count in zip(packed, times.tolist(), strict=True):
        merged[one] = merged.get(one, 0.0) + count
    return list(merged), np.array(list(merged.values()))


def _split(whole: np.ndarray, starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Of lists of different sizes, three rows each: all first rows, all second and all third ones."""
    places = np.arange(sizes.sum()) + np.repeat(starts - (np.cumsum(sizes) - sizes), sizes)
    steps = np.repeat(sizes, sizes)
    return np.stack([whole[places + row * steps] for row in range(3)])


class Parts:
    """What factors are made of, one kind of losses after the other."""

    def __init__(self, reverse: bool, below: bool) -> None:
        self._reverse, self._below = reverse, below
        self._laplace, self._sampled, self._coins = [np.empty((0, 3))], [np.empty((0, 4))], [np.empty((0, 3))]
        self._lists = _Lists.empty()
        self.is_symmetric = True
        """Whether both directions have the same losses."""
        self._size = 0
        self._sums = dict.fromkeys(("variance", "log_finite", "margin", "shift", "spread", "distance"), 0.0)

    def add(self, kind: type, losses: list[Any], counts: list[int]) -> None:
        """Add losses of one kind, each so often."""
        times = np.array(counts, float)
        if times.max() >= MOST_TIMES:
            raise ParameterError(f"compose: a release can be composed fewer than 2**53 times, not {max(counts)}")
        self._size += len(losses)
        if kind is AtomicLoss:
            self._add_atoms([*map(operator.attrgetter("packed"), losses)], times)
            return
        self._sums["margin"] += float(times @ np.array([loss.margin for loss in losses]))
        self._sums["distance"] += float(times @ np.array([loss.distance for loss in losses]))
        if kind is GaussianLoss:
            self._sums["variance"] += float(times @ np.array([loss.mu for loss in losses]) ** 2)
        elif kind is LaplaceLoss:
            epsilons = np.array([loss.epsilon for loss in losses])
            self._laplace.append(np.stack([epsilons, np.zeros(times.size), times], 1))
        elif kind is SampledGaussianLoss:
            rows = [(1 / loss.mu, loss.rate, self._reverse != loss.reverse) for loss in losses]
            self._sampled.append(np.column_stack([np.array(rows, float), times]))
            self.is_symmetric = False
        elif kind is GeometricLoss:
            self._add_geometric(losses, times)
        elif kind is CellsLoss:
            packed = [(loss.below if self._below else loss.above).packed for loss in losses]
            self._lists = self._lists.join(_Lists.of(packed, times, self._reverse)[0])
            self.is_symmetric &= all(loss.above.is_symmetric and loss.below.is_symmetric for loss in losses)
        else:
            raise ParameterError(f"compose: a {kind.__name__} has no moment function here")

    def _add_atoms(self, packed: list[bytes], times: np.ndarray) -> None:
        lists, (margin, distance) = _Lists.of(packed, times, self._reverse)
        self._sums["margin"] += float(margin)
        self._sums["distance"] += float(distance)
        self.is_symmetric &= lists.are_mirrored
        coins = lists.coins
        if coins.any():
            rates = np.abs(lists.losses[(np.cumsum(lists.sizes) - lists.sizes)[coins]])
            rows = [rates * (1 - DATA), rates * (1 + DATA), lists.counts[coins].astype(float)]
            self._coins.append(np.stack(rows, 1))
            lists = lists.chosen(~coins)
        self._lists = self._lists.join(lists)

    def _add_geometric(self, losses: list[GeometricLoss], times: np.ndarray) -> None:
        rates, steps = np.array([loss.rate for loss in losses]), np.array([loss.steps for loss in losses], float)
        once, many = steps == 1, steps > FEW_STEPS
        self._coins.append(np.stack([rates, rates, times], 1)[once])
        rates, epsilons, counts = rates[many], (rates * steps)[many], times[many]
        self._laplace.append(np.stack([epsilons, rates, counts], 1))
        self._sums["shift"] += 4 * UNIT * float(counts @ epsilons)
        self._sums["spread"] += 4 * UNIT * float(counts @ (1 + epsilons))
        few: dict[GeometricLoss, float] = {}
        for loss, count in zip(losses, times.tolist(), strict=True):
            if 1 < loss.steps <= FEW_STEPS:
                few[loss] = few.get(loss, 0) + count
        if few:
            packed = [geometric_atoms(loss).packed for loss in few]
            lists = _Lists.of(packed, np.array(list(few.values())), self._reverse)[0]
            self._lists = self._lists.join(lists)

    def factors(self) -> Factors:
        """All that was added."""
        laplace, coins = (_merge_rows(np.concatenate(rows)) for rows in (self._laplace, self._coins))
        sampled = _merge_rows(np.concatenate(self._sampled))[:, [0, 1, 3, 2]]
        others = self._lists.sizes.size or len(laplace) or len(sampled) or self._sums["variance"]
        coin = (float(coins[0, 0]), float(coins[0, 1])) if len(coins) == 1 and not others else None
        coin = coin if coin and coins[0, 2] <= MOST_COINS else None
        lists = self._finite(self._lists)
        if coins.size:
            lists = lists.join(self._toss(coins, exact=coin is not None))
        sums = {name: value * (1 + 4 * UNIT * (self._size + 1)) for name, value in self._sums.items()}
        return Factors(
            laplace=laplace, sampled=sampled, losses=lists.losses, masses=lists.masses,
            starts=np.concatenate([[0], np.cumsum(lists.sizes)]), counts=lists.counts, coin=coin, **sums,
        )  # fmt: skip

    def _finite(self, lists: _Lists) -> _Lists:
        """Lists without atoms that have no mass; what masses at infinity and all data may be off by is added."""
        sums, counts, infinite = self._sums, lists.counts, lists.infinite
        if infinite.any():
            with np.errstate(divide="ignore"):
                sums["log_finite"] += float((counts * np.log1p(-np.minimum(infinite, 1.0))).sum())
        sums["spread"] += DATA * float(counts.sum())
        lists = lists.massive
        if lists.sizes.size:
            largest = np.maximum.reduceat(np.abs(lists.losses), np.cumsum(lists.sizes) - lists.sizes)
            sums["shift"] += DATA * float(lists.counts @ largest)
        return lists

    def _toss(self, coins: np.ndarray, *, exact: bool) -> _Lists:
        """Losses and masses of all coins, two each, and how often each is tossed; of a sum of one coin no error."""
        low, high, tossed = coins.T
        if not exact:
            self._sums["shift"] += float(tossed @ (high - low))
            self._sums["spread"] += float(tossed @ (high - low + 4 * UNIT))
        less = np.maximum(np.exp(-high), 5e-324)  # a mass of 0 would be no atom
        heads = 1 / (1 + less)
        losses, masses = np.stack([high, -high], 1), np.stack([heads, less / (1 + less)], 1)
        counts, none = tossed.astype(np.int64), np.zeros(tossed.size)
        return _Lists(
            losses.ravel(), masses.ravel(), masses[:, ::-1].ravel(), np.full(counts.size, 2), counts, none, none
        )


@dataclass(frozen=True, slots=True)
class _Lists:
    """Lists of atoms, one after the other: their losses, masses, masses under the other law, sizes and counts."""

    losses: np.ndarray
    masses: np.ndarray
    others: np.ndarray
    sizes: np.ndarray
    counts: np.ndarray
    infinite: np.ndarray
    """The mass of each that is where the other law has none."""
    infinite_others: np.ndarray

    @classmethod
    def empty(cls) -> _Lists:
        none, whole = np.empty(0), np.empty(0, np.int64)
        return cls(none, none, none, whole, whole, none, none)

    @classmethod
    def of(cls, packed: list[bytes], times: np.ndarray, reverse: bool) -> tuple[_Lists, np.ndarray]:
        """Those of packed losses, equal ones counted together, with P and Q swapped where ``reverse``.

        And the sums of their margins and of their distances.
        """
        if len(set(packed)) < len(packed):
            packed, times = _merge_equal(packed, times)
        sizes = np.fromiter(map(len, packed), np.int64, len(packed)) // 8
        whole = np.frombuffer(b"".join(packed))
        if (sizes == sizes[0]).all():
            rows = whole.reshape(sizes.size, -1)
            values, p, q = rows[:, HEAD:].reshape(sizes.size, 3, -1).transpose(1, 0, 2).reshape(3, -1)
            heads = rows[:, :HEAD]
        else:
            starts = np.cumsum(sizes) - sizes
            heads = whole[starts[:, None] + np.arange(HEAD)]
            values, p, q = _split(whole, starts + HEAD, (sizes - HEAD) // 3)
        sizes, counts = (sizes - HEAD) // 3, times.astype(np.int64)
        sums = times @ heads[:, :2]
        if reverse:
            return cls(-values, q, p, sizes, counts, heads[:, 3].copy(), heads[:, 2].copy()), sums
        return cls(values, p, q, sizes, counts, heads[:, 2].copy(), heads[:, 3].copy()), sums

    def join(self, other: _Lists) -> _Lists:
        """Both, one after the other."""
        if not self.sizes.size:
            return other
        return _Lists(*(np.concatenate([getattr(one, name) for one in (self, other)]) for name in self.__slots__))

    def chosen(self, lists: np.ndarray) -> _Lists:
        """Some of the lists."""
        atoms = np.repeat(lists, self.sizes)
        return _Lists(
            self.losses[atoms], self.masses[atoms], self.others[atoms], self.sizes[lists], self.counts[lists],
            self.infinite[lists], self.infinite_others[lists],
        )  # fmt: skip

    @property
    def are_mirrored(self) -> bool:
        """Whether all of them are the same with P and Q swapped, in the reverse order."""
        if (self.sizes == self.sizes[0]).all():
            losses, masses, others = (x.reshape(self.sizes.size, -1) for x in (self.losses, self.masses, self.others))
            same = np.array_equal(masses, others[:, ::-1]) and np.array_equal(losses, -losses[:, ::-1])
        else:
            ends = np.cumsum(self.sizes)
            back = np.repeat(2 * ends - self.sizes - 1, self.sizes) - np.arange(self.losses.size)
            same = np.array_equal(self.masses, self.others[back]) and np.array_equal(self.losses, -self.losses[back])
        return same and np.array_equal(self.infinite, self.infinite_others)

    @property
    def coins(self) -> np.ndarray:
        """Which of the lists are the atoms of randomized response."""
        found: np.ndarray = (self.sizes == 2) & (self.infinite == 0)
        at = (np.cumsum(self.sizes) - self.sizes)[found]
        (l0, l1), (p0, p1), (q0, q1) = ((x[at], x[at + 1]) for x in (self.losses, self.masses, self.others))
        found[found] = (l0 == -l1) & (p0 == q1) & (p1 == q0) & (l0 != 0)
        return found

    @property
    def massive(self) -> _Lists:
        """The same without atoms that have no mass."""
        if self.masses.all() and self.sizes.all():
            return self
        kept = self.masses > 0
        sizes = np.bincount(np.repeat(np.arange(self.sizes.size), self.sizes)[kept], minlength=self.sizes.size)
        some = sizes > 0
        return _Lists(
            self.losses[kept], self.masses[kept], self.others[kept], sizes[some], self.counts[some],
            self.infinite[some], self.infinite_others[some],
        )  # fmt: skip


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
