"""``python -m benchmarks.steps``: how many steps come closest to the true map, beside the typical number.

Maps of two cities (from the folder that ``--data`` names, CSV files with the columns latitude and longitude) and of
made-up ones, with few and many reports, cells of two sizes and noise of three. Raw numbers go to
bench_results/steps.json, the table to docs/locations.md.
"""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

from benchmarks.measuring import machine
from benchmarks.pages.tables import put_between, table
from fastdp.channels import GridChannel
from fastdp.channels.planar import spread_masses
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.smoothing.map_prior import fading_blur, noise_variance, typical_steps
from fastdp.estimators.smoothing.step_paths import CountRows, accelerated_steps
from fastdp.locations import Grid, clustered_checkins
from fastdp.locations.errors import compare
from fastdp.locations.lecture import CITIES, EPSILON_KRR, REACH, SIDE, load_checkins

RESULTS, PAGE = machine.ROOT / "bench_results" / "steps.json", machine.ROOT / "docs" / "locations.md"
REPORTS = (300, 1_000, 5_000, 10_000, 100_000)
CELLS, NOISES = (300.0, 150.0), (0.5, 1.0, 2.0)
"""Sides of a cell in metres, and multiples of the lecture's epsilon."""
MADE_UP, SAMPLES, MOST = (11, 12), 4, 400
CHECKINS = 100_000


def true_maps(data: Path | None, cell: float) -> dict[str, tuple[Grid, np.ndarray]]:
    """Shares of check-ins by name."""
    half, found = SIDE / 2, {}
    for city in CITIES if data is not None else ():
        grid = Grid(x=(-half, half), y=(-half, half), cell=cell, origin=city.middle)
        found[city.name] = (grid, grid.count(*load_checkins(data / city.file, grid)))
    flat = Grid(x=(-half, half), y=(-half, half), cell=cell)
    for seed in MADE_UP:
        found[f"made up, {seed}"] = (flat, flat.count(*clustered_checkins(flat, CHECKINS, seed=seed)))
    return {name: (grid, counts.reshape(-1) / counts.sum()) for name, (grid, counts) in found.items()}


def best_steps(grid: Grid, truth: np.ndarray, noise: float, reports: int) -> dict[str, float]:
    """The numbers of steps of least total variation and earth mover's distance, on average, and the typical one."""
    channel = GridChannel(spread_masses(noise * EPSILON_KRR / REACH * grid.cell, grid.shape), grid.shape)
    source = np.random.default_rng([reports, round(10 * noise), round(grid.cell)])
    people = source.multinomial(reports, truth, SAMPLES)
    chances = channel.forward(people / reports)
    counts = np.array([source.multinomial(reports, row / row.sum()) for row in chances]).astype(float)
    problem = Problem("steps", [(channel, counts[0])])
    variance = noise_variance(problem, grid.shape)
    variation, moved, kept = [], {}, {*np.round(np.geomspace(3, MOST, 40)).astype(int).tolist()}
    for step, points, _ in accelerated_steps(CountRows(problem, [counts]), fading_blur(grid.shape, variance)):
        variation.append(np.abs(points - people / reports).sum())
        if step in kept:
            pairs = zip(points, people, strict=True)
            moved[step] = sum(compare(grid, point, true).wasserstein or math.nan for point, true in pairs)
        if step == MOST:
            break
    return {
        "total_variation": int(np.argmin(variation)),
        "wasserstein": min(moved, key=moved.__getitem__),
        "typical": typical_steps(problem, variance),
    }


def table_of(found: Sequence[dict[str, Any]]) -> list[str]:
    """A line per noise and number of reports: the best on real and on made-up maps, and the typical number."""
    rows = []
    for noise, reports in itertools.product(NOISES, REPORTS):
        same = [row for row in found if (row["noise"], row["reports"]) == (noise, reports)]
        best = [_shown([row for row in same if row["real"] is is_real]) for is_real in (True, False)]
        rows.append([f"{noise:g}", f"{reports:,}", *best, f"{np.mean([row['typical'] for row in same]):.0f}"])
    names = ["best on two cities, mean (range)", "best on two made-up ones, mean (range)"]
    return table(["epsilon, of the lecture's", "reports", *names, "typical"], rows)


def _shown(rows: Sequence[dict[str, Any]]) -> str:
    """The geometric mean of the best numbers, over maps, cells and both distances, and their range."""
    best = [row[name] for row in rows for name in ("total_variation", "wasserstein")]
    return f"{np.exp(np.mean(np.log(best))):.0f} ({min(best)} to {max(best)})" if best else "–"


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of real check-ins.")
def main(data: Path | None) -> None:
    """Measure the best number of steps; write raw numbers and the table of docs/locations.md.

    \b
    Example:
      python -m benchmarks.steps --data path/to/gowalla
    """
    console, found = Console(stderr=True), []
    for cell in CELLS:
        for (name, (grid, truth)), noise, reports in itertools.product(true_maps(data, cell).items(), NOISES, REPORTS):
            steps = best_steps(grid, truth, noise, reports)
            is_real = not name.startswith("made up")
            about = {"map": name, "real": is_real, "cell": cell, "noise": noise, "reports": reports}
            found.append({**about, **steps})
        console.print(f"cells of {cell:g} m are done", highlight=False)
    RESULTS.write_text(json.dumps({**machine.commit(), "rows": found}, indent=1) + "\n")
    put_between(PAGE, {"steps": table_of(found)})
    console.print(f"wrote {RESULTS.name} and {PAGE.name}", highlight=False)


if __name__ == "__main__":
    main()
