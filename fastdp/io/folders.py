"""Folders of Parquet files, in and out.

Files are read in the order of their names, as if they were one. What is written are parts of a fixed number of rows,
numbered: neither the names nor the sizes of the input files are revealed.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from fastdp.errors import OutputExistsError, ParameterError, SchemaError
from fastdp.io.atomic import AtomicFile, check_free, flush_folder, identify, is_at
from fastdp.io.digests import HashedFile
from fastdp.io.parquet import ParquetSource, abandon_parquet, open_parquet
from fastdp.io.sinks import Target, writable
from fastdp.io.stamps import METADATA_KEY, Stamp

if TYPE_CHECKING:
    import pyarrow as pa

PART_ROWS = 10_000_000
"""Rows of a part."""


class FolderSource:
    """All Parquet files below a folder, which must have the same columns; hidden files are left out."""

    def __init__(self, owner: str, path: Path) -> None:
        self._owner = owner
        self.path: Path | None = path
        names = _parquet_files(owner, path)
        first = ParquetSource(owner, names[0])
        self.schema: pa.Schema = first.schema
        self.rows: int | None = first.rows
        self.places = list(first.places)
        for number, name in enumerate(names[1:], 1):
            other = ParquetSource(owner, name)
            if not other.schema.equals(first.schema, check_metadata=False):
                raise SchemaError(
                    f"{owner}: {str(name)!r} has other columns or types than {str(names[0])!r}; "
                    "a folder must hold one table"
                )
            self.rows += other.rows
            self.places += [((number, group), rows) for (_, group), rows in other.places]
        self._names = names

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        for name in self._names:
            yield from ParquetSource(self._owner, name).batches(columns, rows, encoded)


def _parquet_files(owner: str, folder: Path) -> list[Path]:
    """In the order of their names, folder by folder."""
    found: list[Path] = []
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not _is_hidden(name))
        for name in folders:
            if "=" in name:
                raise SchemaError(
                    f"{owner}: the folders are named after values of {name.partition('=')[0]!r}, which no file holds "
                    "and a release must not show; write the table as files with all their columns"
                )
        for name in sorted(files):
            if _is_hidden(name):
                continue
            if not name.lower().endswith((".parquet", ".pq")):
                raise SchemaError(
                    f"{owner}: {str(Path(place) / name)!r} is no Parquet file by its ending; move it out of the folder"
                )
            found.append(Path(place) / name)
    if not found:
        raise ParameterError(f"{owner}: folder {str(folder)!r} holds no Parquet files")
    return found


def _is_hidden(name: str) -> bool:
    return name.startswith((".", "_"))


def check_folder_free(owner: str, path: Path) -> None:
    """Refuse a path that is taken: what is in a folder is never deleted, not even by force."""
    if path.is_dir():
        raise OutputExistsError(f"{owner}: output folder {str(path)!r} exists; choose another name, or remove it first")
    check_free(path, force=False, owner=owner)


class FolderSink:
    """A new folder of Parquet files, which appears when all of them are complete, then its receipt beside it."""

    keeps_buffers = False

    def __init__(self, target: Target, schema: pa.Schema, plain: set[str], receipt: Stamp) -> None:
        assert target.path is not None
        check_folder_free(target.owner, target.path)
        self._owner = target.owner
        self._path, self._schema, self._plain, self._about = target.path, schema, plain, receipt
        self._partial = target.path.parent / f".{target.path.name[:100]}.{secrets.token_hex(8)}.partial"
        self._file: IO[bytes] | None = None
        self._writer: Any = None
        self._parts = self._rows = 0
        self._digests: dict[str, Any] = {}
        self._settled = False
        self._identity: tuple[int, int] | None = None
        self._receipt: AtomicFile | None = None
        try:
            self._partial.mkdir(mode=0o700)
            self._identity = identify(self._partial.stat())
            if target.receipt is not None:
                self._receipt = AtomicFile(target.receipt, force=target.force, owner=target.owner)
            self._begin()
        except BaseException:
            self.discard()
            raise

    def _begin(self) -> None:
        name = self._partial / self._part_name
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
        self._file = os.fdopen(os.open(name, flags, 0o600), "wb")
        self._hashed = HashedFile(self._file)
        with writable(self._owner):
            self._writer = open_parquet(self._hashed.buffered, self._schema, self._plain)
        self._rows = 0

    @property
    def _part_name(self) -> str:
        return f"part-{self._parts:05d}.parquet"

    def _end(self) -> None:
        assert self._file is not None
        self._writer.add_key_value_metadata({METADATA_KEY: self._about.with_rows(self._rows).to_json()})
        self._writer.close()
        digest = self._hashed.digest()
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._digests[self._part_name] = digest
        self._parts += 1

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        while batch.num_rows:
            if self._rows == PART_ROWS:
                self._end()
                self._begin()
            part = batch.slice(0, PART_ROWS - self._rows)
            with writable(self._owner):
                self._writer.write(part)
            self._rows += part.num_rows
            batch = batch.slice(part.num_rows)

    def finish(self, receipt: Stamp) -> Stamp:
        self._end()
        flush_folder(self._partial)
        complete = receipt.with_output({"files": self._digests})
        if self._receipt is not None:
            self._receipt.file.write(complete.to_json().encode())
            self._receipt.flush()
        check_folder_free(self._owner, self._path)
        if self._receipt is not None:
            self._receipt.set_aside()
        self._partial.rename(self._path)
        flush_folder(self._path.parent)
        if self._receipt is not None:
            self._receipt.commit()
        self._settled = True
        if self._receipt is not None:
            self._receipt.settle()
        return complete

    def discard(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):  # the file goes away whether or not it can still be closed
                abandon_parquet(self._writer)
        with contextlib.suppress(OSError):
            if self._file is not None:
                self._file.close()
        shutil.rmtree(self._partial, ignore_errors=True)
        if not self._settled and is_at(self._path, self._identity):
            shutil.rmtree(self._path, ignore_errors=True)
        if self._receipt is not None:
            (self._receipt.settle if self._settled else self._receipt.discard)()
