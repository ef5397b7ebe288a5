"""Run a law over a column: slots, blocks, threads, working memory."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from fastdp.columns.buffers import fresh
from fastdp.columns.numeric import NumericColumn, read_block
from fastdp.kernels.words import make_scratch
from fastdp.noise.sampling import Law
from fastdp.parallel import BLOCK, for_each_block
from fastdp.random.rng import Rng


class Place(Protocol):
    """Where noise is added."""

    def steps(self, values: np.ndarray) -> np.ndarray: ...

    def add(self, values: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None: ...


class _Memory:
    """Working memory of one block: a kernel's scratch and its noise."""

    __slots__ = ("noise", "scratch")

    def __init__(self) -> None:
        self.scratch = make_scratch()
        self.noise = np.empty(BLOCK, np.int64)


class _Idle(threading.local):
    """Working memories of a thread that are not in use.

    A memory is taken out for a block and put back after it: code that interrupts the block on the same thread (a signal
    handler, a finalizer) and draws noise itself must not write over noise that is still to be added.
    """

    def __init__(self) -> None:
        self.memories: list[_Memory] = []


_idle = _Idle()


Block = Callable[[np.ndarray, Any, int, np.ndarray, _Memory, np.ndarray], None]
"""``block(key, slot, first, values, memory, result)`` writes the results of one block of values."""


def run(owner: str, column: NumericColumn, rng: Rng, block: Block) -> Any:
    """The column with every block randomized, in the caller's kind of container; nothing if any block is refused."""
    key, start_slot = rng.reserve(column.size)
    results = []
    offset = 0
    for piece in column.pieces:
        result = fresh(piece.size, column.result_dtype)

        def work(
            start: int, stop: int, piece: np.ndarray = piece, result: np.ndarray = result, at: int = offset
        ) -> None:
            values = read_block(owner, piece, start, stop, column.result_dtype)
            first = at + start
            memory = _idle.memories.pop() if _idle.memories else _Memory()
            try:
                block(key, start_slot + np.uint64(first), first, values, memory, result[start:stop])
            finally:
                _idle.memories.append(memory)

        for_each_block(piece.size, work)
        results.append(result)
        offset += piece.size
    return column.rebuild(results)


def add_noise(owner: str, column: NumericColumn, rng: Rng, law: Law, place: Place, *, needs_steps: bool = False) -> Any:
    """The column with noise of a law, added on a grid; ``needs_steps`` for laws that depend on the values."""
    fill = law.sampler()

    def block(key: Any, slot: Any, first: int, values: np.ndarray, memory: _Memory, result: np.ndarray) -> None:
        noise = memory.noise[: values.size]
        fill(key, slot, first, place.steps(values) if needs_steps else None, memory.scratch, noise)
        place.add(values, noise, result)

    return run(owner, column, rng, block)
