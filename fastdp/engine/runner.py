"""Run a law over a column: slots, blocks, threads, working memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any, Protocol

import numpy as np

from fastdp.columns.numeric import NumericColumn, read_block
from fastdp.columns.pieces import Piece
from fastdp.columns.reports import Buffer, Parts, ReportType
from fastdp.kernels.local.permanent import make_permanent_scratch
from fastdp.kernels.memory import empty_aligned
from fastdp.kernels.stream.bits import make_bit_scratch
from fastdp.kernels.stream.words import make_scratch
from fastdp.laws.law import Law
from fastdp.random.rng import Rng
from fastdp.threads import BLOCK, for_each_block
from fastdp.typing import Column


class Placement(Protocol):
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
_content = attrgetter("content")


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
    rooms = _run_blocks(owner, column, rng, block, column.room)
    return column.rebuild(list(map(_content, rooms)))


def run_reports(
    owner: str,
    values: Column,
    column: NumericColumn,
    rng: Rng,
    reports: ReportType,
    block: ReportBlock,
    *,
    slots: int = 1,
) -> Any:
    """One report per value of the column that was read from ``values``; each report takes ``slots`` slots."""
    like, rewrap = column.source or (values, None)

    def room(number: int) -> Buffer:
        return reports.allocate(column.pieces[number].size, like)

    wrapped = reports.wrap(_run_blocks(owner, column, rng, block, room, slots), like)
    return wrapped if rewrap is None else rewrap(wrapped)


def _run_blocks(
    owner: str, column: NumericColumn, rng: Rng, block: Any, room_of: Callable[[int], Any], slots: int = 1
) -> list[Any]:
    """Call ``block`` for all blocks of all pieces; what it wrote to the room of each piece."""
    key, start_slot = rng.reserve(column.size * slots)
    dtype = column.result_dtype if column.read_dtype is None else column.read_dtype
    rooms: list[Any] = []
    offset = 0
    for number, piece in enumerate(column.pieces):
        room, size = room_of(number), piece.size
        rooms.append(room)

        def work(start: int, stop: int, piece: np.ndarray | Piece = piece, room: Any = room, at: int = offset) -> None:
            values = read_block(owner, piece, start, stop, dtype)
            first = at + start
            memory = _idle.memories.pop() if _idle.memories else _Memory()
            try:
                part = room.take(start, stop)
                block(key, start_slot + np.uint64(first * slots), first, values, memory, part)
                room.put(start, stop, part)
            finally:
                _idle.memories.append(memory)

        for_each_block(size, work)
        offset += size
    return rooms


def add_noise(
    owner: str, column: NumericColumn, rng: Rng, law: Law, placement: Placement, *, needs_steps: bool = False
) -> Any:
    """The column with noise of a law, added on a grid; ``needs_steps`` for laws that depend on the values."""
    fill = law.sampler()

    def block(key: Any, slot: Any, first: int, values: np.ndarray, memory: _Memory, result: np.ndarray) -> None:
        noise = memory.noise[: values.size]
        fill(key, slot, first, placement.steps(values) if needs_steps else None, memory.scratch, noise)
        placement.add(values, noise, result)

    return run(owner, column, rng, block)
