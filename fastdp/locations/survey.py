"""From a file of places to the map behind their noisy reports, in one streaming pass."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.containers import check_known
from fastdp.columns.numeric import read_numeric
from fastdp.errors import DomainError, NotIdentifiableError, ParameterError, SchemaError
from fastdp.estimators.result import Interval
from fastdp.io.base import Progress, Source, expected_rows
from fastdp.io.open import open_source
from fastdp.locations.curve import Curve, trace_curve
from fastdp.locations.errors import MapErrors, compare_all
from fastdp.locations.grid import Grid, project, refuse_nan
from fastdp.locations.heat import heat_map
from fastdp.locations.mechanisms import channel_on, make_mechanism
from fastdp.mechanisms.metric.grid import GridLaplace
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.plane import Plane
from fastdp.random.rng import Rng
from fastdp.renamed import renamed
from fastdp.typing import TableSource

LEVEL = 0.95
"""Of intervals."""
ORIGINAL, NOISY, INVERSION, IBU, RESTORED = "original", "noisy", "inversion", "ibu", "restored"


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """Maps of one file of places, each in parts of all, by name: noisy, inversion, ibu, restored, perhaps original.

    With the original in it, it is for evaluation and not private. Without it, all of it is computed from the reports.
    """

    grid: Grid
    mechanism: PlanarLaplace | GridLaplace
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
    quadrants: dict[str, Interval] = field(default_factory=dict)
    reports_outside: int = 0
    """Reports on the grid's border or beyond it, which count in the nearest cells."""
    """Shares of the four quarters of the restored map, with intervals of 95 %; single cells have none."""

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
            "reports_outside": self.reports_outside,
            **describe_noise(self.mechanism, self.grid),
            "maps": {
                name: {"method": method} | (self.errors[name].to_dict() if name in self.errors else {})
                for name, method in self.methods.items()
            },
            "quadrants": {name: found._asdict() for name, found in self.quadrants.items()},
            "curve": None if self.curve is None else self.curve.to_dict(),
        }


def describe_noise(mechanism: PlanarLaplace | GridLaplace, grid: Grid) -> dict[str, Any]:
    """The guarantee and the grid, for JSON."""
    privacy = mechanism.privacy
    return {
        "mechanism": type(mechanism).__name__,
        "privacy": {"epsilon": privacy.epsilon, "unit": privacy.unit, "neighbours": privacy.neighbours},
        "epsilon_between_neighbouring_cells": cost_of_cell(mechanism, grid),
        "grid": {"rows": grid.shape[0], "columns": grid.shape[1], "cell": grid.cell, "unit": grid.unit,
                 "origin": grid.origin},
    }  # fmt: skip


def cost_of_cell(mechanism: PlanarLaplace | GridLaplace, grid: Grid) -> float:
    """Epsilon between two places that are a cell's side apart."""
    if isinstance(mechanism, PlanarLaplace):
        return mechanism.epsilon_at(grid.cell)
    per_unit = mechanism.privacy.epsilon
    assert per_unit is not None
    return rounding.float_up(Fraction(per_unit) * Fraction(grid.cell))


@renamed(iterations="max_iterations")
def survey(
    source: TableSource,
    grid: Grid,
    *,
    epsilon: float,
    columns: tuple[str, str] = ("latitude", "longitude"),
    mechanism: str = "planar",
    max_iterations: int = 300,
    truth: bool = False,
    outside: str = "clamp",
    curve: bool = True,
    rng: Rng | None = None,
    progress: Progress | None = None,
) -> Survey:
    """Sanitize the locations in a table or file, and estimate the map behind the reports by every method.

    One batch is in memory at a time.

    Parameters
    ----------
    source
        A table, or the path of a file.
    grid
        The cells of the map.
    epsilon
        The privacy parameter per unit of the grid.
    columns
        Latitude and longitude, or x and y if the grid has no origin.
    mechanism
        "planar" moves points by `PlanarLaplace`, clamped to the grid; "grid" reports a cell for each point's cell by
        `GridLaplace`.
    max_iterations
        The number of steps of the iterative Bayesian update.
    truth
        Put the original map and the errors against it into the result, which is then not private.
    outside
        "clamp" moves points outside the grid onto its border; "drop" leaves them out, so that who is inside is as good
        as public.
    curve
        Whether to simulate the errors that other values of epsilon would give.
    rng
        The source of noise; by default keyed by the operating system.
    progress
        Called with the rows done and the rows in all, after every batch.
    """
    validation.one_of("survey", "outside", outside, ("clamp", "drop"))
    max_iterations = validation.positive_integer("survey", "max_iterations", max_iterations)
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
    maps, methods, quadrants = {}, {}, {}
    if tally.truth is not None:
        maps[ORIGINAL], methods[ORIGINAL] = tally.truth / tally.n, "the places as they are: not private"
    maps[NOISY], methods[NOISY] = tally.reports / tally.n, "the reports, counted"
    for name, method, steps in ((INVERSION, "inversion", None), (IBU, "ibu", max_iterations), (RESTORED, "cv", None)):
        try:
            heat = heat_map(channel, tally.reports, grid, method=method, max_iterations=steps)
        except NotIdentifiableError:
            methods[name] = "not solved: the noise is too wide for cells this small"
            continue
        maps[name], methods[name] = heat.restored, heat.method + (f", {steps} steps" if steps else "")
        if name == RESTORED and min(grid.shape) > 1:
            quadrants = heat.quadrants(LEVEL)
    errors = {}
    if truth:
        restored = {name: cells for name, cells in maps.items() if name != ORIGINAL}
        errors = compare_all(grid, restored, maps[ORIGINAL])
    basis = ORIGINAL if truth else RESTORED
    found = trace_curve(grid, mechanism, epsilon, maps[basis], tally.n, basis) if curve else None
    return Survey(
        grid,
        noise,
        tally.n,
        tally.reports,
        maps,
        methods,
        errors,
        found,
        outside,
        rng.is_unsafe,
        quadrants,
        tally.outside,
    )


@dataclass(slots=True)
class _Tally:
    """Counts of reports, and of places where they are wanted, added up over batches."""

    grid: Grid
    mechanism: Any
    rng: Rng
    keep_truth: bool
    drop: bool
    n: int = 0
    outside: int = 0
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
            reported = self.mechanism.randomize(x, y, rng=self.rng)
            self.outside += self._at_border(*reported)
            self.reports += self.grid.count(*reported)
        else:
            self.reports += self.grid.count_cells(self.mechanism.randomize(self.grid.cells(x, y), rng=self.rng))

    def _at_border(self, x: np.ndarray, y: np.ndarray) -> int:
        """The reports on the grid's border, where those beyond it are clamped to, or beyond it."""
        step = float(self.mechanism.granularity)
        inside = np.ones(x.size, np.bool_)
        for one, (low, high) in zip((x, y), self.grid.bounds, strict=True):
            inside &= (one >= low + step) & (one <= high - step)
        return x.size - int(np.count_nonzero(inside))


def open_places(source: TableSource, columns: tuple[str, str]) -> Source:
    """The table or file, if it has the two columns."""
    import pyarrow as pa

    if len(set(columns)) != 2:
        raise ParameterError("survey: the two coordinates must be two columns")
    opened = open_source("survey", source, types=lambda: dict.fromkeys(columns, pa.float64()))
    for name in columns:
        if opened.schema.names.count(name) != 1:
            raise SchemaError(f"survey: the table must hold column {name!r} once")
        check_known(f"survey: column {name!r}", opened.schema.field(name).type)
    return opened


def _read(
    source: Any, grid: Grid, columns: tuple[str, str], outside: str, progress: Progress | None
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The places of each batch, on the grid's plane."""
    opened, done = open_places(source, columns), 0
    owner = f"survey: columns {columns[0]!r} and {columns[1]!r}"
    for batch in opened.batches(list(columns), None, []):
        yield _on_plane(owner, grid, [_numbers(name, batch.column(name)) for name in columns], outside)
        done += batch.num_rows
        if progress is not None:
            progress(done, expected_rows(opened, done))


def _on_plane(owner: str, grid: Grid, values: list[np.ndarray], outside: str) -> tuple[np.ndarray, np.ndarray]:
    if grid.origin is not None:
        plane = Plane(owner, *grid.origin)
        return project(owner, plane, grid.unit, values[0], values[1], refuse_far=outside != "drop")
    refuse_nan(owner, *values)
    return values[0], values[1]


def _numbers(name: str, column: Any) -> np.ndarray:
    owner = f"survey: column {name!r}"
    if column.null_count:
        raise DomainError(f"{owner} holds nulls; leave those rows out")
    return read_numeric(owner, column, "float").flat(owner)
