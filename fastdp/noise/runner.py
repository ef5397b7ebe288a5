"""Run a law over a column: slots, blocks, threads, working memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from fastdp.columns.buffers import fresh
from fastdp.columns.numeric import NumericColumn, read_block
from fastdp.columns.reports import Parts, ReportType, Sheet
from fastdp.kernels.bits import make_bit_scratch
from fastdp.kernels.memory import empty_aligned
from fastdp.kernels.permanent import make_permanent_scratch
from fastdp.kernels.words import make_scratch
from fastdp.noise.sampling import Law
from fastdp.parallel import BLOCK, for_each_block
from fastdp.random.rng import Rng


class Place(Protocol):
    """Where noise is added."""

    def steps(self, values: np.ndarray) -> np.ndarray: ...

    def add(self, values: np.ndarray, noise: np.ndarray, out: np.ndarray) -> None: ...


class _Memory:
    """Working memory of one block: the kernels' scratch and noise."""

    __slots__ = ("bits", "noise", "permanent", "scratch")

    def __init__(self) -> None:
        self.scratch = make_scratch()
        self.bits = make_bit_scratch()
        self.permanent = make_permanent_scratch()
        self.noise = empty_aligned(BLOCK, np.int64)


class _Idle(threading.local):
    """Working memories of a thread that are not in use.

    A memory is taken out for a block and put back after it: code that interrupts the block on the same thread (a signal
    handler, a finalizer) and draws noise itself must not write over noise that is still to be added.
    """

    def __init__(self) -> None:
        self.memories: list[_Memory] = []


_idle = _Idle()


@contextmanager
def working_memory() -> Iterator[_Memory]:
    """A memory that belongs to one block until it is done."""
    memory = _idle.memories.pop() if _idle.memories else _Memory()
    try:
        yield memory
    finally:
        _idle.memories.append(memory)


Block = Callable[[np.ndarray, Any, int, np.ndarray, _Memory, np.ndarray], None]
"""``block(key, slot, first, values, memory, result)`` writes the results of one block of values."""
ReportBlock = Callable[[np.ndarray, Any, int, np.ndarray, _Memory, Parts], None]
"""The same for reports; the last argument holds one flat array per field."""


def run(owner: str, column: NumericColumn, rng: Rng, block: Block) -> Any:
    """The column with every block randomized, in the caller's kind of container; nothing if any block is refused."""
    results = []

    def begin(size: int) -> Callable[[int, int], np.ndarray]:
        results.append(fresh(size, column.result_dtype))
        return lambda start, stop: results[-1][start:stop]

    _walk(owner, column, rng, 1, begin, block)
    return column.rebuild(results)


def run_reports(
    owner: str, values: Any, column: NumericColumn, rng: Rng, reports: ReportType, block: ReportBlock, *, slots: int = 1
) -> Any:
    """One report per value of the column that was read from ``values``; each report takes ``slots`` slots."""
    like, rewrap = column.source or (values, None)
    sheets: list[Sheet] = []

    def begin(size: int) -> Callable[[int, int], tuple[int, int]]:
        sheets.append(reports.sheet(size, like))
        return lambda start, stop: (start, stop)

    def write(key: Any, slot: Any, first: int, codes: np.ndarray, memory: _Memory, place: tuple[int, int]) -> None:
        parts = sheets[-1].take(*place)
        block(key, slot, first, codes, memory, parts)
        sheets[-1].put(*place, parts)

    _walk(owner, column, rng, slots, begin, write)
    dressed = reports.dress(sheets, like)
    return dressed if rewrap is None else rewrap(dressed)


def _walk(
    owner: str,
    column: NumericColumn,
    rng: Rng,
    slots: int,
    begin: Callable[[int], Callable[[int, int], Any]],
    block: Callable[[np.ndarray, Any, int, np.ndarray, _Memory, Any], None],
) -> None:
    """Call ``block`` for all blocks of all pieces; ``begin(size)`` makes room for a piece and says where blocks go."""
    key, start_slot = rng.reserve(column.size * slots)
    offset = 0
    for piece in column.pieces:
        place = begin(piece.size)

        def work(start: int, stop: int, piece: np.ndarray = piece, place: Any = place, at: int = offset) -> None:
            values = read_block(owner, piece, start, stop, column.result_dtype)
            first = at + start
            with working_memory() as memory:
                block(key, start_slot + np.uint64(first * slots), first, values, memory, place(start, stop))

        for_each_block(piece.size, work)
        offset += piece.size


def add_noise(owner: str, column: NumericColumn, rng: Rng, law: Law, place: Place, *, needs_steps: bool = False) -> Any:
    """The column with noise of a law, added on a grid; ``needs_steps`` for laws that depend on the values."""
    fill = law.sampler()

    def block(key: Any, slot: Any, first: int, values: np.ndarray, memory: _Memory, result: np.ndarray) -> None:
        noise = memory.noise[: values.size]
        fill(key, slot, first, place.steps(values) if needs_steps else None, memory.scratch, noise)
        place.add(values, noise, result)

    return run(owner, column, rng, block)
