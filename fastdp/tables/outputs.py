"""Where a release goes: checked before a record is read, then opened in the format that it asks for."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from fastdp.errors import ParameterError
from fastdp.tables.atomic import check_apart, check_free
from fastdp.tables.folders import FolderSink, FolderSource, check_folder_free
from fastdp.tables.formats import Kind, check_format, output_kind
from fastdp.tables.sinks import ParquetSink, Sink, Target, receipt_path
from fastdp.tables.sources import STANDARD, Source

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.tables.receipt import Receipt

FOLDER = "folder"


class Output:
    """A file, a folder (a name that ends in "/", or has no ending while the source is a folder), or standard output."""

    def __init__(
        self,
        source: Source,
        output: str | os.PathLike[str],
        *,
        receipt: str | os.PathLike[str] | None = None,
        output_format: str | None = None,
        force: bool = False,
    ) -> None:
        name = os.fspath(output)
        path = None if name == STANDARD else Path(name)
        beside = None if path is None else receipt_path(path)
        self.target = Target(path, beside if receipt is None else Path(receipt), force)
        self.kind: Kind | str
        if path is not None and (
            name.endswith(("/", os.sep)) or (isinstance(source, FolderSource) and not path.suffix)
        ):
            check_format("output_format", output_format)
            if output_format not in {None, "parquet"}:
                raise ParameterError("sanitize: a folder holds Parquet files; name a file for another format")
            self.kind = FOLDER
        else:
            self.kind = output_kind(path, output_format, "csv" if is_csv(source) else None)
        self._check(source)

    def _check(self, source: Source) -> None:
        """Refuse an output that is the input or lies in it, or that exists."""
        for path in self.target.files():
            check_apart(path, source.path)
        if self.target.path is not None and self.target.path == self.target.receipt:
            raise ParameterError("sanitize: output and receipt have the same name")
        if self.kind == FOLDER:
            assert self.target.path is not None
            check_folder_free(self.target.path)
        elif self.target.path is not None:
            check_free(self.target.path, force=self.target.force)
        if self.target.receipt is not None:
            check_free(self.target.receipt, force=self.target.force)

    @property
    def folder(self) -> Path | None:
        """Where the output's disk is; None for standard output."""
        return None if self.target.path is None else self.target.path.parent

    def open(
        self, schema: pa.Schema, plain: set[str], receipt: Receipt, *, dictionaries: pa.Schema | None = None
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
        from fastdp.tables.csv_files import CsvSink, CsvStreamSink
        from fastdp.tables.ipc import IpcSink, IpcStreamSink

        if self.kind == "csv":
            return (CsvSink if self.target.path is not None else CsvStreamSink)(self.target, schema)
        if self.target.path is None:
            return IpcStreamSink(self.target, schema, receipt)
        return IpcSink(self.target, schema, receipt, stream=self.kind == "arrows")


def is_csv(source: Source) -> bool:
    """Whether a source states no types."""
    from fastdp.tables.csv_files import CsvSource

    return isinstance(source, CsvSource)
