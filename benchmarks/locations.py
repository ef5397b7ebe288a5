"""``python -m benchmarks.locations``: the lecture's experiment, and how close the default comes to hindsight.

Real check-ins are read from the folder that ``--data`` names, CSV files with the columns latitude and longitude; else
they are synthetic. Raw numbers go to bench_results/locations.json, the tables to docs/locations.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console

import fastdp as fd
from benchmarks.measuring import machine
from benchmarks.pages.tables import put_between, table
from fastdp.locations.lecture import ITERATIONS, NAMES, RULES, CityResult, lecture

RESULTS, PAGE = machine.ROOT / "bench_results" / "locations.json", machine.ROOT / "docs" / "locations.md"
CELLS = (150.0, 300.0, 100.0)


def rows_of(result: CityResult, cell: float) -> list[dict[str, Any]]:
    """Means over the runs, and how far from hindsight the worst run was."""
    rows = []
    for mechanism in NAMES:
        best = [run[mechanism, "hindsight"].errors for run in result.runs]
        for rule in RULES:
            fits = [run[mechanism, rule] for run in result.runs]
            variation, moved = result.mean(mechanism, rule)
            ratios = [fit.errors.total_variation / one.total_variation for fit, one in zip(fits, best, strict=True)]
            rows.append({
                "city": result.city.name, "real": result.is_real, "cell": cell, "checkins": result.n,
                "mechanism": mechanism, "rule": rule, "runs": len(fits), "total_variation": variation,
                "wasserstein": moved, "iterations": [fit.iterations for fit in fits],
                "worst_ratio_to_hindsight": max(ratios),
                "wasserstein_of_runs": [fit.errors.wasserstein for fit in fits],
                "total_variation_of_runs": [fit.errors.total_variation for fit in fits],
            })  # fmt: skip
    return rows


def table_of(found: Sequence[dict[str, Any]]) -> list[str]:
    """A line per city, cell and rule: both mechanisms side by side."""
    lines = [
        "| city, check-ins | cells | map | planar Laplace | k-RR | closer |",
        "| --- | ---: | --- | ---: | ---: | --- |",
    ]
    keys = dict.fromkeys((row["city"], row["cell"], row["rule"]) for row in found)
    for city, cell, rule in keys:
        pair = {row["mechanism"]: row for row in found if (row["city"], row["cell"], row["rule"]) == (city, cell, rule)}
        planar, krr = pair["planar"], pair["krr"]
        shown = [f"{one['total_variation']:.3f} ({one['wasserstein']:.0f} m)" for one in (planar, krr)]
        winners = {
            measure: "planar Laplace" if planar[name] < krr[name] else "k-RR"
            for measure, name in (("TV", "total_variation"), ("EMD", "wasserstein"))
        }
        who = winners["TV"] if len(set(winners.values())) == 1 else ", ".join(f"{k}: {v}" for k, v in winners.items())
        about = RULES[rule] + (f", {ITERATIONS['planar']} / {ITERATIONS['krr']}" if rule == "ibu" else "")
        kind = "" if planar["real"] else " (synthetic)"
        name = f"{city}{kind}, {planar['checkins']:,}"
        lines.append(f"| {name} | {cell:.0f} m | {about} | {shown[0]} | {shown[1]} | {who} |")
    return lines


def nearness_of(found: Sequence[dict[str, Any]]) -> list[str]:
    """A line per city and cell: how far the default is from hindsight under planar noise, on average and at worst."""
    rows = []
    for one in found:
        if (one["mechanism"], one["rule"]) != ("planar", "default"):
            continue
        same = [row for row in found if all(row[k] == one[k] for k in ("city", "cell", "mechanism"))]
        by_rule = {row["rule"]: row for row in same}
        cells = [one["city"], f"{one['cell']:.0f} m"]
        for rule, name in (("hindsight", "total_variation_of_runs"), ("hindsight moved", "wasserstein_of_runs")):
            ratios = [a / b for a, b in zip(one[name], by_rule[rule][name], strict=True)]
            closer = sum(a < b for a, b in zip(one[name], by_rule["noisy"][name], strict=True))
            within = sum(ratio <= 1.1 for ratio in ratios)
            cells += [
                f"{sum(ratios) / len(ratios):.3f} ({max(ratios):.3f})", f"{within} of {len(ratios)}",
                f"{closer} of {len(ratios)}",
            ]  # fmt: skip
        rows.append(cells)
    names = [
        f"{measure}, {what}" for measure in ("total variation", "earth mover's")
        for what in ("mean (worst)", "within a tenth", "closer than noisy")
    ]  # fmt: skip
    return table(["city", "cells", *names], rows)


@click.command()
@click.option("--data", type=click.Path(path_type=Path, exists=True, file_okay=False), help="Folder of real check-ins.")
@click.option("--runs", default=90, show_default=True, help="Samples and noise drawn anew so often.")
def main(data: Path | None, runs: int) -> None:
    """Repeat the experiment at three sizes of cells; write raw numbers and the table of docs/locations.md.

    \b
    Example:
      python -m benchmarks.locations --data path/to/gowalla
    """
    console, found = Console(stderr=True), []
    for cell in CELLS:
        console.print(f"cells of {cell:g} m", highlight=False)
        for result in lecture(data, cell=cell, runs=runs, rng=fd.Rng.unsafe_seed(20261116)):
            found += rows_of(result, cell)
    RESULTS.write_text(json.dumps({**machine.commit(), "rows": found}, indent=1) + "\n")
    put_between(PAGE, {"lecture": table_of(found), "nearness": nearness_of(found)})
    console.print(f"wrote {RESULTS.name} and {PAGE.name}", highlight=False)


if __name__ == "__main__":
    main()
