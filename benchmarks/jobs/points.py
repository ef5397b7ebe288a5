"""Jobs of metric privacy: points of the plane, cells of a grid, values of any metric; how rivals do them by hand."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import fastdp as fd
from benchmarks.jobs.job import Job
from benchmarks.jobs.laws import Law, p_value
from benchmarks.rivals.ways import Call, Way, fastdp_noise

EPSILON = 0.7
SIDE = 100
VALUES = 200


@functools.lru_cache(maxsize=2)
def points_of(count: int) -> np.ndarray:
    """Points within 50 km of the origin, in rows of x and y; read-only, as all inputs are."""
    made = np.random.default_rng(2026).uniform(-50, 50, (2, count))
    made.flags.writeable = False
    return made


@functools.lru_cache(maxsize=4)
def codes_of(k: int, count: int) -> np.ndarray:
    """Half of them the middle one of k values, whose reports are judged; the others any."""
    source = np.random.default_rng(2026)
    middle = k // 2 + (SIDE // 2 if k == SIDE * SIDE else 0)
    made = np.where(source.random(count) < 0.5, middle, source.integers(0, k, count)).astype(np.int32)
    made.flags.writeable = False
    return made


@functools.cache
def distances(k: int) -> np.ndarray:
    """Between k places that were thrown onto a square of 10 km."""
    x, y = np.random.default_rng(2026).uniform(0, 10, (2, k))
    return np.hypot(x[:, None] - x, y[:, None] - y)


@functools.cache
def exponential() -> Any:
    return fd.ExponentialMetric(epsilon=EPSILON, distance=distances(VALUES), unit="km")


@functools.cache
def matrix() -> Any:
    return fd.MatrixMechanism(exponential().channel())


@functools.cache
def grid(kind: Any) -> Any:
    return kind(epsilon=EPSILON, shape=(SIDE, SIDE), cell=1.0, unit="km")


def judge_points(_job: Job, found: Any, points: np.ndarray) -> float:
    """Distances follow the gamma law of shape 2, directions are uniform; the grid of a metre is too fine to be seen."""
    from scipy import stats

    away = np.asarray(found) - points
    gamma, uniform = stats.gamma(2, scale=1 / EPSILON), stats.uniform(-math.pi, 2 * math.pi)
    radii = p_value(Law(gamma.cdf, gamma.ppf), np.hypot(*away))
    return min(1.0, 2 * min(radii, p_value(Law(uniform.cdf, uniform.ppf), np.arctan2(away[1], away[0]))))


def judge_row(job: Job, reports: np.ndarray, codes: np.ndarray) -> float:
    """The reports of the commonest value follow its row of the channel, by chi-square; rare ones are counted as one."""
    from scipy import stats

    true = np.bincount(codes).argmax()
    seen = np.bincount(reports[codes == true], minlength=job.domain)
    expected = job.mechanism().channel().row(true) * seen.sum()
    often = expected >= 10
    rest = [seen[~often].sum()], [expected[~often].sum()]
    keep = rest[1][0] >= 10
    if not keep and abs(rest[0][0] - rest[1][0]) > 10 + 8 * math.sqrt(rest[1][0]):
        return 0.0
    seen = np.concatenate([seen[often], rest[0]]) if keep else seen[often]
    expected = np.concatenate([expected[often], rest[1]]) if keep else expected[often]
    return float(stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue)


def fastdp_points(job: Job, points: np.ndarray) -> Call:
    fd.set_threads(1)
    mechanism, (x, y) = job.mechanism(), points
    return lambda: mechanism.randomize(x, y)


def _moved(points: np.ndarray, source: Any, radius: Callable[[], np.ndarray]) -> Call:
    x, y = points

    def call() -> tuple[np.ndarray, np.ndarray]:
        r, turn = radius(), 2 * math.pi * source.random(x.size)
        return x + r * np.cos(turn), y + r * np.sin(turn)

    return call


def numpy_points(_job: Job, points: np.ndarray) -> Call:
    """A radius of the gamma law and a uniform direction."""
    source = np.random.default_rng()
    return _moved(points, source, lambda: source.gamma(2.0, 1 / EPSILON, points.shape[1]))


def scipy_points(_job: Job, points: np.ndarray) -> Call:
    """The radius by inverting its distribution with Lambert's W, as in the paper. [Andres et al. 2013]"""
    from scipy.special import lambertw

    source = np.random.default_rng()

    def radius() -> np.ndarray:
        share = source.random(points.shape[1])
        return -(lambertw((share - 1) / math.e, -1).real + 1) / EPSILON

    return _moved(points, source, radius)


def _clamped(row: np.ndarray, column: np.ndarray) -> np.ndarray:
    return np.clip(row, 0, SIDE - 1) * SIDE + np.clip(column, 0, SIDE - 1)


def numpy_cells(_job: Job, cells: np.ndarray) -> Call:
    """A radius and a direction, rounded to cells and clamped to the grid."""
    source = np.random.default_rng()

    def call() -> np.ndarray:
        r, turn = source.gamma(2.0, 1 / EPSILON, cells.size), 2 * math.pi * source.random(cells.size)
        row, column = np.divmod(cells, SIDE)
        return _clamped(
            np.rint(row + r * np.sin(turn)).astype(np.int32), np.rint(column + r * np.cos(turn)).astype(np.int32)
        )

    return call


def numpy_offsets(_job: Job, cells: np.ndarray) -> Call:
    """An offset by searching the sums of all masses, then clamped to the grid."""
    source = np.random.default_rng()
    steps = np.arange(-SIDE, SIDE + 1)
    masses = np.exp(-EPSILON * np.hypot(steps[:, None], steps)).ravel()
    sums = np.cumsum(masses / masses.sum())[:-1]

    def call() -> np.ndarray:
        down, across = np.divmod(np.searchsorted(sums, source.random(cells.size), side="right"), steps.size)
        row, column = np.divmod(cells, SIDE)
        return _clamped(row + down - SIDE, column + across - SIDE)

    return call


def numpy_rows(job: Job, codes: np.ndarray) -> Call:
    """All rows' sums end to end, so that one search serves every record."""
    source = np.random.default_rng()
    matrix = job.mechanism().channel().dense()
    k = len(matrix)
    sums = np.cumsum(matrix, axis=1)
    sums[:, -1] = 1.0
    ends = (sums + np.arange(k)[:, None]).ravel()
    return lambda: np.searchsorted(ends, codes + source.random(codes.size), side="right") - codes * k


def _cells(name: str, mechanism: Any, what: str) -> Job:
    return Job(
        name, "locations", name, "int32", f"{what} on 100 x 100 cells, epsilon {EPSILON} a side",
        functools.partial(grid, mechanism), unit="reports", size=4_000_000, domain=SIDE * SIDE,
        make=functools.partial(codes_of, SIDE * SIDE), judge=judge_row, random=2,
    )  # fmt: skip


JOBS = (
    Job(
        "planar-laplace", "locations", "points", "float64",
        f"planar Laplace, epsilon {EPSILON} per km, grid of a metre",
        lambda: fd.PlanarLaplace(epsilon=EPSILON, unit="km"), unit="points", size=2_000_000, make=points_of,
        judge=judge_points, random=28,
    ),
    _cells("grid-laplace", fd.GridLaplace, "planar Laplace"),
    _cells("grid-geometric", fd.GridGeometric, "planar geometric"),
    Job(
        "exponential-metric-200", "locations", "metric", "int32",
        f"exponential mechanism between {VALUES} places, epsilon {EPSILON} per km", exponential, unit="reports",
        size=4_000_000, domain=VALUES, make=functools.partial(codes_of, VALUES), judge=judge_row, random=2,
    ),
    Job(
        "matrix-200", "locations", "metric", "int32",
        f"a stochastic matrix between {VALUES} values", matrix, unit="reports",
        size=4_000_000, domain=VALUES, make=functools.partial(codes_of, VALUES), judge=judge_row, random=2,
    ),
)  # fmt: skip
FASTDP = {"points": Way(fastdp_points)} | dict.fromkeys(("grid-laplace", "grid-geometric", "metric"), Way(fastdp_noise))
NUMPY = {
    "points": Way(numpy_points),
    "grid-laplace": Way(numpy_cells),
    "grid-geometric": Way(numpy_offsets),
    "metric": Way(numpy_rows),
}
SCIPY = {"points": Way(scipy_points)}
