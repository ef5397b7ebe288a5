"""Fourier transforms of many columns at once, a vector of them side by side.

A transform of length n takes a polynomial's n coefficients to its values at the n roots of x**n = c, where c is a power
of i. For c = 1 these are the usual ones. For c = -i and coefficients that are real they are half of those of length 2 n
and the rest are their conjugates, so that nothing is computed twice.

One stage writes x**n - c as a product of r factors x**(n / r) - d and takes the rest by each; the last leaves values.
They come in the order of the factors, which tables that they are multiplied by follow (see :class:`Transform`). The
inverse undoes the stages from the last to the first. Complex columns are in rows of two vectors, real parts and then
imaginary ones; real columns are in rows of one.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastdp.kernels.products.vectors import VECTOR, Code, Pair, Routine, vectorized

COSTS = {2: 1.2, 3: 1.4, 4: 1.5, 5: 2.0, 8: 2.2, 10: 2.6}
"""What a stage of each radix takes for one row of eight complex numbers: nanoseconds, measured on Zen 4."""


class Transform:
    """The stages of a transform of a length that has no prime factors but 2, 3 and 5."""

    def __init__(self, length: int, quarter: int) -> None:
        """The roots are those of x**length = (-i)**quarter."""
        self.length = length
        turns, groups, rows, offset, tables = np.array([quarter]), 1, [], 0, []
        for radix in _stages(length)[1]:
            rows.append((radix, groups, length // (groups * radix), offset))
            offset += 16 * groups * (radix - 1)
            tables.append(_roots(turns[:, None] * np.arange(1, radix), 4 * groups * radix))
            turns = (turns[:, None] + 4 * groups * np.arange(radix)).reshape(-1)
            groups *= radix
        self.stages = np.array(rows, np.int64)
        """Radix, number of groups, step between the rows of one, and place of the factors in bytes."""
        self.factors = np.concatenate([table.reshape(-1) for table in tables]).view(np.float64)
        """By stage and by factor, the powers of its root from the first to the (radix - 1)-th."""
        self.turns = turns
        """Value k is that at exp(-2 pi i turns[k] / (4 length))."""

    def values(self, rows: np.ndarray) -> np.ndarray:
        """The values of rows of coefficients of the powers from -m to m, m less than the length."""
        reach = rows.shape[1] // 2
        wrapped = np.zeros((len(rows), 4 * self.length), rows.dtype)
        wrapped[:, np.arange(-reach, reach + 1)] = rows
        return np.fft.fft(wrapped, axis=1)[:, self.turns]

    @staticmethod
    def fast_length(least: int) -> int:
        """The length from ``least`` on whose transform is fastest; 2 or more."""
        least = max(least, 2)
        return min(range(least, 2 * least), key=lambda length: (length * _stages(length)[0], length))


@functools.cache
def _stages(length: int) -> tuple[float, tuple[int, ...]]:
    """The cheapest radices whose product is the length; of infinite cost where there are none."""
    if length == 1:
        return 0.0, ()
    best: tuple[float, tuple[int, ...]] = (math.inf, ())
    for radix, cost in COSTS.items():
        if length % radix == 0:
            rest, stages = _stages(length // radix)
            best = min(best, (cost + rest, (radix, *stages)))
    return best


def _roots(turns: np.ndarray, order: int) -> np.ndarray:
    """exp(-2 pi i turns / order) to the last place: angles are brought below an eighth of a turn while integers."""
    turns = 8 * (turns % order)
    eighth, rest = np.divmod(turns, order)
    odd = eighth % 2 == 1
    angle = 2 * np.pi * (np.where(odd, order - rest, rest) / (8 * order))
    cos, sin = np.cos(angle), np.sin(angle)
    quarter = (eighth + 1) // 2 % 4  # of the nearest multiple of a quarter of a turn
    sin = np.where(odd, -sin, sin)
    return (cos - 1j * sin) * np.array([1, -1j, -1, 1j])[quarter]


def times(x: Pair, y: Pair) -> Pair:
    """Products of complex numbers; the first may be real."""
    (a, b), (c, d) = x, y
    return (a * c, a * d) if b is None else ((a * c).minus(b, d), (a * d).plus(b, c))


def add_product(total: Pair, x: Pair, y: Pair) -> Pair:
    """The total and products of complex numbers; the first may be real."""
    (a, b), (c, d) = x, y
    real, imaginary = total[0].plus(a, c), total[1].plus(a, d)
    return (real, imaginary) if b is None else (real.minus(b, d), imaginary.plus(b, c))


def _times_conjugate(x: Pair, y: Pair) -> Pair:
    (a, b), (c, d) = x, y
    return (a * c).plus(b, d), (b * c).minus(a, d)


def _add(x: Pair, y: Pair) -> Pair:
    return x[0] + y[0], x[1] + y[1]


def _subtract(x: Pair, y: Pair) -> Pair:
    return x[0] - y[0], x[1] - y[1]


def _turned(x: Pair) -> Pair:
    """-i x."""
    return x[1], -x[0]


def _pair(x: list[Pair]) -> list[Pair]:
    return [_add(x[0], x[1]), _subtract(x[0], x[1])]


def _beside(middle: Pair, side: Pair, factor: float) -> tuple[Pair, Pair]:
    """The middle less i factor side, and plus it."""
    (a, b), (c, d) = middle, side
    return (a.plus(d, factor), b.minus(c, factor)), (a.minus(d, factor), b.plus(c, factor))


def _three(x: list[Pair]) -> list[Pair]:
    total, difference = _pair(x[1:])
    middle = tuple(a.minus(b, 0.5) for a, b in zip(x[0], total, strict=True))
    first, second = _beside(middle, difference, math.sqrt(0.75))
    return [_add(x[0], total), first, second]


def _four(x: list[Pair]) -> list[Pair]:
    (a, b), (c, d) = _pair(x[::2]), _pair(x[1::2])
    d = _turned(d)
    return [_add(a, c), _add(b, d), _subtract(a, c), _subtract(b, d)]


def _five(x: list[Pair]) -> list[Pair]:
    (a, c), (b, d) = _pair([x[1], x[4]]), _pair([x[2], x[3]])
    near, far = math.cos(math.tau / 5), math.cos(2 * math.tau / 5)
    sine, ratio = math.sin(math.tau / 5), math.sin(2 * math.tau / 5) / math.sin(math.tau / 5)
    first = tuple(o.plus(u, near).plus(v, far) for o, u, v in zip(x[0], a, b, strict=True))
    second = tuple(o.plus(u, far).plus(v, near) for o, u, v in zip(x[0], a, b, strict=True))
    y1, y4 = _beside(first, tuple(u.plus(v, ratio) for u, v in zip(c, d, strict=True)), sine)
    y2, y3 = _beside(second, tuple((u * ratio) - v for u, v in zip(c, d, strict=True)), sine)
    return [_add(x[0], _add(a, b)), y1, y2, y3, y4]


def _eight(x: list[Pair]) -> list[Pair]:
    even, odd = _four(x[::2]), _four(x[1::2])
    half = math.sqrt(0.5)
    (a, b), (c, d) = odd[1], odd[3]
    odd = [odd[0], ((a + b) * half, (b - a) * half), _turned(odd[2]), ((d - c) * half, (c + d) * -half)]
    return [*map(_add, even, odd), *map(_subtract, even, odd)]


def _ten(x: list[Pair]) -> list[Pair]:
    """Two and five have no factor in common: places are numbered so that nothing is multiplied in between."""
    even, odd = _five([x[k] for k in (0, 2, 4, 6, 8)]), _five([x[k] for k in (5, 7, 9, 1, 3)])
    out: list[Any] = [None] * 10
    for k in range(5):
        out[6 * k % 10], out[(6 * k + 5) % 10] = _pair([even[k], odd[k]])
    return out


Butterfly = Callable[[list[Pair]], list[Pair]]
BUTTERFLIES: dict[int, Butterfly] = {2: _pair, 3: _three, 4: _four, 5: _five, 8: _eight, 10: _ten}


def _stage(radix: int, *, back: bool, real: bool) -> Routine:
    """One stage forward or back, from rows at ``source`` to rows at ``target``, which may be the same.

    Where it is real, going forward the source is, and going back only the real parts are written.
    """
    butterfly = BUTTERFLIES[radix]

    def rows(code: Code, place: Any, first: Any, step: Any, size: int) -> list[Any]:
        places, step = [code.at(place, first, size)], code.builder.mul(step, code.integer(size))
        while len(places) < radix:
            places.append(code.builder.add(places[-1], step))
        return places

    def write(code: Code, source: Any, target: Any, factors: Any, groups: Any, step: Any) -> None:
        with code.loop(groups) as group:
            start = code.at(factors, group, 16 * (radix - 1))
            with code.loop(step) as column:
                powers = [(code.spread(start, 16 * s), code.spread(start, 16 * s + 8)) for s in range(radix - 1)]
                first = code.at(column, group, code.builder.mul(step, code.integer(radix)))
                places = rows(code, source, first, step, VECTOR if real and not back else 2 * VECTOR)
                x = [code.read(place, real=real and not back) for place in places]
                if back:
                    x = [(b, a) for a, b in butterfly([(b, a) for a, b in x])]
                    x[1:] = map(_times_conjugate, x[1:], powers)
                else:
                    x[1:] = map(times, x[1:], powers)
                    x[0] = (x[0][0], code.constant(-0.0)) if real else x[0]
                    x = butterfly(x)
                goals = rows(code, target, first, step, VECTOR if real and back else 2 * VECTOR)
                for pair, goal in zip(x, goals, strict=True):
                    code.write(pair, goal, real=real and back)

    return Routine(f"stage_{radix}{'_back' if back else ''}{'_real' if real else ''}", write)


def _transform(*, back: bool, real: bool) -> Any:
    """All stages, forward from the first or back from the last: see :func:`transform` and :func:`transform_back`."""
    first, others = ({radix: _stage(radix, back=back, real=kind) for radix in BUTTERFLIES} for kind in (real, False))

    def write(code: Code, stages: Any, count: Any, factors: Any, source: Any, target: Any) -> None:
        builder = code.builder
        with code.loop(count) as place:
            stage = builder.sub(builder.sub(count, place), code.integer(1)) if back else place
            radix, groups, step, offset = code.words(stages, stage, 4)
            outer = builder.icmp_signed("==", stage, code.integer(0))
            inside = source if back else target
            for routines, wanted in ((first, outer), (others, builder.not_(outer))):
                ends = (source, target) if routines is first else (inside, inside)
                for k, routine in routines.items():
                    with builder.if_then(builder.and_(wanted, builder.icmp_signed("==", radix, code.integer(k)))):
                        routine.call(builder, *ends, builder.add(factors, offset), groups, step)

    write.__name__ = f"transform{'_back' if back else ''}{'_real' if real else ''}"
    return vectorized(write)


transform = _transform(back=False, real=False)
"""transform(stages, their number, factors, source, target): addresses; source and target may be the same."""

transform_real = _transform(back=False, real=True)
"""The same of real columns."""

transform_back = _transform(back=True, real=False)
"""Length times the inverse; the source is used up."""

transform_back_real = _transform(back=True, real=True)
"""The same, and writes the real parts alone."""
