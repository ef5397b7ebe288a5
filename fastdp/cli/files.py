"""Files that a command writes: refused before any work where they may not be, and then whole or not at all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = (".parquet", ".arrow", ".csv")


def check_outputs(owner: str, paths: Sequence[Path], source: str | None, *, force: bool) -> None:
    """Refuse outputs that exist, that have one name, or that are the input; "-" is no file."""
    from fastdp.tables.atomic import check_apart, check_free

    given = None if source is None or source == "-" else Path(source)
    for path in paths:
        if path.name == "-":
            raise click.UsageError("standard output is for --json; name a file")
        check_apart(path, given, owner=owner)
        check_free(path, force=force, owner=owner)
    if len({path.resolve() for path in paths}) < len(paths):
        raise click.UsageError("two outputs have the same name")


def check_table_name(option: str, path: Path) -> None:
    """Refuse a table whose ending names no format."""
    if path.suffix.lower() not in TABLES:
        raise click.UsageError(f"the ending of {option} must be one of {', '.join(TABLES)}")


def write_whole(owner: str, path: Path, write: Callable[[IO[bytes]], Any], *, force: bool) -> None:
    """A file that appears when it is complete."""
    from fastdp.tables.atomic import AtomicFile

    file = AtomicFile(path, force=force, owner=owner)
    try:
        write(file.file)
        file.flush()
        file.commit()
        file.settle()
    finally:
        file.discard()


def write_table(owner: str, path: Path, table: pa.Table, *, force: bool) -> None:
    """A table in the format that the ending of its name says."""
    write_whole(owner, path, lambda file: _write_table(table, file, path.suffix.lower()), force=force)


def _write_table(table: pa.Table, file: IO[bytes], ending: str) -> None:
    import pyarrow as pa

    if ending == ".csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(table, file)
    elif ending == ".arrow":
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    else:
        import pyarrow.parquet as pq

        pq.write_table(table, file)
