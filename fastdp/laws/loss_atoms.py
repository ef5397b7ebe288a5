"""Privacy losses of finitely many outcomes, made from exact probabilities."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, pairwise

import numpy as np

from fastdp.laws.fixed_point import PRECISION, exp_fixed
from fastdp.losses import AtomicLoss

Pair = tuple[Fraction, Fraction]
"""The probabilities of one outcome on the two data sets."""

LARGEST_COMPARED = 1 << 13
"""Entries of all pairs of rows up to which a dominating pair is computed in exact arithmetic, in about a second."""
LARGEST_CROSSED = 1 << 12
"""Places times pairs up to which the crossings of curves are found, so that the dominating pair is exact."""
MOST_KINKS = 1 << 9
"""Points of a curve that are kept; chords between them lie above it."""


def log_ratio(p: Fraction, q: Fraction) -> float:
    """ln(p / q) of two numbers > 0, right to a relative 2**-50 also where they are close.

    >>> log_ratio(Fraction(2**80 + 1), Fraction(2**80)) == 2.0**-80
    True
    """
    if p < q:
        return -log_ratio(q, p)
    return math.log1p(float((p - q) / q))


def atomic(pairs: Iterable[Pair], *, margin: float = 0.0, distance: float = 0.0) -> AtomicLoss:
    """The loss of outcomes with these probabilities; outcomes of equal ratio are one atom, largest loss first."""
    merged: dict[Fraction, Pair] = {}
    p_infinite = q_infinite = Fraction(0)
    for p, q in pairs:
        if p and q:
            before = merged.get(p / q, (Fraction(0), Fraction(0)))
            merged[p / q] = before[0] + p, before[1] + q
        else:
            p_infinite, q_infinite = p_infinite + p, q_infinite + q
    atoms = [merged[ratio] for ratio in sorted(merged, reverse=True)]
    return AtomicLoss(
        losses=np.array([log_ratio(p, q) for p, q in atoms]),
        p=np.array([float(p) for p, _ in atoms]),
        q=np.array([float(q) for _, q in atoms]),
        p_infinite=float(p_infinite),
        q_infinite=float(q_infinite),
        margin=margin,
        distance=distance,
    )


def symmetric(p: Fraction, q: Fraction, *, margin: float = 0.0) -> AtomicLoss:
    """The loss of `symmetric_pairs`, where p > q.

    >>> symmetric(Fraction(1, 2), Fraction(1, 4)).p.tolist()
    [0.5, 0.25, 0.25]
    """
    loss, rest = log_ratio(p, q), 1 - p - q
    if not rest:
        masses = np.array([float(p), float(q)])
        return AtomicLoss(losses=np.array([loss, -loss]), p=masses, q=masses[::-1].copy(), margin=margin)
    masses = np.array([float(p), float(rest), float(q)])
    return AtomicLoss(losses=np.array([loss, 0.0, -loss]), p=masses, q=masses[::-1].copy(), margin=margin)


def symmetric_pairs(p: Fraction, q: Fraction) -> list[Pair]:
    """Three outcomes: one that is likelier by p / q on one side, its mirror image, and the rest, equally likely."""
    return [(p, q), (q, p), (1 - p - q, 1 - p - q)]


def mixed(parts: Iterable[tuple[Fraction, Sequence[Pair]]]) -> list[Pair]:
    """The outcomes of an experiment that is drawn with public probabilities and named in the report."""
    return [(weight * p, weight * q) for weight, pairs in parts for p, q in pairs]


def mix(losses: Sequence[AtomicLoss]) -> AtomicLoss:
    """The loss of one of several experiments, drawn uniformly and named in the report."""
    share = 1 / len(losses)
    return AtomicLoss(
        losses=np.concatenate([loss.losses for loss in losses]),
        p=np.concatenate([loss.p for loss in losses]) * share,
        q=np.concatenate([loss.q for loss in losses]) * share,
        p_infinite=sum(loss.p_infinite for loss in losses) * share,
        q_infinite=sum(loss.q_infinite for loss in losses) * share,
        margin=max(loss.margin for loss in losses),
        distance=max(loss.distance for loss in losses),
    )


def statement(epsilon: float, delta: float = 0.0) -> AtomicLoss:
    """The pair that dominates every (epsilon, delta)-DP release: randomized response, and delta at infinity.

    [Kairouz, Oh, Viswanath 2015]

    >>> statement(1.0).losses.tolist()
    [1.0, -1.0]
    """
    numerator, denominator = epsilon.as_integer_ratio()
    shrink = Fraction(exp_fixed(numerator, denominator.bit_length() - 1), 1 << PRECISION)
    rest = 1 - Fraction(delta)
    p, q = float(rest / (1 + shrink)), float(rest * shrink / (1 + shrink))
    losses = np.array([epsilon, -epsilon])
    return AtomicLoss(losses=losses, p=np.array([p, q]), q=np.array([q, p]), p_infinite=delta, q_infinite=delta)


def dominating(rows: Sequence[Sequence[int]]) -> list[Pair] | None:
    """One pair whose privacy curve is the pointwise largest over all pairs of rows, or lies above it; None if too many.

    A curve is the largest P(A) - x Q(A) as a function of x = e**epsilon: convex, and linear between the ratios of the
    pair's outcomes. So is the largest of all curves between these and their crossings. Its kinks are the outcomes of a
    pair that has it; chords between some of them, where there are many, lie above. Rows are integers of a common sum.
    """
    total = sum(rows[0])
    pairs = {tuple(sorted(zip(x, y, strict=True))) for x in rows for y in rows if x is not y}
    if len(pairs) * len(rows[0]) > LARGEST_COMPARED:
        return None
    places = sorted({Fraction(p, q) for pair in pairs for p, q in pair if p and q})
    ranks = {place: rank for rank, place in enumerate(places)}
    curves = [_Curve(pair, ranks) for pair in pairs]
    if len(places) * len(pairs) <= LARGEST_CROSSED:
        kinks = [x for i, end in enumerate(places) for x in (*_crossings(curves, places, i), end)]
    else:
        kinks = [places[rank] for rank in _thinned(len(places))]
    numbers = [bisect_right(places, x) for x in kinks]
    values = [_largest([curve.line(i) for curve in curves], x)[0] for x, i in zip(kinks, numbers, strict=True)]
    return _outcomes(total, list(zip(kinks, values, strict=True)))


def _outcomes(total: int, kinks: list[tuple[Fraction, Fraction]]) -> list[Pair]:
    """The outcomes whose curve has these kinks, and their mass at infinity."""
    nodes = [(Fraction(0), Fraction(total)), *kinks]
    slopes = [(after - before) / (y - x) for (x, before), (y, after) in pairwise(nodes)] + [Fraction(0)]
    rises = [after - before for before, after in pairwise(slopes)]
    found = [(x * rise / total, rise / total) for (x, _), rise in zip(kinks, rises, strict=True)]
    none = Fraction(0)
    return [*found, (1 - sum((p for p, _ in found), none), none), (none, 1 - sum((q for _, q in found), none))]


def _thinned(count: int) -> list[int]:
    """At most MOST_KINKS numbers below ``count``, evenly spread, the first and the last among them."""
    most = min(count, MOST_KINKS)
    return sorted({i * (count - 1) // max(1, most - 1) for i in range(most)})


Line = tuple[int, int]
"""The function constant - slope * x."""


class _Curve:
    """The sum over outcomes of max(0, p - x q), linear between the places that ``ranks`` numbers in order."""

    def __init__(self, pair: Iterable[tuple[int, int]], ranks: Mapping[Fraction, int]) -> None:
        ordered = sorted((ranks[Fraction(p, q)], p, q) for p, q in pair if p and q)
        self._ranks = [rank for rank, _, _ in ordered]
        beyond = sum(p for p, q in pair if not q)
        self._p = [*accumulate((p for _, p, _ in reversed(ordered)), initial=beyond)][::-1]
        self._q = [*accumulate((q for _, _, q in reversed(ordered)), initial=0)][::-1]

    def line(self, number: int) -> Line:
        """The line before the place of this number and after the one before it."""
        first = bisect_left(self._ranks, number)
        return self._p[first], self._q[first]


def _largest(lines: Iterable[Line], x: Fraction) -> tuple[Fraction, int, int]:
    """The largest of the lines at x: its value, constant and slope; of equal ones the steepest, highest before x."""
    a, b = x.as_integer_ratio()
    value, slope, constant = max((b * constant - a * slope, slope, constant) for constant, slope in lines)
    return Fraction(value, b), constant, slope


def _crossings(curves: Sequence[_Curve], places: Sequence[Fraction], number: int) -> list[Fraction]:
    """Where the largest line changes between one place, or 0, and the next."""
    lines = {curve.line(number) for curve in curves}
    return _between(lines, places[number - 1] if number else Fraction(0), places[number])


def _between(lines: set[Line], low: Fraction, high: Fraction) -> list[Fraction]:
    _, *last = _largest(lines, high)
    constant, slope = max(lines, key=lambda line: (line[0] - low * line[1], -line[1]))
    if slope == last[1]:
        return []
    meet = Fraction(constant - last[0], slope - last[1])
    if _largest(lines, meet)[0] == constant - meet * slope:
        return [meet] if low < meet < high else []
    return [*_between(lines, low, meet), meet, *_between(lines, meet, high)]
