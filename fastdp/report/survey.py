"""The page of a survey: all maps on one colour scale, errors, the curve, and what was promised to whom."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fastdp import rounding
from fastdp.locations.survey import IBU, INVERSION, NOISY, ORIGINAL, RESTORED, Survey, cost_of_cell
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.report.charts import line_chart
from fastdp.report.page import heading, make_page, paragraph, table
from fastdp.report.pictures import HOVER, Frame, map_figure, scale_address

NAMES = {
    ORIGINAL: "original", NOISY: "noisy", INVERSION: "restored by inversion", IBU: "restored by IBU",
    RESTORED: "restored, regularised default",
}  # fmt: skip
LOUD = (
    "NOT PRIVATE. This page shows the original map, or was computed from it. It is for evaluation: do not share it "
    "with anyone who may not see the data."
)
CALM = "Everything on this page was computed from the reports alone, so that the guarantee below covers it too."
NO_SOLVER = "Earth mover's distances need a solver: pip install 'fastdp[transport]'."
SEEDED = "NOT PRIVATE. The noise came from a fixed seed: whoever knows it can take it off again."


def survey_page(found: Survey, title: str) -> str:
    """The page as HTML text."""
    warning = CALM if found.is_private else LOUD if ORIGINAL in found.maps else SEEDED
    return make_page(
        title,
        paragraph(warning, "calm" if found.is_private else "loud"),
        paragraph(_about(found)),
        heading("The maps"),
        maps(found),
        *_outside(found),
        *_quadrants(found),
        *_numbers(found),
        *_curve(found),
        heading("The guarantee"),
        *_guarantee(found),
        script=HOVER,
    )


def top_of(maps: dict[str, np.ndarray]) -> float:
    """The part that the darkest colour stands for: the largest of any map but the inversion, whose spikes are noise.

    Of the inner cells: those at the border also hold what lies outside, which may be more than all the others.
    """
    inner = [cells[1:-1, 1:-1] if min(cells.shape) > 2 else cells for name, cells in maps.items() if name != INVERSION]
    top = max(float(cells.max()) for cells in inner)
    return top if top > 0 else max(float(cells.max()) for cells in maps.values())


def maps(found: Survey) -> str:
    """All maps side by side on one colour scale, and the scale."""
    cells, top, frame = found.maps, top_of(found.maps), Frame.of(found.grid)
    shown = [
        map_figure(cells.get(name), top, NAMES[name], found.methods[name], frame)
        for name in NAMES
        if name in found.methods
    ]
    return f'<div class="maps">{"".join(shown)}</div>' + colour_scale(top)


def _outside(found: Survey) -> list[str]:
    if not found.reports_outside:
        return []
    share = found.reports_outside / found.n
    return [paragraph(
        f"{found.reports_outside:,} of {found.n:,} reports ({share:.1%}) lie on the border of the map or beyond "
        "it, and are counted in the nearest cells, which can be darker than they should be; the colours are scaled by "
        "the cells inside. A larger --region shows where they lie."
    )]  # fmt: skip


def colour_scale(top: float) -> str:
    """The colours of all the maps, from nothing to ``top``."""
    return (
        f'<div class="scale">0 <img src="{scale_address()}" alt="colour scale"> {top:.3%} of all or more in one cell; '
        "one scale for all maps, north up</div>"
    )


def _about(found: Survey) -> str:
    rows, columns = found.grid.shape
    return (
        f"{found.n:,} places on {columns} x {rows} cells of {found.grid.cell:g} {found.grid.unit}, reported through "
        f"{type(found.mechanism).__name__} with epsilon {found.mechanism.epsilon:.6g} per {found.grid.unit} as asked "
        "for; what it costs as implemented stands below."
    )


def _quadrants(found: Survey) -> list[str]:
    if not found.quadrants:
        return []
    rows = [
        [name, f"{share.estimate:.2%}", f"{share.low:.2%} to {share.high:.2%}"]
        for name, share in found.quadrants.items()
    ]
    about = (
        "How sure this is: intervals cover the true share 95 times in 100, whatever the true map is. Blocks of cells "
        "have them, here the four quarters; single cells have none, since the reports do not determine them. Read the "
        "colours of the map as the best guess they are."
    )
    return [heading("Shares of the quarters"), paragraph(about), table(["quarter", "share", "95 % interval"], rows)]


def _numbers(found: Survey) -> list[str]:
    if not found.errors:
        return []
    unit, solved = found.grid.unit, all(errors.wasserstein is not None for errors in found.errors.values())
    distance = [f"earth mover's distance, {unit}"] if solved else []
    names = ["map", "total variation", *distance, "largest error of a cell", "mean error of a cell"]
    rows = []
    for name, errors in found.errors.items():
        moved = [f"{errors.wasserstein:.1f}"] if solved else []
        mean = float(np.abs(errors.per_cell).mean())
        rows.append([NAMES[name], f"{errors.total_variation:.4f}", *moved, f"{errors.largest:.4%}", f"{mean:.4%}"])
    parts = [heading("Errors against the original"), table(names, rows)]
    blocks = max(errors.blocks for errors in found.errors.values())
    if solved and blocks > 1:
        off = blocks * found.grid.cell * math.sqrt(2)
        parts.append(paragraph(
            f"Earth mover's distances are between blocks of {blocks} x {blocks} cells, for there are too many cells: "
            f"they may be off by up to {off:.0f} {unit}, and what moves within a block is not seen."
        ))  # fmt: skip
    if not solved:
        parts.append(paragraph(NO_SOLVER))
    return parts


def _curve(found: Survey) -> list[str]:
    curve = found.curve
    if curve is None or not curve.points:
        return []
    unit, points = found.grid.unit, curve.points
    places = [point.epsilon * found.grid.cell for point in points]
    names = [f"{place:.3g}" for place in places]
    marked = min(range(len(places)), key=lambda k: abs(points[k].epsilon - float(found.mechanism.epsilon)))
    across = f"epsilon per {found.grid.cell:g} {unit}"
    measures: dict[str, list[tuple[float | None, float | None]]] = {
        "total variation": [(one.noisy.total_variation, one.restored.total_variation) for one in points],
        f"earth mover's distance in {unit}": [(one.noisy.wasserstein, one.restored.wasserstein) for one in points],
    }
    shown = {name: pairs for name, pairs in measures.items() if all(None not in pair for pair in pairs)}
    charts = [
        line_chart(
            f"{name} by epsilon", places, names, across=across, marked=marked,
            lines={kind: [pair[k] for pair in pairs] for k, kind in enumerate(("noisy", "restored"))},
        )
        for name, pairs in shown.items()
    ]  # fmt: skip
    sides = f": {', '.join(shown)}" if len(shown) == 1 else ": " + ", ".join(
        f"{name} on the {side}" for name, side in zip(shown, ("left", "right"), strict=True)
    )  # fmt: skip
    about = (
        f"Errors that as many reports would have at other epsilons, simulated from the {NAMES[curve.basis]} map on "
        f"cells of {curve.cell:g} {unit}{sides}. The dashed line is the epsilon used."
    )
    more = [] if len(shown) == len(measures) else [paragraph(NO_SOLVER)]
    return [
        heading("Privacy against utility"), paragraph(about), f'<div class="charts">{"".join(charts)}</div>', *more
    ]  # fmt: skip


def _guarantee(found: Survey) -> list[str]:
    mechanism, grid = found.mechanism, found.grid
    unit = grid.unit
    distances = [grid.cell * times for times in (0.4, 1, 2, 4, 10)]
    parts = [
        paragraph(
            "Geo-indistinguishability of one report, of the sampler as implemented, rounded up: two places a distance "
            "apart make any report likely to within a factor of e to the power of the epsilon beside it. Several "
            "reports of one person add up; so do several runs of this command on the same data."
        )
    ]
    if isinstance(mechanism, PlanarLaplace):
        rows = [[f"{d:g} {unit}", rounding.digits_up(mechanism.epsilon_at(d))] for d in distances]
        parts.append(table(["distance of two places", "epsilon"], rows))
    else:
        cost = cost_of_cell(mechanism, grid)
        rows = [
            [f"{times:g}", rounding.digits_up(rounding.float_up(Fraction(cost) * times))] for times in (1, 2, 4, 10)
        ]
        parts += [
            paragraph("Distances are between the middles of cells; places in one cell cannot be distinguished at all."),
            table(["distance of two cells, in cells", "epsilon"], rows),
        ]
    parts.append(
        paragraph(
            "Places outside the map were left out before they were sanitized: who is inside is taken to be public."
            if found.outside == "drop"
            else "Places outside the map were moved onto its border before they were sanitized: all are covered."
        )
    )
    return parts
