"""A rectangle of square cells on the map, and how many points are in each of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.columns.numeric import read_numeric
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.local.count_codes import count_codes
from fastdp.kernels.metric.map_cells import count_places, fill_cells, mark_inside
from fastdp.mechanisms.annotations import UNSET, OptionalPair, Pair, Parameter, frozen
from fastdp.mechanisms.metric.grid import LARGEST_GRID
from fastdp.plane import Plane
from fastdp.threads import BLOCK
from fastdp.typing import Column
from fastdp.units.lengths import METRES, parse_length

LARGEST_EXTENT = 2.0e6
"""Metres across: half of it is well within what the touching plane shows."""


@frozen(with_repr=True)
class Grid:
    """Square cells that cover x and y, two pairs of bounds; numbered row by row from the top left, north up.

    ``cell`` is a side, in ``unit`` or as a text such as "250m". Bounds are widened, alike on both sides, to whole
    cells. :meth:`over` covers latitudes and longitudes instead, on the plane that touches the globe in their middle.
    All of it is public: choose it without looking at the data.

    Parameters
    ----------
    x, y
        The bounds (low, high) of each coordinate.
    cell
        The side of a cell, in ``unit`` or as a text such as "250m".
    unit
        The unit of the coordinates.
    origin
        The latitude and longitude where the plane touches the globe.

    >>> grid = Grid.over(latitude=(48.85, 48.88), longitude=(2.32, 2.36), cell="250m")
    >>> grid.shape
    (14, 12)
    >>> int(grid.count_latlon([48.865, 48.865, 48.88], [2.34, 2.34, 2.32]).max())
    2
    """

    x: Pair
    y: Pair
    cell: Parameter[float | str, float]
    unit: str = "m"
    origin: OptionalPair = UNSET
    shape: tuple[int, int] = field(init=False)
    """Rows and columns."""

    def __post_init__(self) -> None:
        unit = validation.one_of("Grid", "unit", self.unit, tuple(METRES))
        cell = self.cell
        if isinstance(cell, str):
            cell = parse_length("Grid", "cell", cell) / METRES[unit]
        cell = validation.positive("Grid", "cell", cell)
        spans = [validation.bounds("Grid", span, integers=False) for span in (self.x, self.y)]
        lengths = [min((high - low) / cell, 2.0 * LARGEST_GRID) for low, high in spans]
        sides = [max(1, math.ceil(length * (1 - 1e-12))) for length in lengths]
        if self.origin is not None:
            object.__setattr__(self, "origin", validation.origin("Grid", self.origin))
        if not 2 <= sides[0] * sides[1] <= LARGEST_GRID:
            raise ParameterError(
                f"Grid: there must be from 2 to {LARGEST_GRID} cells, got {sides[1]} x {sides[0]}; choose other cells"
            )
        wide = [_widen(low, high, count * cell) for (low, high), count in zip(spans, sides, strict=True)]
        for name, value in zip(("x", "y", "cell", "shape"), (*wide, cell, (sides[1], sides[0])), strict=True):
            object.__setattr__(self, name, value)

    @classmethod
    def over(cls, *, latitude: Sequence[float], longitude: Sequence[float], cell: float | str, unit: str = "m") -> Grid:
        """The grid over two pairs of bounds; longitudes from the west to the east, also over the date line.

        Parameters
        ----------
        latitude, longitude
            Degrees of the points.
        cell
            The side of a cell: a number, or text with a unit such as "250m".
        unit
            The unit of lengths.
        """
        south, north = validation.bounds("Grid", latitude, integers=False)
        if not isinstance(longitude, tuple | list) or len(longitude) != 2:
            raise ParameterError("Grid: longitude must be two numbers, from the west to the east")
        west, east = (validation.as_float(value) for value in longitude)
        if not (-90 <= south < north <= 90 and -180 <= west <= 180 and -180 <= east <= 180 and west != east):
            raise ParameterError("Grid: latitudes must be from -90 to 90 and longitudes from -180 to 180, not the same")
        if east - west == 360:
            raise ParameterError("Grid: longitudes must not go all the way round; one plane shows 2,000 km at most")
        across = (east - west) % 360
        origin = (south + north) / 2, (west + across / 2 + 180) % 360 - 180
        validation.one_of("Grid", "unit", unit, tuple(METRES))
        plane, edges = Plane("Grid", *origin), np.linspace(-across / 2, across / 2, 9)
        turned = (origin[1] + edges + 180) % 360 - 180
        places = [plane.project(np.full(9, one), turned) for one in (south, origin[0], north)]
        half = [max(float(np.abs(place[axis]).max()) for place in places) for axis in (0, 1)]
        if max(half) > LARGEST_EXTENT / 2:
            raise ParameterError("Grid: the region must be at most 2,000 km across; one plane shows no more")
        x, y = ((-one / METRES[unit], one / METRES[unit]) for one in half)
        return cls(x=x, y=y, cell=cell, unit=unit, origin=origin)

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self.shape[0] * self.shape[1]

    @property
    def bounds(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Of x and of y: a ``region`` for `PlanarLaplace`."""
        return self.x, self.y

    @property
    def positions(self) -> np.ndarray:
        """The middles of the cells, x and y in rows, numbered as the cells are."""
        rows, columns = self.shape
        y = self.y[1] - (np.arange(rows) + 0.5) * self.cell
        x = self.x[0] + (np.arange(columns) + 0.5) * self.cell
        return np.stack((np.tile(x, rows), np.repeat(y, columns)), axis=1)

    def latlon(self) -> tuple[np.ndarray, np.ndarray]:
        """Latitudes and longitudes of the middles of the cells."""
        metres = self.positions * METRES[self.unit]
        return self._plane().unproject(metres[:, 0], metres[:, 1])

    def _plane(self) -> Plane:
        if self.origin is None:
            raise ParameterError("Grid: latitudes and longitudes need a grid made by Grid.over")
        return Plane("Grid", *self.origin)

    def project(self, latitude: Column, longitude: Column, *, far: str = "refuse") -> tuple[np.ndarray, np.ndarray]:
        """Coordinates x and y of points on the globe; those on its other side are refused, or ``far="infinite"``.

        Parameters
        ----------
        latitude, longitude
            Degrees of the points.
        far
            ``"refuse"`` points on the other side of the globe, or make their coordinates ``"infinite"``.
        """
        validation.one_of("Grid", "far", far, ("refuse", "infinite"))
        plane = self._plane()
        return project("Grid", plane, self.unit, *_flat(latitude, longitude), refuse_far=far == "refuse")

    def count(self, x: Column, y: Column, *, outside: str = "clamp") -> np.ndarray:
        """How many points are in each cell; those outside count for the nearest of the border, or not (``"drop"``).

        Parameters
        ----------
        x, y
            Coordinates of the points, in the grid's unit.
        outside
            ``"clamp"`` counts points outside the grid for the nearest cell of its border, ``"drop"`` not at all.
        """
        drop = validation.one_of("Grid", "outside", outside, ("clamp", "drop")) == "drop"
        counts = np.zeros(self.size, np.int64)
        x, y = _flat(x, y)
        bad = 0
        for part in _blocks(x.size):
            bad |= count_places(x[part], y[part], *self._frame(), drop, counts)
        _refuse("Grid", bad)
        return counts.reshape(self.shape)

    def count_latlon(self, latitude: Column, longitude: Column, *, outside: str = "clamp") -> np.ndarray:
        """The same for points on the globe.

        Parameters
        ----------
        latitude, longitude
            Degrees of the points.
        outside
            ``"clamp"`` counts points outside the grid for the nearest cell of its border, ``"drop"`` not at all.
        """
        far = "infinite" if outside == "drop" else "refuse"
        return self.count(*self.project(latitude, longitude, far=far), outside=outside)

    def count_cells(self, cells: Column) -> np.ndarray:
        """How often each cell is reported, by its number.

        Parameters
        ----------
        cells
            The numbers of cells.
        """
        counts = np.zeros((4, self.size), np.int64)
        column = read_numeric("Grid", cells, "integer")
        for block in column.blocks("Grid"):
            # beyond int64 they become negative, which is no cell either
            flat = block.view(np.int64) if block.dtype == np.uint64 else block
            if count_codes(flat, np.uint64(self.size), counts):
                raise DomainError("Grid: there are cells outside the grid; values withheld")
        total: np.ndarray = counts.sum(axis=0).reshape(self.shape)
        return total

    def cells(self, x: Column, y: Column) -> np.ndarray:
        """The number of each point's cell, or of the nearest of the border.

        Parameters
        ----------
        x, y
            Coordinates of the points, in the grid's unit.
        """
        x, y = _flat(x, y)
        out = np.empty(x.size, np.int64)
        _refuse("Grid", fill_cells(x, y, *self._frame(), out))
        return out

    def inside(self, x: Column, y: Column) -> np.ndarray:
        """Which points are inside; ``x`` and ``y`` as in `cells`.

        Parameters
        ----------
        x
            First coordinates of the points.
        y
            Second coordinates.
        """
        x, y = _flat(x, y)
        refuse_nan("Grid", x, y)
        out = np.empty(x.size, np.bool_)
        mark_inside(x, y, *self._frame(), out)
        return out

    def _frame(self) -> tuple[float, float, float, int, int]:
        return self.x[0], self.y[1], self.cell, *self.shape


def _widen(low: float, high: float, length: float) -> tuple[float, float]:
    middle = (low + high) / 2
    return middle - length / 2, middle + length / 2


def _flat(*columns: Any) -> list[np.ndarray]:
    """Columns of equal length as float64."""
    flat = [read_numeric("Grid", column, "float").flat("Grid") for column in columns]
    if len({column.size for column in flat}) > 1:
        raise ParameterError("Grid: both coordinates must have the same length")
    return flat


def _blocks(size: int) -> Iterator[slice]:
    """Parts that stay in the caches between two kernels."""
    return (slice(start, start + BLOCK) for start in range(0, size, BLOCK))


def project(
    owner: str, plane: Plane, unit: str, latitude: np.ndarray, longitude: np.ndarray, *, refuse_far: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates x and y on a plane; points on the globe's other side are refused, or infinite."""
    x, y, behind = plane.locate(latitude, longitude, scale=1 / METRES[unit])
    if behind and refuse_far:
        raise DomainError(f'{owner}: points lie on the other side of the globe; leave them out, as outside="drop" does')
    return x, y


def refuse_nan(owner: str, *columns: np.ndarray) -> None:
    """Refuse coordinates that are NaN."""
    _refuse(owner, int(any(np.isnan(column).any() for column in columns)))


def _refuse(owner: str, bad: int) -> None:
    if bad:
        raise DomainError(f"{owner}: there are coordinates that are NaN; values withheld")
