"""A channel with few outputs for each input."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.channels.base import Channel
from fastdp.channels.dense_storage import ROW_TOLERANCE, exponents_of
from fastdp.channels.metrics import Pairs, Witness
from fastdp.channels.observed import Observed
from fastdp.errors import ParameterError
from fastdp.kernels.products.sparse import apply_backward, apply_forward, step_runs, step_sparse

LEAST_RUN = 6
"""Inputs side by side, on average over the outputs' entries, from which it pays to go by runs."""


class SparseChannel(Channel):
    """A matrix of which only the entries above 0 are stored, by output; products in their number.

    ``matrix`` is a sparse matrix of scipy, or an array. It pays below about a third of entries above 0. As in a dense
    channel, each output is stored in the power of two that brings its largest entry between 1/2 and 1.

    Parameters
    ----------
    matrix
        The probabilities of outputs given inputs, inputs by outputs, most of them zero.
    """

    def __init__(self, matrix: object) -> None:
        if hasattr(matrix, "tocsc"):
            columns = matrix.tocsc(copy=True)
            columns.sum_duplicates()
            shape, entries = columns.shape, np.asarray(columns.data, np.float64)
            inputs, starts = np.asarray(columns.indices, np.int64), np.asarray(columns.indptr, np.int64)
            outputs = np.repeat(np.arange(shape[1]), np.diff(starts))
        else:
            matrix = validation.floats("Channel", "the matrix", matrix)
            shape = matrix.shape
            if matrix.ndim == 2:
                outputs, inputs = np.nonzero(matrix.T)
                entries = matrix.T[outputs, inputs]
        if len(shape) != 2 or not math.prod(shape):
            raise ParameterError("Channel: the matrix must have two dimensions and at least one entry")
        if not (entries >= 0).all():
            raise ParameterError("Channel: the matrix must hold finite probabilities >= 0")
        if not np.abs(np.bincount(inputs, entries, shape[0]) - 1).max() <= ROW_TOLERANCE:
            raise ParameterError(f"Channel: each row must sum to 1 within {ROW_TOLERANCE:g}; divide it by its sum")
        above = entries > 0
        entries, inputs, outputs = entries[above], inputs[above], outputs[above]
        self._shape = int(shape[0]), int(shape[1])
        self._starts = np.concatenate(([0], np.cumsum(np.bincount(outputs, minlength=shape[1])))).astype(np.int64)
        largest = np.zeros(shape[1])
        np.maximum.at(largest, outputs, entries)
        self._exponents = exponents_of(largest)
        self._scales = np.ldexp(1.0, -self._exponents)
        self._inputs, self._entries = inputs.astype(np.uint32), entries / self._scales[outputs]

    @property
    def shape(self) -> tuple[int, int]:
        return self._shape

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        row: np.ndarray = self._select(np.array([x]), np.arange(self._shape[1]))[0]
        return row

    def dense(self) -> np.ndarray:
        return self._select(np.arange(self._shape[0]), np.arange(self._shape[1]))

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        part = np.zeros((outputs.size, inputs.size))
        column = np.zeros(self._shape[0])
        for i, y in enumerate(outputs):
            here = slice(self._starts[y], self._starts[y + 1])
            column[self._inputs[here]] = self._entries[here] * self._scales[y]
            part[i] = column[inputs]
            column[self._inputs[here]] = 0.0
        return np.ascontiguousarray(part.T)

    def _forward(self, p: np.ndarray) -> np.ndarray:
        out = np.empty(self._shape[1])
        apply_forward(self._starts, self._inputs, self._entries, p, out)
        outputs: np.ndarray = out * self._scales
        return outputs

    def _backward(self, w: np.ndarray) -> np.ndarray:
        out = np.empty(self._shape[0])
        apply_backward(self._starts, self._inputs, self._entries, w * self._scales, out)
        return out

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """Infinite at once if an output is possible for some inputs only."""
        held = np.diff(self._starts)
        some = np.flatnonzero((held > 0) & (held < self._shape[0]))
        if pairs is not None or self._shape[0] < 2 or not some.size:
            return super()._epsilon(pairs)
        y = int(some[0])
        here = self._inputs[self._starts[y] : self._starts[y + 1]]
        other = int(np.setdiff1d(np.arange(self._shape[0]), here)[0])
        return math.inf, (int(here[0]), other, y)

    def prepare(self, counts: ArrayLike) -> Observed:
        if np.ndim(counts) > 1:
            return super().prepare(counts)
        runs = self._runs
        step, places = (step_runs, runs) if runs else (step_sparse, (self._starts, self._inputs))
        return _ObservedSparse(self, counts, step, (*places, self._entries), self._exponents)

    @functools.cached_property
    def _runs(self) -> tuple[np.ndarray, ...] | None:
        """Where each output's runs of inputs start, their first inputs and entries; None if they are too short."""
        inputs = self._inputs.astype(np.int64)
        begins = np.ones(inputs.size + 1, bool)
        begins[1:-1] = np.diff(inputs) != 1
        begins[self._starts] = True
        edges = np.flatnonzero(begins)
        if inputs.size < LEAST_RUN * (edges.size - 1):
            return None
        return np.searchsorted(edges, self._starts), inputs[edges[:-1]], edges


class _ObservedSparse(Observed):
    """Only the outputs that were observed are read, once."""

    def __init__(
        self,
        channel: SparseChannel,
        counts: ArrayLike,
        step: Callable[..., float],
        stored: tuple[np.ndarray, ...],
        exponents: np.ndarray,
    ) -> None:
        super().__init__(channel, counts)
        self._step, self._stored = step, stored
        self._listed = np.flatnonzero(self.counts)
        self._weighed = self.counts[self._listed]
        self._offset = math.log(2) * float(self.counts @ exponents)

    def gradient(self, p: Any) -> tuple[np.ndarray, float]:
        p = self._vector(p)
        out, d = np.empty(self._size), np.empty(self._listed.size)
        return out, self._step(*self._stored, self._listed, self._weighed, p, d, out) - self._offset
