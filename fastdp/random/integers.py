"""Uniform integers of any size, exactly, from the private stream of one slot."""

from __future__ import annotations

import numpy as np

from fastdp.random.rng import Slots

_BLOCKS = 16
_BYTES = 64 * _BLOCKS


class Integers:
    """The private stream of the first of ``slots``, read as integers: for the few draws that a kernel has no need of.

    >>> from fastdp.random.rng import Rng
    >>> integers = Integers(Rng.unsafe_seed(1).reserve(1))
    >>> integers.below(10**100) < 10**100
    True
    """

    __slots__ = ("_block", "_key", "_left", "_pool", "_slot")

    def __init__(self, slots: Slots) -> None:
        self._key, self._slot = slots.key, slots.start
        self._block = 0
        self._pool = 0
        self._left = 0

    def bits(self, count: int) -> int:
        """The next ``count`` bits of the stream as an integer."""
        while self._left < count:
            self._pool |= int.from_bytes(self._read(), "little") << self._left
            self._left += 8 * _BYTES
        result = self._pool & ((1 << count) - 1)
        self._pool >>= count
        self._left -= count
        return result

    def below(self, bound: int) -> int:
        """A uniform integer in [0, bound): as many bits as the bound has, redrawn while they are not below it."""
        size = (bound - 1).bit_length()
        while True:
            drawn = self.bits(size)
            if drawn < bound:
                return drawn

    def _read(self) -> bytes:
        """The next sixteen blocks of the private stream, in order."""
        from fastdp.kernels.stream.private import fill_private

        out = np.empty(_BYTES // 4, np.uint32)
        fill_private(self._key, self._slot, self._block, np.empty(16, np.uint64), np.empty(16, np.uint32), out)
        self._block += _BLOCKS
        return np.ascontiguousarray(out.reshape(16, _BLOCKS).T).tobytes()
