"""Parquet files that no writer of ours makes: repeated fields without the annotation of a list.

Older writers (protocol buffers, Thrift, Avro) made them, and readers must take each for a list of required items.
"""

from __future__ import annotations

import struct
from pathlib import Path

I32, I64, BINARY, LIST, STRUCT = 5, 6, 8, 9, 12
REQUIRED, OPTIONAL, REPEATED = 0, 1, 2
PLAIN, RLE = 0, 3
AS_MAP, AS_LIST = 1, 3


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def thrift(*fields: tuple[int, int, object]) -> bytes:
    """A struct in the compact protocol: (number, type, value) of each field, in order."""
    out, before = b"", 0
    for number, kind, value in fields:
        out += bytes([(number - before) << 4 | kind]) + _value(kind, value)
        before = number
    return out + b"\0"


def _value(kind: int, value: object) -> bytes:
    if kind in (I32, I64):
        return varint(value << 1)
    if kind == BINARY:
        return varint(len(value)) + value
    if kind == STRUCT:
        return value
    item, items = value
    return bytes([len(items) << 4 | item]) + b"".join(_value(item, each) for each in items)


def _levels(levels: list[int], width: int) -> bytes:
    """Levels of ``width`` bits each in a bit-packed run, with their length in front."""
    groups = -(-len(levels) // 8)
    packed = sum(level << width * place for place, level in enumerate(levels)).to_bytes(groups * width, "little")
    run = varint(groups << 1 | 1) + packed
    return struct.pack("<I", len(run)) + run


def _leaf(name: bytes, repetition: int) -> bytes:
    return thrift((1, I32, 1), (3, I32, repetition), (4, BINARY, name))


def _group(name: bytes, repetition: int) -> bytes:
    return thrift((3, I32, repetition), (4, BINARY, name), (5, I32, 1))


SHAPES = {
    "numbers": ([b"x"], [_leaf(b"x", REPEATED)]),
    "groups": ([b"x", b"item"], [_group(b"x", REPEATED), _leaf(b"item", REQUIRED)]),
    "numbers in a group": ([b"x", b"item"], [_group(b"x", OPTIONAL), _leaf(b"item", REPEATED)]),
}
"""Paths and schemas of a column x: repeated int32, a repeated group of one, an optional group of repeated ones."""


def annotated(annotation: int) -> tuple[list[bytes], list[bytes]]:
    """A repeated group that is annotated as a list or a map itself, which pyarrow has no type for."""
    group = thrift((3, I32, REPEATED), (4, BINARY, b"x"), (5, I32, 1), (6, I32, annotation))
    return [b"x", b"item"], [group, _leaf(b"item", REQUIRED)]


def write_repeated(path: Path, rows: list[list[int] | None], shape: str) -> None:
    """A file of a column ``plain`` of numbers, and one ``x``; a row of None is an optional group that is absent."""
    deepest = 2 if shape == "numbers in a group" else 1
    repeats, defined = [], []
    for row in rows:
        repeats += [int(place > 0) for place in range(max(1, len(row or [])))]
        defined += [deepest] * len(row) or [deepest - 1] if row is not None else [0]
    items = [item for row in rows for item in row or []]
    name, kinds = SHAPES[shape]
    levels = _levels(repeats, 1) + _levels(defined, deepest)
    columns = [
        ([b"plain"], len(rows), struct.pack(f"<{len(rows)}i", *range(len(rows)))),
        (name, len(repeats), levels + struct.pack(f"<{len(items)}i", *items)),
    ]
    content, chunks = b"PAR1", []
    for parts, count, data in columns:
        page = thrift((1, I32, count), (2, I32, PLAIN), (3, I32, RLE), (4, I32, RLE))
        header = thrift((1, I32, 0), (2, I32, len(data)), (3, I32, len(data)), (5, STRUCT, page))
        size = len(header) + len(data)
        about = thrift(
            (1, I32, 1), (2, LIST, (I32, [PLAIN, RLE])), (3, LIST, (BINARY, parts)), (4, I32, 0), (5, I64, count),
            (6, I64, size), (7, I64, size), (9, I64, len(content)),
        )  # fmt: skip
        chunks.append(thrift((2, I64, len(content)), (3, STRUCT, about)))
        content += header + data
    schema = [thrift((4, BINARY, b"schema"), (5, I32, 2)), _leaf(b"plain", REQUIRED), *kinds]
    group = thrift((1, LIST, (STRUCT, chunks)), (2, I64, len(content)), (3, I64, len(rows)))
    footer = thrift((1, I32, 1), (2, LIST, (STRUCT, schema)), (3, I64, len(rows)), (4, LIST, (STRUCT, [group])))
    path.write_bytes(content + footer + struct.pack("<I", len(footer)) + b"PAR1")
