"""Types of what callers give: numbers, tables of numbers, and columns of any container."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike


class SupportsArray(Protocol):
    """An array of any library, such as a pandas or polars series."""

    def __array__(self, dtype: Any = ..., /) -> np.ndarray: ...

    def __len__(self) -> int: ...


class SupportsArrowArray(Protocol):
    """An array that speaks Arrow's C interface."""

    def __arrow_c_array__(self, requested_schema: Any = ..., /) -> tuple[object, object]: ...


class SupportsArrowStream(Protocol):
    """A stream of arrays that speaks Arrow's C interface."""

    def __arrow_c_stream__(self, requested_schema: Any = ..., /) -> object: ...


Numbers = Sequence[float] | np.ndarray | SupportsArray
"""One number per record."""
Matrix = Sequence[Sequence[float]] | np.ndarray | SupportsArray
"""Rows of numbers."""
Column = ArrayLike | Sequence[object] | SupportsArray | SupportsArrowArray | SupportsArrowStream
"""A column of values, or one value: numpy, pyarrow, pandas, polars, anything with Arrow's C interface, sequences."""
Table = Mapping[str, Column] | SupportsArray | SupportsArrowStream
"""Columns by name: a pyarrow table, a pandas or polars data frame, or a dict."""
TableSource = Table | SupportsArrowArray | str | os.PathLike[str]
"""A table or stream in memory, or the path of a file or folder."""
Progress = Callable[[int, int | None], None]
"""``progress(done, total)`` as work goes on: rows, steps or combinations; None while nobody knows how many in all."""
