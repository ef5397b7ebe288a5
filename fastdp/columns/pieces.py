"""Columns block by block: pieces that are decoded as they are read, and room for results.

Nothing here takes memory that grows with a column beyond its input and output: what arrow encodes, and labels as codes,
are held for one block at a time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp.columns.arrow import decode
from fastdp.threads import get_threads

if TYPE_CHECKING:
    import pyarrow as pa


class Piece(Protocol):
    """Part of a column that is decoded when it is read."""

    @property
    def size(self) -> int: ...

    def read(self, start: int, stop: int) -> np.ndarray:
        """Values start:stop."""


class Room(Protocol):
    """Where the results of a piece are written, block by block."""

    @property
    def content(self) -> Any:
        """All results, once every block was put."""

    def take(self, start: int, stop: int) -> np.ndarray:
        """Where results start:stop are to be written."""

    def put(self, start: int, stop: int, part: np.ndarray) -> None:
        """Keep what was written there."""


def cut(values: np.ndarray, start: int, stop: int) -> np.ndarray:
    """Values start:stop in C order; a copy only where they do not lie next to each other."""
    if values.ndim == 1:
        return values[start:stop]
    return values.reshape(-1)[start:stop] if values.flags.c_contiguous else values.flat[start:stop]


@dataclass(frozen=True, slots=True)
class ArrowNumbers:
    """Numbers of an arrow array with nulls, runs or a dictionary; ``fill`` stands under nulls."""

    array: pa.Array
    fill: float = 0

    @property
    def size(self) -> int:
        return len(self.array)

    def read(self, start: int, stop: int) -> np.ndarray:
        part = decode(self.array.slice(start, stop - start))
        plain = part.fill_null(0) if part.null_count else part
        numbers: np.ndarray = plain.to_numpy(zero_copy_only=True)
        if not part.null_count or not self.fill or _has_large(numbers):
            return numbers  # large integers are refused by whoever makes them floats
        return np.where(part.is_null().to_numpy(zero_copy_only=False), self.fill, numbers)


def _has_large(numbers: np.ndarray) -> bool:
    """Whether there are integers beyond 2**53, which have no exact float64."""
    return numbers.dtype.kind in "iu" and max(int(numbers.max()), -int(numbers.min())) > 1 << 53


@dataclass(frozen=True, slots=True)
class Windows:
    """A piece whose blocks are expensive to read, such as labels of a large domain: read many rows at once."""

    piece: Piece
    rows: int
    _kept: dict[int, np.ndarray] = field(default_factory=dict)
    _lock: Any = field(default_factory=threading.Lock)

    @property
    def size(self) -> int:
        return self.piece.size

    def read(self, start: int, stop: int) -> np.ndarray:
        numbers = range(start // self.rows, (max(start + 1, stop) - 1) // self.rows + 1)
        parts = [self._window(i)[max(0, start - i * self.rows) : stop - i * self.rows] for i in numbers]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _window(self, number: int) -> np.ndarray:
        """One window; as many are kept as threads walk through the piece."""
        with self._lock:
            if number not in self._kept:
                if len(self._kept) >= get_threads():
                    del self._kept[next(iter(self._kept))]
                start = number * self.rows
                self._kept[number] = self.piece.read(start, min(start + self.rows, self.size))
            return self._kept[number]


@dataclass(frozen=True, slots=True)
class InPlace:
    """Results that are written where they stay."""

    content: np.ndarray

    def take(self, start: int, stop: int) -> np.ndarray:
        return self.content[start:stop]

    def put(self, start: int, stop: int, part: np.ndarray) -> None:
        """Nothing: they were written in place."""


@dataclass(frozen=True, slots=True)
class Copied:
    """Results that are copied into an array whose numbers do not lie next to each other."""

    content: np.ndarray

    def take(self, start: int, stop: int) -> np.ndarray:
        return np.empty(stop - start, self.content.dtype)

    def put(self, start: int, stop: int, part: np.ndarray) -> None:
        self.content[start:stop] = part


@dataclass(frozen=True, slots=True)
class Named:
    """Codes that become their names, one row of ``names`` per code, in an array or a list."""

    names: np.ndarray
    content: Any

    def take(self, start: int, stop: int) -> np.ndarray:
        return np.empty(stop - start, np.int32)

    def put(self, start: int, stop: int, part: np.ndarray) -> None:
        if isinstance(self.content, list):
            self.content[start:stop] = self.names[part].tolist()
        else:  # codes are in the domain: clipping only spares numpy a copy
            np.take(self.names, part, axis=0, out=self.content[start:stop], mode="clip")
