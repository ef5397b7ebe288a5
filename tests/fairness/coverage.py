"""How often intervals of fairness cover, and how wide they are, in every cell that docs/fairness.md states.

``python -m tests.fairness.coverage`` stores them in bench_results/fairness_coverage.json; it takes minutes.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import click
import numpy as np
from scipy import stats

import fastdp as fd
from fastdp.binomial import normal_quantile, score_interval
from fastdp.fairness.contrasts import gap_of, ratio_of
from fastdp.fairness.rates import weights_of
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.tables import FairnessTable
from fastdp.fairness.tally import Tally

PLACE = Path(__file__).parents[2] / "bench_results" / "fairness_coverage.json"
SETTINGS = [(20_000, 1.0, 2), (20_000, 1.0, 4), (6172, math.log(3), 2), (2000, 2.0, 4), (1_000_000, 0.5, 4)]
"""People, epsilon, groups."""
RATES = ("selection", "tpr", "fpr", "accuracy")
GROUPS = {
    "six equal": ([0.3] * 6, [200] * 6),
    "six near": ([0.30, 0.31, 0.32, 0.33, 0.34, 0.35], [200] * 6),
    "six apart": ([0.2, 0.3, 0.35, 0.4, 0.5, 0.6], [200] * 6),
    "uneven sizes": ([0.3, 0.3, 0.3, 0.5], [5000, 2000, 300, 40]),
    "rare": ([0.02] * 4, [300] * 4),
}
"""True rates and sizes of groups whose columns are kept."""


def truth_of(k):
    """Shares [group, label, decision] of a population whose groups differ in size and in every rate."""
    size = {2: np.array([0.6, 0.4]), 4: np.array([0.35, 0.3, 0.2, 0.15])}[k]
    base, fpr, tpr = np.linspace(0.55, 0.35, k), np.linspace(0.45, 0.2, k), np.linspace(0.75, 0.5, k)
    shares = np.stack([(1 - base) * (1 - fpr), (1 - base) * fpr, base * (1 - tpr), base * tpr], axis=1)
    return (size[:, None] * shares).reshape(k, 2, 2)


def rate(cells, name):
    hits, below = weights_of(name)
    return (cells * hits).sum(axis=(1, 2)) / (cells * below).sum(axis=(1, 2))


def from_counts(counts, mechanisms, truth="sample"):
    """The table of counts [group, label, decision] of reports."""
    values = (tuple(range(len(counts))), (None,), (0, 1), (0, 1))
    return SanitizedTable(FairnessTable(("a",), Tally(values, counts[:, None])), mechanisms, truth)


def mechanisms_of(epsilon, k, several):
    """Those of the columns that are sanitized."""
    every = {
        "a": fd.KRR(epsilon=epsilon, domain=k), "y_true": fd.RandomizedResponse(epsilon=2.0),
        "y_pred": fd.RandomizedResponse(epsilon=2.0),
    }  # fmt: skip
    return {name: every[name] for name in several}


def joint_channel(mechanisms, k):
    """The channel of all cells (group, label, decision)."""
    parts = [
        mechanisms[name].channel().dense() if name in mechanisms else np.eye(size)
        for name, size in (("a", k), ("y_true", 2), ("y_pred", 2))
    ]
    return np.kron(np.kron(parts[0], parts[1]), parts[2])


def draw(source, cells, n, channel, truth, runs):
    """Counts of reports [run, cell]: of a sample of people, or of people that are fixed."""
    if truth == "sample":
        return source.multinomial(n, cells.ravel() @ channel, runs)
    people = np.round(cells.ravel() * n).astype(int)
    return sum(source.multinomial(many, row, runs) for many, row in zip(people, channel, strict=True))


def sanitized_cells(setting, runs, truth, several=("a",), seed=1):
    """The share of runs that cover, and the mean width: of the first group's rates and differences from the last."""
    n, epsilon, k = setting
    mechanisms = mechanisms_of(epsilon, k, several)
    cells, source = truth_of(k), np.random.default_rng(seed)
    drawn = draw(source, cells, n, joint_channel(mechanisms, k), truth, runs)
    table, z = from_counts(np.ones((k, 2, 2)), mechanisms, truth), normal_quantile(0.95)
    found = []
    for name in RATES:
        moments, due = table.sums(name).moments(drawn, truth=truth), rate(cells, name)
        (low, high), (down, up) = moments.fieller(z), moments.differences(z)
        for what, least, most, value in (
            ("rate", low[:, 0], high[:, 0], due[0]),
            ("difference", down[:, 0, -1], up[:, 0, -1], due[0] - due[-1]),
        ):
            found.append(
                {
                    "n": n, "epsilon": epsilon, "k": k, "truth": truth, "sanitized": list(several), "rate": name,
                    "what": what, "covered": float(((least <= value) & (value <= most)).mean()),
                    "width": float((most - least).mean()),
                }
            )  # fmt: skip
    return found


def contrast_cell(make, setting, runs, seed=3):
    """The same for the largest gap or the smallest ratio of groups whose columns are kept."""
    rates, sizes = (np.array(part, float) for part in GROUPS[setting])
    truth = rates.max() - rates.min() if make is gap_of else rates.min() / rates.max()
    groups = tuple((i,) for i in range(rates.size))
    source, hits, widths = np.random.default_rng(seed), 0, 0.0
    for _ in range(runs):
        found = make("selection", groups, source.binomial(sizes.astype(int), rates).astype(float), sizes, 0.95)
        hits += found.low <= truth <= found.high
        widths += found.high - found.low
    kind = "gap" if make is gap_of else "ratio"
    return {"what": kind, "groups": setting, "covered": hits / runs, "width": widths / runs}


def largest_of_sanitized(rates, n, runs, seed=5):
    """The same for the largest gap and the smallest ratio of four groups behind k-RR of epsilon 1."""
    mechanism, rates = fd.KRR(epsilon=1.0, domain=4), np.array(rates)
    cells = np.stack([1 - rates, rates, 1 - rates, rates], axis=1) / 2 * np.array([[0.35], [0.3], [0.2], [0.15]])
    channel, source = joint_channel({"a": mechanism}, 4), np.random.default_rng(seed)
    due = (np.ptp(rates), rates.min() / rates.max())
    found = [{"what": what, "rates": rates.tolist(), "n": n, "covered": 0.0, "width": 0.0} for what in ("gap", "ratio")]
    for reports in draw(source, cells, n, channel, "sample", runs):
        table = from_counts(reports.reshape(4, 2, 2), {"a": mechanism})
        for one, contrast, value in zip(found, (table.gap("selection"), table.ratio("selection")), due, strict=True):
            one["covered"] += (contrast.low <= value <= contrast.high) / runs
            one["width"] += (contrast.high - contrast.low) / runs
    return found


def wilson_cell(n, low=0.05):
    """The least exact coverage of Wilson's interval over all rates from ``low`` to 1 - ``low``, and where it is."""
    ends = score_interval(np.arange(n + 1.0), np.full(n + 1, float(n)), normal_quantile(0.95))
    places = np.concatenate([np.linspace(low, 1 - low, 2001), *(end + side for end in ends for side in (-1e-9, 1e-9))])
    places = places[(places >= low) & (places <= 1 - low)]
    inside = (ends[0] <= places[:, None]) & (places[:, None] <= ends[1])
    covered = (stats.binom.pmf(np.arange(n + 1), n, places[:, None]) * inside).sum(axis=1)
    worst = int(np.argmin(covered))
    return {"what": "wilson", "n": n, "from": low, "covered": float(covered[worst]), "at": float(places[worst])}


def small_cell(make, m, n, low, steps=45):
    """The least exact coverage for two small groups, over rates from ``low`` to 1 - ``low``, and where it is."""
    x, y = (place.astype(float) for place in np.indices((m + 1, n + 1)))
    pairs = zip(x.ravel(), y.ravel(), strict=True)
    ends = [make("selection", ((0,), (1,)), np.array(pair), np.array([m, n], float), 0.95) for pair in pairs]
    least, most = (np.array([getattr(one, end) for one in ends]).reshape(m + 1, n + 1) for end in ("low", "high"))
    worst = (2.0, 0.0, 0.0)
    for p in np.linspace(low, 1 - low, steps):
        for q in np.linspace(low, 1 - low, steps):
            due = abs(p - q) if make is gap_of else min(p, q) / max(p, q)
            inside = (least - 1e-12 <= due) & (due <= most + 1e-12)
            covered = stats.binom.pmf(np.arange(m + 1), m, p) @ inside @ stats.binom.pmf(np.arange(n + 1), n, q)
            worst = min(worst, (float(covered), float(p), float(q)))
    kind = "gap" if make is gap_of else "ratio"
    return {"what": kind, "sizes": [m, n], "from": low, "covered": worst[0], "at": list(worst[1:])}


TOGETHER = {"equal": ([0.3] * 4, 20_000), "apart": ([0.2, 0.3, 0.4, 0.5], 20_000), "few": ([0.3] * 4, 3000)}
"""Rates of four groups behind k-RR, and how many people there are."""


def measure(runs):
    """Every cell."""
    several = (("a",), ("a", "y_true"), ("a", "y_true", "y_pred"))
    return {
        "runs": runs,
        "sanitized": [
            cell
            for which in several
            for truth in ("sample", "fixed")
            for setting in SETTINGS
            for cell in sanitized_cells(setting, runs, truth, which)
        ],
        "together": [cell for rates, n in TOGETHER.values() for cell in largest_of_sanitized(rates, n, runs)],
        "contrasts": [contrast_cell(make, setting, runs) for make in (gap_of, ratio_of) for setting in GROUPS],
        "small": [
            small_cell(make, m, n, low)
            for make in (gap_of, ratio_of)
            for m, n in ((10, 10), (20, 20), (50, 50))
            for low in (0.01, 0.05)
        ],
        "wilson": [wilson_cell(n, low) for n in (10, 20, 50, 200, 1000) for low in (0.001, 0.05)],
    }


SAID = {
    "six equal": "six of 200 people, all 0.30", "six near": "six of 200, from 0.30 to 0.35",
    "six apart": "six of 200, from 0.2 to 0.6", "uneven sizes": "5,000, 2,000 and 300 at 0.3, 40 at 0.5",
    "rare": "four of 300, all 0.02",
}  # fmt: skip
EPSILONS = {1.0: "1", 2.0: "2", 0.5: "0.5", math.log(3): "ln 3"}


def rows_of(found):
    """The rows of the tables in docs/fairness.md."""
    cells = {(cell["what"], cell["groups"]): cell for cell in found["contrasts"]}
    for name, said in SAID.items():
        shown = [cells[what, name] for what in ("gap", "ratio")]
        yield f"| {said} | " + " | ".join(f"{cell['covered']:.1%} | {cell['width']:.3f}" for cell in shown) + " |"
    for n, epsilon, k in SETTINGS:
        here = [one for one in found["sanitized"] if (one["n"], one["k"], one["sanitized"]) == (n, k, ["a"])]
        shown = [f"{n:,}", EPSILONS[epsilon], str(k)]
        for what in ("rate", "difference"):
            covered = [one["covered"] for one in here if one["what"] == what]
            width = np.mean([one["width"] for one in here if one["what"] == what])
            shown += [f"{min(covered):.1%} to {max(covered):.1%}", f"{width:.3f}"]
        yield f"| {' | '.join(shown)} |"
    small = {(cell["what"], cell["sizes"][0], cell["from"]): cell["covered"] for cell in found["small"]}
    for n in (10, 20, 50):
        ends = [small[what, n, low] for what in ("gap", "ratio") for low in (0.05, 0.01)]
        wilson = [
            one["covered"] for low in (0.05, 0.001) for one in found["wilson"] if (one["n"], one["from"]) == (n, low)
        ]
        yield f"| {n} | " + " | ".join(f"{one:.1%}" for one in (*ends, *wilson)) + " |"


if __name__ == "__main__":
    measured = measure(4000)
    PLACE.write_text(json.dumps(measured, indent=1) + "\n")
    click.echo("\n".join(rows_of(measured)))
