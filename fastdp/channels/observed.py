"""A channel with what was observed of its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.kernels.products.likelihood import step_weights

if TYPE_CHECKING:
    from fastdp.channels.base import Channel


class Observed:
    """A channel and the counts of its outputs; immutable. What depends on the counts alone is worked out once.

    Counts are one vector, or many as the rows of a matrix; then gradients take as many rows, all in one product.
    """

    def __init__(self, channel: Channel, counts: ArrayLike) -> None:
        self.channel = channel
        self.counts = read_counts(counts, channel.shape[1])
        self.total: Any = self.counts.sum(axis=-1) if self.counts.ndim > 1 else float(self.counts.sum())
        """The number of observations; of each row, if there are many."""
        self._size = (channel.shape[0],)
        # shares and not counts are divided by d: 1e12 / 1e-300 would overflow
        self._scale = np.where(self.total == 0, 1.0, self.total)[..., None]
        self._shares = self.counts / self._scale

    def gradient(self, p: ArrayLike) -> tuple[np.ndarray, Any]:
        """The derivative of the log-likelihood by each entry of ``p``, and the log-likelihood.

        As ``Channel.gradient`` says; for many rows the second is a vector.

        Parameters
        ----------
        p
            A distribution of the inputs, or rows of them.
        """
        d = self.channel.forward(p)
        if d.shape != self.counts.shape:
            raise ParameterError(f"gradient: p must have as many rows as the counts, got shape {np.shape(p)}")
        if d.ndim == 1:
            mean = step_weights(self._shares, 0.0, d)
        else:
            mean = np.array([step_weights(shares, 0.0, row) for shares, row in zip(self._shares, d, strict=True)])
        return self.channel.backward(d) * self._scale, mean * self.total

    def iterate(self, p: ArrayLike, steps: int) -> np.ndarray:
        """So many steps of EM from the distribution ``p``: p <- p G, which keeps its sum and raises the likelihood."""
        point = self._vector(p)
        with np.errstate(all="ignore"):
            for _ in range(steps):
                point = point * self.gradient(point)[0]
                point /= point.sum()
        return point

    def _vector(self, p: ArrayLike) -> np.ndarray:
        """One distribution over the inputs, as kernels read it."""
        vector = np.ascontiguousarray(p, np.float64)
        if vector.shape != self._size:
            raise ParameterError(f"gradient: p must have {self._size[0]} entries, got shape {vector.shape}")
        return vector


def read_counts(value: ArrayLike, size: int) -> np.ndarray:
    """Finite counts >= 0, one for each output; a copy."""
    counts = np.array(validation.floats("Channel", "counts", value), order="C")
    if counts.ndim not in {1, 2} or counts.shape[-1] != size:
        raise ParameterError(f"Channel: counts must have {size} entries, or rows of {size}, got shape {counts.shape}")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise ParameterError("Channel: counts must be finite numbers >= 0")
    counts.setflags(write=False)
    return counts


def read_vectors(name: str, value: ArrayLike, size: int) -> np.ndarray:
    """One vector of ``size`` numbers, or a matrix of such rows."""
    vectors = np.ascontiguousarray(validation.floats("Channel", name, value))
    if vectors.ndim not in {1, 2} or vectors.shape[-1] != size:
        raise ParameterError(f"Channel: {name} must have {size} entries, or rows of {size}, got shape {vectors.shape}")
    return vectors


def read_selection(name: str, value: ArrayLike, size: int) -> np.ndarray:
    """Numbers below ``size``, from numbers or from a mask."""
    places = np.asarray(value)
    if places.dtype == bool and places.shape == (size,):
        return np.flatnonzero(places)
    if not places.size:
        return np.zeros(0, np.int64)
    if places.ndim != 1 or places.dtype.kind not in "iu" or places.min() < 0 or places.max() >= size:
        raise ParameterError(f"Channel: {name} must be numbers from 0 to {size - 1}, or a mask of {size}")
    return places.astype(np.int64)
