"""Where a release goes: checked before a record is read, then opened in the format that it asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.errors import ParameterError
from fastdp.io.atomic import check_apart, check_free
from fastdp.io.base import STANDARD, Source
from fastdp.io.csv import CsvSink, CsvSource, CsvStreamSink, Dialect
from fastdp.io.folders import FolderSink, FolderSource, check_folder_free
from fastdp.io.formats import Kind, check_format, output_compression, output_kind
from fastdp.io.ipc import IpcSink, IpcStreamSink
from fastdp.io.parquet import ParquetSink
from fastdp.io.sinks import Sink, Target, receipt_path

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.io.stamps import Stamp

FOLDER = "folder"


class Output:
    """A file, a folder (a name that ends in "/", or has no ending while the source is a folder), or standard output."""

    def __init__(
        self,
        owner: str,
        source: Source,
        output: str | os.PathLike[str],
        *,
        receipt: str | os.PathLike[str] | None = None,
        output_format: str | None = None,
        force: bool = False,
        plan: Path | None = None,
        csv: Mapping[str, Any] | None = None,
    ) -> None:
        self._dialect = Dialect.read(owner, csv)
        name = os.fspath(output)
        path = None if name == STANDARD else Path(name)
        beside = None if path is None else receipt_path(path)
        self.target = Target(owner, path, beside if receipt is None else Path(receipt), force)
        self.kind: Kind | str
        if path is not None and (
            name.endswith(("/", os.sep)) or (isinstance(source, FolderSource) and not path.suffix)
        ):
            check_format(owner, "output_format", output_format)
            if output_format not in {None, "parquet"}:
                raise ParameterError(f"{owner}: a folder holds Parquet files; name a file for another format")
            self.kind = FOLDER
        else:
            self.kind = output_kind(owner, path, output_format, "csv" if isinstance(source, CsvSource) else None)
        self._compression = output_compression(owner, path, self.kind)
        self._check(source, plan)

    def _check(self, source: Source, plan: Path | None) -> None:
        """Refuse an output that is the input or lies in it, that is the plan, or that exists."""
        owner, force = self.target.owner, self.target.force
        for path in self.target.files():
            check_apart(path, source.path, owner=owner)
            if plan is not None:
                check_apart(path, plan, owner=owner, what="plan")
        if self.target.path is not None and self.target.path == self.target.receipt:
            raise ParameterError(f"{owner}: output and receipt have the same name")
        if self.kind == FOLDER:
            assert self.target.path is not None
            check_folder_free(owner, self.target.path)
        elif self.target.path is not None:
            check_free(self.target.path, force=force, owner=owner)
        if self.target.receipt is not None:
            check_free(self.target.receipt, force=force, owner=owner)

    @property
    def folder(self) -> Path | None:
        """Where the output's disk is; None for standard output."""
        return None if self.target.path is None else self.target.path.parent

    def open(
        self, schema: pa.Schema, plain: set[str], receipt: Stamp, *, dictionaries: pa.Schema | None = None
    ) -> Sink:
        """The sink; ``receipt`` is for formats that state it before the rows.

        ``dictionaries`` is the schema of the batches to come if some text of a Parquet file comes in dictionaries.
        """
        if self.kind == FOLDER:
            return FolderSink(self.target, schema, plain, receipt)
        if self.kind == "parquet":
            if dictionaries is not None:
                return ParquetSink(self.target, dictionaries, plain, stated=schema)
            return ParquetSink(self.target, schema, plain)
        if self.kind == "csv":
            if self.target.path is None:
                return CsvStreamSink(self.target, schema, self._dialect)
            return CsvSink(self.target, schema, self._dialect, self._compression)
        if self.target.path is None:
            return IpcStreamSink(self.target, schema, receipt)
        return IpcSink(self.target, schema, receipt, stream=self.kind == "arrows")
