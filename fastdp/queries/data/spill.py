"""Records that do not fit into memory: an unlinked, private temporary file."""

from __future__ import annotations

import os
import tempfile

import numpy as np

from fastdp.errors import InputCorruptError


class SpillFile:
    """A file without a name that only this process can read, and that is gone when it ends, however it ends."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile(prefix="fastdp-")  # noqa: SIM115 - closed by `close`; unlinked at once
        os.fchmod(self._file.fileno(), 0o600)
        self._size = 0

    def append(self, records: np.ndarray) -> int:
        """Write whole records; the place where they begin."""
        start, view = self._size, memoryview(records).cast("B")  # type: ignore[arg-type]
        done = 0
        while done < len(view):
            done += os.pwrite(self._file.fileno(), view[done : done + (1 << 28)], start + done)
        self._size += done
        return start

    def read(self, start: int, out: np.ndarray) -> None:
        """Fill ``out`` with what was written at ``start``."""
        view = memoryview(out).cast("B")  # type: ignore[arg-type]
        done = 0
        while done < len(view):
            count = os.preadv(self._file.fileno(), [view[done:]], start + done)
            if not count:
                raise InputCorruptError("release: the temporary file ended early; nothing was released")
            done += count

    def close(self) -> None:
        """Give the disk back."""
        self._file.close()
