"""Files that a plan names: domains and hierarchies, whose content becomes part of the plan."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastdp.errors import FastDPError, ParameterError
from fastdp.hierarchies.hierarchy import Hierarchy

PARQUET = (".parquet", ".pq")
NAMING = {"domain_file", "hierarchy_file", "domain_column"}
"""Keys that name a file, or a column of one."""


def with_files(columns: Any, folder: Path) -> Any:
    """Entries with ``domain`` for ``domain_file``, ``labels`` for ``hierarchy_file``: receipts then need no files."""
    if not isinstance(columns, Mapping):
        return columns
    return {
        name: _with_files(name, entry, folder) if isinstance(entry, Mapping) and NAMING & entry.keys() else entry
        for name, entry in columns.items()
    }


def _with_files(column: str, entry: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    owner, read = f"Plan: column {column!r}", dict(entry)
    if "domain_file" in read:
        if "domain" in read:
            raise ParameterError(f"{owner}: give domain or domain_file, not both")
        named = read.pop("domain_column", None)
        read["domain"] = read_domain(owner, folder, read.pop("domain_file"), named)
    elif "domain_column" in read:
        raise ParameterError(f"{owner}: domain_column is for domain_file")
    if "hierarchy_file" in read:
        path = _path(owner, "hierarchy_file", folder, read.pop("hierarchy_file"))
        try:
            read |= Hierarchy.load(path).to_dict()
        except FastDPError as error:
            raise ParameterError(f"{owner}: {error}") from None
        except OSError as error:
            raise ParameterError(f"{owner}: cannot read {path.name!r}: {error.strerror}") from None
    return read


def _path(owner: str, key: str, folder: Path, given: object) -> Path:
    if not isinstance(given, str) or not given:
        raise ParameterError(f"{owner}: {key} must be the path of a file")
    return folder / given


def read_domain(owner: str, folder: Path, given: object, column: object = None) -> list[Any]:
    """The labels of a file, in its order, once each: lines of text, a column of CSV (plain or gz) or of Parquet."""
    path = _path(owner, "domain_file", folder, given)
    if column is not None and not isinstance(column, str):
        raise ParameterError(f"{owner}: domain_column must be the name of a column of domain_file")
    try:
        labels = _of_parquet(owner, path, column) if path.suffix.lower() in PARQUET else _of_text(owner, path, column)
    except OSError as error:
        raise ParameterError(f"{owner}: cannot read {path.name!r}: {error.strerror or 'it is damaged'}") from None
    except (UnicodeDecodeError, csv.Error, EOFError):
        raise ParameterError(f"{owner}: {path.name!r} is no CSV file in UTF-8") from None
    return list(dict.fromkeys(label for label in labels if label not in (None, "")))


def _of_text(owner: str, path: Path, column: str | None) -> list[str]:
    """Without ``domain_column`` every line of the first column is a label: there is no header."""
    content = gzip.decompress(path.read_bytes()) if path.suffix.lower() == ".gz" else path.read_bytes()
    rows = [row for row in csv.reader(content.decode("utf-8-sig").splitlines()) if row]
    if column is None:
        return [row[0] for row in rows]
    if not rows or column not in rows[0]:
        raise ParameterError(f"{owner}: {path.name!r} has no column {column!r}")
    place = rows[0].index(column)
    return [row[place] for row in rows[1:] if len(row) > place]


def _of_parquet(owner: str, path: Path, column: str | None) -> list[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path, columns=None if column is None else [column])
    except pa.ArrowException:
        raise ParameterError(f"{owner}: {path.name!r} is no Parquet file") from None
    if table.num_columns != 1:
        raise ParameterError(f"{owner}: name the column of {path.name!r} that holds the labels: domain_column = ...")
    return list(table.column(0).to_pylist())
