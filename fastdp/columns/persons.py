"""Person identifiers as 64-bit integers, from integers or from strings."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import is_arrow, plain_type
from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import check_arrow
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1 << 14
"""Names that are Python objects at the same time."""


@dataclass(frozen=True, slots=True)
class Persons:
    """Identifiers of persons, turned into numbers block by block."""

    owner: str
    values: Any
    key: bytes

    def read(self, start: int, stop: int) -> np.ndarray:
        """One uint64 for each of the persons start:stop."""
        parts = [self._read(at, min(at + AT_ONCE, stop)) for at in range(start, stop, AT_ONCE)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts or [np.zeros(0, np.uint64)])

    def _read(self, start: int, stop: int) -> np.ndarray:
        part = self.values[start:stop]
        if not isinstance(part, np.ndarray):
            part = part.to_numpy(zero_copy_only=False) if hasattr(part, "buffers") else part.to_numpy()
        if part.dtype.kind in "iu" or part.size == 0:
            wide = part.astype(np.int64 if part.dtype.kind == "i" else np.uint64, copy=False)
            return np.ascontiguousarray(wide).view(np.uint64)
        names = part.tolist()
        if part.dtype.kind not in "UO" or not all(isinstance(name, str) for name in names):
            raise _mixed(self.owner)
        digests = [
            hashlib.blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8, key=self.key).digest()
            for name in names
        ]
        return np.frombuffer(b"".join(digests), np.uint64)


def read_persons(owner: str, persons: Column, size: int, key: bytes) -> Persons:
    """One uint64 per person: an integer as it is, a string by its keyed hash; by position, whatever index they have."""
    plain, _ = unwrap(owner, persons)
    in_arrow = is_arrow(plain)
    if in_arrow:
        _check_arrow(owner, plain)
    if isinstance(plain, np.ma.MaskedArray) or not (in_arrow or isinstance(plain, np.ndarray | list | tuple)):
        raise SchemaError(f"{owner}: persons must be an array or a list, got a {type(plain).__name__}")
    if not in_arrow:
        plain = np.asarray(plain) if isinstance(plain, np.ndarray) else _from_python(owner, plain)
        if plain.size and plain.dtype.kind not in "iuUO":
            raise _mixed(owner)
    if getattr(plain, "ndim", 1) != 1 or len(plain) != size:
        raise ParameterError(f"{owner}: persons must be one identifier for each of the {size} values")
    return Persons(owner, plain, key)


def _check_arrow(owner: str, persons: pa.Array | pa.ChunkedArray) -> None:
    import pyarrow as pa

    check_arrow(owner, persons, "error")
    kind = plain_type(persons.type)
    known = pa.types.is_integer(kind) or pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if not (known or pa.types.is_string_view(kind) or not len(persons)):
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
