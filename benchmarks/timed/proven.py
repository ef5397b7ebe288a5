"""``python -m benchmarks.timed.proven``: what audits prove, by draws, and how fast they are; stored."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import click
import numpy as np

import fastdp as fd
from benchmarks.measuring import machine
from benchmarks.run import RESULTS

DELTA = 1e-5
ROUNDS = 5
SPEED_DRAWS = 10**8
BLOCK = 1 << 16
AUDITS = 15
"""Of which the median and the least are told, where one takes a second or less."""


def seconds(call: Callable[[], Any]) -> float:
    """CPU seconds of a call."""
    before = time.process_time()
    call()
    return time.process_time() - before


def proven(most: int) -> list[dict[str, Any]]:
    """Epsilon proven at 1 - 1e-6 of Laplace noise of epsilon 1, and of Gaussian noise at its delta; audits, sorted."""
    laplace, gaussian = fd.Laplace(epsilon=1.0, sensitivity=1.0), fd.Gaussian(epsilon=1.0, delta=DELTA, sensitivity=1.0)
    asked = [(laplace, 0.0, 10**power) for power in (6, 7, 8, 9)] + [(gaussian, DELTA, 10**power) for power in (8, 9)]
    rows = []
    for mechanism, delta, draws in asked:
        if draws <= most:
            before, audits = time.process_time(), AUDITS if draws < 10**9 else 1
            found = [fd.audit.epsilon(mechanism, 0.0, 1.0, draws=draws, delta=delta) for _ in range(audits)]
            spent = (time.process_time() - before) / audits
            epsilons = sorted(one.epsilon for one in found)
            about = {"of": found[0].name, "delta": delta, "draws": draws, "seconds": spent}
            rows.append({**about, "proven": float(np.median(epsilons)), "audits": epsilons})
    return rows


def speed() -> list[dict[str, float]]:
    """Draws per second of an audit, and of the mechanism alone in blocks that stay in the cache; in turns."""
    mechanism, zeros = fd.Laplace(epsilon=1.0, sensitivity=1.0), np.zeros(BLOCK)
    blocks, training = SPEED_DRAWS // BLOCK, SPEED_DRAWS // 20

    def audit() -> None:
        fd.audit.epsilon(mechanism, 0.0, 1.0, draws=SPEED_DRAWS, training=training)

    def alone() -> None:
        for _ in range(blocks):
            mechanism.randomize(zeros)

    fd.audit.epsilon(mechanism, 0.0, 1.0, draws=10**5)  # compiled outside the clock
    return [
        {"audit": 2 * (SPEED_DRAWS + training) / seconds(audit), "mechanism": blocks * BLOCK / seconds(alone)}
        for _ in range(ROUNDS)
    ]


@click.command()
@click.option("--most", default=10**9, show_default=True, help="Draws at most.")
def main(most: int) -> None:
    """Run both, and store them in bench_results/audits.json."""
    fd.set_threads(1)
    rounds = speed()
    ratio = float(np.median([one["audit"] / one["mechanism"] for one in rounds]))
    rows = proven(most)
    result = {
        "when": datetime.now(UTC).isoformat(timespec="seconds"), **machine.commit(), "machine": machine.facts(),
        "versions": machine.versions(), "proven": rows, "speed": rounds, "ratio": ratio,
    }  # fmt: skip
    (RESULTS / "audits.json").write_text(json.dumps(result, indent=1) + "\n")
    for row in rows:
        least, middle = row["audits"][0], row["proven"]
        click.echo(
            f"{row['of']}, {row['draws']:.0e} draws: {middle:.4f} ({least:.4f}) in {row['seconds']:.1f} s of CPU"
        )
    click.echo(f"speed: {ratio:.2f} of the mechanism's own")


if __name__ == "__main__":
    main()
