"""Channels made of channels: one after the other."""

from __future__ import annotations

import numpy as np

from fastdp.channels.base import Channel
from fastdp.errors import ParameterError


class CascadeChannel(Channel):
    """The output of ``second`` on the output of ``first``; products in the time of both."""

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
