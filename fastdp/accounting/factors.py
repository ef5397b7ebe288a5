"""The privacy losses of a composition in one direction, as arrays: what the moment function is a product of."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.losses import AtomicLoss, GaussianLoss, GeometricLoss, LaplaceLoss, Loss, SampledGaussianLoss

UNIT = 2.0**-53
DATA = 2.0**-50
"""The relative error of masses and losses of atoms."""
FEW_STEPS = 4
"""Steps up to which a geometric loss is a list of atoms, whose compositions may be enumerated."""


@dataclass(slots=True)
class Factors:
    """Moment functions of independent losses under P; ``counts`` say how often each occurs.

    ``shift`` bounds the error of the sum of losses, ``spread`` that of the logarithm of any mass, ``distance`` the
    statistical distance of either distribution from the samplers'. Rows of ``laplace`` are an epsilon, a rate and a
    count: geometric noise of that rate, or Laplace noise at rate 0.
    """

    variance: float = 0.0
    laplace: np.ndarray = field(default_factory=lambda: np.empty((0, 3)))
    atoms: list[tuple[np.ndarray, np.ndarray, int]] = field(default_factory=list)
    sampled: list[tuple[float, float, int, bool]] = field(default_factory=list)
    log_finite: float = 0.0
    margin: float = 0.0
    shift: float = 0.0
    spread: float = 0.0
    distance: float = 0.0
    starts: np.ndarray = field(init=False, repr=False)
    losses: np.ndarray = field(init=False, repr=False)
    masses: np.ndarray = field(init=False, repr=False)
    counts: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.laplace = self.laplace[np.argsort(-self.laplace[:, 0] * np.sqrt(self.laplace[:, 2]), kind="stable")]
        self.atoms.sort(key=lambda one: -_spread(*one))
        self.counts = np.array([count for _, _, count in self.atoms], np.int64)
        self.starts = np.concatenate([[0], np.cumsum([len(one[0]) for one in self.atoms])]).astype(np.int64)
        self.losses = np.concatenate([one[0] for one in self.atoms]) if self.atoms else np.empty(0)
        self.masses = np.concatenate([one[1] for one in self.atoms]) if self.atoms else np.empty(0)

    @property
    def infinite(self) -> float:
        """The probability under P of an output that Q never has, rounded up."""
        return -math.expm1(self.log_finite) * (1 + 1e-12)

    @property
    def count(self) -> int:
        """How many losses there are, Gaussians aside."""
        return int(self.laplace[:, 2].sum() + self.counts.sum() + sum(one[2] for one in self.sampled))

    @property
    def largest(self) -> float:
        """The largest sum of losses, infinite with Gaussians."""
        if self.variance or any(not add for *_, add in self.sampled):
            return math.inf
        bounded = [-math.log1p(-rate) * count for _, rate, count, _ in self.sampled]
        return self._most(np.maximum) + math.fsum(bounded)

    @property
    def reach(self) -> float:
        """The largest absolute sum of losses, without those of Gaussians."""
        return self._most(lambda a, b: np.maximum(np.abs(a), np.abs(b)))

    def _most(self, larger: np.ufunc | object) -> float:
        atoms = 0.0
        for losses, _, count in self.atoms:
            top, bottom = float(losses.max()), float(losses.min())
            atoms += count * (top if larger is np.maximum else max(top, -bottom))
        return math.fsum(self.laplace[:, 0] * self.laplace[:, 2]) + atoms

    def log_moment(self, theta: float) -> float:
        """K(theta) = sum of ln E e^{theta L}, up to ``log_moment_error``."""
        total = self.variance * theta * (theta + 1) / 2
        if self.laplace.size:
            total += _laplace_log_moment(self.laplace, theta)
        if self.counts.size:
            tops = np.maximum.reduceat(self.losses, self.starts[:-1])
            scaled = self.masses * np.exp(theta * (self.losses - np.repeat(tops, np.diff(self.starts))))
            total += math.fsum(self.counts * (np.log(np.add.reduceat(scaled, self.starts[:-1])) + theta * tops))
        for sigma, rate, count, add in self.sampled:
            total += count * _sampled_log_moment(sigma, rate, theta, add)
        return total

    def log_moment_error(self, theta: float) -> float:
        """A bound on the rounding error of K(theta)."""
        sampled = sum(count * (200 + 40 * theta) for _, _, count, _ in self.sampled)
        return 16 * UNIT * (theta * self.reach + theta * (theta + 1) * self.variance + 4 * self.count + sampled + 4)

    def tilted(self, theta: float) -> np.ndarray:
        """Masses of the atoms times e^{theta loss}, each factor's summing to 1."""
        tops = np.repeat(np.maximum.reduceat(self.losses, self.starts[:-1]), np.diff(self.starts))
        scaled = self.masses * np.exp(theta * (self.losses - tops))
        sums = np.add.reduceat(scaled, self.starts[:-1])
        weights: np.ndarray = scaled / np.repeat(sums, np.diff(self.starts))
        return weights


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
    return math.fsum(counts * (theta * epsilons + np.log(inner / whole)))


def _spread(losses: np.ndarray, masses: np.ndarray, count: int) -> float:
    """The standard deviation of a factor, times the root of its count."""
    mean = float(masses @ losses)
    return math.sqrt(max(float(masses @ (losses - mean) ** 2), 0.0) * count)


def build(losses: Iterable[tuple[Loss, int]], *, reverse: bool = False) -> Factors:
    """The factors of a composition of (loss, count) pairs, of Q against P where ``reverse``."""
    merged: dict[tuple[object, ...], list[int]] = {}
    order: list[Loss] = []
    for loss, count in losses:
        key = (loss,) if not isinstance(loss, AtomicLoss) else (id(loss),)
        if key in merged:
            merged[key][1] += count
        else:
            merged[key] = [len(order), count]
            order.append(loss)
    parts: dict[str, list[Any]] = {"laplace": [], "atoms": [], "sampled": []}
    sums = {"variance": 0.0, "log_finite": 0.0, "margin": 0.0, "shift": 0.0, "spread": 0.0, "distance": 0.0}
    for (index, count), loss in zip(merged.values(), order, strict=True):
        assert order[index] is loss
        sums["margin"] += count * loss.margin
        sums["distance"] += count * loss.distance
        _add(loss, count, reverse, parts, sums)
    laplace = np.array(parts["laplace"], float).reshape(-1, 3)
    sums = {name: value * (1 + 4 * UNIT * (len(order) + 1)) for name, value in sums.items()}
    return Factors(laplace=laplace, atoms=parts["atoms"], sampled=parts["sampled"], **sums)


def _add(loss: Loss, count: int, reverse: bool, parts: dict[str, list[Any]], sums: dict[str, float]) -> None:
    match loss:
        case GaussianLoss():
            sums["variance"] += count * loss.mu**2
        case LaplaceLoss():
            parts["laplace"].append((loss.epsilon, 0.0, count))
        case SampledGaussianLoss():
            parts["sampled"].append((1 / loss.mu, loss.rate, count, reverse != loss.reverse))
        case GeometricLoss() if loss.steps <= FEW_STEPS:
            _add_atoms(geometric_atoms(loss), count, reverse, parts, sums)
        case GeometricLoss():
            epsilon = loss.rate * loss.steps
            sums["shift"] += count * 4 * UNIT * epsilon
            sums["spread"] += count * 4 * UNIT * (1 + epsilon)
            parts["laplace"].append((epsilon, loss.rate, count))
        case AtomicLoss():
            _add_atoms(loss, count, reverse, parts, sums)
        case _:
            raise ParameterError(f"compose: a {type(loss).__name__} has no moment function here")


def _add_atoms(
    loss: AtomicLoss, count: int, reverse: bool, parts: dict[str, list[Any]], sums: dict[str, float]
) -> None:
    losses, masses = (-loss.losses, loss.q) if reverse else (loss.losses, loss.p)
    kept = masses > 0
    losses, masses = np.ascontiguousarray(losses[kept], float), np.ascontiguousarray(masses[kept], float)
    infinite = loss.q_infinite if reverse else loss.p_infinite
    sums["log_finite"] += count * math.log1p(-infinite)
    sums["shift"] += count * DATA * (float(np.abs(losses).max()) if losses.size else 0.0)
    sums["spread"] += count * DATA
    parts["atoms"].append((losses, masses, count))


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


def sampled_range(sigma: float, theta: float, *, add: bool) -> tuple[float, float, float]:
    """The exponent of the likelihood ratio, and the interval of noise that counts."""
    exponent = -theta if add else 1 + theta
    return exponent, -9.5 * sigma + min(exponent, 0.0), 9.5 * sigma + max(exponent, 0.0)


def sampled_step(sigma: float, theta: float, frequency: float, *, add: bool) -> float:
    """A step of the trapezoid rule that is right to e^-41 up to ``frequency``: the strip bound, docs/accounting.md."""
    best = math.inf
    for angle in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
        room = 42 + (theta * -math.log(math.cos(angle / 2)) if add else 0.0)
        best = min(best, frequency + room / angle + angle * sigma * sigma / 2)
    return 2 * math.pi * sigma * sigma / best


def _sampled_log_moment(sigma: float, rate: float, theta: float, add: bool) -> float:
    exponent, low, high = sampled_range(sigma, theta, add=add)
    size = int((high - low) / min(sigma / 3, sampled_step(sigma, theta, 0.0, add=add))) + 2
    y = np.linspace(low, high, size + 1)
    x = (2 * y - 1) / (2 * sigma * sigma)
    near = (
        np.log1p(rate * np.expm1(np.minimum(x, 40)))
        if rate <= 0.5
        else np.log(1 - rate + rate * np.exp(np.minimum(x, 40)))
    )
    ratio = np.where(x > 40, x + math.log(rate) + np.log1p((1 - rate) / rate * np.exp(-np.maximum(x, 40))), near)
    powers = exponent * ratio - y * y / (2 * sigma * sigma)
    top = float(powers.max())
    total = math.fsum(np.exp(powers - top)) * (high - low) / size
    return math.log(total / sigma) + top - 0.5 * math.log(2 * math.pi)
