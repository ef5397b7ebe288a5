"""SHA-256 of a file while it is written."""

from __future__ import annotations

import hashlib
from typing import IO, Any

PIECE = 1 << 20
"""Bytes that are read at once."""


class HashedFile:
    """A file that is written from its start to its end, with the digest of what went through."""

    def __init__(self, file: IO[bytes] | Any) -> None:
        self._file, self._hash, self._size = file, hashlib.sha256(), 0

    def write(self, data: bytes | memoryview) -> int:
        view = memoryview(data).cast("B")
        self._file.write(view)
        self._hash.update(view)
        self._size += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._size

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """Leave the file open: whoever opened it closes it."""
        self.flush()

    @property
    def closed(self) -> bool:
        return bool(self._file.closed)

    @property
    def digest(self) -> dict[str, Any]:
        """Size and digest of all that was written."""
        return {"bytes": self._size, "sha256": self._hash.hexdigest()}


def digest_of(file: IO[bytes]) -> dict[str, Any]:
    """Size and digest of a file that is read from here to its end."""
    found, size = hashlib.sha256(), 0
    while piece := file.read(PIECE):
        found.update(piece)
        size += len(piece)
    return {"bytes": size, "sha256": found.hexdigest()}
