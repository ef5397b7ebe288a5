"""Reports drawn through any stochastic matrix."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.channels import Channel, DenseChannel
from fastdp.columns.categories import codes_result_type, out_of_domain, read_codes
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import Nulls
from fastdp.engine.runner import Block, run
from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.metric.probability_rows import Rows, fill_rows
from fastdp.laws.coins import log_up
from fastdp.laws.loss_atoms import atomic, dominating
from fastdp.laws.metric.probability_rows import arrange, realise_row, to_floats
from fastdp.losses import AtomicLoss
from fastdp.measures.inputs import read_numbers
from fastdp.mechanisms.annotations import Parameter, computed, frozen, gives_values
from fastdp.mechanisms.base import FiniteMechanism, set_fields
from fastdp.mechanisms.metric.finite import count_reports
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column, Matrix

if TYPE_CHECKING:
    import pyarrow as pa

LARGEST_ENTRIES = 1 << 20
NEARLY = 0.01
"""How far the sum of a row may be from 1 if it is to be divided by it."""
SMALLEST_EPSILON = 5e-324
"""What reports that say nothing cost, for a guarantee is a number above 0."""


@frozen(kw_only=False, eq=False)
class MatrixMechanism(FiniteMechanism):
    """Report y instead of x with the probability in row x and column y of ``matrix``.

    epsilon-local DP for one report per person, epsilon the largest log-ratio within a column. ``matrix`` is an array or
    a `Channel`, with a row per value and a column per report, both numbered from 0. Its rows sum to 1; with
    ``normalize=True`` they are divided by their sums, which may be off by 1 %.

    Entries become integers out of 2**128, each within 2**-56 of what was given. So does an entry of 0 in a column that
    is not all 0: no report is impossible for one value and possible for another, and epsilon stays finite.

    2 random bytes per report for most.

    Parameters
    ----------
    matrix
        The probabilities of reports given values, inputs by outputs, or a channel.
    normalize
        Scale rows that sum to 1 only nearly.

    >>> import fastdp as fd
    >>> mechanism = fd.MatrixMechanism([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])
    >>> mechanism.randomize([0, 1, 2, 2], rng=fd.Rng.unsafe_seed(7))
    [0, 2, 2, 2]
    >>> round(mechanism.privacy.epsilon, 6)
    0.693147
    """

    matrix: Parameter[Matrix | Channel, np.ndarray]
    normalize: bool = field(default=False, kw_only=True)
    _kept: np.ndarray = computed(compare=True)
    """The reports that are possible."""
    _shares: list[list[int]] = computed(compare=True)
    _rows: Rows = computed(compare=True)

    def __post_init__(self) -> None:
        owner = "MatrixMechanism"
        if not isinstance(self.normalize, bool):
            raise ParameterError(f"{owner}: normalize must be True or False, got {self.normalize!r}")
        given = self.matrix.dense() if isinstance(self.matrix, Channel) else self.matrix
        matrix = read_numbers(owner, "matrix", given, 2)
        matrix.setflags(write=False)
        if len(matrix) < 2 or matrix.size > LARGEST_ENTRIES:
            raise ParameterError(f"{owner}: matrix must have 2 rows or more, and at most 2**20 entries")
        probabilities = _normalized(owner, matrix) if self.normalize else matrix
        kept = np.flatnonzero(DenseChannel(probabilities).dense().max(axis=0) > 0)
        possible = np.ones(kept.size, bool)
        shares = [realise_row(row[kept], possible) for row in probabilities]
        set_fields(self, matrix=matrix, _kept=kept, _shares=shares, _rows=arrange(shares))

    def __eq__(self, other: object) -> bool:
        """Whether both draw the same reports with the same probabilities."""
        if not isinstance(other, MatrixMechanism) or self.matrix.shape != other.matrix.shape:
            return False
        return np.array_equal(self._kept, other._kept) and self._shares == other._shares

    def __hash__(self) -> int:
        return hash((MatrixMechanism, self.matrix.shape, self._shares[0][0]))

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the integers that are drawn from, rounded up."""
        columns = zip(*self._shares, strict=True)
        worst = max((Fraction(max(column), min(column)) for column in columns), default=Fraction(1))
        return Privacy(epsilon=log_up(worst) or SMALLEST_EPSILON, unit="report", neighbours="replace")

    def losses(self) -> tuple[AtomicLoss, ...]:
        """A privacy loss that dominates all pairs of rows; of large matrices that of any mechanism of its epsilon."""
        pairs = dominating(self._shares)
        return FiniteMechanism.losses(self) if pairs is None else (atomic(pairs),)  # type: ignore[return-value]

    def channel(self) -> DenseChannel:
        """The channel from values to reports, that of the integers that are drawn from."""
        matrix = np.zeros(self.matrix.shape)
        matrix[:, self._kept] = [to_floats(row) for row in self._shares]
        return DenseChannel(matrix)

    @gives_values
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per value, both by their numbers, in the caller's own kind of container."""
        owner = "MatrixMechanism"
        column = read_codes(owner, values, Domain(len(self.matrix)), nulls=nulls)
        self._check_width(column.result_dtype)
        return run(owner, column, resolve(owner, rng), draw_rows(owner, self._rows, self._kept))

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The type of the values."""
        kind = codes_result_type("MatrixMechanism", arrow_type, Domain(len(self.matrix)))
        self._check_width(np.dtype(kind.to_pandas_dtype()))
        return kind

    def _check_width(self, dtype: np.dtype[Any]) -> None:
        reports = self.matrix.shape[1]
        if reports - 1 > np.iinfo(dtype).max:
            raise SchemaError(f"MatrixMechanism: {dtype} cannot hold {reports} reports; convert to a wider type")

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports are each output of the channel, in one pass; counts of batches add up."""
        return count_reports("MatrixMechanism", reports, self.matrix.shape[1])


def _normalized(owner: str, matrix: np.ndarray) -> np.ndarray:
    sums = matrix.sum(axis=1, keepdims=True)
    if not np.abs(sums - 1).max() <= NEARLY:
        raise ParameterError(f"{owner}: each row must sum to 1 within {NEARLY:g} to be divided by its sum")
    return matrix / sums  # type: ignore[no-any-return]


def draw_rows(owner: str, rows: Rows, names: np.ndarray | None = None) -> Block:
    """The function that writes an outcome of the row of each code, by its number or by its name."""

    def block(key: Any, slot: Any, _first: int, codes: np.ndarray, memory: Any, result: np.ndarray) -> None:
        drawn = memory.noise[: codes.size]
        if fill_rows(key, slot, codes.astype(np.int64), rows, memory.scratch, drawn):
            raise out_of_domain(owner)
        result[:] = drawn if names is None else names[drawn]

    return block
