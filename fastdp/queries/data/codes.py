"""Keys and persons of any type as codes: exact tables that grow batch by batch, or are closed once keys are declared.

Codes follow the order of appearance and never leave this process; what is released is in canonical order, and what
depends on a key (its *tag*) does not depend on when it appeared.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fastdp.columns.arrow import decode, plain_type
from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.persons.codes import (
    BLOCK,
    SHORT,
    code_integers,
    code_range,
    code_texts,
    fill_slots,
    fill_text_slots,
)

if TYPE_CHECKING:
    import pyarrow as pa

_ODD = np.uint64(0xC2B2AE3D27D4EB4F)
SPAN = 1 << 21
"""Integers in a range of so many are looked up by value, without a hash (1e5 keys: 7.5 -> 1.3 ns each)."""


class Table(Protocol):
    """Names and their codes."""

    used: int

    @property
    def tags(self) -> np.ndarray:
        """One 64-bit word per code that depends on its name alone."""

    def find(self, array: Any, *, is_open: bool) -> np.ndarray:
        """The int32 code of each name; -1 for one that is new to a closed table."""

    def names(self) -> pa.Array:
        """The name of each code."""


class IntegerTable:
    """Codes of 64-bit integers: by value as long as all lie in a range of SPAN, else by hash."""

    def __init__(self, seed: int, kind: pa.DataType | None = None) -> None:
        self._seed, self._kind = np.uint64(seed), kind
        self.used = self._low = 0
        self._names, self._by_value = np.empty(0, np.int64), np.empty(0, np.int32)
        self._slots: np.ndarray | None = None

    @property
    def tags(self) -> np.ndarray:
        return self._names[: self.used].view(np.uint64)

    def find(self, array: np.ndarray, *, is_open: bool) -> np.ndarray:
        keys, codes = np.ascontiguousarray(array, np.int64), np.empty(len(array), np.int32)
        if is_open and self._slots is None and keys.size:
            self._cover(int(keys.min()), int(keys.max()))
        if self._slots is None:
            self.used = code_range(keys, self._low, is_open, self._names, self._by_value, self.used, codes)
            return codes
        done = 0
        while True:
            done, self.used = code_integers(
                keys, done, self._seed, is_open, self._names, self._slots, self.used, codes
            )  # fmt: skip
            if done == keys.size:
                return codes
            self._names = _enlarged(self._names)
            self._slots = _rebuilt(self._names, self.used, self._seed)

    def _cover(self, low: int, high: int) -> None:
        """Make the range cover these keys too, at least twice as large as before; or begin with hashes."""
        size = self._by_value.size
        if size and self._low <= low and high < self._low + size:
            return
        if size:
            low, high = min(low, self._low), max(high, self._low + size - 1)
        names = self._names[: self.used]
        if high - low >= SPAN:
            room = 1 << max(10, (2 * self.used).bit_length())  # half of the slots, which are a power of two
            self._names = np.concatenate([names, np.empty(room - self.used, np.int64)])
            self._slots = _rebuilt(self._names, self.used, self._seed)
            return
        room = max(1 << 10, 1 << (high - low).bit_length())
        self._low = max(high - room + 1, -(1 << 63)) if low < self._low else min(low, (1 << 63) - room)
        self._names = np.concatenate([names, np.empty(room - self.used, np.int64)])
        self._by_value = np.full(room, -1, np.int32)
        self._by_value[names - self._low] = np.arange(self.used, dtype=np.int32)

    def names(self) -> pa.Array:
        import pyarrow as pa

        found = pa.array(self._names[: self.used])
        if self._kind is None:
            return found
        if pa.types.is_boolean(self._kind):
            return found.cast(pa.bool_())
        if pa.types.is_integer(self._kind):
            return pa.array(self._names[: self.used].view(_words(self._kind)), pa.int64()
                            if pa.types.is_signed_integer(self._kind) else pa.uint64()).cast(self._kind)  # fmt: skip
        width = np.int32 if self._kind.bit_width == 32 else np.int64
        return pa.array(self._names[: self.used].astype(width)).view(self._kind)


class TextTable:
    """Codes of texts, told apart by their bytes; the hash that finds them may collide, they never do."""

    def __init__(self, seed: int, kind: pa.DataType | None = None) -> None:
        self._seed, self._kind = np.uint64(seed), kind
        self.used = self._filled = 0
        self._names, self._texts = _empty_names(1 << 10), np.empty(1 << 12, np.uint64)
        self._slots = np.zeros(1 << 11, np.uint64)
        self._heads = np.empty((BLOCK, 3), np.uint64)

    @property
    def tags(self) -> np.ndarray:
        return np.ascontiguousarray(self._names[: self.used, 0])

    def find(self, array: pa.Array, *, is_open: bool) -> np.ndarray:
        import pyarrow as pa

        if pa.types.is_dictionary(array.type):
            entries = self.find(array.dictionary, is_open=is_open)
            if not entries.size:
                return np.full(len(array), -1, np.int32)
            found: np.ndarray = entries[array.indices.fill_null(0).to_numpy(zero_copy_only=False)]
            return found
        offsets, words = _words_of_texts(array)
        codes = np.empty(len(array), np.int32)
        done = 0
        while True:
            done, self.used, self._filled = code_texts(
                offsets, words, done, self._seed, is_open, self._names, self._texts, self._filled, self._slots,
                self.used, self._heads, codes,
            )  # fmt: skip
            if done == codes.size:
                return codes
            self._grow(int(offsets[done + 1] - offsets[done]))

    def _grow(self, length: int) -> None:
        if self._filled + length // 8 + 1 > self._texts.size:
            self._texts = _enlarged(self._texts, length // 8)
        if 2 * (self.used + 1) > self._slots.size or self.used >= self._names.shape[0]:
            larger = _empty_names(2 * len(self._names))
            larger[: self.used] = self._names[: self.used]
            self._names, self._slots = larger, np.zeros(2 * len(larger), np.uint64)
            fill_text_slots(self._names, self.used, self._slots)

    def names(self) -> pa.Array:
        import pyarrow as pa

        names = np.ascontiguousarray(self._names[: self.used])
        lengths = names[:, 1].astype(np.int64)
        starts = np.where(lengths > SHORT, names.size + names[:, 2].astype(np.int64), 4 * np.arange(self.used) + 2)
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(offsets[-1]) + np.repeat(8 * starts - offsets[:-1], lengths)
        data = np.concatenate([names.ravel(), self._texts[: self._filled]]).view(np.uint8)[places]
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        kind = pa.string() if self._kind is None or pa.types.is_string_view(self._kind) else self._kind  # not sortable
        return pa.Array.from_buffers(pa.large_string(), self.used, buffers).cast(kind)


class PairTable:
    """Codes of keys of several columns: pairs of the first ones' code and the last one's, again and again."""

    def __init__(self, seed: int, parts: Sequence[Table]) -> None:
        self._parts = parts
        self._pairs = [IntegerTable(seed + number) for number in range(1, len(parts))]

    @property
    def used(self) -> int:
        return self._pairs[-1].used

    @property
    def tags(self) -> np.ndarray:
        tags = self._parts[0].tags
        for table, part in zip(self._pairs, self._parts[1:], strict=True):
            pairs = table.tags
            first, last = tags[pairs >> np.uint64(32)], part.tags[pairs & np.uint64(0xFFFFFFFF)]
            tags = (first * _ODD) ^ (last + (first >> np.uint64(31)))
        return tags

    def find(self, array: Sequence[Any], *, is_open: bool) -> np.ndarray:
        codes = self._parts[0].find(array[0], is_open=is_open)
        for table, part, column in zip(self._pairs, self._parts[1:], array[1:], strict=True):
            last = part.find(column, is_open=is_open)
            known = (codes >= 0) & (last >= 0)
            pairs = (codes.astype(np.int64) << 32) | np.maximum(last, 0)
            if known.all():
                codes = table.find(pairs, is_open=is_open)
            else:
                found = np.full(codes.size, -1, np.int32)
                found[known] = table.find(pairs[known], is_open=is_open)
                codes = found
        return codes

    def name_columns(self) -> list[pa.Array]:
        """The names of each column, by code."""
        import pyarrow as pa

        indices, columns = np.arange(self.used), []
        for table, part in zip(reversed(self._pairs), reversed(self._parts[1:]), strict=True):
            pairs = table.tags[indices]
            columns.append(part.names().take(pa.array((pairs & np.uint64(0xFFFFFFFF)).astype(np.int64))))
            indices = (pairs >> np.uint64(32)).astype(np.int64)
        columns.append(self._parts[0].names().take(pa.array(indices)))
        return columns[::-1]


def make_table(owner: str, column: str, kind: pa.DataType, seed: int) -> Table:
    """The table for keys or persons of this type; types that cannot be compared exactly are refused."""
    import pyarrow as pa

    plain = plain_type(kind)
    if is_text(plain):
        return TextTable(seed, plain)
    dated = pa.types.is_temporal(plain) and not (pa.types.is_interval(plain) or pa.types.is_duration(plain))
    if pa.types.is_integer(plain) or pa.types.is_boolean(plain) or dated:
        return IntegerTable(seed, plain)
    raise SchemaError(
        f"{owner}: column {column!r} of type {plain} names no group or person; it must hold text, integers, truth "
        "values or dates. Give numbers bins: histogram with edges"
    )


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def words_of(array: pa.Array) -> Any:
    """An array of keys without encodings: int64 for numbers, the array itself for text; nulls hold anything."""
    import pyarrow as pa

    if is_text(plain_type(array.type)):
        is_dictionary = pa.types.is_dictionary(array.type) and not array.dictionary.null_count
        return array if is_dictionary else decode(array)
    array = decode(array)
    if pa.types.is_boolean(array.type):
        array = array.cast(pa.int8())
    elif pa.types.is_temporal(array.type):
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if array.null_count:
        array = array.fill_null(0)
    plain = array.to_numpy(zero_copy_only=False)
    return plain.view(np.int64) if plain.dtype == np.uint64 else plain.astype(np.int64, copy=False)


def nulls_of(array: pa.Array) -> np.ndarray | None:
    """Where an array is null, None if nowhere; also in runs and dictionaries."""
    from fastdp.columns.arrow import holds_nulls, show_nulls

    if not holds_nulls(array):
        return None
    found: np.ndarray = show_nulls(array).is_null().to_numpy(zero_copy_only=False)
    return found


def declared_array(owner: str, column: str, kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    """Declared keys as an array of the column's type; refused if they are of another."""
    import pyarrow as pa

    plain = plain_type(kind)
    try:
        array = pa.array(list(values))
        fits = is_text(array.type) == is_text(plain) or not len(array)
        converted = array.cast(plain)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        fits = False
    if not fits or converted.null_count:
        raise ParameterError(f"{owner}: the keys of {column!r} are not of its type, {plain}")
    if len(converted.unique()) < len(converted):
        raise ParameterError(f"{owner}: the keys of {column!r} hold one twice")
    return converted


def _words_of_texts(array: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Offsets of a text array, and its bytes as words, with one word more behind the last."""
    import pyarrow as pa

    if pa.types.is_string_view(array.type):
        array = array.cast(pa.large_string())
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return np.zeros(len(array) + 1, np.int32), np.zeros(2, np.uint64)
    places = np.frombuffer(offsets, kind)[array.offset : array.offset + len(array) + 1]
    first, last = int(places[0]) // 8 * 8, int(places[-1])
    words = np.zeros((last - first) // 8 + 2, np.uint64)
    if data is not None:
        words.view(np.uint8)[: last - first] = np.frombuffer(data, np.uint8)[first:last]
    return np.subtract(places, first, dtype=places.dtype) if first else places, words


def _words(kind: pa.DataType) -> Any:
    import pyarrow as pa

    return np.int64 if pa.types.is_signed_integer(kind) else np.uint64


def _enlarged(array: np.ndarray, more: int = 0) -> np.ndarray:
    larger = np.empty(2 * array.size + more, array.dtype)
    larger[: array.size] = array
    return larger


def _empty_names(count: int) -> np.ndarray:
    """Room for names of texts; none of them lies in two cache lines."""
    memory = np.empty(4 * count + 8, np.uint64)
    first = -memory.ctypes.data % 64 // 8
    return memory[first : first + 4 * count].reshape(count, 4)


def _rebuilt(tags: np.ndarray, used: int, seed: np.uint64) -> np.ndarray:
    slots = np.full(1 << (2 * tags.size - 1).bit_length(), -1, np.int32)
    fill_slots(tags, used, seed, slots)
    return slots
