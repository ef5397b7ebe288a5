"""Every kind of channel, at several sizes and parameters, beside its matrix written out by definition.

A new kind joins the contract by being listed here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

import fastdp as fd
from fastdp.channels import (
    CascadeChannel,
    Channel,
    GeometricChannel,
    GridChannel,
    KRRChannel,
    LaplaceChannel,
    ProductChannel,
    SparseChannel,
    SupportChannel,
)
from fastdp.channels.hadamard import HadamardChannel
from fastdp.channels.planar import geometric_masses, laplace_masses
from fastdp.channels.remapped import RemappedChannel
from fastdp.channels.window import WindowChannel


@dataclass(frozen=True)
class Case:
    """A channel, its matrix, how far products may be off, and whether its rows are whole distributions."""

    name: str
    make: Callable[[], Channel]
    matrix: Callable[[], np.ndarray]
    error: float = 1e-14
    whole: bool = True


def random_matrix(inputs: int, outputs: int, *, density: float = 1.0, seed: int = 1) -> np.ndarray:
    """Rows of very different entries; column 0 is never empty."""
    source = np.random.default_rng([seed, inputs, outputs])
    matrix = source.random((inputs, outputs)) ** 6 * (source.random((inputs, outputs)) < density)
    matrix[:, 0] += 0.01
    return matrix / matrix.sum(axis=1, keepdims=True)


def random_masses(*sides: int) -> np.ndarray:
    masses = np.random.default_rng(sides).random(sides)
    return masses / masses.sum()


def geometric(size: int, rate: float) -> np.ndarray:
    """Noise drawn from far enough away, added and clamped."""
    a, reach = math.exp(-rate), size + math.ceil(50 / rate)
    matrix = np.zeros((size, size))
    for x in range(size):
        for z in range(-reach, reach + 1):
            matrix[x, min(max(x + z, 0), size - 1)] += (1 - a) / (1 + a) * a ** abs(z)
    return matrix


def laplace(size: int, rate: float) -> np.ndarray:
    """Differences of the distribution function at the edges of the intervals."""

    def below(z: float) -> float:
        return math.exp(rate * z) / 2 if z < 0 else 1 - math.exp(-rate * z) / 2

    edges = [-math.inf, *(y + 0.5 for y in range(size - 1)), math.inf]
    return np.array([[below(edges[y + 1] - x) - below(edges[y] - x) for y in range(size)] for x in range(size)])


def grid(masses: np.ndarray, rows: int, columns: int) -> np.ndarray:
    """Every offset from every cell, clamped row by row and column by column."""
    up, left = masses.shape[0] // 2, masses.shape[1] // 2
    matrix = np.zeros((rows, columns, rows, columns))
    for i, j in np.ndindex(rows, columns):
        for (a, b), mass in np.ndenumerate(masses):
            s, t = min(max(i + a - up, 0), rows - 1), min(max(j + b - left, 0), columns - 1)
            matrix[i, j, s, t] += mass
    return matrix.reshape(rows * columns, -1)


def hadamard(size: int, outputs: int, p: float) -> np.ndarray:
    odd = [[(x + 1 & y).bit_count() % 2 for y in range(outputs)] for x in range(size)]
    return np.where(odd, 1 - p, p) * 2 / outputs


def window(size: int, span: Fraction, p: float, q: float) -> np.ndarray:
    """By quadrature over where in its bin the value lies."""
    half, margin = float(span) / 2, math.ceil(span / 2)
    low, high = -half, size + half
    edges = np.clip(np.arange(size + 2 * margin + 1) - margin, low, high)
    matrix = np.zeros((size, edges.size - 1))
    points = (np.arange(4000) + 0.5) / 4000
    for x in range(size):
        for value in x + points:
            inside = np.diff(np.clip(edges, value - half, value + half))
            matrix[x] += (p * inside + q * (np.diff(edges) - inside)) / points.size
    return matrix


def random_sets(k: int, reports: int) -> np.ndarray:
    return np.random.default_rng([k, reports]).random((reports, k)) < 0.3


def _cases() -> list[Case]:
    cases = [
        Case(
            f"krr {k}, {e}",
            lambda k=k, e=e: KRRChannel(k, _krr(k, e)[0, 0], _krr(k, e)[0, 1]),
            lambda k=k, e=e: _krr(k, e),
        )
        for k, e in [(2, 0.3), (7, 1.3), (100, 4.0)]
    ]
    cases.append(Case("krr of one value", lambda: KRRChannel(1, 1.0, 1.0), lambda: np.ones((1, 1))))
    for size in (1, 2, 3, 8, 13):
        for rate in (0.07, 0.9, 6.0):
            for kind, matrix in ((GeometricChannel, geometric), (LaplaceChannel, laplace)):
                cases.append(
                    Case(
                        f"{kind.__name__} {size}, {rate}",
                        lambda kind=kind, size=size, rate=rate: kind(size, rate),
                        lambda matrix=matrix, size=size, rate=rate: matrix(size, rate),
                    )
                )
    cases += [
        Case(
            f"grid {shape}, {sides}",
            lambda shape=shape, sides=sides: GridChannel(random_masses(*sides), shape),
            lambda shape=shape, sides=sides: grid(random_masses(*sides), *shape),
            error=1e-13,
        )
        for shape in ((1, 1), (1, 6), (4, 1), (2, 2), (3, 5), (6, 4))
        for sides in ((1, 1), (3, 3), (5, 1), (9, 7), (13, 15))
    ]
    cases += [
        Case(
            f"planar {kind} {rate}, {shape}",
            lambda kind=kind, rate=rate, shape=shape: getattr(GridChannel, kind)(rate, shape),
            lambda masses=masses, rate=rate, shape=shape: grid(masses(rate, 25), *shape),
            error=1e-13,
        )
        for kind, masses in (("laplace", laplace_masses), ("geometric", geometric_masses))
        for rate, shape in ((2.0, (1, 4)), (1.5, (5, 6)), (3.0, (7, 7)))
    ]
    for size, outputs in ((1, 2), (3, 4), (5, 8), (20, 32), (40, 64)):
        cases.append(
            Case(
                f"hadamard {size}",
                lambda size=size, outputs=outputs: HadamardChannel(size, outputs, 0.7, 0.3),
                lambda size=size, outputs=outputs: hadamard(size, outputs, 0.7),
            )
        )
    for size, span in ((1, Fraction(3)), (2, Fraction(1, 2)), (9, Fraction(31, 7)), (12, Fraction(30))):
        total = float(span) * 3 + size  # of density 3 within and 1 outside
        cases.append(
            Case(
                f"window {size}, {span}",
                lambda size=size, span=span, total=total: WindowChannel(size, span, 3 / total, 1 / total),
                lambda size=size, span=span, total=total: window(size, span, 3 / total, 1 / total),
                error=1e-6,
            )
        )
    for inputs, outputs in ((1, 1), (1, 9), (2, 2), (9, 1), (17, 5), (33, 300), (1030, 21)):
        for storage, error in (("float64", 1e-14), ("float32", 2e-7), ("float16", 5e-4)):
            cases.append(
                Case(
                    f"{storage} {inputs} x {outputs}",
                    lambda n=inputs, m=outputs, storage=storage: Channel.from_matrix(random_matrix(n, m), storage),
                    lambda n=inputs, m=outputs: random_matrix(n, m),
                    error=error,
                )
            )
        cases.append(
            Case(
                f"sparse {inputs} x {outputs}",
                lambda n=inputs, m=outputs: SparseChannel(random_matrix(n, m, density=0.3)),
                lambda n=inputs, m=outputs: random_matrix(n, m, density=0.3),
            )
        )
    for k, reports in ((1, 3), (8, 9), (13, 40), (70, 1500)):
        cases.append(
            Case(
                f"support {k}, {reports}",
                lambda k=k, n=reports: SupportChannel(np.packbits(random_sets(k, n), 1, bitorder="little"), k, 1.7),
                lambda k=k, n=reports: np.where(random_sets(k, n).T, math.exp(1.7), 1.0),
                whole=False,
            )
        )
    cases += [
        Case(
            "product of three",
            lambda: ProductChannel(KRRChannel(3, 0.5, 0.25), GeometricChannel(4, 0.7), Channel.from_matrix(_SMALL)),
            lambda: np.kron(np.kron(np.full((3, 3), 0.25) + np.eye(3) / 4, geometric(4, 0.7)), _SMALL),
        ),
        Case(
            "product of one",
            lambda: ProductChannel(KRRChannel(2, 0.8, 0.2)),
            lambda: np.full((2, 2), 0.2) + np.eye(2) * 0.6,
        ),
        Case(
            "cascade",
            lambda: CascadeChannel(GeometricChannel(6, 0.8), Channel.from_matrix(random_matrix(6, 9))),
            lambda: geometric(6, 0.8) @ random_matrix(6, 9),
        ),
        Case(
            "remapped",
            lambda: RemappedChannel(GeometricChannel(6, 0.8), np.array([2, 2, 0, 5, 5, 5]), 6),
            lambda: geometric(6, 0.8) @ np.eye(6)[[2, 2, 0, 5, 5, 5]],
        ),
        Case("cohorts", _cohorts, lambda: np.stack([_cohorts().row(x) for x in range(11)])),
    ]
    return cases


_SMALL = np.array([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])


def _krr(k: int, epsilon: float) -> np.ndarray:
    q = 1 / (math.exp(epsilon) + k - 1)
    return np.full((k, k), q) + np.eye(k) * (math.exp(epsilon) - 1) * q


def _cohorts() -> Channel:
    return fd.LocalHashing(epsilon=1.0, domain=11, cohorts=5).channel()


def _once(make: Callable[[], np.ndarray]) -> Callable[[], np.ndarray]:
    @functools.cache
    def made() -> np.ndarray:
        matrix = make()
        matrix.flags.writeable = False
        return matrix

    return made


CASES = [replace(case, make=functools.cache(case.make), matrix=_once(case.matrix)) for case in _cases()]
"""Each made once for all tests, which only read."""
