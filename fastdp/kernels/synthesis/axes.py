"""Tables and smaller tables on some of their axes: sums, and what is added or multiplied along the others.

``shape`` are the sides of the larger table and ``strides`` what a step along each is worth in the smaller one: 0 along
an axis that it lacks. ``place`` is int64 of scratch, one number per axis.
"""

from __future__ import annotations

from fastdp.kernels.jit import inlined, kernel, summed


@summed
def _total(values, start, stop):
    """The sum of a range."""
    total = 0.0
    for i in range(start, stop):
        total += values[i]
    return total


@inlined
def _reset(place):
    for d in range(place.size):
        place[d] = 0


@inlined
def _advance(shape, strides, place, offset):
    """The next row of the larger table: where it begins in the smaller one."""
    d = shape.size - 2
    while d >= 0:
        place[d] += 1
        offset += strides[d]
        if place[d] < shape[d]:
            break
        offset -= strides[d] * shape[d]
        place[d] = 0
        d -= 1
    return offset


@kernel
def sum_onto(table, shape, strides, place, out):
    """Add every entry of ``table`` to its entry of ``out``."""
    width, step = shape[shape.size - 1], strides[strides.size - 1]
    _reset(place)
    offset = 0
    for start in range(0, table.size, width):
        if step == 0:
            out[offset] += _total(table, start, start + width)
        else:
            for i in range(width):
                out[offset + i * step] += table[start + i]
        offset = _advance(shape, strides, place, offset)


@kernel
def add_along(source, factor, shape, strides, place, table):
    """Add to every entry of ``table`` its entry of ``source`` times a factor."""
    width, step = shape[shape.size - 1], strides[strides.size - 1]
    _reset(place)
    offset = 0
    for start in range(0, table.size, width):
        if step == 0:
            amount = factor * source[offset]
            for i in range(start, start + width):
                table[i] += amount
        else:
            for i in range(width):
                table[start + i] += factor * source[offset + i * step]
        offset = _advance(shape, strides, place, offset)


@kernel
def multiply_along(source, shape, strides, place, table):
    """Multiply every entry of ``table`` by its entry of ``source``."""
    width, step = shape[shape.size - 1], strides[strides.size - 1]
    _reset(place)
    offset = 0
    for start in range(0, table.size, width):
        if step == 0:
            factor = source[offset]
            for i in range(start, start + width):
                table[i] *= factor
        else:
            for i in range(width):
                table[start + i] *= source[offset + i * step]
        offset = _advance(shape, strides, place, offset)
