"""``python -m benchmarks.opacus``: a two-layer network on digits, trained by PrivateOptimizer and by Opacus.

The same model, clip, noise, sampling rate and number of steps; what differs is the arithmetic, and who accounts. Raw
numbers go to bench_results/opacus.json, the table to docs/learning.md. Needs torch and opacus.
"""

from __future__ import annotations

import json
import math
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import fastdp as fd
from benchmarks.measuring import machine
from benchmarks.pages.tables import put_between, table
from tests.learning.data import digits

RESULTS, PAGE = machine.ROOT / "bench_results" / "opacus.json", machine.ROOT / "docs" / "learning.md"
MULTIPLIERS = (4.0, 2.0, 1.0)
DELTA, CLIP, RATE, STEPS, LEARNING_RATE, HIDDEN, SEEDS = 1e-5, 1.0, 0.1, 200, 1.0, 64, 5
FIRST_SPLIT = 201


def network(seed: int) -> Any:
    """Two layers, the same for both at the same seed."""
    import torch

    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(64, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, 10))


def train_fastdp(seed: int, x: Any, y: Any, multiplier: float) -> tuple[Any, float]:
    """The trained model, and the upper end of its epsilon."""
    import torch

    model, batch = network(seed), RATE * len(x)
    private = fd.learning.PrivateOptimizer(
        torch.optim.SGD(model.parameters(), lr=LEARNING_RATE), model, torch.nn.functional.cross_entropy,
        clip=CLIP, noise_multiplier=multiplier, batch=batch, microbatch=256, rng=fd.Rng.unsafe_seed(seed),
    )  # fmt: skip
    samples = fd.Rng.unsafe_seed(1000 + seed)
    for _ in range(STEPS):
        chosen = torch.from_numpy(fd.learning.poisson_sample(len(x), RATE, rng=samples))
        private.step(x[chosen], y[chosen])
    return model, private.cost(rate=RATE).epsilon(delta=DELTA).upper


def train_opacus(seed: int, x: Any, y: Any, multiplier: float) -> tuple[Any, float]:
    """The trained model, and the epsilon that Opacus's accountant of numerical distributions states."""
    import torch
    from opacus import PrivacyEngine

    model = network(seed)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=round(RATE * len(x)))
    engine = PrivacyEngine(accountant="prv")
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=torch.optim.SGD(model.parameters(), lr=LEARNING_RATE), data_loader=loader,
        noise_multiplier=multiplier, max_grad_norm=CLIP,
    )  # fmt: skip
    steps = 0
    while steps < STEPS:
        for inputs, targets in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            steps += 1
            if steps == STEPS:
                break
    return model, float(engine.get_epsilon(delta=DELTA))


WAYS: dict[str, Callable[..., tuple[Any, float]]] = {"fastdp": train_fastdp, "Opacus": train_opacus}


def measure(seeds: int = SEEDS) -> dict[str, Any]:
    """Epsilon, accuracy on held-out rows and CPU seconds, in turns on one thread."""
    import torch

    torch.set_num_threads(1)
    fd.set_threads(1)
    found: dict[str, Any] = {}
    for multiplier in MULTIPLIERS:
        runs: dict[str, list[tuple[float, float, float]]] = {name: [] for name in WAYS}
        for seed in range(seeds + 1):  # the first of each is not counted
            data = digits(FIRST_SPLIT + seed)
            x, test = (torch.tensor(rows, dtype=torch.float32) for rows in (data.rows, data.test_rows))
            y = torch.tensor(data.labels)
            for name, train in WAYS.items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    start = time.process_time()
                    model, epsilon = train(seed, x, y, multiplier)
                    seconds = time.process_time() - start
                model.eval()
                right = (model(test).argmax(dim=1).numpy() == data.test_labels).mean()
                if seed:
                    runs[name].append((epsilon, float(right), seconds))
        for name, rows in runs.items():
            epsilons, scores, times = (list(column) for column in zip(*rows, strict=True))
            found.setdefault(name, {})[str(multiplier)] = {
                "epsilon": statistics.median(epsilons), "accuracy": float(np.mean(scores)),
                "std_error": float(np.std(scores, ddof=1) / math.sqrt(len(scores))),
                "seconds": statistics.median(times), "all_seconds": times,
            }  # fmt: skip
    return {
        "machine": machine.facts(),
        "commit": machine.commit(),
        "delta": DELTA,
        "rate": RATE,
        "steps": STEPS,
        "results": found,
    }


def render(results: dict[str, Any]) -> list[str]:
    """The table of the page."""
    lines = []
    for multiplier in MULTIPLIERS:
        for name, rows in results["results"].items():
            row = rows[str(multiplier)]
            lines.append([
                f"{multiplier:g}", name, f"{row['epsilon']:.4f}", f"{row['accuracy']:.3f} ± {row['std_error']:.3f}",
                f"{row['seconds']:.2f} s",
            ])  # fmt: skip
    return table(["noise multiplier", "trained by", f"ε at δ = {DELTA:g}", "accuracy", "CPU time"], lines, words=2)


@click.command()
@click.option("--seeds", default=SEEDS, show_default=True, help="Trainings that are counted.")
@click.option("--draw-only", is_flag=True, help="Write the table from the numbers of the last run.")
def main(seeds: int, *, draw_only: bool) -> None:
    """Train, write the numbers, and put the table on the page."""
    results = json.loads(RESULTS.read_text()) if draw_only else measure(seeds)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    put_between(PAGE, {"network": render(results)})


if __name__ == "__main__":
    main()
