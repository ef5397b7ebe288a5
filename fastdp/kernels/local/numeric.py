"""Local reports of numbers: one of two values (Duchi), a cell of a sliding window (piecewise, square wave), or a mix.

A *two-point* report is ``plus`` with probability T / 2**64, else ``minus``. T grows with the value, from a least to a
most integer; it is worked out in float64 as T / 2**48 and clamped there, at ends that float64 holds exactly, so that
privacy depends on the two ends alone, whatever rounding did in between. The first 16 of 64 uniform bits settle all but
one lane in 65,536.

A *window* report is a cell in [0, U + w), U = 2**m. The value is rounded to an integer u in [0, U]. With probability
keep / 2**64 the report is uniform on the w cells [u, u + w), else on the U others; the cell is then mapped to a float
by an affine function that is the same for all. One half word decides inside or outside, one word gives the cell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fastdp.kernels.jit import inlined, kernel
from fastdp.kernels.stream.lanes import FULL, enqueue, private_lanes
from fastdp.kernels.stream.words import COINS, HALVES, WORDS, draw_below, fill_tile, find_flagged, locate, next_word

NOT_A_NUMBER = 1
ALL = 1 << 16
"""The share of window reports when there are no others."""

_U = np.uint64
_I = np.int32


class TwoPoint(NamedTuple):
    """A two-point law and the values it reports; thresholds are T / 2**48, multiples of 2**-37."""

    low: float  # the lower bound of the values
    slope: float  # what T / 2**48 gains per unit of the value
    least: float
    most: float
    minus: float
    plus: float


class Window(NamedTuple):
    """A window law and its map from cells to reports, ``middle + (cell - centre) * step``."""

    low: float  # the lower bound of the values
    slope: float  # cells per unit of the value
    cells: float  # U
    shift: np.uint32  # 32 - m
    width: np.uint32  # w
    uneven: np.uint32  # 2**32 modulo w: words that would make w-ths of 2**32 uneven
    edge: np.int32  # keep >> 48
    keep: np.uint64
    centre: float
    step: float
    middle: float


@inlined
def _threshold(value, law):
    """T / 2**48 of a value; that of NaN is the least."""
    edge = (value - law.low) * law.slope + law.least
    edge = edge if edge > law.least else law.least
    return edge if edge < law.most else law.most


@inlined
def _cell(value, law):
    """The value as an integer from 0 to U; that of NaN is 0."""
    place = (value - law.low) * law.slope + 0.5
    place = place if place > 0.0 else 0.0
    return _I(place if place < law.cells else law.cells)


@inlined
def _report(cell, law):
    return (np.float64(cell) - law.centre) * law.step + law.middle


@inlined
def _try_two_point(half, value, law):
    """The report by the first 16 bits, and whether they leave it open."""
    edge = _I(_threshold(value, law))
    return (law.plus if half < edge else law.minus), half == edge


@inlined
def _try_window(half, word, value, law):
    """The report by the half word and the word, and whether they leave it open."""
    cell = _cell(value, law)
    product = _U(word) * _U(law.width)
    width = _I(law.width)
    inner = cell + _I(product >> _U(32))
    outer = _I(word >> law.shift)
    outer = outer if outer < cell else _I(outer + width)
    inside = half < law.edge
    open_ = (half == law.edge) | (inside & (np.uint32(product) < law.uneven))
    return _report(inner if inside else outer, law), open_


@inlined
def _select_two_point(halves, values, law, flags, out):
    bad = np.uint8(0)
    for lane in range(out.size):
        value = np.float64(values[lane])
        bad |= np.uint8(value != value)
        report, open_ = _try_two_point(_I(halves[lane]), value, law)
        flags[lane] = open_
        out[lane] = report
    return bad


@inlined
def _select_window(halves, words, values, law, flags, out):
    bad = np.uint8(0)
    for lane in range(out.size):
        value = np.float64(values[lane])
        bad |= np.uint8(value != value)
        report, open_ = _try_window(_I(halves[lane]), words[lane], value, law)
        flags[lane] = open_
        out[lane] = report
    return bad


@inlined
def _select_either(coins, share, halves, words, values, two_point, window, flags, out):
    bad = np.uint8(0)
    for lane in range(out.size):
        value = np.float64(values[lane])
        bad |= np.uint8(value != value)
        half = _I(halves[lane])
        one, one_open = _try_two_point(half, value, two_point)
        other, other_open = _try_window(half, words[lane], value, window)
        is_window = _I(coins[lane]) < share
        flags[lane] = other_open if is_window else one_open
        out[lane] = other if is_window else one
    return bad


@private_lanes
def _finish(lane, key, work, blocks, two_point, window, values, out):
    """The report of a flagged lane by 64 bits, of the kind that was chosen."""
    place, is_window, half = lane[0], lane[1] != 0, _U(lane[2])
    value = np.float64(values[place])
    first = (half << _U(48)) | (next_word(key, work, blocks) >> _U(16))
    if is_window:
        cell = np.int64(_cell(value, window))
        if first < window.keep:
            cell += np.int64(draw_below(_U(window.width), key, work, blocks))
        else:
            outer = np.int64(next_word(key, work, blocks) >> _U(window.shift + np.uint32(32)))
            cell = outer if outer < cell else outer + np.int64(window.width)
        out[place] = _report(cell, window)
    else:
        out[place] = two_point.plus if first < _U(_threshold(value, two_point) * 2.0**48) else two_point.minus


@kernel
def fill_numeric(key, start, two_point, window, share, values, scratch, out):
    """Write one report per value, at slots start, start + 1, ...

    Pre:  laws as built by ``fastdp.laws.local``; 0 <= share <= ALL.
    Post: out[i] is a window report of values[i] with probability share / 2**16, else a two-point report, each exactly
          by its integers; values beyond the bounds count as the bounds. The result is NOT_A_NUMBER if any value
          is NaN, and outputs are then meaningless.
    Bits: out[i] reads the half-word plane at slot start + i, the word plane if there are window reports, the coin plane
          if there are both kinds, and the private stream of that slot. Which lanes are finished late depends on the
          random bits and, for two-point reports, on the value; how many there are does not.
    """
    bad = np.uint8(0)
    waiting = done = 0
    while done < out.size:
        slot, tile, lane, count = locate(start, done, out.size)
        target, source = out[done : done + count], values[done : done + count]
        halves, words = scratch.halves[lane : lane + count], scratch.words[lane : lane + count]
        coins = scratch.coins[lane : lane + count]
        fill_tile(key, HALVES, tile, scratch, scratch.halves_raw)
        if share > 0:
            fill_tile(key, WORDS, tile, scratch, scratch.words)
        if share == 0:
            bad |= _select_two_point(halves, source, two_point, scratch.flags, target)
        elif share == ALL:
            bad |= _select_window(halves, words, source, window, scratch.flags, target)
        else:
            fill_tile(key, COINS, tile, scratch, scratch.coins_raw)
            bad |= _select_either(coins, share, halves, words, source, two_point, window, scratch.flags, target)
        for i in range(find_flagged(scratch, count)):
            place = scratch.places[i]
            is_window = np.int64(share == ALL or (share > 0 and _I(coins[place]) < share))
            enqueue(waiting, slot + _U(place), done + place, scratch, is_window, np.int64(halves[place]))
            waiting = _finish(waiting + 1, FULL, key, scratch, two_point, window, values, out)
        done += count
    _finish(waiting, 1, key, scratch, two_point, window, values, out)
    return bad
