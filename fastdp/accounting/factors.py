"""The privacy losses of a composition in one direction, as arrays: what the moment function is a product of."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from fastdp.accounting.cells import Cells
from fastdp.losses import (
    GaussianLoss,
)

UNIT = 2.0**-53
DATA = 2.0**-50
"""The relative error of masses and losses of atoms."""
MOST_COINS = 1 << 21
"""Tosses of one coin whose outcomes are summed."""


MANY = 128
"""Factors beyond which a choice is made by some of them."""


@dataclass(frozen=True, slots=True)
class _Atoms:
    """Lists of atoms, one after the other, with what every moment needs of them."""

    relative: np.ndarray
    """Losses, less the largest one of their list."""
    masses: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    tops: np.ndarray

    @classmethod
    def of(cls, losses: np.ndarray, masses: np.ndarray, starts: np.ndarray, counts: np.ndarray) -> _Atoms:
        tops = np.maximum.reduceat(losses, starts[:-1])
        return cls(losses - np.repeat(tops, np.diff(starts)), masses, starts, counts, tops)

    def log_moment(self, theta: float) -> float:
        """The sum of ln E e^{theta L}."""
        scaled = self.masses * np.exp(theta * self.relative)
        terms = self.counts * (np.log(np.add.reduceat(scaled, self.starts[:-1])) + theta * self.tops)
        return math.fsum(terms.tolist())

    def log_moments(self, thetas: np.ndarray) -> np.ndarray:
        """The same at several tilts, added up in any order."""
        scaled = self.masses * np.exp(thetas[:, None] * self.relative)
        found: np.ndarray = np.log(np.add.reduceat(scaled, self.starts[:-1], axis=1)) @ self.counts
        return found + thetas * float(self.tops @ self.counts)

    def thinned(self) -> _Atoms:
        """Some of the lists, each for many."""
        places, times = _thin(self.counts.size)
        sizes = np.diff(self.starts)[places]
        starts = np.concatenate([[0], np.cumsum(sizes)])
        atoms = np.arange(starts[-1]) + np.repeat(self.starts[places] - starts[:-1], sizes)
        return _Atoms(self.relative[atoms], self.masses[atoms], starts, self.counts[places] * times, self.tops[places])


def _thin(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The first quarter of so many rows as MANY, which are the widest, and then some of the others, each for many."""
    first = min(size, MANY // 4)
    some = min(size - first, MANY // 2)
    rest = first + np.arange(some) * (size - first) // max(1, some)
    times = np.concatenate([np.ones(first), np.full(rest.size, (size - first) / max(1, rest.size))])
    return np.concatenate([np.arange(first), rest]), times


def _thin_rows(laplace: np.ndarray) -> np.ndarray:
    places, times = _thin(len(laplace))
    rows: np.ndarray = laplace[places] * np.stack([np.ones(times.size), np.ones(times.size), times], 1)
    return rows


@dataclass(slots=True)
class Factors:
    """Moment functions of independent losses under P; ``counts`` say how often each occurs.

    Factor i has the atoms from ``starts[i]`` to ``starts[i + 1]``. Rows of ``laplace`` are an epsilon, a rate and a
    count: geometric noise of that rate, or Laplace noise at rate 0. Rows of ``sampled`` are a sigma, a rate, a count
    and whether a record is added. ``shift`` bounds the error of the sum of losses, ``spread`` that of the logarithm of
    any mass, ``distance`` the statistical distance of either distribution from the samplers'.
    """

    variance: float = 0.0
    laplace: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    losses: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    masses: np.ndarray = field(default_factory=lambda: np.empty(0), repr=False)
    starts: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64), repr=False)
    counts: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64), repr=False)
    sampled: np.ndarray = field(default_factory=lambda: np.empty((0, 4)))
    coin: tuple[float, float] | None = None
    """Between which numbers epsilon lies where all losses are of one randomized response, few enough to be summed."""
    log_finite: float = 0.0
    margin: float = 0.0
    shift: float = 0.0
    spread: float = 0.0
    distance: float = 0.0
    count: int = field(init=False)
    """How many losses there are, Gaussians aside."""
    largest: float = field(init=False)
    """The largest sum of losses, infinite with Gaussians."""
    reach: float = field(init=False)
    """The largest absolute sum of losses, without those of Gaussians."""
    points: float = field(init=False)
    """How many atoms all factors have, each as often as it occurs."""
    _table: _Atoms | None = field(init=False, repr=False)
    _few: tuple[np.ndarray, _Atoms | None] | None = field(init=False, repr=False)
    """Some of the rows, each for many, where there are many: enough to choose a tilt by."""

    def __post_init__(self) -> None:
        if len(self.laplace) > 1:
            self.laplace = self.laplace[np.argsort(-self.laplace[:, 0] * np.sqrt(self.laplace[:, 2]), kind="stable")]
        if self.counts.size > 1:
            self._sort_atoms()
        if len(self.sampled) > 1:
            sigmas, rates, counts, _ = self.sampled.T
            widths = rates * np.sqrt(np.expm1(np.minimum(sigmas**-2, 50.0)) * counts)
            self.sampled = self.sampled[np.argsort(-widths, kind="stable")]
        sizes = np.diff(self.starts)
        self.points = float(sizes @ self.counts)
        self.count = int(self.laplace[:, 2].sum() + self.counts.sum() + self.sampled[:, 2].sum())
        laplace = math.fsum((self.laplace[:, 0] * self.laplace[:, 2]).tolist())
        top = bottom = np.zeros(0)
        self._table = _Atoms.of(self.losses, self.masses, self.starts, self.counts) if self.counts.size else None
        self._few = None
        if max(len(self.laplace), self.counts.size) > MANY:
            self._few = _thin_rows(self.laplace), None if self._table is None else self._table.thinned()
        if self._table is not None:
            top = self._table.tops
            bottom = np.minimum.reduceat(self.losses, self.starts[:-1])
        self.reach = laplace + math.fsum((self.counts * np.maximum(np.abs(top), np.abs(bottom))).tolist())
        removed = self.sampled[:, 3] == 0
        if self.variance or removed.any():
            self.largest = math.inf
        else:
            bounded = math.fsum((-np.log1p(-self.sampled[:, 1]) * self.sampled[:, 2]).tolist())
            self.largest = laplace + math.fsum((self.counts * top).tolist()) + bounded

    def _sort_atoms(self) -> None:
        """Factors in order of their mean square, the widest first."""
        sizes = np.diff(self.starts)
        first = self.starts[:-1]
        spreads = np.add.reduceat(self.masses * self.losses**2, first) * self.counts
        order = np.argsort(-spreads, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes[order])])
        places = np.arange(starts[-1]) + np.repeat(first[order] - starts[:-1], sizes[order])
        self.losses, self.masses = self.losses[places], self.masses[places]
        self.starts, self.counts = starts, self.counts[order]

    @property
    def atoms(self) -> Iterator[tuple[np.ndarray, np.ndarray, int]]:
        """Losses, masses and count of each factor that is a list of atoms."""
        for i, count in enumerate(self.counts.tolist()):
            chosen = slice(self.starts[i], self.starts[i + 1])
            yield self.losses[chosen], self.masses[chosen], count

    @property
    def infinite(self) -> float:
        """The probability under P of an output that Q never has, rounded up."""
        return -math.expm1(self.log_finite) * (1 + 1e-12)

    def log_moment(self, theta: float, *, coarse: bool = False) -> float:
        """K(theta) = sum of ln E e^{theta L}, up to what `log_moment_with_error` says; ``coarse`` only for choices."""
        return self._log_moment(theta, coarse)[0]

    def log_moments(self, thetas: np.ndarray) -> np.ndarray:
        """K at several tilts, only for choices."""
        laplace, atoms = self._few or (self.laplace, self._table)
        if laplace.size or self.sampled.size or atoms is None:
            return np.array([self.log_moment(theta, coarse=True) for theta in thetas.tolist()])
        found: np.ndarray = atoms.log_moments(thetas) + self.variance * thetas * (thetas + 1) / 2
        return found

    def _log_moment(self, theta: float, coarse: bool) -> tuple[float, float]:
        """K(theta), and the error of the part of it that is of samples."""
        total, error = self.variance * theta * (theta + 1) / 2, 0.0
        laplace, atoms = self._few if self._few is not None and coarse else (self.laplace, self._table)
        if laplace.size:
            total += _laplace_log_moment(laplace, theta)
        if atoms is not None:
            total += atoms.log_moment(theta)
        if self.sampled.size:
            from fastdp.kernels.losses import sampled

            sigmas, rates, counts, adds = self.sampled.T.copy()
            points = self.sampled_points(theta, 0.0)
            more, error = sampled.sum_sampled(theta, sigmas, rates, counts, adds, coarse, *np.empty((2, points)))
            total += more
        return total, error

    def sampled_points(self, theta: float, frequency: float) -> int:
        """Points that suffice for every row of ``sampled``, coarse ones included."""
        from fastdp.kernels.losses import sampled

        most: int = max(
            sampled.count_points(sigma, theta, frequency, add) for sigma, _, _, add in self.sampled.tolist()
        )
        return most + 32 + int((theta + 20) / float(self.sampled[:, 0].min()))

    def log_moment_with_error(self, theta: float) -> tuple[float, float]:
        """K(theta) and a bound on its rounding error."""
        total, sampled = self._log_moment(theta, False)
        bulk = theta * self.reach + theta * (theta + 1) * self.variance + 4 * self.count + self.points + 4
        return total, 16 * UNIT * bulk + sampled

    def gathered(self, *, below: bool) -> Factors:
        """The same with cells in place of sampled Gaussians, whose curve lies above, or below."""
        atoms = [(self.losses, self.masses, self.counts, np.diff(self.starts))]
        log_finite, margin = self.log_finite, self.margin
        for sigma, rate, count, add in self.sampled.tolist():
            loss = Cells.of(GaussianLoss(mu=1 / sigma)).mixed(rate).loss()
            one = loss.below if below else loss.above
            losses, masses, infinite = (
                (-one.losses, one.q, one.q_infinite) if add else (one.losses, one.p, one.p_infinite)
            )
            kept = masses > 0
            atoms.append((losses[kept], masses[kept], np.array([int(count)]), np.array([kept.sum()])))
            log_finite += count * math.log1p(-infinite)
            margin += count * loss.margin
        losses, masses, counts, sizes = (np.concatenate(parts) for parts in zip(*atoms, strict=True))
        return replace(
            self, sampled=np.empty((0, 4)), losses=losses, masses=masses, counts=counts,
            starts=np.concatenate([[0], np.cumsum(sizes)]), log_finite=log_finite, margin=margin, coin=None,
        )  # fmt: skip

    def tilted(self, theta: float) -> tuple[np.ndarray, float]:
        """Masses of the atoms times e^{theta loss}, each factor's summing to 1, and their error in units."""
        sizes = np.diff(self.starts)
        below = theta * (self.losses - np.repeat(np.maximum.reduceat(self.losses, self.starts[:-1]), sizes))
        scaled = self.masses * np.exp(below)
        weights: np.ndarray = scaled / np.repeat(np.add.reduceat(scaled, self.starts[:-1]), sizes)
        return weights, 4 * float((weights * -below) @ np.repeat(self.counts, sizes))


def _laplace_log_moment(laplace: np.ndarray, theta: float) -> float:
    """The sum over all rows; see `kernels.losses.moments.multiply_laplace` for the function."""
    epsilons, rates, counts = laplace.T
    inner = (theta + 1) + theta * np.exp(-(2 * theta + 1) * epsilons)
    whole = 2 * theta + 1
    if rates.any():
        fine = np.maximum(rates, 1e-300)
        left, middle, right = (-np.expm1(-2 * x * fine) / (2 * fine) for x in (theta, theta + 0.5, theta + 1))
        inner = right + np.exp(-(2 * theta + 1) * epsilons - rates) * left
        whole = middle * (1 + np.exp(-rates))
    return math.fsum((counts * (theta * epsilons + np.log(inner / whole))).tolist())
