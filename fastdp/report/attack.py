"""The page of an attack: its success on each release beside theory, and against noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from fastdp.report.charts import line_chart
from fastdp.report.page import heading, make_page, paragraph, table

if TYPE_CHECKING:
    from fastdp.attacks import Attack

Sweep = tuple[str, Sequence[tuple[float, "Attack"]]]
"""What is varied, and an attack for each of its values."""


def attack_page(attacks: Mapping[str, Attack], sweep: Sweep | None = None) -> str:
    """The whole page, self-contained; shares and counts alone."""
    first = next(iter(attacks.values()))
    rows = [
        [name, f"{found.success:.4f}", "–" if found.expected is None else f"{found.expected:.4f}", f"{found.trials:,}"]
        for name, found in attacks.items()
    ]
    parts = [
        paragraph(f"The share of {first.measure}, on each release. A guess without it: {first.baseline:.4f}."),
        table(["release", "success", "theory", "trials"], [*rows, ["a guess", f"{first.baseline:.4f}", "–", "–"]]),
        paragraph(f"Theory: {first.formula.rstrip(',')}."),
    ]
    if sweep is not None:
        across, found = sweep
        places = [place for place, _ in found]
        lines: dict[str, list[float | None]] = {
            "theory": [one.expected for _, one in found], "measured": [one.success for _, one in found],
        }  # fmt: skip
        label = f"success of {first.name} against {across}"
        chart = line_chart(label, places, [f"{place:.3g}" for place in places], lines, across=across)
        parts += [heading("Success against noise" if across != "repeats" else "Success against repeats")]
        parts += [f'<div class="charts">{chart}</div>']
    parts += [heading("What defends"), paragraph(first.defended_by[0].upper() + first.defended_by[1:] + ".", "calm")]
    return make_page(f"Attack: {first.name}", *parts)
