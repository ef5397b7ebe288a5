"""The columns of a file that an attack reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import pyarrow as pa

OWNER = "audit"


def read_columns(path: str, names: Sequence[str] | None = None) -> pa.Table:
    """Some columns of a Parquet, Arrow or CSV file or folder, or all of them."""
    import pyarrow as pa

    from fastdp.errors import SchemaError
    from fastdp.io.open import open_source

    source = open_source(OWNER, path)
    wanted = list(source.schema.names if names is None else dict.fromkeys(names))
    for name in wanted:
        if name not in source.schema.names:
            raise SchemaError(f"{OWNER}: {path!r} has no column {name!r}")
    batches = list(source.batches(wanted, None, []))
    schema = pa.schema([source.schema.field(name) for name in wanted])
    return pa.Table.from_batches(batches, batches[0].schema if batches else schema)


def read_bits(table: pa.Table, column: str, equals: str | None) -> np.ndarray:
    """A column of zeros and ones; with ``equals``, of whether it has that value."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from fastdp.errors import DomainError, SchemaError

    values = table[column]
    if values.null_count:
        raise DomainError(f"{OWNER}: column {column!r} has nulls; drop or fill them first")
    try:
        if equals is not None:
            return np.asarray(pc.equal(values.cast(pa.string()), equals)).astype(np.float64)
        numbers = values if pa.types.is_boolean(values.type) else values.cast(pa.float64())
        return np.asarray(numbers).astype(np.float64)
    except pa.ArrowException:
        raise SchemaError(f"{OWNER}: column {column!r} is not of zeros and ones; use --equals VALUE") from None


def read_edges(path: str) -> np.ndarray:
    """The first two columns of a file, as node numbers from 0."""
    import numpy as np

    from fastdp.attacks.keys import join_keys
    from fastdp.errors import SchemaError

    table = read_columns(path)
    if table.num_columns < 2:
        raise SchemaError(f"{OWNER}: {path!r} must have two columns, one row per edge")
    ends = [table.select([i]).rename_columns(["node"]) for i in range(2)]
    return np.stack(join_keys(OWNER, ends, ["node"]), axis=1)
