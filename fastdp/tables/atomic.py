"""A file that appears whole or not at all.

It is written under another name in the same folder, for its owner's eyes only, then flushed to the disk, renamed, and
the folder flushed too. Whatever interrupts this leaves nothing under the final name.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from pathlib import Path
from typing import IO

from fastdp.errors import OutputExistsError


class AtomicFile:
    """A file on its way to ``path``.

    ``commit`` puts it there and ``settle`` leaves it there; until then ``discard`` removes every trace, so that several
    files come together or not at all.
    """

    def __init__(self, path: Path, *, force: bool, owner: str = "sanitize") -> None:
        check_free(path, force=force, owner=owner)
        self._path, self._force, self._owner = path, force, owner
        self._placed = False
        self._partial = path.parent / f".{path.name[:100]}.{secrets.token_hex(8)}.partial"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        self.file: IO[bytes] = os.fdopen(os.open(self._partial, flags, 0o600), "wb")

    def flush(self) -> None:
        """Everything written so far is on the disk, or an OSError is raised."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def commit(self) -> None:
        """Give the flushed file its final name."""
        if self._force:
            self._partial.replace(self._path)
            self._placed = True
        else:
            self._link()
        flush_folder(self._path.parent)

    def settle(self) -> None:
        """Nothing can go wrong any more: the file stays."""
        self._placed = False

    def _link(self) -> None:
        """Rename, but never over a file that came in the meantime."""
        try:
            os.link(self._partial, self._path)
        except FileExistsError:
            raise exists(self._path, self._owner) from None
        except OSError:  # a file system without links
            check_free(self._path, force=False, owner=self._owner)
            self._partial.replace(self._path)
            self._placed = True
        else:
            self._placed = True
            self._partial.unlink()

    def discard(self) -> None:
        """Remove what was written; nothing to do once it is settled."""
        with contextlib.suppress(OSError):
            self.file.close()
        self._partial.unlink(missing_ok=True)
        if self._placed:
            self._path.unlink(missing_ok=True)
            self._placed = False


def check_free(path: Path, *, force: bool, owner: str = "sanitize") -> None:
    """Refuse a path without a folder, or one that is taken, unless it is a file that may be replaced."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the output's folder does not exist", str(path.parent))
    if path.is_dir():
        raise OutputExistsError(f"{owner}: output {str(path)!r} is a folder; name a file")
    if path.exists() and not path.is_file():
        raise OutputExistsError(f"{owner}: output {str(path)!r} is a device or a pipe; name a file, or use -")
    if not force and os.path.lexists(path):
        raise exists(path, owner)


def check_apart(path: Path, given: Path | None, *, owner: str = "sanitize") -> None:
    """Refuse an output that is the input or lies in it."""
    if given is not None and path.exists() and path.samefile(given):
        raise OutputExistsError(f"{owner}: the output is the input; in place is refused, choose another name")
    if given is not None and given.is_dir() and path.resolve().is_relative_to(given.resolve()):
        raise OutputExistsError(
            f"{owner}: the output lies inside the input's folder, where it would be input the next time; "
            "choose another place"
        )


def exists(path: Path, owner: str) -> OutputExistsError:
    return OutputExistsError(f"{owner}: output {str(path)!r} exists; choose another name, or force it to be replaced")


def flush_folder(folder: Path) -> None:
    """The folder's own entries are on the disk, where the system can promise that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
