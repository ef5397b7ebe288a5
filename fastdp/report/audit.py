"""The page of an audit: what is proven against what is claimed, by which outputs, and with how many draws."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from fastdp.audits.result import digits_down
from fastdp.report.charts import line_chart
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.rounding import digits_up
from fastdp.validation import visible_text

if TYPE_CHECKING:
    from fastdp.audits.result import EpsilonAudit

WIDTH, HEIGHT = 720, 260
LEFT, TOP, BOTTOM = 8, 10, 34
FIRST, SECOND, EVENT = "#2060a0", "#c07020", "#f6e3b4"


def audit_page(found: EpsilonAudit) -> str:
    """The whole page, self-contained."""
    at = f" at delta {found.delta:g}" if found.delta else ""
    stated = f"Proven: epsilon is at least {digits_down(found.epsilon)}{at}, with confidence 1 - {1 - found.level:.2g}."
    claimed = "" if found.claimed is None else f" Claimed: {digits_up(found.claimed)}. The claim is {found.verdict}."
    parts = [paragraph(stated + claimed, "loud" if found.is_refuted else "calm")]
    if found.unsafe:
        parts.append(paragraph("Drawn with a fixed seed."))
    low, high = found.witness.limits
    other = "b" if found.witness.likelier == "a" else "a"
    rows = [
        [found.witness.likelier, f"{found.witness.counts[0]:,}", f"at least {low:.6g}"],
        [other, f"{found.witness.counts[1]:,}", f"at most {high:.6g}"],
    ]
    parts += [
        heading("The outputs that prove it"),
        paragraph(
            f"a = {visible_text(found.pair[0])}, b = {visible_text(found.pair[1])}. Event: {found.witness.event}."
        ),
        table(["input", f"of {found.draws:,} draws", "probability"], rows),
    ]
    if found.histogram:
        parts += [bars(found), _legend()]
    if found.promise:
        places = [float(draws) for draws, _ in found.promise]
        lines: dict[str, list[float | None]] = {"proven": [value for _, value in found.promise]}
        if found.claimed is not None:
            lines["claimed"] = [found.claimed] * len(places)
        chart = line_chart(
            "epsilon proven against draws", places, [f"{place:.0e}" for place in places], lines, across="draws"
        )
        parts += [
            heading("How much fewer draws would prove"),
            f'<div class="charts">{chart}</div>',
            paragraph("The same event at the same frequencies."),
        ]
    curve = [[f"{delta:g}", digits_down(value)] for delta, value in found.curve]
    parts += [heading("Proven epsilon at other deltas"), table(["delta", "epsilon at least"], curve)]
    return make_page(f"Audit of {visible_text(found.name)}", *parts)


def bars(found: EpsilonAudit) -> str:
    """Outputs of both inputs as bars side by side; what is in the event has a shaded ground."""
    shown = found.histogram
    names, first, second, event = shown["names"], shown["a"], shown["b"], shown["event"]
    most, count = max(*first, *second, 1), len(names)
    step = (WIDTH - 2 * LEFT) / count
    ground = HEIGHT - BOTTOM
    label = escape("outputs of both inputs, the proving event shaded", quote=True)
    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" style="width:100%;max-width:{WIDTH}px" role="img" aria-label="{label}">'
    ]
    for i in range(count):
        x = LEFT + i * step
        if event[i] > 0:
            parts.append(
                f'<rect x="{x:.2f}" y="{TOP}" width="{step:.2f}" height="{ground - TOP}" fill="{EVENT}" '
                f'opacity="{max(event[i], 0.15):.2f}"/>'
            )
        for number, (value, colour) in enumerate(((first[i], FIRST), (second[i], SECOND))):
            high = (ground - TOP) * value / most
            left = x + (0.1 + 0.4 * number) * step
            size = f'width="{0.4 * step:.2f}" height="{high:.2f}"'
            parts.append(f'<rect x="{left:.2f}" y="{ground - high:.2f}" {size} fill="{colour}"/>')
        if i % max(1, count // 5) == 0:
            parts.append(
                f'<text x="{x:.1f}" y="{ground + 22}" font-size="18">{escape(visible_text(str(names[i]))[:14])}</text>'
            )
    return "".join([*parts, "</svg>"])


def _legend() -> str:
    words = (("a", FIRST), ("b", SECOND), ("the event", EVENT))
    return "<p>" + " ".join(
        f'<span style="background:{colour};color:{"#222" if colour == EVENT else "#fff"};padding:2px 8px">{name}</span>'
        for name, colour in words
    ) + "</p>"  # fmt: skip
