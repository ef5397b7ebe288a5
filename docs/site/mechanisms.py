"""A page per mechanism: law with a picture, guarantee, cost in error and bytes, plan word, example, names in papers."""

from __future__ import annotations

import io
from typing import Any

from fastdp.mechanisms.base import FiniteMechanism, Mechanism, PointMechanism
from fastdp.mechanisms.catalogue import ROWS
from fastdp.mechanisms.central.additive import Additive
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.mechanisms.rows import Row

RECORDS = 10_000
PLOTTED = 64
"""Inputs and outputs of a channel that a page shows."""
FAMILIES = {"central": "central", "local": "local protocol", "metric": "metric"}


def names() -> list[str]:
    """Every mechanism, in the registry's order."""
    return [row.name for row in ROWS]


def page(name: str) -> str:
    """The page of one mechanism."""
    row = next(row for row in ROWS if row.name == name)
    example = _example(row)
    parts = [f"# {name}", _facts(row, example)]
    picture = None if example is None else _picture(example)
    if picture:
        parts += [f'<div class="picture">\n{picture}\n</div>']
    if row.words:
        parts += ["## In a plan", _plan(row)]
    parts += ["## Definition, guarantee and example", f"::: {row.module}.{name}"]
    return "\n\n".join(parts) + "\n"


def _example(row: Row) -> Mechanism | None:
    """The mechanism with the parameters of its first call in the catalogue."""
    if not row.warmup or row.takes == "trajectories":  # whose cost depends on the points
        return None
    return Mechanism.from_dict({"type": row.name, **row.warmup[0].parameters})


def _facts(row: Row, example: Any) -> str:
    lines = ["| | |", "| --- | --- |", f"| kind | {FAMILIES[row.family]} |", f"| takes | {row.takes} |"]
    if row.synonyms:
        lines.append(f"| in papers also | {', '.join(row.synonyms)} |")
    if row.words:
        lines.append(f"| plan words | {', '.join(f'`{word.name}`' for word in row.words)} |")
    if example is not None:
        lines.append(f"| for example | `{example!r}` |".replace("||", "\\|"))
        lines.append(f"| guarantee, computed from the sampler | `{example.privacy}` |")
        lines += _costs(example)
    return "\n".join(lines)


def _costs(example: Any) -> list[str]:
    """What it costs: error, and bytes of a report."""
    found = []
    if isinstance(example, Additive):
        low, high = example.interval(0.95)
        found += [
            f"| variance of the noise | {example.variance:.6g} |",
            f"| 95 % of the noise | {low:.6g} to {high:.6g} |",
        ]
    if isinstance(example, PointMechanism):
        found.append(f"| 95 % of reports are within | {example.radius(0.95):.6g} {example.unit} |")
    if isinstance(example, FrequencyProtocol):
        error = example.variance(RECORDS) ** 0.5
        found.append(f"| standard error of a rare value, {RECORDS:,} reports | {error:.4g} |")
        kind = example.report_type
        size = "as a value" if kind is None else f"{kind.numpy_dtype().itemsize} bytes"
        found.append(f"| a report | {size} |")
    return found


def _picture(example: Any) -> str | None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    axes = None
    if isinstance(example, Additive):
        axes = example.law.plot(level=0.99)
    elif isinstance(example, PointMechanism) and hasattr(example, "radius"):
        levels = [i / 100 for i in range(1, 100)]
        axes = plt.subplots()[1]
        axes.plot([example.radius(level) for level in levels], levels)
        axes.set(xlabel=f"distance in {example.unit}", ylabel="part of reports within")
    elif isinstance(example, FiniteMechanism) and example.counts_outputs and max(example.channel().shape) <= PLOTTED:
        axes = example.channel().plot()
    if axes is None:
        return None
    written = io.StringIO()
    axes.figure.savefig(written, format="svg", bbox_inches="tight", metadata={"Date": None})
    plt.close("all")
    text = written.getvalue()
    return text[text.index("<svg") :]


def _plan(row: Row) -> str:
    word = row.words[0]
    values = {
        "numbers": "bounds = [0, 100]", "bounded": "bounds = [0, 100]", "categories": 'domain = ["yes", "no"]',
        "truths": "", "points": 'unit = "m"', "codes": "",
    }  # fmt: skip
    keys = f"Keys of its own: {', '.join(f'`{key}`' for key in word.keys)}."
    if row.takes not in {"numbers", "bounded", "categories"} or "epsilon" not in word.keys:
        return keys
    delta = "delta = 1e-6\n" if "delta" in word.keys else ""
    text = f'[columns.answer]\nmechanism = "{word.name}"\nepsilon = 1.0\n{delta}{values[row.takes]}\n'
    return f"```toml\n{text}```\n\n{keys}"


def plan_example(name: str) -> str | None:
    """The plan that a page shows, as TOML; None where it shows none."""
    row = next(row for row in ROWS if row.name == name)
    text = _plan(row) if row.words else ""
    return text.split("```toml\n")[1].split("```")[0] if "```toml" in text else None
