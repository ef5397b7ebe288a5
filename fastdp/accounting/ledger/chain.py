"""The bytes of an entry, and the hash that ties it to all before it."""

from __future__ import annotations

import hashlib
import json
from typing import Any

FORMAT = b"fastdp ledger 1\0"
_ROWS = json.JSONEncoder(separators=(",", ":"), ensure_ascii=True)


def canonical(value: dict[str, Any]) -> str:
    """JSON in one form only: keys in order, no spaces, floats as hexadecimal text.

    >>> canonical({"b": 0.5, "a": (1, True)})
    '{"a":[1,true],"b":"0x1.0000000000000p-1"}'
    """
    plain = json.loads(json.dumps(value), parse_float=_in_hexadecimal, parse_constant=_in_hexadecimal)
    return json.dumps(plain, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def _in_hexadecimal(text: str) -> str:
    return float(text).hex()


def link(before: bytes, row: tuple[Any, ...]) -> bytes:
    """The hash of an entry: of the hash before it and of all it says."""
    text = _ROWS.encode(row)
    return hashlib.sha256(FORMAT + before + text.encode()).digest()


def check_chain(rows: list[tuple[Any, ...]]) -> int:
    """The number of the first entry that does not follow from those before it; 0 if all do."""
    before, total, total_delta = b"", 0, 0
    for number, row in enumerate(rows, 1):
        total, total_delta = total + row[3], total_delta + row[4]
        if row[0] != number or (row[5], row[6]) != (total, total_delta) or row[7] != link(before, row[:7]):
            return number
        before = row[7]
    return 0
