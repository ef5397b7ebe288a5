"""Channels made of channels: side by side, and one after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastdp.channels.base import Channel
from fastdp.channels.metrics import Pairs, Witness
from fastdp.errors import ParameterError


class ProductChannel(Channel):
    """Several attributes at once, each through its own channel; products in O(N) times the sum of theirs.

    Inputs and outputs are combinations, numbered with the last attribute first to change: (a, b) is a * k + b, with k
    values of the second.

    Parameters
    ----------
    channels
        The channel of each coordinate.

    >>> from fastdp.channels import KRRChannel
    >>> pair = ProductChannel(KRRChannel(2, 0.75, 0.25), KRRChannel(3, 0.5, 0.25))
    >>> pair.shape, round(pair.epsilon(), 6)
    ((6, 6), 1.791759)
    """

    def __init__(self, *channels: Channel) -> None:
        if not channels or not all(isinstance(channel, Channel) for channel in channels):
            raise ParameterError("ProductChannel: give at least one channel, and nothing else")
        self.channels = channels
        self._inputs, self._outputs = zip(*(channel.shape for channel in channels), strict=True)

    @property
    def shape(self) -> tuple[int, int]:
        return math.prod(self._inputs), math.prod(self._outputs)

    def row(self, x: int) -> np.ndarray:
        self._check(x)
        out = np.ones(1)
        for channel, place in zip(self.channels, np.unravel_index(x, self._inputs), strict=True):
            out = np.multiply.outer(out, channel.row(int(place))).reshape(-1)
        return out

    def dense(self) -> np.ndarray:
        out = np.ones((1, 1))
        for channel in self.channels:
            out = np.kron(out, channel.dense())
        return out

    def _select(self, inputs: np.ndarray, outputs: np.ndarray) -> np.ndarray:
        part = np.ones((inputs.size, outputs.size))
        places = np.unravel_index(inputs, self._inputs), np.unravel_index(outputs, self._outputs)
        for channel, x, y in zip(self.channels, *places, strict=True):
            (some, x_back), (few, y_back) = np.unique(x, return_inverse=True), np.unique(y, return_inverse=True)
            part *= channel.select(some, few)[np.ix_(x_back, y_back)]
        return part

    def _forward(self, p: np.ndarray) -> np.ndarray:
        outputs: np.ndarray = self._forward_all(p[None])[0]
        return outputs

    def _backward(self, w: np.ndarray) -> np.ndarray:
        expected: np.ndarray = self._backward_all(w[None])[0]
        return expected

    def _forward_all(self, rows: np.ndarray) -> np.ndarray:
        return _apply_each(rows, self._inputs, [channel.forward for channel in self.channels])

    def _backward_all(self, rows: np.ndarray) -> np.ndarray:
        return _apply_each(rows, self._outputs, [channel.backward for channel in self.channels])

    def _epsilon(self, pairs: Pairs) -> tuple[float, Witness]:
        """The sum over the attributes: the worst of each can come together."""
        if pairs is not None or self.shape[0] < 2:
            return super()._epsilon(pairs)
        found = [channel.epsilon(witness=True) for channel in self.channels]
        places = [
            where or (0, 0, int(channel.row(0).argmax()))
            for channel, (_, where) in zip(self.channels, found, strict=True)
        ]
        x, other, y = zip(*places, strict=True)
        return sum(worst for worst, _ in found), (
            int(np.ravel_multi_index(x, self._inputs)),
            int(np.ravel_multi_index(other, self._inputs)),
            int(np.ravel_multi_index(y, self._outputs)),
        )


def _apply_each(rows: np.ndarray, sizes: Sequence[int], products: Sequence[Callable[..., Any]]) -> np.ndarray:
    """Each product along its own axis."""
    values = rows.reshape(len(rows), *sizes)
    for axis, product in enumerate(products, start=1):
        turned = values.swapaxes(axis, -1)
        flat = product(np.ascontiguousarray(turned).reshape(-1, turned.shape[-1]))
        values = flat.reshape(*turned.shape[:-1], flat.shape[-1]).swapaxes(axis, -1)
    return np.ascontiguousarray(values).reshape(len(rows), math.prod(values.shape[1:]))
