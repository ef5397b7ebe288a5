"""Mechanisms between finitely many numbered values: reports, their counts, and the remap that reads them best."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp.channels import Channel
from fastdp.channels.remapped import remapped
from fastdp.columns.categories import out_of_domain, read_codes
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import Nulls, read_block
from fastdp.errors import ParameterError
from fastdp.kernels.counts import count_codes
from fastdp.measures.inputs import read_numbers
from fastdp.measures.loss import expected_loss, optimal_remap
from fastdp.mechanisms.additive import set_fields
from fastdp.noise.runner import Block, run
from fastdp.parallel import BLOCK
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve


def read_prior(owner: str, prior: Any, size: int) -> np.ndarray:
    """A distribution over the values, or counts, which are divided by their sum; copied, read-only."""
    vector = read_numbers(owner, "prior", prior, 1)
    if vector.shape != (size,) or (vector < 0).any() or not vector.any():
        raise ParameterError(f"{owner}: prior must be {size} finite numbers >= 0, not all of them 0")
    vector /= vector.max()  # first, so that no sum is beyond float64
    vector /= vector.sum()
    vector.setflags(write=False)
    return vector


class FiniteMechanism(ABC):
    """A mechanism whose values and reports are numbers from 0 on."""

    __slots__ = ()

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """The guarantee for two values one unit apart, of the integers that are drawn from, rounded up."""

    @abstractmethod
    def channel(self) -> Channel:
        """The channel between the values."""

    @abstractmethod
    def _values(self) -> int:
        """How many values there are."""

    @abstractmethod
    def _block(self) -> Block:
        """The function that writes the reports of a block of values."""

    @abstractmethod
    def _losses(self, loss: Any) -> tuple[Any, Any]:
        """A loss by its name or as a matrix, and the positions that a name needs, as measures read them."""

    def randomize(self, values: Any, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per value, both by their numbers, in the caller's own kind of container."""
        owner = type(self).__name__
        column = read_codes(owner, values, Domain.read(owner, self._values()), nulls=nulls)
        return run(owner, column, resolve(owner, rng), self._block())

    def count_outputs(self, reports: Any) -> np.ndarray:
        """How many reports name each value, in one pass; counts of batches add up."""
        owner, size = type(self).__name__, self._values()
        column = read_codes(owner, reports, Domain.read(owner, size))
        counts = np.zeros((4, size), np.int64)
        for piece in column.pieces:
            for start in range(0, piece.size, BLOCK):
                codes = read_block(owner, piece, start, min(start + BLOCK, piece.size), column.result_dtype)
                if count_codes(codes, np.uint64(size), counts):
                    raise out_of_domain(owner)
        total: np.ndarray = counts.sum(axis=0)
        return total

    def remap(self, prior: Any, loss: Any = "absolute") -> Remapped:
        """This mechanism with each report replaced by the value that loses least given it, under ``prior``.

        It costs no more privacy, and no other way of reading the reports has a lower expected loss. ``loss`` is
        ``"absolute"`` (the distance), ``"squared"``, ``"zero-one"``, or a matrix with a row per guess and a column per
        true value. The prior is public, or an estimate from private reports; counts are divided by their sum.
        """
        return Remapped(mechanism=self, prior=prior, loss=loss)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Remapped(FiniteMechanism):
    """The reports of a mechanism, each replaced by the value with the least expected loss given it.

    As private as ``mechanism``: it is post-processing. Made by the mechanism's own ``remap``, which says what ``prior``
    and ``loss`` are. [Ghosh, Roughgarden, Sundararajan 2009; Chatzikokolakis, Elsalamouny, Palamidessi 2017]

    >>> import fastdp as fd
    >>> noisy = fd.GridGeometric(epsilon=0.5, shape=(1, 5))
    >>> mechanism = noisy.remap([0.05, 0.8, 0.05, 0.05, 0.05])
    >>> mechanism.table.tolist()
    [1, 1, 1, 1, 1]
    >>> mechanism.privacy == noisy.privacy
    True
    """

    mechanism: Any
    prior: Any
    loss: Any = "absolute"
    table: np.ndarray = field(init=False, repr=False)
    """The value that each report is replaced by."""

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, FiniteMechanism):
            raise ParameterError(
                f"Remapped: mechanism must be one between finitely many values, got {type(self.mechanism).__name__}"
            )
        size = self._values()
        prior = read_prior("Remapped", self.prior, size)
        loss, positions = self._losses(self.loss)
        if not isinstance(loss, str) and read_numbers("Remapped", "loss", loss, 2).shape[0] != size:
            raise ParameterError(f"Remapped: a loss matrix has a row per guess, and guesses are the {size} values")
        table = optimal_remap(self.mechanism.channel(), prior, loss, positions=positions)
        table.setflags(write=False)
        set_fields(self, prior=prior, table=table)

    def __eq__(self, other: object) -> bool:
        """Whether both replace the reports of equal mechanisms in the same way."""
        if not isinstance(other, Remapped):
            return False
        return bool(self.mechanism == other.mechanism) and np.array_equal(self.table, other.table)

    def __hash__(self) -> int:
        return hash((Remapped, self.mechanism, self.table.tobytes()))

    @property
    def privacy(self) -> Privacy:
        """The mechanism's own guarantee: post-processing costs nothing."""
        return self.mechanism.privacy  # type: ignore[no-any-return]

    @property
    def expected_loss(self) -> float:
        """The mean loss of a report under the prior: the least that this mechanism's reports allow."""
        loss, positions = self._losses(self.loss)
        return expected_loss(self.channel(), self.prior, loss, positions=positions)

    def channel(self) -> Channel:
        """The mechanism's channel with the outputs that are replaced by one value added up."""
        return remapped(self.mechanism.channel(), self.table, self._values())

    def _values(self) -> int:
        return self.mechanism._values()  # type: ignore[no-any-return]  # noqa: SLF001

    def _losses(self, loss: Any) -> tuple[Any, Any]:
        return self.mechanism._losses(loss)  # type: ignore[no-any-return]  # noqa: SLF001

    def _block(self) -> Block:
        inner = self.mechanism._block()  # noqa: SLF001

        def block(key: Any, slot: Any, first: int, codes: np.ndarray, memory: Any, result: np.ndarray) -> None:
            reports = np.empty(codes.size, np.int64)
            inner(key, slot, first, codes, memory, reports)
            result[:] = self.table[reports]

        return block
