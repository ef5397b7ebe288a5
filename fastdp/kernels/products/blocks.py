"""Grids in blocks, each of a vector's columns and all rows, and what is done to them between transforms.

Rows of a block lie one after the other, so that transforms down the columns work on whole vectors. Rows are transformed
in blocks of the grid turned over. Products with tables come twice: tables are real where the noise is symmetric.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fastdp.kernels.products.fourier import add_product, times
from fastdp.kernels.products.vectors import LANES, VECTOR, Code, Lanes, Routine, vectorized

PAIR = 2 * VECTOR
"""Bytes of a row of complex numbers."""


def _turned(rows: list[Lanes]) -> list[Lanes]:
    """The columns of a square of numbers: halves change places, then quarters."""
    size = 1
    while size < LANES:
        low = [k + LANES - size if k & size else k for k in range(LANES)]
        high = [k + size for k in low]
        turned = list(rows)
        for k in range(LANES):
            if not k & size:
                turned[k], turned[k + size] = (rows[k].mixed(rows[k + size], places) for places in (low, high))
        rows, size = turned, 2 * size
    return rows


def _turn(*, add: bool) -> Any:
    def write(code: Code, count: Any, source: Any, row: Any, step: Any, target: Any, goal: Any, stride: Any) -> None:
        with code.loop(count) as square:
            start, end = code.at(source, square, step), code.at(target, square, stride)
            columns = _turned([code.load(code.at(start, k, row)) for k in range(LANES)])
            for k, column in enumerate(columns):
                place = code.at(end, k, goal)
                code.store(code.load(place) + column if add else column, place)

    write.__name__ = "turn_add" if add else "turn"
    return vectorized(write)


turn, turn_add = _turn(add=False), _turn(add=True)
"""turn(count, source, row, step, target, row, step): turn squares over, rows and squares so many bytes apart."""


@vectorized
def clear(code: Code, count: Any, target: Any) -> None:
    """Write vectors of 0."""
    with code.loop(count) as k:
        code.store(code.constant(0.0), code.at(target, k, VECTOR))


@vectorized
def clip(code: Code, count: Any, target: Any) -> None:
    """Write 0 over what is below it."""
    with code.loop(count) as k:
        place = code.at(target, k, VECTOR)
        code.store(code.load(place).clipped(), place)


@vectorized
def copy(code: Code, count: Any, width: Any, source: Any, row: Any, target: Any, goal: Any) -> None:
    """Copy the first ``width`` numbers of vectors, so many bytes apart."""
    whole = code.builder.icmp_signed("==", width, code.integer(LANES))
    with code.builder.if_else(whole) as (vectors, numbers):
        with vectors, code.loop(count) as k:
            code.store(code.load(code.at(source, k, row)), code.at(target, k, goal))
        with numbers, code.loop(count) as k, code.loop(width) as lane:
            code.copy_number(code.at(code.at(source, k, row), lane, 8), code.at(code.at(target, k, goal), lane, 8))


@vectorized
def add_numbers(code: Code, count: Any, source: Any, row: Any, target: Any, goal: Any) -> None:
    """Add numbers to others, so many bytes apart."""
    with code.loop(count) as k:
        code.add_number(code.at(source, k, row), code.at(target, k, goal))


@vectorized
def add_rows(code: Code, count: Any, a: Any, b: Any, out: Any) -> None:
    """Sums of rows of complex numbers."""
    with code.loop(count) as k:
        x, y = (code.read(code.at(rows, k, PAIR), real=False) for rows in (a, b))
        code.write((x[0] + y[0], x[1] + y[1]), code.at(out, k, PAIR), real=False)


@vectorized
def sum_corners(code: Code, count: Any, tables: Any, size: Any, values: Any, out: Any) -> None:
    """Write four vectors, their numbers the same: sums of values times those of four tables, so many bytes apart."""
    sums = [code.variable() for _ in range(4)]
    with code.loop(count) as k:
        value = code.load(code.at(values, k, VECTOR))
        for t, total in enumerate(sums):
            factor = code.load(code.at(code.at(tables, t, size), k, VECTOR))
            code.set(total, code.get(total).plus(factor, value))
    for t, total in enumerate(sums):
        code.store(code.get(total).total(), out, t * VECTOR)


@vectorized
def spread_corners(code: Code, count: Any, tables: Any, size: Any, numbers: Any, out: Any) -> None:
    """Add to vectors those of four tables, so many bytes apart, times one number each."""
    factors = [code.spread(numbers, 8 * t) for t in range(4)]
    with code.loop(count) as k:
        place = code.at(out, k, VECTOR)
        total = code.load(place)
        for t, factor in enumerate(factors):
            total = total.plus(code.load(code.at(code.at(tables, t, size), k, VECTOR)), factor)
        code.store(total, place)


@vectorized
def fold_ends(code: Code, count: Any, sums: Any, out: Any) -> None:
    """Write the sum of the numbers of the first of two rows, and then of the second; the rest is of no use."""
    with code.loop(count) as k:
        place = code.at(sums, k, 2 * PAIR)
        first, last = (code.read(code.at(place, t, PAIR), real=False) for t in range(2))
        places = [LANES * (lane % 2) for lane in range(LANES)]
        both = (a.total().mixed(b.total(), places) for a, b in zip(first, last, strict=True))
        code.write(tuple(both), code.at(out, k, PAIR), real=False)


def _with_tables(write: Callable[..., None]) -> Any:
    """The routine for tables that are real, if the first integer is not 0, or complex.

    ``write`` reads a table's row by its second argument.
    """

    def one(*, real: bool) -> Routine:
        def body(code: Code, *integers: Any) -> None:
            write(code, lambda table, k: code.read(code.at(table, k, VECTOR if real else PAIR), real=real), *integers)

        return Routine(f"{write.__name__}_{'real' if real else 'complex'}", body)

    def either(code: Code, real: Any, *integers: Any) -> None:
        with code.builder.if_else(code.builder.icmp_signed("!=", real, code.integer(0))) as (yes, no):
            with yes:
                one(real=True).call(code.builder, *integers)
            with no:
                one(real=False).call(code.builder, *integers)

    return vectorized(functools.wraps(write)(either))


@_with_tables
def multiply(code: Code, row: Any, count: Any, table: Any, values: Any) -> None:
    """Multiply rows of values by those of the table."""
    with code.loop(count) as k:
        place = code.at(values, k, PAIR)
        code.write(times(row(table, k), code.read(place, real=False)), place, real=False)


@_with_tables
def sum_tails(code: Code, row: Any, count: Any, low: Any, high: Any, values: Any, out: Any) -> None:
    """Write two rows: the sums of rows of values times those of each table."""
    sums = [[code.variable(), code.variable()] for _ in range(2)]
    with code.loop(count) as k:
        value = code.read(code.at(values, k, PAIR), real=False)
        for total, table in zip(sums, (low, high), strict=True):
            changed = add_product((code.get(total[0]), code.get(total[1])), row(table, k), value)
            for variable, part in zip(total, changed, strict=True):
                code.set(variable, part)
    for t, total in enumerate(sums):
        code.write((code.get(total[0]), code.get(total[1])), code.at(out, t, PAIR), real=False)


@_with_tables
def spread_tails(code: Code, row: Any, count: Any, low: Any, high: Any, ends: Any, out: Any) -> None:
    """Add to rows those of the tables, the one times the first row of ``ends`` and the other times the second."""
    first, last = (code.read(code.at(ends, t, PAIR), real=False) for t in range(2))
    with code.loop(count) as k:
        place = code.at(out, k, PAIR)
        total = add_product(code.read(place, real=False), row(low, k), first)
        code.write(add_product(total, row(high, k), last), place, real=False)


@_with_tables
def sum_ends(code: Code, row: Any, count: Any, left: Any, right: Any, values: Any, out: Any) -> None:
    """Add to two rows for each of the values its products with the tables."""
    with code.loop(count) as k:
        value = code.read(code.at(values, k, PAIR), real=False)
        for t, table in enumerate((left, right)):
            place = code.at(code.at(out, k, 2 * PAIR), t, PAIR)
            code.write(add_product(code.read(place, real=False), row(table, k), value), place, real=False)


@_with_tables
def spread_ends(code: Code, row: Any, count: Any, left: Any, right: Any, values: Any, out: Any) -> None:
    """Write the sums of rows of the tables, times the first and the second number of each row of values."""
    with code.loop(count) as k:
        place = code.at(values, k, PAIR)
        first, last = ((code.spread(place, 8 * t), code.spread(place, VECTOR + 8 * t)) for t in range(2))
        code.write(add_product(times(row(left, k), first), row(right, k), last), code.at(out, k, PAIR), real=False)
