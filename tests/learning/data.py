"""Data sets of the learning tests: two of scikit-learn's, scaled by declared bounds, and a synthetic one."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split


class Data(NamedTuple):
    """Rows and labels to fit and to score, and what is declared: the radius, and the bounds of a feature."""

    rows: np.ndarray
    labels: np.ndarray
    test_rows: np.ndarray
    test_labels: np.ndarray
    radius: float
    bounds: tuple[float, float]


def logistic(count: int, features: int = 20, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    source = np.random.default_rng(seed)
    rows, weights = source.standard_normal((count, features)), source.standard_normal(features) / 2
    return rows, (source.random(count) < 1 / (1 + np.exp(-rows @ weights))).astype(int)


def cut(rows: np.ndarray, labels: np.ndarray, radius: float, bounds: tuple[float, float], seed: int) -> Data:
    a, b, c, d = train_test_split(rows, labels, test_size=0.3, random_state=seed)
    return Data(a, c, b, d, radius, bounds)


def breast_cancer(seed: int = 1) -> Data:
    """Scaled by its own moments, for every method alike: what is compared is the noise."""
    found = load_breast_cancer()
    rows = (found.data - found.data.mean(0)) / found.data.std(0)
    return cut(rows, found.target, 1.2 * math.sqrt(30), (-3.0, 3.0), seed)


def digits(seed: int = 1) -> Data:
    found = load_digits()
    return cut(found.data / 8 - 1, found.target, 0.8 * math.sqrt(64), (-1.0, 1.0), seed)


def synthetic(seed: int = 1) -> Data:
    rows, labels = logistic(5000, seed=seed - 1)
    return cut(rows, labels, 1.2 * math.sqrt(20), (-3.0, 3.0), seed)


def two_features(seed: int = 1) -> Data:
    """Many rows of few features: noise on every value leaves something of them."""
    source = np.random.default_rng(seed)
    rows = source.standard_normal((20_000, 2))
    labels = (source.random(20_000) < 1 / (1 + np.exp(-rows @ [1.5, -1.0]))).astype(int)
    return cut(rows, labels, 1.2 * math.sqrt(2), (-3.0, 3.0), seed)


SETS = {"breast cancer": breast_cancer, "digits": digits, "synthetic": synthetic, "two features": two_features}
