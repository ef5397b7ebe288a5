"""Who the records are of: 64-bit numbers, from integers or from strings."""

from __future__ import annotations

import hashlib
import sys
from typing import Any

import numpy as np

from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import check_arrow
from fastdp.errors import ParameterError, SchemaError


def read_persons(owner: str, persons: Any, size: int, key: bytes) -> np.ndarray:
    """One uint64 per person: an integer as it is, a string by its keyed hash; by position, whatever index they have."""
    persons, _ = unwrap(owner, persons)
    if "pyarrow" in sys.modules:
        import pyarrow as pa

        if isinstance(persons, pa.Array | pa.ChunkedArray):
            check_arrow(owner, persons, "error")
            persons = persons.to_numpy(zero_copy_only=False) if isinstance(persons, pa.Array) else persons.to_numpy()
            if persons.dtype.kind == "O":  # nulls within a dictionary, which validity does not show
                persons = persons.tolist()
    if isinstance(persons, np.ma.MaskedArray) or not isinstance(persons, np.ndarray | list | tuple):
        raise SchemaError(f"{owner}: persons must be an array or a list, got a {type(persons).__name__}")
    array = np.asarray(persons) if isinstance(persons, np.ndarray) else _from_python(owner, persons)
    if array.size == 0:
        array = np.zeros(0, np.uint64)
    if array.ndim != 1 or array.size != size:
        raise ParameterError(f"{owner}: persons must be one identifier for each of the {size} values")
    if array.dtype.kind in "iu":
        return np.ascontiguousarray(array.astype(np.int64 if array.dtype.kind == "i" else np.uint64)).view(np.uint64)
    if array.dtype.kind in "UO" and all(isinstance(name, str) for name in array.tolist()):
        digests = [
            hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=key).digest()
            for name in array.tolist()
        ]
        return np.frombuffer(b"".join(digests), np.uint64)
    raise _mixed(owner)


def _from_python(owner: str, persons: list[Any] | tuple[Any, ...]) -> np.ndarray:
    """Identifiers as they are: numpy would make text of numbers among strings, and cut zero characters off."""
    if all(isinstance(person, str) for person in persons):
        array = np.empty(len(persons), object)
        array[:] = persons
        return array
    if any(isinstance(person, str | bool | np.bool_) for person in persons):
        raise _mixed(owner)
    try:
        return np.asarray(persons)
    except (TypeError, ValueError, OverflowError):
        raise _mixed(owner) from None


def _mixed(owner: str) -> SchemaError:
    return SchemaError(f"{owner}: persons must be all integers of at most 64 bits or all strings")
