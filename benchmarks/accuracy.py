"""``python -m benchmarks.accuracy``: how far estimates are from the truth, by each rule, on made and on real data.

Real data are check-ins of people in two cities (Gowalla), as CSV files with the columns latitude and longitude in the
folder that ``--data`` names; without it only made data are measured. Raw numbers go to bench_results/accuracy.json, the
picture and the table to docs/.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console

import fastdp as fd
from benchmarks.measuring import machine
from benchmarks.pages.tables import put_between, table
from fastdp import measures
from fastdp.channels import GeometricChannel, GridChannel, KRRChannel

RESULTS, PICTURE = machine.ROOT / "bench_results" / "accuracy.json", machine.ROOT / "docs" / "estimation.svg"
PAGE = PICTURE.with_suffix(".md")
RULES = ("noisy", "inversion", "likeliest", "early", "smooth", "cv")
SAMPLES = 4
STEPS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


@dataclass(frozen=True)
class Case:
    """A channel, the truth behind it, and how many reports there are."""

    name: str
    channel: Any
    truth: np.ndarray
    reports: int

    def observe(self, seed: int) -> np.ndarray:
        chances = np.clip(self.channel.forward(self.truth), 0, None)
        return np.random.default_rng(seed).multinomial(self.reports, chances / chances.sum())

    def distances(self, p: np.ndarray) -> tuple[float, float]:
        """Total variation, and Wasserstein in parts of the domain's length; the mean of both marginals on a grid."""
        if isinstance(self.channel, GridChannel):
            blocks = [v.reshape(self.channel.grid) for v in (p, self.truth)]
            moved = [
                measures.wasserstein(*(block.sum(axis=axis) for block in blocks)) / blocks[0].shape[1 - axis]
                for axis in (0, 1)
            ]
            return measures.total_variation(p, self.truth), float(np.mean(moved))
        return measures.total_variation(p, self.truth), measures.wasserstein(p, self.truth) / self.truth.size


def made() -> Iterator[Case]:
    """Zipf's law through k-RR, two hills through the geometric."""
    for k, epsilon in ((100, 2.0), (500, 1.0)):
        growth = np.exp(epsilon)
        zipf = np.arange(1, k + 1.0) ** -1.3
        channel = KRRChannel(k, growth / (growth + k - 1), 1 / (growth + k - 1))
        for reports in (10_000, 1_000_000):
            yield Case(f"Zipf, k-RR {k}, epsilon {epsilon:g}", channel, zipf / zipf.sum(), reports)
    place = np.arange(1000) / 1000
    hills = np.exp(-(((place - 0.35) / 0.11) ** 2)) + 0.6 * np.exp(-(((place - 0.7) / 0.07) ** 2))
    for reports in (10_000, 1_000_000):
        yield Case(
            "two hills, geometric 1000, epsilon 0.05", GeometricChannel(1000, 0.05), hills / hills.sum(), reports
        )


def real(folder: Path) -> Iterator[Case]:
    """Where people were: a line of longitudes and a square of cells, from the middle of each city."""
    for path in sorted(folder.glob("*.csv")):
        spots = np.genfromtxt(path, delimiter=",", skip_header=1)
        city = path.stem.replace("_", " ").title()
        low, high = np.percentile(spots, 2.5, axis=0), np.percentile(spots, 97.5, axis=0)
        spots = spots[((spots >= low) & (spots <= high)).all(axis=1)]
        line = np.histogram(spots[:, 1], 500)[0]
        cells = np.histogram2d(spots[:, 0], spots[:, 1], 30)[0].reshape(-1)
        for reports in (10_000, 1_000_000):
            name = f"{city} by longitude, geometric 500, epsilon 0.1"
            yield Case(name, GeometricChannel(500, 0.1), line / line.sum(), reports)
            name = f"{city}, planar Laplace 30 x 30, epsilon 0.5"
            yield Case(name, GridChannel.laplace(0.5, (30, 30)), cells / cells.sum(), reports)


def fit(rule: str, case: Case, counts: np.ndarray) -> np.ndarray | None:
    """The estimate by one rule; None where there is none."""
    if rule == "noisy":
        return counts / counts.sum()
    if rule == "inversion":
        try:
            return fd.invert(case.channel, counts, project="simplex")
        except fd.NotIdentifiableError:
            return None
    chosen = None if rule == "likeliest" else rule
    found: np.ndarray = fd.estimate(case.channel, counts, regularize=chosen, progress=False).distribution
    return found


def measure(case: Case) -> dict[str, Any]:
    """Mean distances of every rule over a few samples."""
    found: dict[str, Any] = {"case": case.name, "reports": case.reports, "samples": SAMPLES, "rules": {}}
    for rule in RULES:
        distances = []
        for seed in range(SAMPLES):
            p = fit(rule, case, case.observe(seed))
            if p is not None:
                distances.append(case.distances(p))
        if distances:
            variation, moved = np.mean(distances, axis=0)
            found["rules"][rule] = {"total_variation": float(variation), "wasserstein": float(moved)}
    return found


def by_steps(case: Case) -> dict[str, Any]:
    """Total variation after so many steps of plain EM, and of the rules, for one sample."""
    counts = case.observe(0)
    steps = [
        case.distances(fd.ibu(case.channel, counts, method="em", max_iterations=count, progress=False).distribution)[0]
        for count in STEPS
    ]
    chosen = fd.estimate(case.channel, counts, progress=False)
    likeliest = fd.ibu(case.channel, counts, tolerance=1e-9, progress=False)
    return {
        "case": case.name,
        "reports": case.reports,
        "steps": list(STEPS),
        "em": steps,
        "cv": case.distances(chosen.distribution)[0],
        "likeliest": case.distances(likeliest.distribution)[0],
        "noisy": case.distances(counts / counts.sum())[0],
    }


def draw(curves: list[dict[str, Any]]) -> None:
    """The picture: more steps are better only up to a point."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "fastdp"
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, len(curves), figsize=(5 * len(curves), 3.6), squeeze=False)
    for axis, curve in zip(axes[0], curves, strict=True):
        axis.plot(curve["steps"], curve["em"], marker="o", label="EM, after so many steps")
        for name, style in (("noisy", ":"), ("likeliest", "--"), ("cv", "-")):
            label = {"noisy": "the noisy counts", "likeliest": "converged", "cv": "estimate(), the default"}[name]
            axis.axhline(curve[name], linestyle=style, color="gray" if name == "noisy" else "C1", label=label)
        axis.set(xscale="log", xlabel="steps", ylabel="total variation to the truth", ylim=(0, None))
        axis.set_title(f"{curve['case']}\n{curve['reports']:,} reports", fontsize=9)
    axes[0][0].legend(fontsize=8)
    figure.tight_layout()
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE, metadata={"Date": None})
    plt.close(figure)


def write_table(found: list[dict[str, Any]]) -> None:
    """Put the table between the markers of docs/estimation.md."""
    rows = []
    for row in found:
        cells = [row["rules"].get(rule) for rule in RULES]
        shown = [f"{c['total_variation']:.3f} ({1000 * c['wasserstein']:.1f})" if c else "–" for c in cells]
        rows.append([row["case"], f"{row['reports']:,}", *shown])
    put_between(PAGE, {"accuracy": table(["case", "reports", *RULES], rows)})


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of real check-ins.")
def main(data: Path | None) -> None:
    """Measure every rule on every case; write raw numbers, the picture and the table of docs/estimation.md.

    \b
    Example:
      python -m benchmarks.accuracy --data path/to/gowalla
    """
    cases = [*made(), *(real(data) if data else ())]
    console = Console(stderr=True)
    found = []
    with console.status("measuring") as status:
        for case in cases:
            status.update(f"measuring {case.name}, {case.reports:,} reports")
            found.append(measure(case))
        few = [case for case in cases if case.reports == 10_000 and not isinstance(case.channel, KRRChannel)]
        curves = [by_steps(case) for case in few[:3]]
    RESULTS.write_text(json.dumps({**machine.commit(), "cases": found, "curves": curves}, indent=1) + "\n")
    draw(curves)
    write_table(found)
    console.print(f"wrote {RESULTS.name}, {PICTURE.name} and {PAGE.name}", highlight=False)


if __name__ == "__main__":
    main()
