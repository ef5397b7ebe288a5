"""The page of the lecture's experiment: calibration, iterations, maps of both mechanisms, and who wins where."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fastdp import rounding
from fastdp.locations.lecture import (
    EPSILON_KRR,
    ITERATIONS,
    MOST,
    NAMES,
    REACH,
    RULES,
    SIDE,
    CityResult,
)
from fastdp.report.page import heading, make_page, paragraph, picture, table
from fastdp.report.pictures import map_address
from fastdp.report.survey import LOUD, NO_SOLVER, colour_scale

SYNTHETIC = "The check-ins are synthetic: no real person is behind them."


def lecture_page(results: Sequence[CityResult]) -> str:
    """The page as HTML text."""
    is_real = any(result.is_real for result in results)
    parts = [
        paragraph(LOUD, "loud") if is_real else paragraph(SYNTHETIC, "calm"),
        heading("Calibration"),
        *(paragraph(text) for text in calibration(results[0])),
        heading("Who wins where"),
        *(paragraph(text) for text in winners(results)),
        table(*numbers(results)),
        *([] if len(numbers(results)[0]) == 4 else [paragraph(NO_SOLVER)]),
    ]
    for result in results:
        parts += [heading(f"{result.city.name}: the maps of the first run"), _maps(result)]
    return make_page("Planar Laplace noise against k-RR: the lecture's experiment", *parts)


def calibration(result: CityResult) -> list[str]:
    """What was made equal, and what was not."""
    planar, krr = result.privacy["planar"], result.privacy["krr"]
    rows, columns = result.grid.shape
    step = REACH / 3
    side, step, most = SIDE / 1000, REACH / 3, planar.epsilon_at(SIDE * math.sqrt(2))
    squares = (
        f"Squares of {side:g} x {side:g} km in {columns} x {rows} cells of {result.grid.cell:g} m, with up to {MOST:,} "
        "check-ins each."
    )
    flat = (
        f"k-RR on {result.grid.size} cells with epsilon ln 8 = {EPSILON_KRR:.4f} (as implemented "
        f"{rounding.digits_up(krr.privacy.epsilon, 6)}): that much between any two cells, near or far."
    )
    round_ = (
        f"Planar Laplace noise with epsilon ln 2 = {math.log(2):.4f} per {step:.0f} m: ln 8 at three times that, "
        f"{REACH:.0f} m, the radius of a disc of 1 km². Rounding to metres adds to that: "
        f"{rounding.digits_up(planar.epsilon_at(REACH))}. Within the square kilometre around where one is, planar "
        "Laplace noise protects by that or better, as k-RR does; farther away it protects less, by "
        f"{rounding.digits_up(most, 1)} from corner to corner."
    )
    steps = (
        f"IBU takes {ITERATIONS['planar']} iterations for planar Laplace noise and {ITERATIONS['krr']} for k-RR, both "
        "from the uniform map. The regularised default is chosen by held-out reports. The best count in "
        "hindsight is chosen by looking at the truth, which nobody can do outside an experiment."
    )
    return [squares, flat, round_, steps]


def winners(results: Sequence[CityResult]) -> list[str]:
    """A sentence per city and estimator."""
    sentences = []
    for result in results:
        for rule in ("noisy", "ibu", "default"):
            planar, krr = (result.mean(name, rule) for name in ("planar", "krr"))
            parts = []
            for measure, a, b in zip(("total variation", "earth mover's distance"), planar, krr, strict=True):
                if a is None or b is None:
                    continue
                first, second = ("planar Laplace", b / a) if a < b else ("k-RR", a / b)
                parts.append(f"{first} wins in {measure} by a factor of {second:.2f}")
            sentences.append(f"{result.city.name}, {RULES[rule]}: {'; '.join(parts)}.")
    return sentences


def numbers(results: Sequence[CityResult]) -> tuple[list[str], list[list[str]]]:
    """The names and rows of the table of errors."""
    rows = []
    for result in results:
        kind = "" if result.is_real else " (synthetic)"
        for mechanism, name in NAMES.items():
            for rule, about in RULES.items():
                variation, moved = result.mean(mechanism, rule)
                counts = sorted(run[mechanism, rule].iterations for run in result.runs)
                steps = (
                    ""
                    if rule == "noisy"
                    else str(counts[0])
                    if counts[0] == counts[-1]
                    else f"{counts[0]}–{counts[-1]}"
                )
                far = [] if moved is None else [f"{moved:.0f}"]
                place = f"{result.city.name}{kind}, {result.n:,} check-ins: {name}, {about}"
                rows.append([place, steps, f"{variation:.3f}", *far])
    runs = len(results[0].runs)
    names = [f"map (means of {runs} runs)", "iterations", "total variation", "earth mover's distance, m"]
    return names[: len(rows[0])], rows


def _maps(result: CityResult) -> str:
    first = result.runs[0]
    truth = result.truth / result.truth.sum()
    shown = [("original", "the check-ins as they are", truth)]
    for mechanism, name in NAMES.items():
        for rule in ("noisy", "ibu", "default"):
            fit = first[mechanism, rule]
            moved = fit.errors.wasserstein
            off = "" if moved is None else f", {moved:.0f} m off"
            steps = f"{fit.iterations} iterations; " if rule != "noisy" else ""
            about = f"{steps}total variation {fit.errors.total_variation:.3f}{off}"
            shown.append((f"{name}, {RULES[rule]}", about, fit.map))
    top = float(truth.max())
    figures = [picture(map_address(cells, top), name, about) for name, about, cells in shown]
    return f'<div class="maps">{"".join(figures)}</div>' + colour_scale(top)
