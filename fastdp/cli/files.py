"""Files of commands: the options of text that is read, and outputs, checked up front and written atomically."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = (".parquet", ".arrow", ".csv")
CSV_OPTIONS = {
    "delimiter": 'What separates fields of CSV: a character, or "tab"; default: a comma.',
    "quote": "What quotes fields of CSV; default: double quotes.",
    "encoding": "How CSV is encoded; default: utf-8.",
    "decimal": 'The decimal mark of CSV, "." (default) or ",".',
}
"""Of commands that read CSV; what they write has the same dialect."""


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options of CSV, which the command gets as one dict, ``csv``."""

    @functools.wraps(command)
    def collected(*arguments: Any, **options: Any) -> Any:
        csv = {name: options.pop(name) for name in CSV_OPTIONS}
        return command(*arguments, csv=csv, **options)

    for name, words in reversed(CSV_OPTIONS.items()):
        collected = click.option(f"--{name}", help=words)(collected)
    return collected


def check_outputs(owner: str, paths: Sequence[Path], inputs: Mapping[str, str | Path | None], *, force: bool) -> None:
    """Refuse outputs that exist, that have one name, or that are one of the named inputs; "-" is no file."""
    from fastdp.io.atomic import check_apart, check_free

    for path in paths:
        if path.name == "-":
            raise click.UsageError("standard output is for --json; name a file")
        for what, given in inputs.items():
            if given is not None and str(given) != "-":
                check_apart(path, Path(given), owner=owner, what=what)
        check_free(path, force=force, owner=owner)
    if len({path.resolve() for path in paths}) < len(paths):
        raise click.UsageError("two outputs have the same name")


def check_table_name(option: str, path: Path) -> None:
    """Refuse a table whose ending names no format."""
    if path.suffix.lower() not in TABLES:
        raise click.UsageError(f"the ending of {option} must be one of {', '.join(TABLES)}")


Writer = Callable[[IO[bytes]], Any]


def write_together(owner: str, writers: Mapping[Path, Writer], *, force: bool) -> None:
    """Files that appear when all of them are complete; if one fails, those that they replace are left as they were."""
    from fastdp.io.atomic import AtomicFiles

    outputs = AtomicFiles(force=force, owner=owner)
    try:
        for path, write in writers.items():
            write(outputs.open(path))
        outputs.commit()
    finally:
        outputs.discard()


def table_writer(path: Path, table: pa.Table) -> Writer:
    """Writes a table in the format that the ending of its name says."""
    return lambda file: _write_table(table, file, path.suffix.lower())


def page_writer(page: str) -> Writer:
    """Writes a page of HTML."""
    return lambda file: file.write(page.encode())


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
