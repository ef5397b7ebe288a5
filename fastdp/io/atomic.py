"""Files that appear whole or not at all, alone or together.

Each is written under another name in the same folder, for its owner's eyes only, then flushed to the disk, renamed, and
the folder flushed too. Whatever interrupts this leaves nothing under the final name but what was there before.
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

    ``commit`` puts it there and ``settle`` leaves it there; until then ``discard`` removes every trace, and puts back
    the file that it replaced.
    """

    def __init__(self, path: Path, *, force: bool, owner: str) -> None:
        check_free(path, force=force, owner=owner)
        self._path, self._force, self._owner = path, force, owner
        self._settled = False
        hidden = f".{path.name[:100]}.{secrets.token_hex(8)}"
        self._partial, self._old = path.parent / f"{hidden}.partial", path.parent / f"{hidden}.replaced"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        self.file: IO[bytes] = os.fdopen(os.open(self._partial, flags, 0o600), "wb")
        self._identity = identify(os.fstat(self.file.fileno()))

    def flush(self) -> None:
        """Everything written so far is on the disk, or an OSError is raised."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.file.close()

    def set_aside(self) -> None:
        """Take away the file that will be replaced; ``discard`` puts it back."""
        if self._force:
            with contextlib.suppress(FileNotFoundError):
                self._path.rename(self._old)

    def commit(self) -> None:
        """Give the flushed file its final name."""
        if self._force:
            self._keep_old()
            self._partial.replace(self._path)
        else:
            self._link()
        flush_folder(self._path.parent)

    def settle(self) -> None:
        """Nothing can go wrong any more: the file stays, and the one that it replaced goes."""
        self._settled = True
        with contextlib.suppress(OSError):
            self._old.unlink(missing_ok=True)

    def _keep_old(self) -> None:
        """A second name for the file that will be replaced, so that at no time there is none under the final name."""
        if os.path.lexists(self._old):
            return
        try:
            os.link(self._path, self._old, follow_symlinks=False)
        except FileNotFoundError:
            pass
        except (OSError, NotImplementedError):  # a file system without links
            self.set_aside()

    def _link(self) -> None:
        """Rename, but never over a file that came in the meantime."""
        try:
            os.link(self._partial, self._path)
        except FileExistsError:
            raise exists(self._path, self._owner) from None
        except OSError:  # a file system without links
            check_free(self._path, force=False, owner=self._owner)
            self._partial.replace(self._path)
        else:
            self._partial.unlink()

    def discard(self) -> None:
        """Remove what was written and put back what it replaced; nothing to do once it is settled."""
        with contextlib.suppress(OSError):
            self.file.close()
        if self._settled:
            return
        if os.path.lexists(self._old):
            self._old.replace(self._path)
            self._old.unlink(missing_ok=True)  # two names of one file: a rename leaves both
        elif is_at(self._path, self._identity):  # at whatever point an interrupt came
            self._path.unlink()
        self._partial.unlink(missing_ok=True)
        self._settled = True


def identify(found: os.stat_result) -> tuple[int, int]:
    """What tells a file or folder from any other, whatever its name."""
    return found.st_dev, found.st_ino


def is_at(path: Path, identity: tuple[int, int] | None) -> bool:
    """Whether this very file or folder lies there."""
    try:
        return identify(path.lstat()) == identity
    except OSError:
        return False


class AtomicFiles:
    """Files that appear together or not at all: if one cannot be put in place, those that they replace come back.

    The first is the release, the others speak of it. A crash that nothing can undo leaves it without them, never beside
    those of the release before.
    """

    def __init__(self, *, force: bool, owner: str) -> None:
        self._force, self._owner = force, owner
        self._files: list[AtomicFile] = []
        self._complete = False

    def open(self, path: Path) -> IO[bytes]:
        """A file to be written, which will be at ``path``."""
        self._files.append(AtomicFile(path, force=self._force, owner=self._owner))
        return self._files[-1].file

    def commit(self) -> None:
        """Flush all, then put all in place."""
        for file in self._files:
            file.flush()
        for file in self._files[1:]:
            file.set_aside()
        for file in self._files:
            file.commit()
        self._complete = True
        for file in self._files:
            file.settle()

    def discard(self) -> None:
        """Remove every trace, and put back what was replaced; nothing to do once all are in place."""
        with contextlib.ExitStack() as all_of_them:
            for file in self._files:
                all_of_them.callback(file.settle if self._complete else file.discard)


def check_free(path: Path, *, force: bool, owner: str) -> None:
    """Refuse a path without a folder, or one that is taken, unless it is a file that may be replaced."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "the output's folder does not exist", str(path.parent))
    if path.is_dir():
        raise OutputExistsError(f"{owner}: output {str(path)!r} is a folder; name a file")
    if path.exists() and not path.is_file():
        raise OutputExistsError(f"{owner}: output {str(path)!r} is a device or a pipe; name a file, or use -")
    if not force and os.path.lexists(path):
        raise exists(path, owner)


def check_apart(path: Path, given: Path | None, *, owner: str, what: str = "input") -> None:
    """Refuse an output that is the input, the plan or whatever else was ``given``, or lies in it."""
    if given is not None and path.exists() and path.samefile(given):
        raise OutputExistsError(f"{owner}: the output is the {what}; in place is refused, choose another name")
    if given is not None and given.is_dir() and path.resolve().is_relative_to(given.resolve()):
        raise OutputExistsError(
            f"{owner}: the output lies inside the {what}'s folder, where it would be input the next time; "
            "choose another place"
        )


def exists(path: Path, owner: str) -> OutputExistsError:
    return OutputExistsError(
        f"{owner}: output {str(path)!r} exists; choose another name, or replace it (force=True, --force)"
    )


def flush_folder(folder: Path) -> None:
    """The folder's own entries are on the disk, where the system can promise that."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
