"""Partition selection: which keys of a group-by may be released, with their noisy counts."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.numeric import read_numeric
from fastdp.engine.runner import working_memory
from fastdp.errors import DomainError, ParameterError
from fastdp.laws.central.laplace import LaplaceLaw, LaplaceWithin
from fastdp.laws.rate import Rate
from fastdp.mechanisms.base import Mechanism, set_fields
from fastdp.mechanisms.central.parameters import check_rate
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column

LARGEST_THRESHOLD = 1 << 40
LARGEST_COUNT = 1 << 61


class SelectedKeys(NamedTuple):
    """The indices of the keys that were kept, in order, and their noisy counts."""

    indices: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class KeySelection(Mechanism):
    """Add geometric noise within ±k to the number of persons of each key, and keep the keys that exceed k.

    (epsilon, delta)-DP when a person adds 1 to the counts of at most ``max_groups`` keys. A key without persons is
    never kept, a key with one person with probability at most delta, and no other law of the same epsilon and delta
    keeps any key more often; the count comes with it at no further cost. [Desfontaines,
    Voss, Gipson, Mandayam 2022]

    Parameters
    ----------
    epsilon, delta : float
        The privacy of one selection, for a person.
    max_groups : int
        To how many keys' counts a person adds 1 at the most.

    >>> import fastdp as fd
    >>> keys = fd.KeySelection(epsilon=1.0, delta=1e-5)
    >>> keys.threshold
    11
    >>> keys.select([0, 1, 1000], rng=fd.Rng.unsafe_seed(1)).indices
    array([2])
    """

    epsilon: float
    delta: float
    max_groups: int = 1
    _law: LaplaceWithin = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        owner = "KeySelection"
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        groups = validation.positive_integer(owner, "max_groups", self.max_groups)
        delta = validation.probability(owner, "delta", self.delta)
        check_rate(owner, epsilon, groups)
        law = LaplaceLaw(Rate.below(Fraction(epsilon) / groups))
        threshold = _threshold(owner, law, -math.expm1(math.log1p(-delta) / groups))
        set_fields(
            self, epsilon=epsilon, delta=delta, max_groups=groups, _law=LaplaceWithin(law, 2 * threshold)
        )  # fmt: skip

    @property
    def threshold(self) -> int:
        """The largest noise, k: a key is kept if its noisy count exceeds it."""
        return self._law.width // 2

    @property
    def rate(self) -> float:
        """The rate of the noise: P(z) ~ e**-(rate |z|) for |z| up to the threshold."""
        return float(self._law.law.rate.exact)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one selection, from the integer weights, rounded up."""
        law = self._law.law
        epsilon = rounding.float_up(Fraction(law.cost(1)) * self.max_groups)
        one = _largest_noise(law, self.threshold)
        delta = rounding.up(-math.expm1(self.max_groups * math.log1p(-one)), 8)
        return Privacy(epsilon=epsilon, delta=delta, unit="person")

    def keep_probability(self, count: int) -> float:
        """The probability that a key with ``count`` persons is kept.

        Parameters
        ----------
        count
            The number of persons of a key.

        >>> KeySelection(epsilon=1.0, delta=1e-5).keep_probability(0)
        0.0
        """
        k, rate = self.threshold, float(self._law.law.rate.exact)
        if isinstance(count, bool) or not isinstance(count, int) or count < 0:
            raise ParameterError(f"KeySelection.keep_probability: count must be an integer >= 0, got {count!r}")
        top = _largest_noise(self._law.law, k)
        # Sums of e**-(rate |z|) over z from k - count + 1 to k, in units of the weight of k.
        if count > 2 * k:
            return 1.0
        if count <= k:
            return min(1.0, top * math.expm1(rate * count) / math.expm1(rate))
        rest = top * math.expm1(rate * (2 * k + 1 - count)) / math.expm1(rate)
        return max(0.0, 1 - rest)

    def select(self, counts: Column, *, rng: Rng | None = None) -> SelectedKeys:
        """The keys that are kept, in the order given, and their noisy counts.

        Parameters
        ----------
        counts : array-like
            The number of persons of each key: integers from 0 to 2**61, in any container that `randomize` takes. Give
            keys in a canonical order, never that of their first appearance in the data.
        rng : Rng, optional
            Where randomness comes from; the process's own stream by default.
        """
        owner = "KeySelection"
        column = read_numeric(owner, counts, "integer")
        for block in column.blocks(owner):
            _check_counts(owner, block)
        key, start = resolve(owner, rng).reserve(column.size)
        fill, k = self._law.sampler(), self.threshold
        indices, noisy = [], []
        first = 0
        for block in column.blocks(owner):
            with working_memory() as memory:
                result = memory.noise[: block.size]
                fill(key, start + np.uint64(first), first, np.full(block.size, k, np.int64), memory.scratch, result)
                result += block.astype(np.int64)
                kept = np.flatnonzero(result > k)
                indices.append(first + kept)
                noisy.append(result[kept])
            first += block.size
        empty = np.empty(0, np.int64)
        return SelectedKeys(np.concatenate([empty, *indices]), np.concatenate([empty, *noisy]))


def _check_counts(owner: str, block: np.ndarray) -> None:
    """Refuse numbers that are no counts."""
    if block.size and (block.min() < 0 or block.max() > LARGEST_COUNT):
        raise DomainError(f"{owner}: counts must be integers from 0 to 2**61")


def _largest_noise(law: LaplaceLaw, k: int) -> float:
    """P(Z = k) of the noise within ±k, rounded up: (e**r - 1) e**(-k r) / (e**r + 1 - 2 e**(-k r)), r the rate.

    The weights of the table differ from the law's by what its cost says, on either side of the fraction.
    """
    rate = float(law.rate.exact)
    margin = law.cost(1) - rate
    shrink = math.exp(-k * rate)
    return rounding.up(
        math.expm1(rate)
        * shrink
        / (math.expm1(rate) + 2 * -math.expm1(-k * rate))
        * math.exp(2 * margin)
        * (1 + 1e-12),
        8,
    )


def _threshold(owner: str, law: LaplaceLaw, delta: float) -> int:
    """The smallest k whose P(Z = k) is at most delta."""
    low, high = 0, 1
    while _largest_noise(law, high) > delta:
        low, high = high, 2 * high
        if high > LARGEST_THRESHOLD:
            raise ParameterError(f"{owner}: no threshold below 2**40 reaches delta; give a larger epsilon or delta")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _largest_noise(law, middle) > delta else (low, middle)
    return high
