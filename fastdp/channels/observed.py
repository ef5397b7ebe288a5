"""A channel with what was observed of its outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import ParameterError

if TYPE_CHECKING:
    from fastdp.channels.base import Channel


class Observed:
    """A channel and the counts of its outputs; immutable. What depends on the counts alone is worked out once.

    Counts are one vector, or many as the rows of a matrix; then gradients take as many rows, all in one product.
    """

    def __init__(self, channel: Channel, counts: Any) -> None:
        self.channel = channel
        self.counts = read_counts(counts, channel.shape[1])
        self.total = self.counts.sum(axis=-1)
        """The number of observations, of each row if there are many."""
        self._size = (channel.shape[0],)

    def gradient(self, p: Any) -> tuple[np.ndarray, Any]:
        """The derivative of the log-likelihood by each entry of ``p``, and the log-likelihood.

        As ``Channel.gradient`` says; for many rows the second is a vector.
        """
        d = self.channel.forward(p)
        if d.shape != self.counts.shape:
            raise ParameterError(f"gradient: p must have as many rows as the counts, got shape {np.shape(p)}")
        seen = self.counts > 0
        possible = seen & (d > 0)
        scale = np.where(self.total > 0, self.total, 1.0)[..., None]  # 1e12 / 1e-300 would overflow, a share does not
        weights = np.divide(self.counts / scale, d, out=np.zeros(d.shape), where=possible)
        logs = np.log(d, out=np.zeros(d.shape), where=possible)
        likelihood = np.where((possible == seen).all(axis=-1), (self.counts * logs).sum(axis=-1), -np.inf)
        return self.channel.backward(weights) * scale, likelihood if d.ndim > 1 else float(likelihood)

    def _vector(self, p: Any) -> np.ndarray:
        """One distribution over the inputs, as kernels read it."""
        vector = np.ascontiguousarray(p, np.float64)
        if vector.shape != self._size:
            raise ParameterError(f"gradient: p must have {self._size[0]} entries, got shape {vector.shape}")
        return vector


def read_counts(value: Any, size: int) -> np.ndarray:
    """Finite counts >= 0, one for each output; a copy."""
    counts = np.array(value, np.float64, order="C")
    if counts.ndim not in {1, 2} or counts.shape[-1] != size:
        raise ParameterError(f"Channel: counts must have {size} entries, or rows of {size}, got shape {counts.shape}")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise ParameterError("Channel: counts must be finite numbers >= 0")
    counts.setflags(write=False)
    return counts
