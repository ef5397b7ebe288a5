"""The sparse vector technique: which values of a stream are above a threshold, at the cost of those that are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import read_numeric
from fastdp.engine.runner import working_memory
from fastdp.errors import DomainError, ParameterError
from fastdp.laws.cell_tables import LARGEST_SCALE
from fastdp.laws.central.laplace import LaplaceLaw
from fastdp.laws.rate import Rate
from fastdp.mechanisms.base import Mechanism, set_fields
from fastdp.mechanisms.central.parameters import check_rate, choose_granularity
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column

LARGEST_STEP = 2.0**61


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AboveThreshold(Mechanism):
    """Find the first ``positives`` values that are at least ``threshold``, both with discrete Laplace noise.

    epsilon-DP for one pass over values that a neighbouring data set moves by at most ``sensitivity`` each, however
    many there are: only the positives cost. The threshold's noise is drawn once, a value's noise grows with the
    number of positives, and no noisy value is released, without which the guarantee would fail. [Dwork, Naor,
    Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017, algorithm 1]

    Parameters
    ----------
    epsilon : float
        The privacy of one pass.
    threshold : float
        Public; what values are compared with.
    sensitivity : float
        By how much one unit of privacy moves a value at the most.
    positives : int
        How many values may be reported; the pass ends with the last of them.
    monotone : bool
        Whether a neighbouring data set moves all values in one direction; then values get half the noise.
    share : float, optional
        The part of epsilon that the threshold's noise gets; by default the part of least variance of the difference,
        1 / (1 + (2 c)**(2/3)) for c positives, or 1 / (1 + c**(2/3)) for monotone values.
    granularity : float, optional
        A power of two: values and the threshold are rounded down to its multiples. By default about a millionth of
        the sensitivity; for counts 1 is natural.

    >>> import fastdp as fd
    >>> fd.AboveThreshold(epsilon=50.0, threshold=100).first([3, 7, 200, 5], rng=fd.Rng.unsafe_seed(1))
    2
    """

    epsilon: float
    threshold: float
    sensitivity: float = 1.0
    positives: int = 1
    monotone: bool = False
    share: float | None = None
    granularity: float | None = None
    _grid: float = field(init=False, repr=False, compare=False)
    _steps: int = field(init=False, repr=False, compare=False)
    _threshold_law: LaplaceLaw = field(init=False, repr=False, compare=False)
    _value_law: LaplaceLaw = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        owner = "AboveThreshold"
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        threshold = validation.as_float(self.threshold)
        if not math.isfinite(threshold):
            raise ParameterError(f"{owner}: threshold must be a finite number, got {self.threshold!r}")
        sensitivity = validation.positive(owner, "sensitivity", self.sensitivity)
        positives = validation.positive_integer(owner, "positives", self.positives)
        if not isinstance(self.monotone, bool):
            raise ParameterError(f"{owner}: monotone must be True or False, got {self.monotone!r}")
        moves = positives * (1 if self.monotone else 2)
        share = 1 / (1 + moves ** (2 / 3)) if self.share is None else validation.probability(owner, "share", self.share)
        granularity = choose_granularity(
            owner, self.granularity, sensitivity, sensitivity * moves / (epsilon * min(share, 1 - share)), LARGEST_SCALE
        )
        steps = math.ceil(Fraction(sensitivity) / Fraction(granularity))
        parts = Fraction(epsilon) * Fraction(share), Fraction(epsilon) * (1 - Fraction(share))
        for part, width in zip(parts, (steps, steps * moves), strict=True):
            check_rate(owner, float(part), width)
        set_fields(
            self, epsilon=epsilon, sensitivity=sensitivity, positives=positives, threshold=threshold,
            granularity=granularity, _grid=float(granularity), _steps=steps,
            _threshold_law=LaplaceLaw(Rate.below(parts[0] / steps)),
            _value_law=LaplaceLaw(Rate.below(parts[1] / (steps * moves))),
        )  # fmt: skip

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one pass, from the integer weights of both noises, rounded up.

        Shifting the threshold's noise by ``sensitivity`` pays for all values below it; each positive pays for a shift
        by twice the sensitivity, or once if values are monotone.
        """
        moved = self._value_law.cost(self._steps * (1 if self.monotone else 2))
        return Privacy(epsilon=rounding.sum_up([self._threshold_law.cost(self._steps), *[moved] * self.positives]))

    def first(self, values: Column, *, rng: Rng | None = None) -> int | None:
        """The index of the first value above the threshold; None if no value is.

        Parameters
        ----------
        values
            The values to compare with the threshold, in order.
        rng
            Where randomness comes from; the process's own stream by default.
        """
        found = self.above(values, rng=rng)
        return found[0] if found else None

    def above(self, values: Column, *, rng: Rng | None = None) -> list[int]:
        """The indices of the first ``positives`` values above the threshold, or of as many as there are.

        Parameters
        ----------
        values : array-like
            Finite numbers in the order of the stream, in any container that `randomize` takes.
        rng : Rng, optional
            Where randomness comes from; the process's own stream by default.
        """
        owner = "AboveThreshold"
        column = read_numeric(owner, values, "float")
        for block in column.blocks(owner):
            if not np.isfinite(block).all():
                raise DomainError(f"{owner}: values must be finite")
        key, start = resolve(owner, rng).reserve(column.size + 1)
        fill = self._value_law.sampler()
        limit = math.floor(Fraction(self.threshold) / Fraction(self._grid)) + self._threshold_noise(key, start)
        found: list[int] = []
        first = 0
        for block in column.blocks(owner):
            with working_memory() as memory:
                noise = memory.noise[: block.size]
                fill(key, start + np.uint64(first + 1), first, None, memory.scratch, noise)
                noise += self._to_steps(block)
                found += (first + np.flatnonzero(noise >= limit)).tolist()
            first += block.size
            if len(found) >= self.positives:
                break
        return found[: self.positives]

    def _threshold_noise(self, key: np.ndarray, slot: Any) -> int:
        with working_memory() as memory:
            noise = memory.noise[:1]
            self._threshold_law.sampler()(key, slot, 0, None, memory.scratch, noise)
            return int(noise[0])

    def _to_steps(self, values: np.ndarray) -> np.ndarray:
        """Values rounded down to the grid; what lies beyond 2**61 steps counts as that far."""
        with np.errstate(over="ignore"):
            scaled = np.floor(values.astype(np.float64) / self._grid)
        return np.clip(scaled, -LARGEST_STEP, LARGEST_STEP).astype(np.int64)
