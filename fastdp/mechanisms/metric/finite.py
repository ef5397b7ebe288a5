"""Mechanisms between finitely many numbered values: reports, their counts, and the remap that reads them best."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.channels import Channel
from fastdp.channels.remapped import remapped
from fastdp.columns.categories import codes_result_type, out_of_domain, read_codes
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import Nulls
from fastdp.engine.runner import Block, run
from fastdp.errors import ParameterError
from fastdp.kernels.local.count_codes import count_codes
from fastdp.measures.inputs import read_numbers
from fastdp.measures.loss import expected_loss, optimal_remap
from fastdp.mechanisms.annotations import NumberVector, computed, frozen, gives_values
from fastdp.mechanisms.base import FiniteMechanism, set_fields
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column, Matrix, Numbers

if TYPE_CHECKING:
    import pyarrow as pa


def read_prior(owner: str, prior: Numbers, size: int) -> np.ndarray:
    """A distribution over the values, or counts, which are divided by their sum; copied, read-only."""
    vector = read_numbers(owner, "prior", prior, 1)
    if vector.shape != (size,) or (vector < 0).any() or not vector.any():
        raise ParameterError(f"{owner}: prior must be {size} finite numbers >= 0, not all of them 0")
    with np.errstate(over="ignore"):
        total = vector.sum()
    if abs(total - 1) > size * 2.0**-52:  # else it is one already, and stays what it is when it is read again
        vector /= vector.max()  # first, so that no sum is beyond float64
        vector /= vector.sum()
    vector.setflags(write=False)
    return vector


def count_reports(owner: str, reports: Column, size: int) -> np.ndarray:
    """How many reports are each number below ``size``, in one pass."""
    column = read_codes(owner, reports, Domain(size))
    counts = np.zeros((4, size), np.int64)
    for codes in column.blocks(owner):
        if count_codes(codes, np.uint64(size), counts):
            raise out_of_domain(owner)
    total: np.ndarray = counts.sum(axis=0)
    return total


class CodeMechanism(FiniteMechanism):
    """A mechanism whose values and reports are numbers from 0 on."""

    __slots__ = ()

    @abstractmethod
    def _values(self) -> int:
        """How many values there are."""

    @abstractmethod
    def _block(self) -> Block:
        """The function that writes the reports of a block of values."""

    @abstractmethod
    def _losses(self, loss: Any) -> tuple[Any, Any]:
        """A loss by its name or as a matrix, and the positions that a name needs, as measures read them."""

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per value, both by their numbers, in the caller's own kind of container."""
        owner = type(self).__name__
        column = read_codes(owner, values, Domain.read(owner, self._values()), nulls=nulls)
        return run(owner, column, resolve(owner, rng), self._block())

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The type of the values."""
        owner = type(self).__name__
        return codes_result_type(owner, arrow_type, Domain.read(owner, self._values()))

    @property
    @abstractmethod
    def middle(self) -> int:
        """A value in the middle of the others."""

    @abstractmethod
    def distances_from(self, value: int) -> np.ndarray:
        """The distance of every value from this one, in units."""

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports name each value, in one pass; counts of batches add up."""
        return count_reports(type(self).__name__, reports, self._values())

    def remap(self, prior: Numbers, loss: str | Matrix = "absolute") -> Remapped:
        """This mechanism with each report replaced by the value that loses least given it, under ``prior``.

        It costs no more privacy, and no other way of reading the reports has a lower expected loss. ``loss`` is
        ``"absolute"`` (the distance), ``"squared"``, ``"zero-one"``, or a matrix with a row per guess and a column per
        true value. The prior is public, or an estimate from private reports; counts are divided by their sum.

        Parameters
        ----------
        prior
            The weight of each value.
        loss
            The loss of a guess: ``"absolute"``, ``"squared"``, ``"zero-one"``, or a matrix.
        """
        return Remapped(mechanism=self, prior=prior, loss=loss)


@frozen(eq=False)
class Remapped(CodeMechanism):
    """The reports of a mechanism, each replaced by the value with the least expected loss given it.

    As private as ``mechanism``: it is post-processing. Made by the mechanism's own ``remap``, which says what ``prior``
    and ``loss`` are. [Ghosh, Roughgarden, Sundararajan 2009; Chatzikokolakis, Elsalamouny, Palamidessi 2017]

    Parameters
    ----------
    mechanism
        The mechanism whose reports are remapped.
    prior
        The weights of the values; the remap is optimal for them.
    loss
        The loss of guessing one value for another: "absolute", "squared", "zero-one", or a matrix.

    >>> import fastdp as fd
    >>> noisy = fd.GridGeometric(epsilon=0.5, shape=(1, 5))
    >>> mechanism = noisy.remap([0.05, 0.8, 0.05, 0.05, 0.05])
    >>> mechanism.table.tolist()
    [1, 1, 1, 1, 1]
    >>> mechanism.privacy == noisy.privacy
    True
    """

    mechanism: CodeMechanism
    prior: NumberVector
    loss: str | Matrix = "absolute"
    table: np.ndarray = computed(compare=True)
    """The value that each report is replaced by."""

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, CodeMechanism):
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
        return self.mechanism.privacy

    @property
    def expected_loss(self) -> float:
        """The mean loss of a report under the prior: the least that this mechanism's reports allow."""
        loss, positions = self._losses(self.loss)
        return expected_loss(self.channel(), self.prior, loss, positions=positions)

    def channel(self) -> Channel:
        """The mechanism's channel with the outputs that are replaced by one value added up."""
        return remapped(self.mechanism.channel(), self.table, self._values())

    def _values(self) -> int:
        return self.mechanism._values()  # noqa: SLF001

    @property
    def middle(self) -> int:
        """A value in the middle of the others."""
        return self.mechanism.middle

    def distances_from(self, value: int) -> np.ndarray:
        """The distance of every value from this one, in units."""
        return self.mechanism.distances_from(value)

    def _losses(self, loss: Any) -> tuple[Any, Any]:
        return self.mechanism._losses(loss)  # noqa: SLF001

    def _block(self) -> Block:
        inner = self.mechanism._block()  # noqa: SLF001

        def block(key: Any, slot: Any, first: int, codes: np.ndarray, memory: Any, result: np.ndarray) -> None:
            reports = np.empty(codes.size, np.int64)
            inner(key, slot, first, codes, memory, reports)
            result[:] = self.table[reports]

        return block
