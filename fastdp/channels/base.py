"""What every channel can do."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from fastdp.channels.metrics import Metric, Pairs, Witness, read_metric
from fastdp.channels.observed import Observed
from fastdp.channels.ratios import worst_of_matrix
from fastdp.errors import ParameterError

if TYPE_CHECKING:
    from fastdp.channels.dense import DenseChannel

SMALL = 1 << 20
"""Entries of a composed channel that is written out: up to here one product with it is faster than two."""

LARGEST_COMPARED = 1 << 29
"""Entries of a channel that is written out to find its epsilon: 4 GB."""


class Channel(ABC):
    """Probabilities of each output given each input, rows summing to 1.

    Inputs and outputs are numbered from 0; what the numbers stand for is the mechanism's to say. Products take one
    vector, or many as the rows of a matrix.
    """

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""

    @abstractmethod
    def row(self, x: int) -> np.ndarray:
        """The distribution of the output for input ``x``."""

    @staticmethod
    def from_matrix(matrix: Any, storage: Literal["float64", "float32", "float16"] = "float64") -> DenseChannel:
        """A channel from its matrix, inputs by outputs, checked: finite, no entry below 0, rows summing to 1.

        Rows may miss 1 by 1e-9. ``storage`` says in how many bits entries are kept: float32 halves memory and time and
        moves an entry by at most 6e-8 of itself; float16 quarters them and moves it by up to 2.5e-4, which moves
        estimates by about 1e-3.

        >>> channel = Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
        >>> channel.forward([0.7, 0.3]).round(6).tolist()
        [0.6, 0.4]
        >>> round(channel.epsilon(), 6)
        1.098612
        """
        from fastdp.channels.dense import DenseChannel

        return DenseChannel(matrix, storage)

    def dense(self) -> np.ndarray:
        """The whole matrix, inputs by outputs."""
        return np.stack([self.row(x) for x in range(self.shape[0])])

    def forward(self, p: Any) -> np.ndarray:
        """The distribution of outputs when inputs follow ``p``: p C."""
        vectors = _read_vectors("p", p, self.shape[0])
        return self._forward(vectors) if vectors.ndim == 1 else self._forward_all(vectors)

    def backward(self, w: Any) -> np.ndarray:
        """For each input, the expectation of ``w`` over its outputs: C w."""
        vectors = _read_vectors("w", w, self.shape[1])
        return self._backward(vectors) if vectors.ndim == 1 else self._backward_all(vectors)

    def _forward(self, p: np.ndarray, /) -> np.ndarray:
        return p @ self.dense()

    def _backward(self, w: np.ndarray, /) -> np.ndarray:
        return self.dense() @ w

    def _forward_all(self, rows: np.ndarray, /) -> np.ndarray:
        return np.array([self._forward(row) for row in rows]).reshape(len(rows), self.shape[1])

    def _backward_all(self, rows: np.ndarray, /) -> np.ndarray:
        return np.array([self._backward(row) for row in rows]).reshape(len(rows), self.shape[0])

    def prepare(self, counts: Any) -> Observed:
        """The channel with what was observed of its outputs, for many gradients."""
        return Observed(self, counts)

    def gradient(self, p: Any, counts: Any) -> tuple[np.ndarray, Any]:
        """The derivative of the log-likelihood of ``counts`` by each entry of ``p``, and the log-likelihood.

        With d = p C they are the sums over y of counts[y] C[x, y] / d[y] and of counts[y] ln d[y], over the outputs
        with counts[y] > 0. Where such a d[y] is 0, the log-likelihood is -inf, and y is left out of the derivative.
        """
        return self.prepare(counts).gradient(p)

    def select(self, inputs: Any, outputs: Any) -> np.ndarray:
        """The part of the matrix with these inputs and outputs, by their numbers or as masks, in the order given."""
        return self._select(
            _read_places("inputs", inputs, self.shape[0]), _read_places("outputs", outputs, self.shape[1])
        )

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return np.array([self.row(int(x))[outputs] for x in inputs]).reshape(inputs.size, outputs.size)

    @overload
    def epsilon(self, metric: Metric = None, *, witness: Literal[False] = False) -> float: ...

    @overload
    def epsilon(self, metric: Metric = None, *, witness: Literal[True]) -> tuple[float, Witness]: ...

    def epsilon(self, metric: Metric = None, *, witness: bool = False) -> float | tuple[float, Witness]:
        """The largest log-ratio of one output's probabilities between two inputs: the smallest epsilon of the channel.

        With a metric it is the smallest constant of d-privacy, the largest log-ratio per unit of distance, over all
        pairs: ``"line"`` for the distance of the inputs' numbers, a matrix, or a function of two inputs. With an
        integer it is the largest log-ratio between inputs that are at most so many numbers apart. Infinite where an
        output is possible for one input of a pair only. ``witness=True`` adds two inputs and the output that attain it,
        the likelier input first.
        """
        worst, where = self._epsilon(read_metric(metric, self.shape[0]))
        return (float(worst), where) if witness else float(worst)

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        if math.prod(self.shape) > LARGEST_COMPARED:
            raise ParameterError(
                f"epsilon: a channel of {self.shape[0]} x {self.shape[1]} is too large to compare entry by entry"
            )
        return worst_of_matrix(self.dense(), pairs)

    def compose(self, other: Channel) -> Channel:
        """The channel whose output is that of ``other`` on the output of this one; written out where it is small."""
        from fastdp.channels.product import CascadeChannel

        cascade = CascadeChannel(self, other)
        return self.from_matrix(cascade.dense()) if math.prod(cascade.shape) <= SMALL else cascade

    def condition(self, inputs: Any = None, outputs: Any = None) -> DenseChannel:
        """The channel of some inputs, given that the output is one of some; by their numbers or as masks, None for all.

        Entry (i, j) is the probability of outputs[j] for inputs[i], divided by that of all of ``outputs``. What it says
        holds for records known to have such an output. Inputs that never have one are refused.
        """
        part = self.select(
            np.arange(self.shape[0]) if inputs is None else inputs,
            np.arange(self.shape[1]) if outputs is None else outputs,
        )
        if not part.size:
            raise ParameterError("condition: there must be at least one input and one output")
        largest = part.max(axis=1, keepdims=True)
        if not (largest > 0).all():
            raise ParameterError("condition: an input never has any of the outputs; leave it out")
        part /= largest  # first, so that sums of very small probabilities keep their digits
        return self.from_matrix(part / part.sum(axis=1, keepdims=True))

    def _check(self, x: int) -> None:
        if not 0 <= x < self.shape[0]:
            raise ParameterError(f"Channel: x must be an input from 0 to {self.shape[0] - 1}, got {x!r}")


def _read_vectors(name: str, value: Any, size: int) -> np.ndarray:
    """One vector of ``size`` numbers, or a matrix of such rows."""
    vectors = np.ascontiguousarray(value, np.float64)
    if vectors.ndim not in {1, 2} or vectors.shape[-1] != size:
        raise ParameterError(f"Channel: {name} must have {size} entries, or rows of {size}, got shape {vectors.shape}")
    return vectors


def _read_places(name: str, value: Any, size: int) -> np.ndarray:
    """Numbers below ``size``, from numbers or from a mask."""
    places = np.asarray(value)
    if places.dtype == bool and places.shape == (size,):
        return np.flatnonzero(places)
    if not places.size:
        return np.zeros(0, np.int64)
    if places.ndim != 1 or places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= size:
        raise ParameterError(f"Channel: {name} must be numbers from 0 to {size - 1}, or a mask of {size}")
    return places.astype(np.int64)
