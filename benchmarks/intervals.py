"""``python -m benchmarks.intervals``: what intervals cost beside the estimate they are of.

CPU time of both, in turn, in one process on one thread; medians of the ratio. Raw numbers go to
bench_results/intervals.json, the table to docs/estimation.md.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import fastdp as fd
from benchmarks.measuring import machine
from benchmarks.pages.tables import put_between, table
from fastdp.channels import Channel, GeometricChannel, GridChannel
from fastdp.tables.estimating.bounded_noise import BoundedNoise
from fastdp.tables.estimating.distributions import cells_of_steps

RESULTS, PAGE = machine.ROOT / "bench_results" / "intervals.json", machine.ROOT / "docs" / "estimation.md"
ROUNDS = 7
MATRIX = "an estimate by the square wave's channel, against one by its matrix"

Pair = tuple[Callable[[], Any], Callable[[Any], Any]]
"""What makes an estimate, and what makes intervals of it."""


def cases() -> dict[str, tuple[Pair, float]]:
    """Pairs by name, and the ratio that is asked for at the most."""
    source = np.random.default_rng(1)

    def draw(channel: Channel, n: int) -> np.ndarray:
        places = np.arange(channel.shape[0]) / channel.shape[0]
        truth = np.exp(-0.5 * ((places - 0.4) / 0.15) ** 2)
        return source.multinomial(n, channel.forward(truth / truth.sum())).astype(float)

    def pair(channel: Channel, n: int, functionals: np.ndarray) -> Pair:
        counts = draw(channel, n)
        return lambda: fd.estimate(channel, counts, progress=False), lambda found: found.bounds(functionals, 0.95)

    line, long = GeometricChannel(111, 1 / 110), GeometricChannel(10_001, 1 / 10_000)
    grid = GridChannel.laplace(0.5, (100, 100))
    steps = BoundedNoise.of(fd.Laplace(epsilon=1.0, sensitivity=40.0, bounds=(-20.0, 20.0)))
    cells = cells_of_steps(steps, np.zeros(steps.edges.size - 1), 8)
    ranges = (cells.range_of == np.arange(8)[:, None]).astype(float)
    krr = fd.KRR(epsilon=1.0, domain=100).channel()
    counts = draw(krr, 100_000)
    block = np.zeros((100, 100))
    block[:50, :50] = 1
    wave = fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=64).channel()
    reports = draw(wave, 100_000)
    written = Channel.from_matrix(wave.dense())
    eighths = (np.arange(111) * 8 // 111 == np.arange(8)[:, None]).astype(float)
    share, long_share = (np.arange(111) < 50).astype(float), (np.arange(10_001) < 4000).astype(float)

    def of_krr() -> Any:
        return fd.estimate(krr, counts, progress=False)

    def of_matrix() -> Any:
        return fd.estimate(written, reports, progress=False)

    return {
        "8 ranges of Laplace noise, 1e6 reports": (pair(cells.channel, 1_000_000, ranges), 2.0),
        "8 ranges of 0..110, geometric, 1e6 reports": (pair(line, 1_000_000, eighths), 2.0),
        "one share of 0..110, geometric, 1e5 reports": (pair(line, 100_000, share), 0.25),
        "one share of 0..10,000, geometric, 1e5 reports": (pair(long, 100_000, long_share), 0.25),
        "a quarter of a 100 x 100 map, 1e5 reports": (pair(grid, 100_000, block.reshape(-1)), 2.0),
        "all values of k-RR 100, 1e5 reports": ((of_krr, lambda found: found.interval(0.95)), 0.25),
        MATRIX: (
            (of_matrix, lambda _: fd.estimate(wave, reports, progress=False)),
            1.0,
        ),
    }


def measure(case: Pair, *, in_turn: bool = False) -> list[float]:
    """Ratios of CPU time, one per round, after two that do not count.

    ``in_turn`` is for two that do not need each other: every other round begins with the second. In one order alone,
    and with few rounds, two equal estimates differed by some per cent.
    """
    ratios = []
    for turn in range(ROUNDS * (3 if in_turn else 1) + 2):
        taken, found = [0.0, 0.0], None
        for part in (1, 0) if in_turn and turn % 2 else (0, 1):
            start = time.process_time()
            found = case[0]() if part == 0 else case[1](found)
            taken[part] = time.process_time() - start
        ratios.append(taken[1] / taken[0])
    return ratios[2:]


def summary(found: dict[str, Any]) -> list[str]:
    """The table of docs/estimation.md."""
    rows = [[name, f"{statistics.median(case['ratios']):.2f}", f"{case['asked']:g}"] for name, case in found.items()]
    return table(["intervals of", "× the estimate", "asked, at most"], rows)


@click.command()
@click.option("--table", "only_table", is_flag=True, help="Measure nothing; make the table from the stored numbers.")
def main(only_table: bool) -> None:
    """Measure all cases; write raw numbers and the table of docs/estimation.md."""
    fd.set_threads(1)
    if not only_table:
        found = {
            name: {"asked": asked, "ratios": measure(case, in_turn=name == MATRIX)}
            for name, (case, asked) in cases().items()
        }
        RESULTS.write_text(json.dumps({**machine.commit(), "cases": found}, indent=1) + "\n")
    put_between(PAGE, {"intervals": summary(json.loads(RESULTS.read_text())["cases"])})


if __name__ == "__main__":
    main()
