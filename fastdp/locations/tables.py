"""Maps as a table: a row per cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from fastdp.locations.grid import Grid

if TYPE_CHECKING:
    import pyarrow as pa


def grid_table(grid: Grid, maps: Mapping[str, np.ndarray], notes: Mapping[str, str] | None = None) -> pa.Table:
    """Rows and columns of cells from the top left, their middles, and a column of numbers per map.

    ``notes`` go into the schema's metadata.
    """
    import pyarrow as pa

    rows, columns = np.divmod(np.arange(grid.size, dtype=np.int32), np.int32(grid.shape[1]))
    table = {"row": pa.array(rows), "column": pa.array(columns)}
    if grid.origin is not None:
        latitude, longitude = grid.latlon()
        table |= {"latitude": pa.array(latitude), "longitude": pa.array(longitude)}
    else:
        places = grid.positions
        table |= {"x": pa.array(places[:, 0].copy()), "y": pa.array(places[:, 1].copy())}
    table |= {name: pa.array(np.ascontiguousarray(cells).reshape(-1)) for name, cells in maps.items()}
    metadata = {"cell": f"{grid.cell!r} {grid.unit}", "rows": str(grid.shape[0]), "columns": str(grid.shape[1])}
    return pa.table(table).replace_schema_metadata({**metadata, **(notes or {})})
