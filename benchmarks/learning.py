"""``python -m benchmarks.learning``: accuracy of private classifiers against epsilon, beside diffprivlib.

Raw numbers go to bench_results/learning.json, the picture and the table to docs/learning.*.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np
import pyarrow as pa

import fastdp as fd
from benchmarks.measuring import machine
from benchmarks.pages.svg import COLOURS, GREY, picture, segment, text
from benchmarks.pages.tables import put_between, table
from fastdp.learning import LogisticRegression
from tests.learning.data import SETS, Data

RESULTS, PICTURE = machine.ROOT / "bench_results" / "learning.json", machine.ROOT / "docs" / "learning.svg"
PAGE = PICTURE.with_suffix(".md")
EPSILONS = (0.1, 0.3, 1.0, 2.0, 4.0)
DELTA = 1e-6
SEEDS = 10
FIRST_SPLIT = 101
"""Steps and learning rates were chosen on the split of seed 1: these are others."""
TWO_CLASSES = ("objective perturbation", "objective perturbation, pure", "output perturbation, pure")
Fit = Callable[[Data, float, int], Any]


def _fastdp(**parameters: Any) -> Fit:
    def fit(found: Data, epsilon: float, seed: int) -> Any:
        size = len(found.rows)  # public to diffprivlib, too
        model = LogisticRegression(epsilon=epsilon, radius=found.radius, size=size, unsafe_seed=seed, **parameters)
        return model.fit(found.rows, found.labels)

    return fit


def _diffprivlib(found: Data, epsilon: float, seed: int) -> Any:
    from diffprivlib.models import LogisticRegression as Rival

    norms = np.linalg.norm(found.rows, axis=1, keepdims=True)
    rows = found.rows * np.minimum(1, found.radius / norms)
    model = Rival(epsilon=epsilon, data_norm=found.radius * (1 + 1e-9), max_iter=500, random_state=seed)
    return model.fit(rows, found.labels)


def _sanitized(found: Data, epsilon: float, seed: int) -> Any:
    """Input perturbation: a plan randomizes every column of the table, each by an equal part of epsilon."""
    from sklearn.linear_model import LogisticRegression as Plain

    names = [f"x{number}" for number in range(found.rows.shape[1])]
    part = epsilon / (len(names) + 1)
    words: dict[str, Any] = {
        name: {"mechanism": "piecewise", "epsilon": part, "bounds": list(found.bounds)} for name in names
    }
    words["label"] = {"mechanism": "krr", "epsilon": part, "domain": [str(label) for label in np.unique(found.labels)]}
    columns = dict(zip(names, np.clip(found.rows, *found.bounds).T.copy(), strict=True))
    table = pa.table({**columns, "label": pa.array(found.labels).cast(pa.string())})
    private = fd.sanitize(table, fd.Plan(columns=words), rng=fd.Rng.unsafe_seed(seed))
    rows = np.column_stack([private[name].to_numpy() for name in names])
    labels = np.array(private["label"].to_pylist()).astype(found.labels.dtype)
    return Plain(max_iter=2000).fit(rows, labels)


METHODS: dict[str, tuple[str, Fit]] = {
    "gradient descent": ("(ε, 1e-6)", _fastdp(delta=DELTA)),
    "gradient descent, pure": ("pure ε", _fastdp()),
    "objective perturbation": ("(ε, 1e-6)", _fastdp(delta=DELTA, method="objective perturbation")),
    "objective perturbation, pure": ("pure ε", _fastdp(method="objective perturbation")),
    "output perturbation, pure": ("pure ε", _fastdp(method="output perturbation")),
    "input perturbation": ("pure ε, local", _sanitized),
    "diffprivlib": ("pure ε", _diffprivlib),
}


def score(model: Any, found: Data) -> float:
    """Accuracy on the held-out rows."""
    return float(model.score(found.test_rows, found.test_labels))


def measure(seeds: int = SEEDS) -> dict[str, Any]:
    """Mean accuracy on held-out rows, and its standard error, by data set, method and epsilon."""
    from sklearn.linear_model import LogisticRegression as Plain

    results: dict[str, Any] = {}
    for name, make in SETS.items():
        splits = [make(FIRST_SPLIT + seed) for seed in range(seeds)]
        plain = float(np.mean([score(Plain(max_iter=2000).fit(one.rows, one.labels), one) for one in splits]))
        rows: dict[str, Any] = {"scikit-learn": plain}
        for method, (_, fit) in METHODS.items():
            if method in TWO_CLASSES and np.unique(splits[0].labels).size > 2:
                continue
            rows[method] = {}
            for epsilon in EPSILONS:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    scores = [score(fit(one, epsilon, seed), one) for seed, one in enumerate(splits)]
                rows[method][str(epsilon)] = [float(np.mean(scores)), float(np.std(scores) / math.sqrt(seeds))]
        results[name] = rows
    return results


def render(results: dict[str, Any]) -> list[str]:
    """The table of the page."""
    head = ["data set", "method", "guarantee", *(f"ε = {epsilon:g}" for epsilon in EPSILONS)]
    lines = []
    for name, rows in results.items():
        lines.append([name, "scikit-learn", "none", *[f"{rows['scikit-learn']:.3f}"] * len(EPSILONS)])
        for method, (kind, _) in METHODS.items():
            if method in rows:
                cells = [f"{rows[method][str(e)][0]:.3f} ± {rows[method][str(e)][1]:.3f}" for e in EPSILONS]
                lines.append(["", method, kind, *cells])
    return table(head, lines, words=3)


def draw(results: dict[str, Any]) -> str:
    """Accuracy against epsilon, a panel for each data set."""
    width, height, gap = 250.0, 190.0, 46.0
    parts: list[str] = []
    for number, (name, rows) in enumerate(results.items()):
        left, top = 44 + number * (width + gap), 30.0

        def place(epsilon: float, score: float, left: float = left, top: float = top) -> tuple[float, float]:
            share = math.log(epsilon / EPSILONS[0]) / math.log(EPSILONS[-1] / EPSILONS[0])
            return left + share * width, top + (1 - score) * height

        parts.append(text(left, top - 12, name, size=13))
        for score in (0.0, 0.25, 0.5, 0.75, 1.0):
            _, y = place(1, score)
            parts += [segment(left, y, left + width, y), text(left - 6, y + 4, f"{score:g}", anchor="end")]
        for epsilon in EPSILONS:
            parts.append(text(place(epsilon, 0)[0], top + height + 16, f"{epsilon:g}", anchor="middle"))
        _, y = place(1, rows["scikit-learn"])
        parts.append(segment(left, y, left + width, y, GREY))
        for colour, method in zip(COLOURS, METHODS, strict=False):
            if method in rows:
                points = [place(epsilon, rows[method][str(epsilon)][0]) for epsilon in EPSILONS]
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
                parts.append(f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='2'/>")
    for number, (colour, method) in enumerate(zip(COLOURS, METHODS, strict=False)):
        parts.append(text(44 + number * 175, 270, f"{method} [{METHODS[method][0]}]", colour=colour))
    parts.append(text(44, 254, "accuracy on held-out rows against ε; the grey line is scikit-learn without noise"))
    return picture(len(results) * (width + gap) + 30, 284, parts)


@click.command()
@click.option("--seeds", default=SEEDS, show_default=True, help="Fits of each method and epsilon.")
@click.option("--draw-only", is_flag=True, help="Draw from the numbers of the last run.")
def main(seeds: int, *, draw_only: bool) -> None:
    """Measure, write the numbers, and put the table and the picture on the page."""
    results = json.loads(RESULTS.read_text()) if draw_only else measure(seeds)
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PICTURE.write_text(draw(results))
    put_between(PAGE, {"accuracy": render(results)})


if __name__ == "__main__":
    main()
