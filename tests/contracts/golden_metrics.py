"""The first reports of every metric mechanism for a fixed seed. ``python -m tests.contracts.golden_metrics`` writes.

Those of the optimal mechanism are left out: its linear program may have several solutions, and the solver's choice is
its own.
"""

from __future__ import annotations

import json
from pathlib import Path

import fastdp as fd
from tests.contracts.metrics import METRICS, Metric, values_of

PATH = Path(__file__).with_name("golden_metrics.json")
SHOWN = 60
EPSILON = 1.3
GOLDEN = [metric for metric in METRICS if metric.name != "optimal"]


def reports_of(metric: Metric) -> list[int]:
    """Reports from around the end of a tile of slots."""
    rng = fd.Rng.unsafe_seed(42)
    rng.reserve(1000)
    reports: list[int] = metric.make(EPSILON).randomize(values_of(SHOWN), rng=rng).tolist()
    return reports


if __name__ == "__main__":
    lines = [f' "{metric.name}": {json.dumps(reports_of(metric))}' for metric in GOLDEN]
    PATH.write_text("{\n" + ",\n".join(lines) + "\n}\n")
