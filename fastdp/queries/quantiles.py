"""Quantiles, many at once: the exponential mechanism on ranks, exactly, recursively on ever smaller ranges.

Candidates are the steps of a grid between the bounds. A candidate's score is how many rows its rank is off, 0 for a
value that the wanted rank falls on; only order statistics near the wanted rank can matter, so that one pass counts
cells and another gathers the few that do. Several quantiles are found middle first: each half then answers from its own
rows, by its own relative rank, and halves at one depth share one epsilon. [Smith 2011; Kaplan, Schnapp, Stemmer 2022]

Rows equal to a chosen value are split between the halves in proportion, by extra digits of the candidates, so that a
value that many rows share can be several quantiles at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.laws.central.selection import SelectionLaw
from fastdp.laws.rate import Rate
from fastdp.queries.answers.noise import Spend
from fastdp.queries.order_statistics import Ranked
from fastdp.queries.unit import Unit
from fastdp.random.integers import Integers
from fastdp.random.rng import Rng

NEGLIGIBLE = 110 * math.log(2)
"""Candidates whose weight is below e to the minus this, together, are left out: less than 2**-100 of any law."""
TIE_BITS = 10
LARGEST_DENOMINATOR = 1 << 16


def read_quantiles(owner: str, values: object) -> tuple[Fraction, ...]:
    """Distinct numbers between 0 and 1, in ascending order, as fractions."""
    given = list(values) if isinstance(values, Sequence | np.ndarray) and not isinstance(values, str) else [values]
    if not given:
        raise ParameterError(f"{owner}: name at least one quantile")
    if len(given) > 1024:
        raise ParameterError(f"{owner}: at most 1,024 quantiles at once")
    found = []
    for value in given:
        number = validation.as_float(value)
        if not 0 <= number <= 1:
            raise ParameterError(f"{owner}: quantiles must be numbers from 0 to 1, got {value!r}")
        found.append(Fraction(number).limit_denominator(LARGEST_DENOMINATOR))
    if sorted(set(found)) != found:
        raise ParameterError(f"{owner}: quantiles must be distinct and in ascending order")
    return tuple(found)


def depth(count: int) -> int:
    """Levels of the recursion for so many quantiles."""
    return count.bit_length()


@dataclass(frozen=True, slots=True)
class QuantileNoise:
    """The exponential mechanism for each of several quantiles; those of one level share its epsilon."""

    epsilon: Fraction
    """Of one level, in one group."""
    levels: int
    unit: Unit
    groups: int | None = None
    """Groups of one unit, where each group has its own quantiles; None for those of all rows."""

    @classmethod
    def of(cls, spend: Spend, count: int, unit: Unit, groups: int | None = None) -> QuantileNoise:
        """Of a part of the budget; rho is epsilon**2 / 8 for each level of each group of a unit."""
        levels = depth(count)
        return cls(spend.as_epsilon(rho_of=Fraction(1, 8), times=levels * (groups or 1)), levels, unit, groups)

    def law(self, quantile: Fraction) -> SelectionLaw:
        """The law of one choice, per unit of its score (denominator * rows)."""
        return SelectionLaw(Rate.below(self.epsilon / (2 * self.sensitivity(quantile))))

    def sensitivity(self, quantile: Fraction) -> int:
        """Of the score. A replaced row leaves one range and enters another, unless there is but one."""
        alone = self.levels == 1 and self.groups is None
        sensitivity = self.unit.rank if alone else self.unit.nested_rank
        return sensitivity(quantile.numerator, quantile.denominator)

    def cost(self, *, pure: bool) -> Spend:
        """What all levels cost, the rounding of weights included."""
        margin = Fraction(1, 1 << 120)
        one, times = self.epsilon + margin, self.levels * (self.groups or 1)
        return Spend(epsilon=times * one) if pure else Spend(rho=times * one**2 / 8)

    def rank_error(self, quantile: Fraction, width: int, level: float) -> float:
        """By how many rows a rank is off at most, at this level, whatever the data: the union over candidates."""
        law = self.law(quantile)
        scores = math.log((width + 1) / (1 - level)) / float(law.rate.exact)
        return scores / quantile.denominator


def draw_quantiles(
    rows: Ranked, quantiles: Sequence[Fraction], noise: QuantileNoise, width: int, rng: Rng
) -> np.ndarray:
    """One step per quantile, in ascending order."""
    found = np.zeros(len(quantiles), np.int64)
    reach = _reach(noise, width, Fraction(1, 2))
    rows.gather([(float(q * rows.size) - 2 * reach, float(q * rows.size) + 2 * reach) for q in quantiles])
    whole = _Range(0, width, 0, rows.size)
    _recurse(rows, list(enumerate(quantiles)), (Fraction(0), Fraction(1)), whole, noise, width, rng, found)
    return found


@dataclass(frozen=True, slots=True)
class _Range:
    """Candidates from ``low`` to ``high``; its rows are those of ranks ``first`` to ``last`` in the whole order."""

    low: int
    high: int
    first: int
    last: int


def _recurse(
    rows: Ranked, wanted: list[tuple[int, Fraction]], ends: tuple[Fraction, Fraction], part: _Range,
    noise: QuantileNoise, width: int, rng: Rng, found: np.ndarray,
) -> None:  # fmt: skip
    """The middle one of the wanted quantiles, then those below from the rows below it, and those above."""
    if not wanted:
        return
    middle = len(wanted) // 2
    place, quantile = wanted[middle]
    relative = Fraction(0) if ends[1] == ends[0] else (quantile - ends[0]) / (ends[1] - ends[0])
    relative = relative.limit_denominator(LARGEST_DENOMINATOR)
    step, split = draw_one(rows, relative, part, noise, width, Integers(rng.reserve(1)))
    found[place] = step
    below = _Range(part.low, step, part.first, split)
    above = _Range(step, part.high, split, part.last)
    _recurse(rows, wanted[:middle], (ends[0], quantile), below, noise, width, rng, found)
    _recurse(rows, wanted[middle + 1 :], (quantile, ends[1]), above, noise, width, rng, found)


def _reach(noise: QuantileNoise, width: int, quantile: Fraction) -> float:
    """Rows from the wanted rank beyond which no candidate weighs enough to matter."""
    scores = (NEGLIGIBLE + math.log(width + 1) + TIE_BITS) / float(noise.law(quantile).rate.exact)
    return scores / quantile.denominator + 2


def draw_brackets(
    rows: Ranked, quantiles: Sequence[Fraction], noise: QuantileNoise, width: int, rng: Rng, level: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each quantile, and candidates below and above it that have it between them at ``level``: three choices each.

    The outer ones aim as far away as any choice may be off at half of what may fail, or beyond all rows.
    """
    whole = _Range(0, width, 0, rows.size)
    found = np.zeros((3, len(quantiles)), np.int64)
    for place, quantile in enumerate(quantiles):
        away = math.ceil(noise.rank_error(quantile, width + 2, 1 - (1 - level) / 2))
        for number, offset in enumerate((-away, 0, away)):
            step, _ = draw_one(
                rows, quantile, whole, noise, width, Integers(rng.reserve(1)), offset=offset, has_ends=offset != 0
            )
            found[number, place] = step
    return found[1], np.minimum(found[0], found[1]), np.maximum(found[2], found[1])


def draw_one(
    rows: Ranked, quantile: Fraction, part: _Range, noise: QuantileNoise, width: int, integers: Integers,
    *, offset: int = 0, has_ends: bool = False,
) -> tuple[int, int]:  # fmt: skip
    """One candidate of a range, and how many rows of the whole order lie below the split at it.

    ``offset`` moves the wanted rank by so many rows. With ``has_ends`` there are two more candidates: below all rows
    and above all rows, which are the ends of the range.
    """
    size = part.last - part.first
    law, scale = noise.law(quantile), quantile.denominator
    reach = _reach(noise, width, quantile)
    # Depends on the parameters alone: digits that split rows of one value between the halves.
    ties = max(0, min(TIE_BITS, 20 - math.ceil(math.log2(reach)))) if noise.levels > 1 else 0
    target = quantile.numerator * size + scale * offset  # in scores
    centre = part.first + target / scale
    low, high = max(min(centre, part.last) - reach, part.first), min(max(centre, part.first) + reach, part.last)
    before, steps, first, last = rows.window(low, high)
    first, last = max(first, part.low), min(last, part.high)
    values, counts = np.unique(steps, return_counts=True)
    ends = np.clip(before + np.cumsum(counts), part.first, part.last) - part.first
    starts = np.concatenate([np.clip([before], part.first, part.last) - part.first, ends[:-1]])
    inside = (values >= first) & (values <= last)
    base = int(starts[inside][0]) if inside.any() else int(np.clip(before, part.first, part.last)) - part.first
    if not inside.any() and values.size:
        base = int(ends[values < first][-1]) if (values < first).any() else int(starts[0])
    values, starts, ends = values[inside].astype(np.int64), starts[inside], ends[inside]
    choice = _Candidates(first, last, values, starts, ends, base, ties)
    scores, widths = choice.pieces(target, scale)
    if has_ends:
        scores = np.append(scores, [max(target, 0), max(scale * size - target, 0)])
        widths = np.append(widths, [1, 1])
    piece, number = choose_piece(law, scores, widths, integers)
    if has_ends and piece >= scores.size - 2:
        return (part.low, part.first) if piece == scores.size - 2 else (part.high, part.last)
    step, below = choice.locate(piece, number)
    return step, part.first + below


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Candidates between ``first`` and ``last``: those that rows have, with digits where many share one, and gaps."""

    first: int
    last: int
    values: np.ndarray
    starts: np.ndarray
    """Rows of the range below each value."""
    ends: np.ndarray
    base: int
    ties: int

    def pieces(self, target: int, scale: int) -> tuple[np.ndarray, np.ndarray]:
        """Scores and numbers of candidates: the gaps before each value and after the last, then the values."""
        less = np.concatenate([[self.base], self.ends])
        edges_low = np.concatenate([[self.first], self.values + 1])
        edges_high = np.concatenate([self.values - 1, [self.last]])
        gap_scores = np.abs(scale * less - target)
        gap_widths = np.maximum(edges_high - edges_low + 1, 0)
        if not self.ties:
            own = np.maximum(np.maximum(scale * self.starts - target, target - scale * self.ends), 0)
            return np.concatenate([gap_scores, own]), np.concatenate([gap_widths, np.ones_like(own)])
        _, below, widths = self.splits()
        own = np.abs(scale * below - target)
        return np.concatenate([gap_scores, own]), np.concatenate([gap_widths << self.ties, widths])

    def splits(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Each value's ways to be split by its digits: its number, the rows below the split, how many digits do it.

        Digit d of 2**ties puts floor(rows * d / 2**ties) of the rows that share the value below.
        """
        digits = 1 << self.ties
        rows = self.ends - self.starts
        ways = np.maximum(np.minimum(rows, digits), 1)
        number = np.repeat(np.arange(rows.size), ways)
        place = np.arange(number.size) - np.repeat(np.cumsum(ways) - ways, ways)
        mine = np.maximum(rows[number], 1)
        widths = -(-(place + 1) * digits // mine) + (-place * digits // mine)  # numbers of digits between two ceilings
        many = mine > digits
        moved = np.where(many, mine * place >> self.ties, place)
        return number, self.starts[number] + moved, np.where(many, 1, widths)

    def locate(self, piece: int, offset: int) -> tuple[int, int]:
        """The candidate's step, and the rows of the range below the split at it."""
        gaps = self.values.size + 1
        if piece < gaps:
            low = self.first if piece == 0 else int(self.values[piece - 1]) + 1
            return low + (offset >> self.ties), self.base if piece == 0 else int(self.ends[piece - 1])
        if not self.ties:
            return int(self.values[piece - gaps]), int(self.starts[piece - gaps])
        number, below, _ = self.splits()
        return int(self.values[number[piece - gaps]]), int(below[piece - gaps])


def choose_piece(law: SelectionLaw, scores: np.ndarray, widths: np.ndarray, integers: Integers) -> tuple[int, int]:
    """A piece and a candidate of it, each candidate with weight e**-(rate * score), exactly.

    Candidates are counted in buckets of scores; one is drawn by its bucket's weight, and kept by what it weighs there.
    """
    scores = scores - scores[widths > 0].min()
    shift, last = law.shift, law.buckets - 1
    buckets = np.minimum(scores >> shift, last)
    counts = np.zeros(last + 1, np.int64)
    np.add.at(counts, buckets, widths)
    weights = law.bucket_weights()
    masses = [int(count) * weight for count, weight in zip(counts, weights, strict=True)]
    total = sum(masses)
    while True:
        drawn = integers.below(total)
        bucket = 0
        while drawn >= masses[bucket]:
            drawn -= masses[bucket]
            bucket += 1
        rank = integers.below(int(counts[bucket]))
        members = np.flatnonzero((buckets == bucket) & (widths > 0))
        ends = np.cumsum(widths[members])
        place = int(np.searchsorted(ends, rank, "right"))
        piece = int(members[place])
        if law.accepts(int(scores[piece]) - (bucket << shift), integers):
            return piece, rank - int(ends[place] - widths[piece])


def rank_error_bound(noise: QuantileNoise, quantiles: Sequence[Fraction], width: int, level: float) -> float:
    """By how many rows any rank is off at most: of a recursion, the errors of all levels add up."""
    each = 1 - (1 - level) / max(1, noise.levels)
    worst = max(noise.rank_error(_worst(quantile), width, each) for quantile in quantiles)
    return rounding.up(noise.levels * worst)


def _worst(quantile: Fraction) -> Fraction:
    """In a recursion relative quantiles may be anything; the error of an extreme one is the largest."""
    return quantile if 0 < quantile < 1 else Fraction(1)
