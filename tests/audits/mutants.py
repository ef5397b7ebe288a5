"""Mechanisms that leak more than they claim, as callables draw(value, count): what audits must catch."""

from __future__ import annotations

import numpy as np

SOURCE = np.random.default_rng(20261118)


def numpy_laplace(value: float, count: int) -> np.ndarray:
    """Floating-point noise of scale 1: claimed epsilon 1, and its digits tell the value."""
    return value + SOURCE.laplace(size=count)


def uniform_noise(value: float, count: int) -> np.ndarray:
    """The noise of the lecture's question, on a count."""
    return value + SOURCE.uniform(0, 5, count)


def one_sided_geometric(value: int, count: int) -> np.ndarray:
    """Noise that only ever adds: the smallest output is the input."""
    return value + SOURCE.geometric(1 - np.exp(-1.0), count) - 1


def ordered_subset(value: int, count: int) -> np.ndarray:
    """Subset selection over 10 values that writes the true one first where it is in the subset: the order tells."""
    omega, k = 3, 10
    chance = np.e * omega / (np.e * omega + k - omega)
    held = SOURCE.random(count) < chance
    others = np.argsort(SOURCE.random((count, k - 1)), axis=1)[:, :omega]
    others += others >= value
    others[held, 0] = value
    return others[:, 0]


def sparse_vector(variant: int, positives: int = 1, epsilon: float = 1.0):
    """The variants of the sparse vector technique that Lyu, Su and Li compare; 4, 5 and 6 are not private.

    Inputs are answers to queries of sensitivity 1, compared with a threshold of 0. [Lyu, Su, Li 2017]
    """
    c, half = positives, epsilon / 2

    def draw(answers: tuple[float, ...], count: int) -> np.ndarray:
        values = np.asarray(answers, float)
        m = values.size
        spread = 4 / epsilon if variant == 4 else 1 / half
        threshold = np.repeat(SOURCE.laplace(0, spread, count)[:, None], m, axis=1)
        scale = {1: 2 * c / half, 2: 2 * c / half, 4: 4 / (3 * epsilon), 5: 0.0, 6: 1 / half}[variant]
        noisy = values + (SOURCE.laplace(0, scale, (count, m)) if scale else 0.0)
        if variant == 2:  # a fresh threshold after each positive
            threshold = SOURCE.laplace(0, c / half, (count, m))
            fresh = np.zeros((count, m))
            current = threshold[:, 0].copy()
            for i in range(m):
                fresh[:, i] = current
                above = noisy[:, i] >= current
                current = np.where(above, threshold[:, i], current)
            threshold = fresh
        above = (noisy >= threshold).astype(np.uint8)
        if variant in {1, 2, 4}:  # halts after c positives; 5 and 6 never do
            done = np.cumsum(above, axis=1) - above >= c
            above[done] = 2
        return above

    draw.__name__ = f"sparse vector, variant {variant}"
    return draw
