"""Bytes that come once and in order: standard input, pipes, and files that are read from front to back."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from fastdp.errors import ParameterError

PIECE = 1 << 26
"""Bytes asked for at once, so that a length that is a lie is found out before memory is taken for it."""
PATIENCE = 100
"""Milliseconds after which a read that waits looks whether it was cancelled."""
LEAVING = 0.05
"""Seconds in which a thread that was refused more bytes gets out of Python."""
TAIL = 8
"""Last bytes that are remembered: a stream's end marker."""


class Cancelled(Exception):  # noqa: N818
    """Nobody wants the rest."""


class ByteStream:
    """What ``take(n, self)`` gives, at most n bytes at a time and none at the end; the front can be looked at first.

    It is what pyarrow wants of a file: ``read``, ``closed``, ``close``.
    """

    def __init__(
        self,
        take: Callable[[int, ByteStream], bytes],
        name: str,
        *,
        size: int | None = None,
        close: Callable[[], Any] = lambda: None,
    ) -> None:
        self._take, self.name, self._size, self._close = take, name, size, close
        self._taken = 0
        self._front = b""
        self._cancelled = self._ended = self.closed = False
        self._reads = 0
        self._reading = threading.Lock()
        self.tail = b""

    @classmethod
    def of_path(cls, path: Path) -> ByteStream:
        """A file or pipe by its name."""
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        return cls._of_handle(handle, repr(str(path)), owned=True)

    @classmethod
    def standard_input(cls) -> ByteStream:
        """Standard input, without a lock on it that a thread could hold for ever."""
        if sys.stdin is None:
            raise OSError(errno.EBADF, "standard input is closed")
        try:
            handle = sys.stdin.fileno()
        except (OSError, ValueError, AttributeError):  # replaced by an object in memory
            return cls(lambda count, _: sys.stdin.buffer.read(count), "standard input")
        return cls._of_handle(handle, "standard input", owned=False)

    @classmethod
    def _of_handle(cls, handle: int, name: str, *, owned: bool) -> ByteStream:
        poller = select.poll() if hasattr(select, "poll") else None
        if poller is not None:
            poller.register(handle, select.POLLIN)

        def take(count: int, stream: ByteStream) -> bytes:
            while poller is not None and not poller.poll(PATIENCE):
                stream.check()
            return os.read(handle, count)

        found = os.fstat(handle)
        size = found.st_size if stat.S_ISREG(found.st_mode) else None
        return cls(take, name, size=size, close=partial(os.close, handle) if owned else (lambda: None))

    @property
    def part(self) -> float | None:
        """How much of the file has been read; None for a pipe."""
        return min(1.0, self._taken / self._size) if self._size else None

    def peek(self, count: int) -> bytes:
        """The next ``count`` bytes, fewer only at the end; they are read again later."""
        start = self.read(count)
        self.give_back(start)
        return start

    def read(self, count: int = -1) -> bytes:
        """The next ``count`` bytes, fewer only at the end."""
        if count < 0:
            raise ValueError("a stream has no length")
        with self._reading:
            self._reads += 1
            return self._read(count)

    def _read(self, count: int) -> bytes:
        pieces, missing = [self._front[:count]], count - len(self._front[:count])
        self._front = self._front[count:]
        while missing:
            self.check()
            piece = self._take(min(missing, PIECE), self)
            if not piece:
                self._ended = True
                break
            pieces.append(piece)
            missing -= len(piece)
            self._taken += len(piece)
        result = b"".join(pieces) if len(pieces) > 1 else pieces[0]
        if result:
            self.tail = (self.tail + result[-TAIL:])[-TAIL:]
        return result

    def give_back(self, rest: bytes) -> None:
        """Bytes that are to be read again."""
        self._front = rest + self._front

    def cancel(self) -> None:
        """Let no read wait any longer, on any thread."""
        self._cancelled = True

    def leave(self) -> None:
        """Cancel, and wait until no other thread is in a read any more, or on its way out of one.

        A thread that is not Python's own, as Arrow's are, must not be there when Python ends: the process would abort.
        """
        self.cancel()
        before = None
        while not self._ended and before != self._reads:
            with self._reading:
                before = self._reads
            time.sleep(LEAVING)

    def check(self) -> None:
        """Raise Cancelled if the rest is not wanted."""
        if self._cancelled:
            raise Cancelled

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._close()

    def __del__(self) -> None:
        self.close()


class ConvertedStream(ByteStream):
    """Another stream's bytes, converted on the way: ``convert()`` gives the next of them, and none at the end."""

    def __init__(self, convert: Callable[[], bytes], inner: ByteStream) -> None:
        self._inner, self._waiting = inner, b""

        def take(count: int, _stream: ByteStream) -> bytes:
            piece = self._waiting or convert()
            self._waiting = piece[count:]
            return piece[:count]

        super().__init__(take, inner.name, close=inner.close)

    @property
    def part(self) -> float | None:
        return self._inner.part

    def cancel(self) -> None:
        self._inner.cancel()
        super().cancel()


class StandardOutput:
    """Standard output as a file that nobody closes."""

    closed = False

    def __init__(self) -> None:
        self._file: BinaryIO = sys.stdout.buffer
        self._place = 0

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._place += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.flush()


def standard_output(owner: str, kind: str) -> StandardOutput:
    """Standard output, unless it is closed, or a terminal and the data are no text."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "standard output is closed")
    if kind != "csv" and sys.stdout.isatty():
        raise ParameterError(
            f"{owner}: standard output is a terminal, which cannot show Arrow; name a file, use a pipe, or choose csv"
        )
    return StandardOutput()
