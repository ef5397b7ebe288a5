"""Products with a channel on a grid, by Fourier transforms of its columns and rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.jit import kernel, pasted
from fastdp.kernels.products.blocks import (
    PAIR,
    add_numbers,
    add_rows,
    clear,
    clip,
    copy,
    fold_ends,
    multiply,
    spread_corners,
    spread_ends,
    spread_tails,
    sum_corners,
    sum_ends,
    sum_tails,
    turn,
    turn_add,
)
from fastdp.kernels.products.fourier import transform, transform_back, transform_back_real, transform_real
from fastdp.kernels.products.vectors import LANES, VECTOR, address


class Tables(NamedTuple):
    """What products need of a channel; for those with its transpose, conjugate.

    Tables are in blocks: their last axes are rows, parts (real and imaginary ones, or 1 for real alone) and lanes.
    """

    down: np.ndarray
    """Stages of the transforms of columns."""
    down_factors: np.ndarray
    """Their factors, for each half of the spectrum."""
    along: np.ndarray
    """Stages of the transforms of rows."""
    along_factors: np.ndarray
    spectrum: np.ndarray
    """For each half, blocks of waves along rows: what waves of the grid are multiplied by."""
    sides: np.ndarray
    """Blocks of waves along rows: for each row what goes beyond the first one, and beyond the last."""
    ends: np.ndarray
    """Blocks of columns, waves down them: for each column what goes beyond the first one, and beyond the last."""
    corners: np.ndarray
    """Four tables of the cells' blocks: what goes beyond the corners, those of the first row first."""


class _Places(NamedTuple):
    """Addresses of parts of the scratch; numbers of blocks of the grid, of their rows, and of blocks of waves."""

    cells: int
    """The grid: blocks of ``height`` rows."""
    lines: int
    """The grid with its rows transformed: ``spans`` blocks of ``height`` rows of complex numbers."""
    line: int
    """One block of real numbers."""
    work: int
    """One block of complex numbers, as are those that follow."""
    more: int
    sums: int
    """Two such blocks."""
    ends: int
    """One block of real numbers."""
    corners: int
    """Four vectors."""
    blocks: int
    height: int
    spans: int


def scratch_size(tables: Tables) -> int:
    """How many numbers of scratch products take."""
    blocks, height = tables.corners.shape[1:3]
    spans = tables.sides.shape[1]
    return LANES * (blocks * height + 2 * spans * height + 10 * max(height, spans * LANES) + 5)


@pasted
def _lay_out(tables, scratch):
    """Parts one after the other from the first whole vector on."""
    blocks, height, spans = tables.corners.shape[1], tables.corners.shape[2], tables.sides.shape[1]
    longest = max(height, spans * LANES)
    cells = -(-address(scratch) // VECTOR) * VECTOR
    lines = cells + blocks * height * VECTOR
    line = lines + spans * height * PAIR
    work = line + longest * VECTOR
    more = work + longest * PAIR
    sums = more + longest * PAIR
    ends = sums + 2 * longest * PAIR
    return _Places(cells, lines, line, work, more, sums, ends, ends + longest * VECTOR, blocks, height, spans)


@pasted
def _fill(values, at):
    """Put the grid into blocks with 0 around it."""
    rows, columns = values.shape
    for b in range(at.blocks):
        here, width = at.cells + b * at.height * VECTOR, min(columns - b * LANES, LANES)
        clear(at.height - rows, here + rows * VECTOR)
        if width < LANES:
            clear(rows, here)
        copy(rows, width, address(values) + b * VECTOR, 8 * columns, here, VECTOR)


@pasted
def _empty(values, at):
    """Take the grid out of its blocks."""
    rows, columns = values.shape
    for b in range(at.blocks):
        here, width = at.cells + b * at.height * VECTOR, min(columns - b * LANES, LANES)
        copy(rows, width, here, VECTOR, address(values) + b * VECTOR, 8 * columns)


@pasted
def _transform_rows(rows, tables, at):
    """From cells to lines."""
    used = (rows + LANES - 1) // LANES
    clear((at.spans - at.blocks) * LANES, at.line + at.blocks * LANES * VECTOR)
    for b in range(used):
        turn(at.blocks, at.cells + b * LANES * VECTOR, VECTOR, at.height * VECTOR, at.line, VECTOR, LANES * VECTOR)
        transform_real(address(tables.along), len(tables.along), address(tables.along_factors), at.line, at.work)
        here = at.lines + b * LANES * PAIR
        turn(at.spans, at.work, PAIR, LANES * PAIR, here, PAIR, at.height * PAIR)
        turn(at.spans, at.work + VECTOR, PAIR, LANES * PAIR, here + VECTOR, PAIR, at.height * PAIR)
    for s in range(at.spans):
        clear(2 * (at.height - used * LANES), at.lines + (s * at.height + used * LANES) * PAIR)


@pasted
def _transform_rows_back(rows, back, tables, at):
    """From lines to cells, added to what is there if ``back``."""
    for b in range((rows + LANES - 1) // LANES):
        here = at.lines + b * LANES * PAIR
        turn(at.spans, here, PAIR, at.height * PAIR, at.work, PAIR, LANES * PAIR)
        turn(at.spans, here + VECTOR, PAIR, at.height * PAIR, at.work + VECTOR, PAIR, LANES * PAIR)
        transform_back_real(address(tables.along), len(tables.along), address(tables.along_factors), at.work, at.line)
        here = at.cells + b * LANES * VECTOR
        if back:
            turn_add(at.blocks, at.line, VECTOR, LANES * VECTOR, here, VECTOR, at.height * VECTOR)
        else:
            turn(at.blocks, at.line, VECTOR, LANES * VECTOR, here, VECTOR, at.height * VECTOR)


@pasted
def _apply_span(s, rows, back, tables, at):
    """Multiply by the spectrum in a block of lines, and add what goes beyond the first and the last row."""
    real, length = tables.spectrum.shape[3] == 1, tables.spectrum.shape[2]
    values, last = at.lines + s * at.height * PAIR, (rows - 1) * PAIR
    low, high = address(tables.sides[0, s]), address(tables.sides[1, s])
    if back:
        copy(2, LANES, values, VECTOR, at.sums, VECTOR)
        copy(2, LANES, values + last, VECTOR, at.sums + PAIR, VECTOR)
    else:
        sum_tails(real, rows, low, high, values, at.sums)
    for half in range(2):
        factors = address(tables.down_factors[half])
        transform(address(tables.down), len(tables.down), factors, values, at.work)
        multiply(real, length, address(tables.spectrum[half, s]), at.work)
        target = at.more if half == 0 else at.work
        transform_back(address(tables.down), len(tables.down), factors, at.work, target)
    add_rows(rows, at.more, at.work, values)
    if back:
        spread_tails(real, rows, low, high, at.sums, values)
    else:
        add_rows(1, values, at.sums, values)
        add_rows(1, values + last, at.sums + PAIR, values + last)


@pasted
def _sum_ends(tables, at):
    """To the block ``ends``: for each row, what goes beyond the first column and beyond the last."""
    real, length = tables.spectrum.shape[3] == 1, tables.spectrum.shape[2]
    stages, count, factors = address(tables.down), len(tables.down), address(tables.down_factors)
    clear(4 * length, at.sums)
    for b in range(at.blocks):
        left, right = address(tables.ends[0, b]), address(tables.ends[1, b])
        transform_real(stages, count, factors, at.cells + b * at.height * VECTOR, at.work)
        sum_ends(real, length, left, right, at.work, at.sums)
    fold_ends(length, at.sums, at.work)
    transform_back_real(stages, count, factors, at.work, at.ends)


@pasted
def _spread_ends(values, tables, at):
    """To cells: what the first and the last column get from beyond them, at the cells that it comes from."""
    rows, columns = values.shape
    real, length = tables.spectrum.shape[3] == 1, tables.spectrum.shape[2]
    stages, count, factors = address(tables.down), len(tables.down), address(tables.down_factors)
    clear(at.height, at.line)
    copy(rows, 1, address(values), 8 * columns, at.line, VECTOR)
    copy(rows, 1, address(values) + 8 * (columns - 1), 8 * columns, at.line + 8, VECTOR)
    transform_real(stages, count, factors, at.line, at.sums)
    for b in range(at.blocks):
        left, right = address(tables.ends[0, b]), address(tables.ends[1, b])
        spread_ends(real, length, left, right, at.sums, at.work)
        transform_back_real(stages, count, factors, at.work, at.cells + b * at.height * VECTOR)


@pasted
def _cell(i, j, at):
    """Where a cell is."""
    return at.cells + (j // LANES * at.height + i) * VECTOR + j % LANES * 8


@kernel
def apply_grid(tables, back, values, scratch, out):
    """Write the product of values with the channel and where it is below 0, 0; if ``back``, that with its transpose.

    Pre:  values and out are grids; scratch has ``scratch_size`` numbers; tables are conjugate if ``back``.
    """
    (rows, columns), at = values.shape, _lay_out(tables, scratch)
    corners, table = address(tables.corners), 8 * tables.corners[0].size
    _fill(values, at)
    if not back:
        sum_corners(at.blocks * at.height, corners, table, at.cells, at.corners)
        _sum_ends(tables, at)
    _transform_rows(rows, tables, at)
    if back:
        _spread_ends(values, tables, at)
    for s in range(at.spans):
        _apply_span(s, rows, back, tables, at)
    _transform_rows_back(rows, back, tables, at)
    if back:
        for k in range(4):
            place = (k // 2 * (rows - 1) * columns + k % 2 * (columns - 1)) * 8
            copy(1, 1, address(values) + place, 8, at.corners + 8 * k, 8)
        spread_corners(at.blocks * at.height, corners, table, at.corners, at.cells)
    else:
        for k in range(2):
            add_numbers(rows, at.ends + 8 * k, VECTOR, _cell(0, k * (columns - 1), at), VECTOR)
        for k in range(4):
            place = _cell(k // 2 * (rows - 1), k % 2 * (columns - 1), at)
            add_numbers(1, at.corners + k * VECTOR, 8, place, 8)
        clip(at.blocks * at.height, at.cells)
    _empty(out, at)
