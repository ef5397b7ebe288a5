"""The lecture's experiment: planar Laplace noise against k-RR on the check-ins of two cities.

Calibration. k-RR costs ln 8 between any two cells, near or far. Planar Laplace noise costs ln 2 per step of some length
and so ln 8 at three steps. Three steps are the radius of a disc of 1 km**2 here, 564 m: within the square kilometre
around where one is, both mechanisms protect by ln 8 or better (planar noise by 0.3 % less, for it rounds to metres
first); farther away planar Laplace noise gives more away, and
what it gives is the map. The update is iterated 300 times for the first and 500 times for the second.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.locations.errors import MapErrors, compare
from fastdp.locations.grid import Grid
from fastdp.locations.heat import heat_map
from fastdp.locations.mechanisms import channel_on
from fastdp.locations.survey import open_places
from fastdp.locations.synthetic import clustered_checkins
from fastdp.mechanisms.local.krr import KRR
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.random.rng import Rng
from fastdp.renamed import renamed

SIDE = 3000.0
CELL = 150.0
MOST = 10_000
EPSILON_KRR = math.log(8)
AREA = 1.0e6
REACH = math.sqrt(AREA / math.pi)
"""Metres at which planar Laplace noise costs as much as k-RR: the radius of a disc of one square kilometre."""
ITERATIONS = {"planar": 300, "krr": 500}
HINDSIGHT = (*range(1, 10), *range(10, 50, 2), *range(50, 100, 5), *range(100, 500, 20), *range(500, 1001, 100))
NAMES = {"planar": "planar Laplace", "krr": "k-RR"}
RULES = {
    "noisy": "noisy",
    "ibu": "IBU",
    "hindsight": "IBU, best count in hindsight",
    "hindsight moved": "IBU, best count in hindsight for earth mover's distance",
    "default": "regularised default",
}
STRIDE = 4
"""Every so many counts are tried for earth mover's distance, which takes its time, and then those around the best."""


@dataclass(frozen=True, slots=True)
class City:
    """A square of the map, and the file of its check-ins."""

    name: str
    file: str
    middle: tuple[float, float]
    seed: int
    """Of the synthetic check-ins that stand in for missing ones."""


CITIES = (
    City("San Francisco", "san_francisco.csv", (37.7793, -122.4063), 1),
    City("Paris", "paris.csv", (48.8647, 2.3402), 2),
)


@dataclass(frozen=True, slots=True, eq=False)
class LectureFit:
    """A map won from the reports of one mechanism, and its errors."""

    map: np.ndarray
    iterations: int
    errors: MapErrors


@dataclass(frozen=True, slots=True, eq=False)
class CityResult:
    """Both mechanisms in one city: fits by mechanism and rule, for each run; maps are those of the first."""

    city: City
    is_real: bool
    grid: Grid
    n: int
    truth: np.ndarray
    privacy: dict[str, Any]
    runs: list[dict[tuple[str, str], LectureFit]]

    def mean(self, mechanism: str, rule: str) -> tuple[float, float | None]:
        """Total variation and earth mover's distance, means over the runs."""
        errors = [run[mechanism, rule].errors for run in self.runs]
        moved = [one.wasserstein for one in errors if one.wasserstein is not None]
        return float(np.mean([one.total_variation for one in errors])), float(np.mean(moved)) if moved else None

    def to_dict(self) -> dict[str, Any]:
        """All but the maps, for JSON: means over the runs, and the iterations of each."""
        results = []
        for mechanism, rule in self.runs[0]:
            variation, moved = self.mean(mechanism, rule)
            results.append({
                "mechanism": mechanism, "map": rule, "total_variation": variation, "earth_movers_distance": moved,
                "iterations": [run[mechanism, rule].iterations for run in self.runs],
            })  # fmt: skip
        return {
            "city": self.city.name,
            "real": self.is_real,
            "checkins": self.n,
            "cell": self.grid.cell,
            "epsilon_krr": self.privacy["krr"].privacy.epsilon,
            "epsilon_planar_at_reach": self.privacy["planar"].epsilon_at(REACH),
            "reach": REACH,
            "results": results,
        }


@renamed(told="callback", progress="callback")
def lecture(
    data: str | os.PathLike[str] | None = None,
    *,
    cell: float = CELL,
    runs: int = 3,
    rng: Rng | None = None,
    callback: Callable[[str], None] | None = None,
) -> list[CityResult]:
    """Both mechanisms on both cities, in squares of 3 x 3 km, with up to 10,000 check-ins of each.

    ``data`` is the folder with the files of check-ins, CSV with the columns latitude and longitude; synthetic ones
    stand in for files that are not there. Each run draws its sample of check-ins and its noise anew.

    Parameters
    ----------
    data
        The folder with the files of check-ins; synthetic ones without it.
    cell
        The side of a cell in metres.
    runs
        The number of runs, each with a sample and noise of its own.
    rng
        The source of noise.
    callback
        Called with a line of text at the start of each run.
    """
    runs = validation.positive_integer("lecture", "runs", runs)
    folder = None if data is None else Path(data)
    if folder is not None and not folder.is_dir():
        raise ParameterError("lecture: data must be a folder that exists; without it check-ins are synthetic")
    rng = rng if rng is not None else Rng()
    return [_run_city(city, folder, cell, runs, rng, callback or (lambda _: None)) for city in CITIES]


def _run_city(
    city: City, folder: Path | None, cell: float, runs: int, rng: Rng, callback: Callable[[str], None]
) -> CityResult:
    half = SIDE / 2
    grid = Grid(x=(-half, half), y=(-half, half), cell=cell, origin=city.middle)
    file = None if folder is None else folder / city.file
    if file is not None and not file.is_file():
        file = None
    x, y = clustered_checkins(grid, MOST, seed=city.seed) if file is None else load_checkins(file, grid)
    planar = PlanarLaplace(epsilon=EPSILON_KRR / REACH, unit="m", region=grid.bounds)
    krr = KRR(epsilon=EPSILON_KRR, domain=grid.size)
    found, first = [], None
    for run in range(runs):
        callback(f"{city.name}, run {run + 1} of {runs}")
        chosen = np.random.default_rng([city.seed, run]).permutation(x.size)[:MOST]
        xs, ys = x[chosen], y[chosen]
        truth = grid.count(xs, ys)
        first = truth if first is None else first
        moved = planar.randomize(xs, ys, rng=rng)
        answers = krr.randomize(grid.cells(xs, ys), rng=rng)
        counts = {"planar": grid.count(*moved), "krr": grid.count_cells(answers)}
        fits: dict[tuple[str, str], LectureFit] = {}
        for name, mechanism in (("planar", planar), ("krr", krr)):
            fits |= {(name, rule): fit for rule, fit in _fit(grid, mechanism, counts[name], truth, ITERATIONS[name])}
        found.append(fits)
    assert first is not None
    privacy = {"planar": planar, "krr": krr}
    return CityResult(city, file is not None, grid, min(x.size, MOST), first, privacy, found)


def load_checkins(file: str | os.PathLike[str], grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """The check-ins inside the square."""
    columns, parts = ("latitude", "longitude"), []
    for batch in open_places(file, columns).batches(list(columns), None, []):
        x, y = grid.project(*(batch.column(name) for name in columns), far="infinite")
        inside = grid.inside(x, y)
        parts.append((x[inside], y[inside]))
    if not sum(part[0].size for part in parts):
        raise ParameterError("lecture: a file has no check-in within the square that is compared")
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _fit(grid: Grid, mechanism: Any, counts: np.ndarray, truth: np.ndarray, steps: int) -> list[tuple[str, LectureFit]]:
    default = heat_map(mechanism, counts, grid, progress=False)
    path = _path(grid, mechanism, counts, max(steps, HINDSIGHT[-1]), {*HINDSIGHT, steps})
    best = min((compare_variation(path[step], truth), step) for step in HINDSIGHT)[1]
    moved = _least_moved(grid, path, truth, best)
    maps = {
        "noisy": (default.noisy, 0),
        "ibu": (path[steps], steps),
        "hindsight": (path[best], best),
        "hindsight moved": (path[moved], moved),
        "default": (default.restored, default.iterations),
    }
    return [(rule, LectureFit(cells, count, compare(grid, cells, truth))) for rule, (cells, count) in maps.items()]


def _least_moved(grid: Grid, path: dict[int, np.ndarray], truth: np.ndarray, start: int) -> int:
    """The count whose map is closest to the truth in earth mover's distance; ``start`` where there is no solver."""

    def best_of(steps: Sequence[int]) -> tuple[float, int]:
        moved = [(compare(grid, path[step], truth).wasserstein, step) for step in steps]
        return min(((far, step) for far, step in moved if far is not None), default=(math.inf, start))

    coarse = best_of([start, *HINDSIGHT[::STRIDE]])
    middle = HINDSIGHT.index(coarse[1])
    return min(coarse, best_of(HINDSIGHT[max(0, middle - STRIDE) : middle + STRIDE + 1]))[1]


def compare_variation(cells: np.ndarray, truth: np.ndarray) -> float:
    """Total variation between a map and counts."""
    return float(np.abs(cells - truth / truth.sum()).sum() / 2)


def _path(grid: Grid, mechanism: Any, counts: np.ndarray, most: int, kept: set[int]) -> dict[int, np.ndarray]:
    """Maps after so many steps of the update, from uniform."""
    observed = channel_on(grid, mechanism).prepare(counts.reshape(-1) / counts.sum())
    p, path = np.full(grid.size, 1 / grid.size), {}
    for step in range(1, most + 1):
        p *= observed.gradient(p)[0]
        p /= p.sum()
        if step in kept:
            path[step] = p.reshape(grid.shape).copy()
    return path
