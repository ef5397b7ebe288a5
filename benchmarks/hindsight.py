"""``python -m benchmarks.hindsight``: the default estimate beside the best simple method in hindsight.

Truths of every class of benchmarks/jobs/truths.py, drawn anew for each sample by seeds that no constant was chosen on,
through mechanisms of every kind. In each cell the best in hindsight is the method of least mean total variation: the
inverted channel on the simplex, EM stopped after 5, 15, 50, 150 and 500 steps, the averaged map after its typical
number of steps, and the likeliest distribution. Raw numbers go to bench_results/hindsight.json, tables to
docs/estimation.md. ``--data`` names a folder of real check-ins (CSV files with latitude and longitude).
"""

from __future__ import annotations

import contextlib
import itertools
import json
import multiprocessing
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

import fastdp as fd
from benchmarks.jobs.truths import CLASSES, JUDGING
from benchmarks.measuring import machine
from benchmarks.pages.tables import put_between, table
from fastdp import measures
from fastdp.channels import Channel, GeometricChannel, GridChannel, KRRChannel, LaplaceChannel
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.smoothing.map_prior import fading_blur, noise_variance, typical_steps
from fastdp.estimators.smoothing.step_paths import CountRows, accelerated_steps, em_steps

RESULTS, PAGE = machine.ROOT / "bench_results" / "hindsight.json", machine.ROOT / "docs" / "estimation.md"
SAMPLES, REPORTS, EM = 20, (300, 10_000, 1_000_000), (5, 15, 50, 150, 500)
TARGET = 1.12
"""Of the best in hindsight."""
SEEN = 1.0
"""Nats by which one estimate must explain fresh reports better than another for the reports to tell them apart."""


def krr(k: int, epsilon: float) -> KRRChannel:
    growth = float(np.exp(epsilon))
    return KRRChannel(k, growth / (growth + k - 1), 1 / (growth + k - 1))


def mechanisms() -> dict[str, tuple[Channel, tuple[int, ...], tuple[int, ...]]]:
    """Channels, the shapes of their values, and numbers of reports."""
    found: dict[str, Channel] = {
        "k-RR 5, epsilon 1": krr(5, 1.0),
        "k-RR 50, epsilon 2": krr(50, 2.0),
        "k-RR 1000, epsilon 3": krr(1000, 3.0),
        "geometric 100, epsilon 1": GeometricChannel(100, 1.0),
        "geometric 100, epsilon 0.2": GeometricChannel(100, 0.2),
        "geometric 500, epsilon 0.05": GeometricChannel(500, 0.05),
        "Laplace, 64 bins, scale 6 bins": LaplaceChannel(64, 1 / 6),
        "square wave, 64 bins, epsilon 1": fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=64).channel(),
        "planar Laplace 20 x 20, epsilon 0.7": GridChannel.laplace(0.7, (20, 20)),
        "planar Laplace 30 x 30, epsilon 0.5": GridChannel.laplace(0.5, (30, 30)),
        "planar Laplace 40 x 40, epsilon 1": GridChannel.laplace(1.0, (40, 40)),
    }
    some = {name: (10_000,) if one.shape[0] in {900, 1600} else REPORTS for name, one in found.items()}
    return {name: (one, one.grid or (one.shape[0],), some[name]) for name, one in found.items()}


def cities(folder: Path, shape: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Shares of real check-ins on a grid over the middle of each city."""
    for path in sorted(folder.glob("*.csv")):
        spots = np.genfromtxt(path, delimiter=",", skip_header=1)
        low, high = np.percentile(spots, 2.5, axis=0), np.percentile(spots, 97.5, axis=0)
        spots = spots[((spots >= low) & (spots <= high)).all(axis=1)]
        cells = np.histogram2d(spots[:, 0], spots[:, 1], shape)[0].reshape(-1)
        yield path.stem.replace("_", " ").title(), cells / cells.sum()


def rivals(channel: Channel, shape: tuple[int, ...], counts: np.ndarray) -> dict[str, np.ndarray]:
    """The simple methods that hindsight chooses from."""
    problem = Problem("hindsight", [(channel, counts)])
    rows, found = CountRows(problem, [counts[None, :].astype(float)]), {}
    for step, points, _ in em_steps(rows):
        if step in EM:
            found[f"EM {step}"] = points[0]
        if step == EM[-1]:
            break
    with contextlib.suppress(fd.NotIdentifiableError):
        found["inversion"] = fd.invert(channel, counts, project="simplex")
    if len(shape) > 1:
        variance = noise_variance(problem, shape)
        typical = max(1, round(typical_steps(problem, variance)))
        path = accelerated_steps(rows, fading_blur(shape, variance))
        found["averaged map"] = next(points[0] for step, points, _ in path if step == typical)
    tolerance = min(0.01 / problem.n, 1e-6)
    found["likeliest"] = fd.ibu(channel, counts, tolerance=tolerance, progress=False).distribution
    return found


def measure(job: tuple[str, str, int, np.ndarray | None]) -> dict[str, Any]:
    """Mean total variations in one cell."""
    name, truth_name, reports, fixed = job
    channel, shape, _ = mechanisms()[name]
    order = [list(mechanisms()).index(name), reports]
    order.append(list(CLASSES).index(truth_name) if fixed is None else 100 + len(truth_name))
    sums: dict[str, list[float]] = {}
    short: dict[str, list[float]] = {}
    for sample in range(SAMPLES):
        source = np.random.default_rng([JUDGING, *order, sample])
        truth = CLASSES[truth_name](shape, source) if fixed is None else fixed
        chances = np.maximum(channel.forward(truth), 0.0)
        counts = source.multinomial(reports, chances / chances.sum())
        found = rivals(channel, shape, counts)
        found["default"] = fd.estimate(channel, counts, progress=False).distribution
        for method, p in found.items():
            sums.setdefault(method, []).append(float(measures.total_variation(p, truth)))
            short.setdefault(method, []).append(reports * divergence(chances, channel.forward(p)))
    means = {method: float(np.mean(errors)) for method, errors in sums.items()}
    nats = {method: round(float(np.mean(found)), 3) for method, found in short.items()}
    about = {"mechanism": name, "truth": truth_name, "real": fixed is not None, "reports": reports}
    return {**about, "means": means, "nats": nats}


def divergence(chances: np.ndarray, other: np.ndarray) -> float:
    """Log-likelihood per report that estimated chances of outputs are short of the true ones, in nats."""
    seen = chances > 0
    true, found = chances / chances.sum(), np.maximum(other, 1e-300) / np.maximum(other, 1e-300).sum()
    return float((true[seen] * np.log(true[seen] / found[seen])).sum())


def ratio_of(cell: dict[str, Any]) -> tuple[float, str]:
    """The default's mean total variation over that of the best in hindsight, and which that is."""
    others = {method: mean for method, mean in cell["means"].items() if method != "default"}
    best = min(others, key=others.__getitem__)
    return cell["means"]["default"] / others[best], best


def summary(cells: Sequence[dict[str, Any]]) -> list[str]:
    """A line per mechanism and number of reports: the ratio for each class of truth, beyond the target in bold."""
    names = [*CLASSES, *sorted({cell["truth"] for cell in cells if cell["real"]})]
    rows = []
    for (mechanism, reports), group in itertools.groupby(cells, key=lambda cell: (cell["mechanism"], cell["reports"])):
        ratios = {cell["truth"]: ratio_of(cell)[0] for cell in group}
        shown = [ratios.get(name) for name in names]
        marked = ["–" if r is None else f"**{r:.2f}**" if r > TARGET else f"{r:.2f}" for r in shown]
        rows.append([mechanism, f"{reports:,}", *marked])
    return table(["mechanism", "reports", *names], rows)


def losses(cells: Sequence[dict[str, Any]]) -> list[str]:
    """The cells beyond the target, the worst first, each with its reason."""
    beyond = sorted((cell for cell in cells if ratio_of(cell)[0] > TARGET), key=lambda c: -ratio_of(c)[0])
    rows = []
    for cell in beyond:
        ratio, best = ratio_of(cell)
        means, nats = cell["means"], cell["nats"]
        errors = [f"{means['default']:.3f}", f"{means[best]:.3f}", best, f"{ratio:.3f}"]
        short = [f"{nats['default']:.1f}", f"{nats[best]:.1f}"]
        rows.append([cell["truth"], cell["mechanism"], f"{cell['reports']:,}", *errors, *short, reason(cell, cells)])
    names = ["truth", "mechanism", "reports", "default", "best", "which", "ratio", "default, nats", "best, nats", "why"]
    return table(names, rows, words=2)


def reason(cell: dict[str, Any], cells: Sequence[dict[str, Any]]) -> str:
    """Whether fresh reports could tell the best method from the default, and what it costs on other truths."""
    best, nats = ratio_of(cell)[1], cell["nats"]
    alike = nats["default"] <= nats[best] + SEEN
    seen = "reports do not tell them apart" if alike else "reports could tell, held-out ones did not"
    costs = {}
    for other in cells:
        if (other["mechanism"], other["reports"]) == (cell["mechanism"], cell["reports"]) and best in other["means"]:
            least = min(mean for method, mean in other["means"].items() if method != "default")
            costs[other["truth"]] = other["means"][best] / least
    worst = max(costs, key=costs.__getitem__)
    return f"{seen}; {best} is {costs[worst]:.1f} times the best on {worst}"


def counts_of(cells: Sequence[dict[str, Any]]) -> list[str]:
    """How many cells are within the target, unrounded, and how far the rest are."""
    ratios = np.array([ratio_of(cell)[0] for cell in cells])
    real = np.array([ratio_of(cell)[0] for cell in cells if cell["real"]])
    within = int((ratios <= TARGET).sum())
    text = (
        f"{within} of {ratios.size} cells are within {TARGET} of the best in hindsight; {int((ratios < 1).sum())} are "
        f"better than it. The median is {np.median(ratios):.2f}, the worst {ratios.max():.2f}."
    )
    return [text + (f" On the real cities the mean is {real.mean():.2f}." if real.size else "")]


def write(cells: Sequence[dict[str, Any]]) -> None:
    """Put the tables between the markers of docs/estimation.md."""
    parts = {"hindsight": summary(cells), "hindsight-losses": losses(cells), "hindsight-counts": counts_of(cells)}
    put_between(PAGE, parts)


def ordered(cells: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """By mechanism, and the fewest reports first."""
    order = list(mechanisms())
    return sorted(cells, key=lambda cell: (order.index(cell["mechanism"]), cell["reports"]))


def jobs(data: Path | None) -> Iterator[tuple[str, str, int, np.ndarray | None]]:
    for name, (_, shape, some) in mechanisms().items():
        real = dict(cities(data, shape)) if data is not None and len(shape) > 1 else {}
        for reports in some:
            yield from ((name, truth, reports, None) for truth in CLASSES)
            yield from ((name, city, reports, truth) for city, truth in real.items())


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of real check-ins.")
@click.option("--only", help="Mechanisms whose name holds this; the rest is kept as it was measured.")
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; make the tables from the stored numbers.")
@click.option("--workers", default=2, show_default=True, help="Processes that measure.")
def main(data: Path | None, only: str | None, only_table: bool, workers: int) -> None:
    """Measure all cells; write raw numbers and the tables of docs/estimation.md.

    \b
    Example:
      python -m benchmarks.hindsight --data path/to/gowalla
    """
    console = Console(stderr=True)
    stored = json.loads(RESULTS.read_text())["cells"] if RESULTS.exists() else []
    if only_table:
        write(stored)
        return
    todo = [job for job in jobs(data) if only is None or only in job[0]]
    names = {job[0] for job in todo}
    cells = [cell for cell in stored if cell["mechanism"] not in names]
    about = {**machine.commit(), "samples": SAMPLES, "seed": JUDGING}
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        for cell in pool.imap(measure, todo):
            cells.append(cell)
            RESULTS.write_text(json.dumps({**about, "cells": ordered(cells)}, indent=1) + "\n")
    write(ordered(cells))
    console.print(f"wrote {RESULTS.name} and {PAGE.name}", highlight=False)


if __name__ == "__main__":
    main()
