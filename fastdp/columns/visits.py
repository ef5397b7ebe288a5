"""Rows of many people's trajectories: who and when, put in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import decode, is_arrow
from fastdp.columns.containers import unwrap
from fastdp.columns.numeric import check_arrow, check_sequence
from fastdp.errors import DomainError, SchemaError
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Rows by person and time. Person i, ``names[i]``, has ``lengths[i]`` rows: ``order[first[i]:]``, in time."""

    names: np.ndarray
    persons: np.ndarray
    """The number of the person of each row."""
    order: np.ndarray
    first: np.ndarray
    lengths: np.ndarray

    @classmethod
    def read(cls, owner: str, persons: Column, times: Column, size: int) -> Visits:
        """From a column of integers or strings, and one of numbers or timestamps; ties keep their order."""
        names, codes = _identify(owner, persons, size)
        when = _read_times(owner, times, size)
        lengths = np.bincount(codes, minlength=len(names))
        return cls(names, codes, np.lexsort((when, codes)), np.cumsum(lengths) - lengths, lengths)


def _plain(owner: str, name: str, values: Any, size: int) -> np.ndarray:
    """A column as a numpy array of one dimension and the right length, without nulls."""
    values, _ = unwrap(owner, values)
    if is_arrow(values):
        values = _from_arrow(owner, values)
    if isinstance(values, list | tuple):
        is_text, given = any(isinstance(value, str) for value in values), values
        try:
            values = np.array(values, object) if is_text else np.asarray(values)
        except (ValueError, OverflowError):
            values = None
        if values is not None and values.dtype.kind == "f":
            check_sequence(owner, given, is_float=True)
    if isinstance(values, np.ma.MaskedArray) or not isinstance(values, np.ndarray) or values.ndim != 1:
        raise SchemaError(f"{owner}: {name} must be a column of one dimension")
    if values.size != size:
        raise SchemaError(f"{owner}: {name} must have one entry for each of the {size} points")
    return values


def _from_arrow(owner: str, values: pa.Array | pa.ChunkedArray) -> np.ndarray:
    import pyarrow as pa

    chunks = [values] if isinstance(values, pa.Array) else values.chunks or [pa.array([], values.type)]
    parts = []
    for chunk in chunks:
        check_arrow(owner, chunk, "error")
        plain = decode(chunk)
        check_arrow(owner, plain, "error")  # nulls of runs and dictionaries show only now
        parts.append(plain.to_numpy(zero_copy_only=False))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _identify(owner: str, persons: Any, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The different people in order, and the number of each row's."""
    plain = _plain(owner, "persons", persons, size)
    if plain.dtype.kind == "O" and all(isinstance(name, str) for name in plain.tolist()):
        numbers: dict[str, int] = {}
        codes = np.array([numbers.setdefault(name, len(numbers)) for name in plain.tolist()], np.int64)
        names, places = np.unique(np.array(list(numbers), object), return_inverse=True)
        return names, places.reshape(-1)[codes] if size else codes
    if plain.size and plain.dtype.kind not in "iuU":
        raise SchemaError(f"{owner}: persons must be all integers or all strings")
    names, codes = np.unique(plain, return_inverse=True)
    return names, codes.reshape(-1)


def _read_times(owner: str, times: Any, size: int) -> np.ndarray:
    plain = _plain(owner, "times", times, size)
    if plain.size and plain.dtype.kind not in "iufM":
        raise SchemaError(f"{owner}: times must be numbers or timestamps")
    if plain.dtype.kind in "fM" and (np.isnan(plain) if plain.dtype.kind == "f" else np.isnat(plain)).any():
        raise DomainError(f"{owner}: times must not hold NaN or missing timestamps")
    return plain
