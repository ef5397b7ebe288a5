"""From a file of places to the map behind their noisy reports, in one streaming pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import read_numeric
from fastdp.errors import DomainError, FastDPError, NotIdentifiableError, ParameterError, SchemaError
from fastdp.locations.curve import Curve, trace_curve
from fastdp.locations.errors import MapErrors, compare_all
from fastdp.locations.grid import Grid, refuse_nan
from fastdp.locations.heat import heat_map
from fastdp.locations.mechanisms import channel_on, make_mechanism
from fastdp.mechanisms.planar_laplace import PlanarLaplace
from fastdp.random.rng import Rng
from fastdp.tables.sources import Progress, Source, expected_rows, open_source

ORIGINAL, NOISY, INVERSION, IBU, RESTORED = "original", "noisy", "inversion", "ibu", "restored"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Maps of one file of places, each in parts of all, by name: noisy, inversion, ibu, restored, perhaps original.

    With the original in it, it is for evaluation and not private. Without it, all of it is computed from the reports.
    """

    grid: Grid
    mechanism: Any
    n: int
    counts: np.ndarray
    """Of reports."""
    maps: dict[str, np.ndarray]
    methods: dict[str, str]
    """How each map was made, or why there is none."""
    errors: dict[str, MapErrors]
    """Of each map against the original, where that is there."""
    curve: Curve | None
    outside: str
    is_seeded: bool

    @property
    def is_private(self) -> bool:
        """Whether nothing in it was computed from the places themselves but their reports."""
        return ORIGINAL not in self.maps and not self.is_seeded

    def to_dict(self) -> dict[str, Any]:
        """All but the maps themselves, for JSON."""
        return {
            "places": self.n,
            "private": self.is_private,
            "outside": self.outside,
            **describe_noise(self.mechanism, self.grid),
            "maps": {
                name: {"method": method} | (self.errors[name].to_dict() if name in self.errors else {})
                for name, method in self.methods.items()
            },
            "curve": None if self.curve is None else self.curve.to_dict(),
        }


def describe_noise(mechanism: Any, grid: Grid) -> dict[str, Any]:
    """The guarantee and the grid, for JSON."""
    privacy = mechanism.privacy
    return {
        "mechanism": type(mechanism).__name__,
        "privacy": {"epsilon": privacy.epsilon, "unit": privacy.unit, "neighbours": privacy.neighbours},
        "epsilon_between_neighbouring_cells": cost_of_cell(mechanism, grid),
        "grid": {"rows": grid.shape[0], "columns": grid.shape[1], "cell": grid.cell, "unit": grid.unit,
                 "origin": grid.origin},
    }  # fmt: skip


def cost_of_cell(mechanism: Any, grid: Grid) -> float:
    """Epsilon between two places that are a cell's side apart."""
    if isinstance(mechanism, PlanarLaplace):
        return mechanism.epsilon_at(grid.cell)
    return rounding.float_up(Fraction(mechanism.privacy.epsilon) * Fraction(grid.cell))


def survey(
    source: Any,
    grid: Grid,
    *,
    epsilon: float,
    columns: tuple[str, str] = ("latitude", "longitude"),
    mechanism: str = "planar",
    iterations: int = 300,
    truth: bool = False,
    outside: str = "clamp",
    curve: bool = True,
    rng: Rng | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Sanitize the places in a table or file, and restore the map behind the reports by every method.

    ``epsilon`` is per unit of the grid. ``mechanism="planar"`` moves points by `PlanarLaplace`, clamped to the grid;
    ``"grid"`` reports a cell for each point's cell by `GridLaplace`. ``columns`` are latitudes and longitudes, or x and
    y if the grid has no origin. With ``truth`` the original map and errors against it are in the result, which is then
    not private. Places outside the grid are moved onto its border; with ``outside="drop"`` they are left out, and who
    is inside is as good as public. A batch is in memory at a time.
    """
    validation.one_of("survey", "outside", outside, ("clamp", "drop"))
    iterations = validation.positive_integer("survey", "iterations", iterations)
    if not isinstance(grid, Grid):
        raise ParameterError("survey: grid must be a Grid")
    if not isinstance(truth, bool | np.bool_):
        raise ParameterError("survey: truth must be True or False; with it the result is not private")
    noise = make_mechanism(grid, mechanism, epsilon)
    channel = channel_on(grid, noise)  # before any place is read: what cannot be restored is refused at once
    rng = rng if rng is not None else Rng()
    tally = _Tally(grid, noise, rng, keep_truth=truth, drop=outside == "drop")
    for x, y in _read(source, grid, columns, outside, progress):
        tally.add(x, y)
    if not tally.n:
        raise DomainError("survey: there is no place in the grid; nothing to estimate from")
    maps, methods = {}, {}
    if tally.truth is not None:
        maps[ORIGINAL], methods[ORIGINAL] = tally.truth / tally.n, "the places as they are: not private"
    maps[NOISY], methods[NOISY] = tally.reports / tally.n, "the reports, counted"
    for name, method, steps in ((INVERSION, "inversion", None), (IBU, "ibu", iterations), (RESTORED, "cv", None)):
        try:
            heat = heat_map(channel, tally.reports, grid, method=method, iterations=steps)
        except NotIdentifiableError:
            methods[name] = "not solved: the noise is too wide for cells this small"
            continue
        maps[name], methods[name] = heat.restored, heat.method + (f", {steps} steps" if steps else "")
    errors = {}
    if truth:
        restored = {name: cells for name, cells in maps.items() if name != ORIGINAL}
        errors = compare_all(grid, restored, maps[ORIGINAL])
    basis = ORIGINAL if truth else RESTORED
    found = trace_curve(grid, mechanism, epsilon, maps[basis], tally.n, basis) if curve else None
    return Survey(grid, noise, tally.n, tally.reports, maps, methods, errors, found, outside, rng.is_unsafe)


@dataclass(slots=True)
class _Tally:
    """Counts of reports, and of places where they are wanted, added up over batches."""

    grid: Grid
    mechanism: Any
    rng: Rng
    keep_truth: bool
    drop: bool
    n: int = 0
    reports: np.ndarray = field(init=False)
    truth: np.ndarray | None = field(init=False)

    def __post_init__(self) -> None:
        self.reports = np.zeros(self.grid.shape, np.int64)
        self.truth = np.zeros(self.grid.shape, np.int64) if self.keep_truth else None

    def add(self, x: np.ndarray, y: np.ndarray) -> None:
        if self.drop:
            inside = self.grid.inside(x, y)
            x, y = x[inside], y[inside]
        if not x.size:
            return
        self.n += x.size
        if self.truth is not None:
            self.truth += self.grid.count(x, y)
        if isinstance(self.mechanism, PlanarLaplace):
            self.reports += self.grid.count(*self.mechanism.randomize(x, y, rng=self.rng))
        else:
            self.reports += self.grid.count_cells(self.mechanism.randomize(self.grid.cells(x, y), rng=self.rng))


def open_places(source: Any, columns: tuple[str, str]) -> Source:
    """The table or file, if it has the two columns."""
    import pyarrow as pa

    if len(set(columns)) != 2:
        raise ParameterError("survey: the two coordinates must be two columns")
    try:
        opened = open_source(source, types=dict.fromkeys(columns, pa.float64()))
    except FastDPError as error:
        raise type(error)(f"survey: {str(error).removeprefix('sanitize: ')}") from None
    for name in columns:
        if opened.schema.names.count(name) != 1:
            raise SchemaError(f"survey: the table must hold column {name!r} once")
    return opened


def _read(
    source: Any, grid: Grid, columns: tuple[str, str], outside: str, progress: Progress | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The places of each batch, on the grid's plane."""
    opened, done = open_places(source, columns), 0
    for batch in opened.batches(list(columns), None, []):
        values = [_numbers(name, batch.column(name)) for name in columns]
        try:
            yield _on_plane(grid, values, outside)
        except FastDPError as error:
            what = str(error).removeprefix("Grid: ")
            raise type(error)(f"survey: columns {columns[0]!r} and {columns[1]!r}: {what}") from None
        done += batch.num_rows
        if progress is not None:
            progress(done, expected_rows(opened, done))


def _on_plane(grid: Grid, values: list[np.ndarray], outside: str) -> tuple[np.ndarray, np.ndarray]:
    if grid.origin is not None:
        return grid.project(*values, far="infinite" if outside == "drop" else "refuse")
    refuse_nan(*values)
    return values[0], values[1]


def _numbers(name: str, column: Any) -> np.ndarray:
    if column.null_count:
        raise DomainError(f"survey: column {name!r} holds nulls; leave those rows out")
    try:
        pieces = read_numeric("survey", column, "float").pieces
    except FastDPError as error:
        what = str(error).removeprefix("survey: ")
        raise type(error)(f"survey: column {name!r}: {what}") from None
    return np.ascontiguousarray(np.asarray(pieces[0], np.float64).reshape(-1))
