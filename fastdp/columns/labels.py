"""Codes as arrow labels: a dictionary, integers, or text in any of arrow's layouts, written block by block."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import blank_nulls
from fastdp.columns.buffers import fresh
from fastdp.columns.pieces import InPlace, Named, Room
from fastdp.errors import SchemaError
from fastdp.threads import BLOCK

if TYPE_CHECKING:
    import pyarrow as pa

CODES = np.dtype(np.int32)


def label_writer(owner: str, labels: pa.Array, kind: pa.DataType | None) -> LabelWriter:
    """How codes become labels of an arrow type, or a dictionary array if there is none."""
    import pyarrow as pa

    if kind is None:
        return _Dictionary(labels)
    try:
        labels = labels.cast(kind)
    except pa.ArrowInvalid:
        raise SchemaError(f"{owner}: arrow type {kind} cannot hold all labels; convert to a wider type") from None
    if pa.types.is_integer(kind):
        return _Integers(labels)
    return _Views(labels) if pa.types.is_string_view(kind) else _Text(labels, owner)


@dataclass(frozen=True, slots=True)
class LabelWriter(ABC):
    """Room for codes, and how its content becomes an array of labels; null where ``values`` are."""

    labels: pa.Array

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the codes."""
        return CODES

    @abstractmethod
    def room(self, size: int) -> Room: ...

    @abstractmethod
    def finish(self, content: Any, values: pa.Array) -> pa.Array: ...


class _Dictionary(LabelWriter):
    __slots__ = ()

    def room(self, size: int) -> Room:
        return InPlace(fresh(size, CODES))

    def finish(self, content: Any, values: pa.Array) -> pa.Array:
        import pyarrow as pa

        validity = blank_nulls(values, content)
        indices = pa.Array.from_buffers(pa.int32(), content.size, [validity, pa.py_buffer(content)])
        return pa.DictionaryArray.from_arrays(indices, self.labels)


class _Integers(LabelWriter):
    __slots__ = ()

    def room(self, size: int) -> Room:
        names = self.labels.to_numpy()
        return Named(names, fresh(size, names.dtype))

    def finish(self, content: Any, values: pa.Array) -> pa.Array:
        import pyarrow as pa

        validity = blank_nulls(values, content)
        return pa.Array.from_buffers(self.labels.type, content.size, [validity, pa.py_buffer(content)])


class _Views(LabelWriter):
    """Views of 16 bytes each, all of them into the text of the labels."""

    __slots__ = ()

    def room(self, size: int) -> Room:
        views = np.frombuffer(self.labels.buffers()[1], np.int64).reshape(-1, 2)
        return Named(views[: len(self.labels)], fresh(2 * size, views.dtype).reshape(size, 2))

    def finish(self, content: Any, values: pa.Array) -> pa.Array:
        import pyarrow as pa

        validity = blank_nulls(values, content)
        views = [validity, pa.py_buffer(content), *self.labels.buffers()[2:]]
        return pa.Array.from_buffers(self.labels.type, len(content), views)


@dataclass(frozen=True, slots=True)
class _Text(LabelWriter):
    """Offsets and text. Codes wait where the offset of their label's end will be."""

    owner: str

    @property
    def dtype(self) -> np.dtype[Any]:
        import pyarrow as pa

        return np.dtype(np.int64 if pa.types.is_large_string(self.labels.type) else np.int32)

    def room(self, size: int) -> Room:
        return _Offsets(fresh(size + 1, self.dtype))

    def finish(self, content: Any, values: pa.Array) -> pa.Array:
        import pyarrow as pa

        offsets, content, empty = content, content[1:], len(self.labels)
        validity = blank_nulls(values, content, blank=empty)
        names = pa.concat_arrays([self.labels, pa.array([""], self.labels.type)])
        lengths = np.diff(np.frombuffer(names.buffers()[1], self.dtype)[: empty + 2])
        total = sum(int(np.take(lengths, content[at : at + BLOCK]).sum()) for at in range(0, content.size, BLOCK))
        if total > np.iinfo(self.dtype).max:
            raise SchemaError(f"{self.owner}: reports of more than 2 GiB of text; cast the column to large_string")
        text, end = fresh(total, np.dtype(np.uint8)), 0
        for start in range(0, content.size, BLOCK):
            ends = content[start : start + BLOCK]
            part = names.take(pa.array(ends))
            _, starts, body = part.buffers()
            ends[:] = np.frombuffer(starts, self.dtype)[1 : ends.size + 1]
            size = int(ends[-1])
            if size:
                text[end : end + size] = np.frombuffer(body, np.uint8)[:size]
            ends += end
            end += size
        offsets[0] = 0
        return pa.Array.from_buffers(
            self.labels.type, content.size, [validity, pa.py_buffer(offsets), pa.py_buffer(text)]
        )


class _Offsets(InPlace):
    """One item before the results."""

    __slots__ = ()

    def take(self, start: int, stop: int) -> np.ndarray:
        return self.content[start + 1 : stop + 1]
