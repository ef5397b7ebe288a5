"""Chunks: the rows of each place in pieces of one size, however they arrive, and a keyed digest of what a chunk holds.

The digest is of values, not of how they are laid out: offsets, what lies behind nulls, dictionaries and the width of
text leave it as it is. It is unpredictable without the job's key, and is never published.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fastdp.columns.arrow import decode, show_nulls, validate
from fastdp.errors import InputCorruptError
from fastdp.random.job import JobKey, Place

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK = 1 << 16
"""Rows that share one key: enough to make a call's fixed cost small, few enough to be held whatever a batch is."""
WHOLE: Place = (0, 0)
"""The place of what has no files or row groups."""


class Chunk(NamedTuple):
    """Rows of one place: all but the last chunk of a place have CHUNK rows."""

    place: Place
    number: int
    rows: pa.RecordBatch


def rechunk(
    batches: Iterable[pa.RecordBatch], places: Iterable[tuple[Place, int | None]] = ((WHOLE, None),), size: int = CHUNK
) -> Iterator[list[Chunk]]:
    """The rows of all batches as chunks: those that each batch completes, then the rest.

    ``places`` are in the order of the rows, each with its number of rows; None is all that come.
    """
    import pyarrow as pa

    ahead = iter(places)
    place, left = next(ahead, (WHOLE, 0))
    held: list[pa.RecordBatch] = []
    number = waiting = 0
    for batch in batches:
        made: list[Chunk] = []
        start = 0
        while start < batch.num_rows:
            if left == 0:
                following = next(ahead, None)
                if following is None:
                    raise InputCorruptError("sanitize: there are more rows than the file says it has")
                place, left = following
                number = 0
                continue
            take = min(size - waiting, batch.num_rows - start, size if left is None else left)
            held.append(batch.slice(start, take))
            start, waiting = start + take, waiting + take
            left = None if left is None else left - take
            if waiting == size or left == 0:
                made.append(Chunk(place, number, held[0] if len(held) == 1 else pa.concat_batches(held)))
                held, waiting, number = [], 0, number + 1
        if made:
            yield made
    if held:
        yield [Chunk(place, number, held[0] if len(held) == 1 else pa.concat_batches(held))]


class Digester:
    """Keyed digests of chunks: NH over blocks of values, under a key of the job's, then BLAKE2b over the sums."""

    __slots__ = ("_key", "_words")

    def __init__(self, key: JobKey) -> None:
        from fastdp.kernels.digest import KEY_WORDS

        self._key = key.digest(b"digest")
        self._words = np.frombuffer(key.stretched(b"words", 4 * KEY_WORDS), np.uint32)

    def digest(self, rows: pa.RecordBatch, names: Sequence[str]) -> bytes:
        """32 bytes that differ for any two contents of these columns, but for a chance of 2**-128."""
        found = hashlib.blake2b(digest_size=32, key=self._key, person=b"fastdp content")
        found.update(struct.pack("<QQ", rows.num_rows, len(names)))
        for name in names:
            try:
                self._add(found, name, rows.column(name))
            except InputCorruptError as error:
                raise InputCorruptError(f"sanitize: column {name!r}: {error}") from None
        return found.digest()

    def _add(self, found: hashlib.blake2b, name: str, column: pa.Array) -> None:
        from fastdp.kernels.digest import BLOCK_WORDS

        kind, missing, body = _canonical(column)
        raws = body if missing is None else [np.packbits(missing), *body]
        about = [len(name.encode("utf-8", "surrogatepass")), name, kind, len(column), *map(attrgetter("nbytes"), raws)]
        text = " ".join(map(str, about)).encode("utf-8", "surrogatepass")
        found.update(struct.pack("<QB", len(text), missing is not None))
        found.update(text)
        for raw in raws:
            whole = raw.nbytes // (4 * BLOCK_WORDS) * (4 * BLOCK_WORDS)
            if whole:
                found.update(self._sums(raw[:whole]))
            found.update(raw[whole:].tobytes())

    def _sums(self, raw: np.ndarray) -> bytes:
        """The sums of whole blocks."""
        from fastdp.kernels.digest import BLOCK_WORDS, SHIFTS, fill_nh

        words = (raw if raw.ctypes.data % 4 == 0 else raw.copy()).view(np.uint32)
        words.setflags(write=False)
        sums = np.empty(words.size // BLOCK_WORDS * SHIFTS, np.uint64)
        fill_nh(words, self._words, sums)
        return sums.tobytes()


def _canonical(column: pa.Array) -> tuple[str, np.ndarray | None, list[np.ndarray]]:
    """The type of a column, which of its rows are null, and its values as bytes, zero where they are null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if isinstance(column, pa.ExtensionArray):
        column = column.storage
    kind = column.type
    fixed = not (pa.types.is_dictionary(kind) or pa.types.is_nested(kind) or pa.types.is_run_end_encoded(kind))
    if not fixed or not pa.types.is_primitive(kind):
        try:
            validate(column)
        except pa.ArrowInvalid:
            raise InputCorruptError("the arrow array contradicts its own format") from None
        column = show_nulls(column)
        if pa.types.is_dictionary(column.type) and not _is_text(column.type.value_type):
            column = decode(column)
        kind = column.type
    missing = column.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    if pa.types.is_null(kind):
        return "null", None, []
    if pa.types.is_boolean(kind):
        bits = np.unpackbits(_bytes_of(column, 1, 0, column.offset + len(column)), bitorder="little")
        bits = bits[column.offset : column.offset + len(column)]
        return str(kind), missing, [np.packbits(bits if missing is None else bits * ~missing)]
    if pa.types.is_integer(kind) and kind != pa.uint64():  # of any width, which formats and engines do not agree on
        column, kind = column.cast(pa.int64()), pa.int64()
    if pa.types.is_primitive(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_decimal(kind):
        width = kind.bit_width // 8
        raw = _bytes_of(column, 8 * width, column.offset, len(column))
        if missing is not None:
            raw = (raw.reshape(len(column), width) * ~missing[:, None]).reshape(-1)
        name = f"decimal{8 * width} {kind.scale}" if pa.types.is_decimal(kind) else str(kind)  # whatever the precision
        return name, missing, [raw]
    if pa.types.is_dictionary(kind) or _is_text(kind):
        return _text(column, missing)
    if pa.types.is_struct(kind):
        return _nested("struct", missing, column.flatten())
    lengths = pc.list_value_length(column).fill_null(0).cast(pa.int64())
    return _nested("list", missing, [lengths, column.flatten()])


def _nested(
    name: str, missing: np.ndarray | None, parts: Iterable[pa.Array]
) -> tuple[str, np.ndarray | None, list[np.ndarray]]:
    """A column by those that it is made of: lists by their lengths and all their elements, structs by their fields."""
    kinds, bodies = [], []
    for part in parts:
        kind, absent, body = _canonical(part)
        kinds.append(f"{kind} {len(part)} {absent is not None} {len(body)}")
        bodies += [*([] if absent is None else [np.packbits(absent)]), *body]
    return f"{name}<{', '.join(kinds)}>", missing, bodies


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    layouts = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())
    return kind in layouts


def _bytes_of(column: pa.Array, bits: int, start: int, count: int) -> np.ndarray:
    """``count`` values of so many bits each from ``start`` on, as they lie in memory."""
    buffer = column.buffers()[1]
    if buffer is None or not count:
        return np.zeros(0, np.uint8)
    return np.frombuffer(buffer, np.uint8)[start * bits // 8 : -(-(start + count) * bits // 8)]


def _text(column: pa.Array, missing: np.ndarray | None) -> tuple[str, np.ndarray | None, list[np.ndarray]]:
    """Text as numbers of its distinct values in the order in which they come, and those values."""
    import pyarrow as pa

    if not pa.types.is_dictionary(column.type):
        name = "text" if "string" in str(column.type) else "bytes"
        plain = column.cast(pa.large_string() if name == "text" else pa.large_binary())
        column = plain.dictionary_encode()
        return name, missing, [_numbers(column, missing).view(np.uint8), *_entries(column.dictionary)]
    name = "text" if "string" in str(column.type.value_type) else "bytes"
    distinct = column.dictionary
    if len(distinct) > max(len(column), CHUNK):
        return _text(column.dictionary_decode(), missing)
    from fastdp.kernels.digest import fill_ranks

    ranks, order = np.full(len(distinct), -1, np.int32), np.empty(len(distinct), np.int32)
    out = np.empty(len(column), np.int32)
    count = fill_ranks(_numbers(column, missing), ranks, order, out)
    used = distinct.take(pa.array(order[:count]))
    if len(used.unique()) != count:
        return _text(column.dictionary_decode(), missing)
    out.setflags(write=False)
    return name, missing, [out.view(np.uint8), *_entries(used)]


def _numbers(column: pa.DictionaryArray, missing: np.ndarray | None) -> np.ndarray:
    """The indices of a dictionary array, -1 for nulls."""
    import pyarrow as pa

    indices = column.indices if missing is None else column.indices.fill_null(0)
    numbers: np.ndarray = indices.cast(pa.int32()).to_numpy(zero_copy_only=False)
    if missing is not None:
        numbers = np.where(missing, np.int32(-1), numbers)
    numbers.setflags(write=False)
    return numbers


def _entries(values: pa.Array) -> list[np.ndarray]:
    """The lengths and the bytes of texts."""
    texts = [str(value).encode() if isinstance(value, str) else bytes(value) for value in values.to_pylist()]
    lengths = np.fromiter(map(len, texts), np.int64, len(texts))
    return [lengths.view(np.uint8), np.frombuffer(b"".join(texts), np.uint8)]
