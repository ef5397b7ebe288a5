"""What every channel can do, and the two channels that come of it: a matrix, and one channel after another."""

from __future__ import annotations

import math
import numbers
from abc import ABC, abstractmethod
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels.dense_storage import DenseMatrix, ObservedDense, Storage, read_probabilities
from fastdp.channels.metrics import Metric, Pairs, Witness, read_metric, worst_of_matrix
from fastdp.channels.observed import Observed, read_selection, read_vectors
from fastdp.display.plotting import new_axes
from fastdp.errors import ParameterError

SMALL = 1 << 20
"""Entries of a composed channel that is written out: up to here one product with it is faster than two."""

LARGEST_COMPARED = 1 << 29
"""Entries of a channel that is written out to find its epsilon: 4 GB."""

LARGEST_SHOWN = 2000
"""Inputs and outputs of a channel that a picture can show."""
LARGEST_DENSE = 20_000
"""Inputs of a channel that a mechanism writes out in full; 3 GB."""


class Channel(ABC):
    """Probabilities of each output given each input, rows summing to 1.

    Inputs and outputs are numbered from 0; what the numbers stand for is the mechanism's to say. Products take one
    vector, or many as the rows of a matrix.
    """

    grid: tuple[int, int] | None = None
    """The rows and columns of the map whose cells are the inputs, if they are."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The numbers of inputs and outputs."""

    @abstractmethod
    def row(self, x: int) -> np.ndarray:
        """The distribution of the output for input ``x``.

        Parameters
        ----------
        x
            The number of the input.
        """

    @staticmethod
    def from_matrix(matrix: ArrayLike, storage: Storage = "float64") -> DenseChannel:
        """A channel from its matrix, inputs by outputs, checked: finite, no entry below 0, rows summing to 1.

        Rows may miss 1 by 1e-9. ``storage`` says in how many bits entries are kept: float32 halves memory and time and
        moves an entry by at most 6e-8 of itself; float16 quarters them and moves it by up to 2.5e-4, which moves
        estimates by about 1e-3.

        Parameters
        ----------
        matrix
            Probabilities, inputs by outputs; each row sums to 1.
        storage
            ``"float64"``, ``"float32"`` or ``"float16"``.

        >>> channel = Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
        >>> channel.forward([0.7, 0.3]).round(6).tolist()
        [0.6, 0.4]
        >>> round(channel.epsilon(), 6)
        1.098612
        """
        return DenseChannel(matrix, storage)

    def dense(self) -> np.ndarray:
        """The whole matrix, inputs by outputs."""
        return np.stack([self.row(x) for x in range(self.shape[0])])

    def forward(self, p: ArrayLike) -> np.ndarray:
        """The distribution of outputs when inputs follow ``p``: p C.

        Parameters
        ----------
        p
            A distribution of the inputs, or rows of them.
        """
        vectors = read_vectors("p", p, self.shape[0])
        return self._forward(vectors) if vectors.ndim == 1 else self._forward_all(vectors)

    def backward(self, w: ArrayLike) -> np.ndarray:
        """For each input, the expectation of ``w`` over its outputs: C w.

        Parameters
        ----------
        w
            A weight for each output, or rows of them.
        """
        vectors = read_vectors("w", w, self.shape[1])
        return self._backward(vectors) if vectors.ndim == 1 else self._backward_all(vectors)

    def _forward(self, p: np.ndarray, /) -> np.ndarray:
        outputs: np.ndarray = p @ self.dense()
        return outputs

    def _backward(self, w: np.ndarray, /) -> np.ndarray:
        expected: np.ndarray = self.dense() @ w
        return expected

    def _forward_all(self, rows: np.ndarray, /) -> np.ndarray:
        return np.array([self._forward(row) for row in rows]).reshape(len(rows), self.shape[1])

    def _backward_all(self, rows: np.ndarray, /) -> np.ndarray:
        return np.array([self._backward(row) for row in rows]).reshape(len(rows), self.shape[0])

    def prepare(self, counts: ArrayLike) -> Observed:
        """The channel with what was observed of its outputs, for many gradients."""
        return Observed(self, counts)

    def gradient(self, p: ArrayLike, counts: ArrayLike) -> tuple[np.ndarray, Any]:
        """The derivative of the log-likelihood of ``counts`` by each entry of ``p``, and the log-likelihood.

        With d = p C they are the sums over y of counts[y] C[x, y] / d[y] and of counts[y] ln d[y], over the outputs
        with counts[y] > 0. Where such a d[y] is 0, the log-likelihood is -inf, and y is left out of the derivative.

        Parameters
        ----------
        p
            A distribution of the inputs, or rows of them.
        counts
            How often each output was seen.
        """
        return self.prepare(counts).gradient(p)

    def select(self, inputs: ArrayLike, outputs: ArrayLike) -> np.ndarray:
        """The part of the matrix with these inputs and outputs, by their numbers or as masks, in the order given.

        Parameters
        ----------
        inputs, outputs
            Those to keep, by their numbers or as masks.
        """
        return self._select(
            read_selection("inputs", inputs, self.shape[0]), read_selection("outputs", outputs, self.shape[1])
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

        Parameters
        ----------
        metric
            ``"line"``, a matrix, a function of two inputs, or an integer; None for any two inputs alike.
        witness
            Whether to give the worst pair of inputs and the output as well.
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
        """The channel whose output is that of ``other`` on the output of this one; written out where it is small.

        Parameters
        ----------
        other
            The channel that the outputs go through next.
        """
        if not isinstance(other, Channel):
            raise ParameterError(f"Channel: compose takes a Channel, got {type(other).__name__}")
        cascade = CascadeChannel(self, other)
        return self.from_matrix(cascade.dense()) if math.prod(cascade.shape) <= SMALL else cascade

    def joint(self, other: Channel) -> DenseChannel:
        """The channel that gives both outputs of one secret: this one's and ``other``'s, drawn independently.

        Output y1 * m + y2 stands for y1 of this channel and y2 of the other, which has m. Epsilons add at most. The
        literature calls it parallel composition; `compose` is the cascade. [Alvim et al. 2020, ch. 8]

        Parameters
        ----------
        other
            A channel with the same inputs.

        >>> coin = Channel.from_matrix([[0.75, 0.25], [0.25, 0.75]])
        >>> twice = coin.joint(coin)
        >>> twice.row(0).tolist(), round(twice.epsilon() / coin.epsilon(), 9)
        ([0.5625, 0.1875, 0.1875, 0.0625], 2.0)
        """
        if not isinstance(other, Channel):
            raise ParameterError(f"Channel: joint takes a Channel, got {type(other).__name__}")
        if self.shape[0] != other.shape[0]:
            raise ParameterError(
                f"joint: both channels must have the same inputs, got {self.shape[0]}, {other.shape[0]}"
            )
        if self.shape[0] * self.shape[1] * other.shape[1] > LARGEST_COMPARED:
            raise ParameterError(f"joint: {self.shape[1]} x {other.shape[1]} outputs are too many to write out")
        both = self.dense()[:, :, None] * other.dense()[:, None, :]
        return self.from_matrix(both.reshape(self.shape[0], -1))

    def condition(self, inputs: ArrayLike | None = None, outputs: ArrayLike | None = None) -> DenseChannel:
        """The channel of some inputs, given that the output is one of some; by their numbers or as masks, None for all.

        Entry (i, j) is the probability of outputs[j] for inputs[i], divided by that of all of ``outputs``. What it says
        holds for records known to have such an output. Inputs that never have one are refused.

        Parameters
        ----------
        inputs, outputs
            Those to keep, by their numbers or as masks; all by default.
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

    def plot(self, *, ax: Any = None) -> Any:
        """The matrix as a picture, inputs down and outputs across; needs matplotlib. Returns the axes.

        Parameters
        ----------
        ax
            The axes to draw on; new ones by default.
        """
        if max(self.shape) > LARGEST_SHOWN:
            raise ParameterError(f"Channel.plot: at most {LARGEST_SHOWN} inputs and outputs can be seen; select some")
        axes = new_axes("Channel.plot", ax)
        axes.imshow(self.dense(), cmap="viridis", vmin=0.0, aspect="auto")
        axes.set(xlabel="output", ylabel="input")
        return axes

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.shape[0]:,} inputs, {self.shape[1]:,} outputs)"

    def _check(self, x: int) -> None:
        if not isinstance(x, numbers.Integral) or not 0 <= x < self.shape[0]:
            raise ParameterError(f"Channel: x must be an input from 0 to {self.shape[0] - 1}, got {x!r}")


class DenseChannel(Channel):
    """A matrix of probabilities, inputs by outputs; it is checked and copied.

    In 32 bits an entry is off by at most 6e-8 of itself, in 16 bits by at most 2.5e-4; see `DenseMatrix`.

    Parameters
    ----------
    matrix
        The probabilities of outputs given inputs, inputs by outputs.
    storage
        The type that entries are stored in: "float64", "float32" or "float16".
    """

    def __init__(self, matrix: ArrayLike, storage: Storage = "float64") -> None:
        self.storage = validation.one_of("Channel", "storage", storage, ("float64", "float32", "float16"))
        self._matrix = DenseMatrix(read_probabilities(matrix), self.storage)

    @property
    def shape(self) -> tuple[int, int]:
        return self._matrix.shape

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        return self._matrix.row(x)

    def dense(self) -> np.ndarray:
        return self._matrix.dense()

    def _forward(self, p: np.ndarray) -> np.ndarray:
        return self._matrix.forward(p)

    def _backward(self, w: np.ndarray) -> np.ndarray:
        return self._matrix.backward(w)

    _forward_all, _backward_all = _forward, _backward

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        return self._matrix.select(inputs, outputs)

    def prepare(self, counts: ArrayLike) -> Observed:
        return super().prepare(counts) if np.ndim(counts) > 1 else ObservedDense(self, counts, self._matrix)


class CascadeChannel(Channel):
    """The output of ``second`` on the output of ``first``; products in the time of both.

    Parameters
    ----------
    first, second
        The channels in order: the outputs of the first are the inputs of the second.
    """

    def __init__(self, first: Channel, second: Channel) -> None:
        if first.shape[1] != second.shape[0]:
            raise ParameterError(
                f"compose: the first channel has {first.shape[1]} outputs and the second {second.shape[0]} inputs"
            )
        self._first, self._second = first, second

    @property
    def shape(self) -> tuple[int, int]:
        return self._first.shape[0], self._second.shape[1]

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        return self._second.forward(self._first.row(x))

    def dense(self) -> np.ndarray:
        return self._second.forward(self._first.dense())

    def _forward(self, p: np.ndarray) -> np.ndarray:
        return self._second.forward(self._first.forward(p))

    def _backward(self, w: np.ndarray) -> np.ndarray:
        return self._first.backward(self._second.backward(w))

    _forward_all, _backward_all = _forward, _backward
