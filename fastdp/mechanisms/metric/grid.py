"""Noise on a grid of cells, with what falls outside clamped onto the border."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from fastdp import rounding, validation
from fastdp.channels import GridChannel
from fastdp.channels.planar import mirrored
from fastdp.columns.categories import out_of_domain
from fastdp.engine.runner import Block
from fastdp.errors import ParameterError
from fastdp.kernels.metric.probability_rows import Rows, add_offsets, fill_rows
from fastdp.laws.metric import cell_masses as offsets
from fastdp.laws.metric.probability_rows import SPARE, arrange, realise_offsets
from fastdp.mechanisms.annotations import Rate, Shape, computed, frozen
from fastdp.mechanisms.base import set_fields
from fastdp.mechanisms.metric.finite import CodeMechanism
from fastdp.privacy import Privacy
from fastdp.units.lengths import METRES, read_rate

LARGEST_GRID = 1 << 18
"""Cells of a grid: 512 by 512."""


@dataclass(frozen=True, slots=True)
class _Table:
    """The offsets of a grid, rows first, the integers that they and the uniform outcome realise, and the kernel's."""

    masses: np.ndarray
    shares: list[int]
    down: np.ndarray
    across: np.ndarray
    rows: Rows


@lru_cache(maxsize=16)
def _build(quarter: Callable[[float, int, int], np.ndarray], rate: float, shape: tuple[int, int]) -> _Table:
    masses = mirrored(quarter(rate, *shape))
    flat = masses.reshape(-1)
    order = np.flatnonzero(flat >= 2.0**-127)  # others would be rounded down to nothing
    shares = realise_offsets(flat[order])
    down, across = np.divmod(order, masses.shape[1])
    return _Table(
        masses, shares, down - (shape[0] - 1), across - (shape[1] - 1), arrange([shares], shape[0] * shape[1])
    )


@frozen()
class GridNoise(CodeMechanism):
    """Noise on the cells of a grid: the fields and the guarantee of both kinds."""

    epsilon: Rate
    shape: Shape
    cell: float = 1.0
    unit: str = "cell"
    _rate: Any = computed()
    _quarter: ClassVar[Any]

    def __post_init__(self) -> None:
        owner = type(self).__name__
        if isinstance(self.epsilon, str):
            validation.one_of(owner, "unit", self.unit, tuple(METRES))
        epsilon = validation.positive(owner, "epsilon", read_rate(owner, self.epsilon, self.unit))
        cell = validation.positive(owner, "cell", self.cell)
        if not isinstance(self.unit, str) or not self.unit:
            raise ParameterError(f"{owner}: unit must be the name of a length, such as 'km'")
        if not isinstance(self.shape, tuple | list) or len(self.shape) != 2:
            raise ParameterError(f"{owner}: shape must be the numbers of rows and of columns")
        rows, columns = (
            validation.positive_integer(owner, name, value)
            for name, value in zip(("rows", "columns"), self.shape, strict=True)
        )
        if not 2 <= rows * columns <= LARGEST_GRID:
            raise ParameterError(f"{owner}: shape must have from 2 to {LARGEST_GRID} cells, got {rows} x {columns}")
        set_fields(self, epsilon=epsilon, cell=cell, shape=(rows, columns))
        rate = epsilon * cell - 2 * float(self._excess())
        if not offsets.SMALLEST_RATE <= rate <= offsets.LARGEST_RATE:
            raise ParameterError(
                f"{owner}: epsilon per side of a cell must be from {offsets.SMALLEST_RATE:.2g} to "
                f"{offsets.LARGEST_RATE:g}, the sampler's resolution, got {epsilon * cell:.6g}; choose other cells"
            )
        set_fields(self, _rate=rate)

    def _excess(self) -> Fraction:
        """How far rounding can move the log-ratio of two probabilities.

        Every mass is right to ERROR of itself, and so are sums of masses. A sum of rounded integers is too small by
        less than 1 for each of its offsets, and at least the uniform outcome's part of SPARE.
        """
        cells = self.shape[0] * self.shape[1]
        return 4 * Fraction(offsets.ERROR) + Fraction(2 * 4 * cells * cells, SPARE)

    @property
    def privacy(self) -> Privacy:
        """The guarantee for two cells one unit apart, of the integers that are drawn from, rounded up.

        Two cells d apart cost at most d times as much: the logarithm of an offset's probability changes by at most the
        rate times the change of its length. All offsets that lead to one cell of the border, from either cell, are
        shifts of one another, so this holds for their sums; and cells are at least one side apart, so what rounding
        adds to a log-ratio adds no more than itself per side.
        """
        per_side = Fraction(self._rate) + self._excess()
        epsilon = rounding.float_up(per_side / Fraction(self.cell))
        return Privacy(epsilon=epsilon, unit=f"1 {self.unit}", neighbours="replace")

    @property
    def middle(self) -> int:
        """The cell in the middle of the grid."""
        rows, columns = self.shape
        return int(rows // 2 * columns + columns // 2)

    def distances_from(self, value: int) -> np.ndarray:
        """The distance of every cell's middle from this one's, in units."""
        down, across = np.divmod(np.arange(self._values()), self.shape[1])
        return self.cell * np.hypot(down - down[value], across - across[value])  # type: ignore[no-any-return]

    def channel(self) -> GridChannel:
        """The channel between the cells, without the 2**-56 of uniform reports."""
        return GridChannel(self._table().masses, self.shape)

    def _table(self) -> _Table:
        return _build(self._quarter, self._rate, self.shape)

    def _values(self) -> int:
        return self.shape[0] * self.shape[1]

    def _losses(self, loss: Any) -> tuple[Any, Any]:
        if not isinstance(loss, str):
            return loss, None
        rows, columns = np.divmod(np.arange(self._values()), self.shape[1])
        return loss, np.stack((rows, columns), axis=1) * self.cell

    def _block(self) -> Block:
        owner, table, (rows, columns) = type(self).__name__, self._table(), self.shape

        def block(key: Any, slot: Any, _first: int, codes: np.ndarray, memory: Any, result: np.ndarray) -> None:
            drawn = memory.noise[: codes.size]
            fill_rows(key, slot, np.zeros(codes.size, np.int64), table.rows, memory.scratch, drawn)
            if add_offsets(_signed(codes), drawn, table.down, table.across, rows, columns, result):
                raise out_of_domain(owner)

        return block


def _signed(codes: np.ndarray) -> np.ndarray:
    """Codes as int64; an unsigned one beyond it becomes negative, which is no code either."""
    return codes.astype(np.int64)


@frozen()
class GridGeometric(GridNoise):
    """Move a cell by offset z with probability proportional to e**(-epsilon |z|), and clamp it onto the grid.

    epsilon-d-private for one report per person, d the distance between the middles of cells. ``epsilon`` is per
    ``unit``, and a cell's side is ``cell`` units: one by default. Values are the cells of a grid of ``shape``, numbered
    row by row; a row and a column outside each become the nearest of the border.

    2 random bytes per report for most. [Andres et al. 2013; Chatzikokolakis et al. 2017]

    Parameters
    ----------
    epsilon
        The privacy per unit of distance.
    shape
        The numbers of rows and of columns of the grid.
    cell
        The side of a cell, in that unit.
    unit
        The unit of distance, such as "km".

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.metric.grid import GridGeometric
    >>> mechanism = GridGeometric(epsilon=0.9, shape=(10, 10), cell=1.1, unit="km")
    >>> mechanism.randomize([44, 45], rng=fd.Rng.unsafe_seed(7))
    [23, 63]
    >>> mechanism.privacy.unit, mechanism.privacy.epsilon <= 0.9
    ('1 km', True)
    """

    shape: Shape
    _quarter = staticmethod(offsets.geometric_quarter)


@frozen()
class GridLaplace(GridNoise):
    """Add planar Laplace noise to the middle of a cell, and report the cell it falls in, clamped onto the grid.

    epsilon-d-private for one report per person, d the distance between the middles of cells. ``epsilon`` is per
    ``unit``, and a cell's side is ``cell`` units: one by default. Values are the cells of a grid of ``shape``, numbered
    row by row; a row and a column outside each become the nearest of the border. The cells' probabilities are
    integrals of the density, so no point is ever drawn. Reports are wider spread than those of `GridGeometric`.

    2 random bytes per report for most. [Andres et al. 2013]

    Parameters
    ----------
    epsilon, shape, cell, unit
        As in `GridGeometric`.

    >>> import fastdp as fd
    >>> from fastdp.mechanisms.metric.grid import GridLaplace
    >>> GridLaplace(epsilon=0.9, shape=(10, 10)).randomize([44, 45], rng=fd.Rng.unsafe_seed(7))
    [22, 64]
    """

    shape: Shape
    _quarter = staticmethod(offsets.laplace_quarter)
