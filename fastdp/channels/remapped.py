"""A channel whose outputs are replaced by others: post-processing by a table."""

from __future__ import annotations

import math

import numpy as np

from fastdp.channels.base import SMALL, Channel


class RemappedChannel(Channel):
    """Output y of ``channel`` becomes ``table[y]``, one of ``size`` outputs; products in the time of the channel's."""

    def __init__(self, channel: Channel, table: np.ndarray, size: int) -> None:
        self._channel, self._table, self._size = channel, table.astype(np.intp), size

    @property
    def shape(self) -> tuple[int, int]:
        return self._channel.shape[0], self._size

    def row(self, x: int) -> np.ndarray:
        return self._gather(self._channel.row(x))

    def dense(self) -> np.ndarray:
        return self._add_up(self._channel.dense())

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        wanted = np.flatnonzero(np.isin(self._table, outputs))
        part = np.zeros((inputs.size, self._size))
        np.add.at(part.T, self._table[wanted], self._channel.select(inputs, wanted).T)
        return part[:, outputs]

    def _gather(self, row: np.ndarray) -> np.ndarray:
        return np.bincount(self._table, row, self._size)

    def _add_up(self, rows: np.ndarray) -> np.ndarray:
        return np.array([self._gather(row) for row in rows]).reshape(len(rows), self._size)

    def _forward(self, p: np.ndarray) -> np.ndarray:
        return self._gather(self._channel.forward(p))

    def _forward_all(self, rows: np.ndarray) -> np.ndarray:
        return self._add_up(self._channel.forward(rows))

    def _backward(self, w: np.ndarray) -> np.ndarray:
        return self._channel.backward(w[..., self._table])

    _backward_all = _backward


def remapped(channel: Channel, table: np.ndarray, size: int) -> Channel:
    """The channel with output y replaced by ``table[y]``; written out where it is small."""
    result = RemappedChannel(channel, table, size)
    return Channel.from_matrix(result.dense()) if math.prod(result.shape) <= SMALL else result
