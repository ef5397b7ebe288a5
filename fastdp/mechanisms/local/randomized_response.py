"""Randomized response on truth values."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.channels import KRRChannel
from fastdp.columns.booleans import Truths, read_truths, truths_result_type
from fastdp.columns.buffers import fresh
from fastdp.columns.numeric import Nulls
from fastdp.engine.runner import working_memory
from fastdp.errors import ParameterError
from fastdp.kernels.local.randomized_response import flip_bits, flip_bytes
from fastdp.laws.coins import BITS, Coin, flip_cost, flip_loss, flip_threshold, resolvable_epsilon
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import UNSET, OptionalNumber, computed, frozen, gives_values
from fastdp.mechanisms.base import derived, given, set_fields
from fastdp.mechanisms.local.frequencies import CategoryReports, Counts, FlippedBits
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.threads import for_each_block
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

_BYTE = np.dtype(np.uint8)


@frozen()
class RandomizedResponse(FlippedBits, CategoryReports):
    """Report the truth with probability p = e**epsilon / (e**epsilon + 1), else the opposite.

    epsilon-local DP for one report per person; ``flip``, the probability of the opposite, may be given instead. Bools
    in numpy, Python and arrow containers; arrow's packed bits are flipped 64 at a time and never unpacked. Estimates
    are of the frequencies of (False, True).

    1.1 random bytes per report. [Warner 1965]

    Parameters
    ----------
    epsilon
        The privacy of one report.
    flip
        The probability of reporting the opposite, instead of epsilon.

    >>> import fastdp as fd
    >>> survey = fd.RandomizedResponse.two_coins()
    >>> survey.randomize([True, False, True, True], rng=fd.Rng.unsafe_seed(7))
    [False, False, True, True]
    >>> survey.p, survey.q
    (0.75, 0.25)
    """

    epsilon: OptionalNumber = UNSET
    flip: float | None = None
    _noise: Coin = computed(compare=True)
    _cost: float = computed()

    def __post_init__(self) -> None:
        owner = "RandomizedResponse"
        asked = given(self.epsilon)
        if validation.exactly_one(owner, epsilon=asked, flip=self.flip) == "epsilon":
            epsilon = resolvable_epsilon(owner, asked)
            coin = Coin(flip_threshold(Rate.below(Fraction(epsilon))))
        else:
            coin = _flipping(owner, self.flip)
            epsilon = derived(resolvable_epsilon(owner, flip_cost(coin)))
        set_fields(self, epsilon=epsilon, _noise=coin, _cost=flip_cost(coin))

    @classmethod
    def two_coins(cls) -> RandomizedResponse:
        """The survey: heads, tell the truth; tails, let a second coin answer. p = 3/4, q = 1/4, epsilon = ln 3."""
        return cls(flip=0.25)

    @property
    def uniform_over(self) -> int:
        """The number of values that a report is uniform over where the truth is not kept."""
        return 2

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer threshold, rounded up."""
        return Privacy(epsilon=self._cost, unit="report", neighbours="replace")

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of one flipped bit."""
        return (flip_loss(self._noise),)

    def channel(self) -> KRRChannel:
        """The channel between False (0) and True (1)."""
        return KRRChannel(2, self.p, self.q)

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One truth value per value, in the caller's own kind of container."""
        column = read_truths("RandomizedResponse", values, nulls=nulls)
        key, slot = resolve("RandomizedResponse", rng).reserve(column.size)
        results = []
        for piece in column.pieces:
            results.append(self._flip(piece, key, slot))
            slot += np.uint64(piece.size)
        return column.rebuild(results)

    def _flip(self, piece: Truths, key: np.ndarray, slot: np.uint64) -> np.ndarray:
        high, low = self._noise.halves
        result = fresh((piece.size + 7) // 8 if piece.packed else piece.size, _BYTE)

        def work(start: int, stop: int) -> None:
            first = slot + np.uint64(start)
            with working_memory() as memory:
                if piece.packed:
                    target, offset = result[start // 8 : (stop + 7) // 8], piece.offset + start
                    flip_bits(key, first, high, low, piece.data, offset, stop - start, memory.bits, target)
                else:
                    flip_bytes(key, first, high, low, piece.data[start:stop], memory.bits, result[start:stop])

        for_each_block(piece.size, work)
        return result

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """Truth values again."""
        return truths_result_type("RandomizedResponse", arrow_type)

    @property
    def has_text(self) -> bool:
        """Whether its values are labels that are text: never."""
        return False

    def value_names(self) -> None:
        """None: False is 0 and True is 1."""

    def _support_shape(self) -> tuple[int, ...]:
        return (2,)

    def aggregate(self, reports: Column) -> Counts:
        """How many reports are False and True, in one pass; counts of batches add up."""
        trues = n = 0
        for piece in read_truths("RandomizedResponse", reports).pieces:
            n += piece.size
            trues += _count_trues(piece)
        return Counts(np.array([n - trues, trues]), n)


def _flipping(owner: str, flip: Any) -> Coin:
    """The coin that is heads with this probability, rounded up."""
    flip = validation.probability(owner, "flip", flip)
    if not flip < 0.5:
        raise ParameterError(f"{owner}: flip must be below 1/2, got {flip!r}")
    return Coin(math.ceil(Fraction(flip) * (1 << BITS)))


def _count_trues(piece: Truths) -> int:
    if not piece.packed:
        return int(np.count_nonzero(piece.data))
    first, last = piece.offset, piece.offset + piece.size
    body = piece.data[first // 8 : (last + 7) // 8]
    if not piece.size:
        return 0
    before, after = first % 8, -last % 8
    total = int(np.bitwise_count(body).sum(dtype=np.int64))
    total -= int(body[0] & ((1 << before) - 1)).bit_count()
    return total - (int(body[-1]) >> (8 - after)).bit_count()
