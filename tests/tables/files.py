"""One table in every format that sanitize reads and writes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq

KINDS = ("parquet", "arrow", "arrows", "csv", "folder")


def path_for(place: Path, kind: str) -> str:
    """A name that asks for this format; for a folder it ends in a slash."""
    return f"{place}/" if kind == "folder" else f"{place}.{kind}"


def write(table: pa.Table, place: Path, kind: str, rows: int = 700) -> str:
    """The table as a file, or a folder of three, in chunks of ``rows``."""
    path = path_for(place, kind)
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    elif kind == "csv":
        pc.write_csv(table, path)
    elif kind == "folder":
        third = table.num_rows // 3
        for name, start, length in (
            ("a.parquet", 0, third),
            ("b/1.pq", third, third),
            ("b/2.parquet", 2 * third, None),
        ):
            (Path(path) / name).parent.mkdir(parents=True, exist_ok=True)
            pq.write_table(table.slice(start, length), Path(path) / name)
    else:
        with (pa.ipc.new_file if kind == "arrow" else pa.ipc.new_stream)(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=rows)
    return path


def read(path: str) -> pa.Table:
    """What is there now."""
    kind = "folder" if path.endswith("/") else Path(path).suffix[1:]
    if kind == "parquet":
        return pq.read_table(path)
    if kind == "folder":
        return pa.concat_tables([pq.read_table(name) for name in sorted(Path(path).iterdir())])
    if kind == "csv":
        types = {"region": pa.string(), "disease": pa.string(), "income": pa.float64(), "ill": pa.bool_()}
        return pc.read_csv(path, convert_options=pc.ConvertOptions(column_types=types, strings_can_be_null=False))
    return (pa.ipc.open_file if kind == "arrow" else pa.ipc.open_stream)(pa.OSFile(path)).read_all()
