"""SHA-256 of a file while it is written."""

from __future__ import annotations

import hashlib
import io
from typing import IO, Any

PIECE = 1 << 20
"""Bytes that are read at once."""


class HashedFile(io.RawIOBase):
    """A file that is written from its start to its end, with the digest of what went through.

    ``buffered`` takes small pieces; whoever opened the file closes it.
    """

    def __init__(self, file: IO[bytes] | Any) -> None:
        super().__init__()
        self._file, self._hash, self._size = file, hashlib.sha256(), 0
        self.buffered = io.BufferedWriter(self, PIECE)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._hash.update(view)
        self._size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        """To the file itself, unless it is closed already."""
        if not self._file.closed:
            self._file.flush()

    def digest(self) -> dict[str, Any]:
        """Size and digest of all that was written."""
        self.buffered.flush()
        return {"bytes": self._size, "sha256": self._hash.hexdigest()}


def digest_of(file: IO[bytes]) -> dict[str, Any]:
    """Size and digest of a file that is read from here to its end."""
    found, size = hashlib.sha256(), 0
    while piece := file.read(PIECE):
        found.update(piece)
        size += len(piece)
    return {"bytes": size, "sha256": found.hexdigest()}
