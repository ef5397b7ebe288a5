"""Truths that estimates are judged on: classes from two values to a city, drawn by a seeded generator.

Constants of the estimators were chosen on the seeds of ``TUNING`` only; tables are made from those of ``JUDGING``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

TUNING, JUDGING = 1_000, 2_000
"""First entries of the seeds of truths and samples."""


def two(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """Two values or cells hold everybody."""
    return _some(shape, 2, source)


def few(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """Three to eight values or cells hold everybody."""
    return _some(shape, int(source.integers(3, 9)), source)


def _some(shape: tuple[int, ...], count: int, source: np.random.Generator) -> np.ndarray:
    truth = np.zeros(int(np.prod(shape)))
    places = source.choice(truth.size, min(count, truth.size), replace=False)
    truth[places] = source.dirichlet(np.full(places.size, 3.0))
    return truth


def zipf(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """Zipf's law in the order of the values."""
    return _normalised(np.arange(1, np.prod(shape) + 1.0) ** -source.uniform(0.8, 1.5))


def permuted_zipf(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """Zipf's law in no order: neighbours are not alike."""
    return np.asarray(source.permutation(zipf(shape, source)))


def bump(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """One to three normal hills."""
    truth = np.zeros(int(np.prod(shape)))
    for _ in range(source.integers(1, 4)):
        truth += source.uniform(0.3, 1.0) * _hill(shape, source, source.uniform(0.04, 0.15))
    return _normalised(truth)


def uniform(shape: tuple[int, ...], _: np.random.Generator) -> np.ndarray:
    """All alike."""
    return _normalised(np.ones(int(np.prod(shape))))


def city(shape: tuple[int, ...], source: np.random.Generator) -> np.ndarray:
    """Forty districts of Zipf's sizes, a tenth of the people in sixty lone spots, and a few anywhere."""
    truth = np.zeros(int(np.prod(shape)))
    for size in np.arange(1, 41.0) ** -0.8:
        truth += size * _hill(shape, source, source.uniform(0.01, 0.08))
    truth *= 0.87 / truth.sum()
    np.add.at(truth, source.integers(0, truth.size, 60), 0.1 * source.dirichlet(np.ones(60)))
    return _normalised(truth + 0.03 / truth.size)


def _hill(shape: tuple[int, ...], source: np.random.Generator, width: float) -> np.ndarray:
    """A normal density of such a width, in parts of the sides, around a place away from the border."""
    hill = np.ones(1)
    for side in shape:
        away = (np.arange(side) + 0.5) / side - source.uniform(0.1, 0.9)
        hill = np.multiply.outer(hill, np.exp(-((away / width) ** 2) / 2))
    total = hill.sum()
    return hill.reshape(-1) / total if total > 0 else hill.reshape(-1)


def _normalised(truth: np.ndarray) -> np.ndarray:
    return np.asarray(truth / truth.sum())


Truth = Callable[[tuple[int, ...], np.random.Generator], np.ndarray]
CLASSES: dict[str, Truth] = {
    "two values": two,
    "few values": few,
    "Zipf": zipf,
    "permuted Zipf": permuted_zipf,
    "bump": bump,
    "uniform": uniform,
    "city": city,
}
