"""Keyed pseudonyms of identifiers: whoever has the key can make them again, and rows with one id stay linkable."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.columns.arrow import blank_nulls, decode
from fastdp.errors import OutputExistsError, ParameterError, SchemaError
from fastdp.random.permanent_keys import new_key
from fastdp.random.rng import KEY_BYTES

if TYPE_CHECKING:
    import pyarrow as pa

KEYS = ("action", "key_file")
DIGEST = 12
"""Bytes of a pseudonym: two of five million ids share one with probability below 2**-51."""
PURPOSE = b"fastdp pseudonym"
LINKABLE = "linkable: the same id has the same pseudonym in every file with this key; not differential privacy"


def write_key(path: Path) -> None:
    """A fresh key in a new file that its owner alone may read and write; an existing file is never replaced."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise OutputExistsError(f"plan: {str(path)!r} exists; a key is never replaced") from None
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(new_key().hex() + "\n")
        file.flush()
        os.fsync(file.fileno())


@dataclass(frozen=True, slots=True)
class Pseudonym:
    """Pseudonyms by the key in a file, whose path a plan names and whose content no plan or receipt holds."""

    key_file: str

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any]) -> Pseudonym:
        path = given.get("key_file")
        if not isinstance(path, str) or not path:
            raise ParameterError(f"{owner}: pseudonym needs key_file, the path of a key made by `fastdp plan key`")
        return cls(path)

    @property
    def words(self) -> str:
        return LINKABLE

    def key(self, owner: str, folder: Path) -> bytes:
        """The key; refused if others than its owner may read the file."""
        path = folder / self.key_file
        try:
            shared = os.name == "posix" and path.stat().st_mode & 0o077
            key = bytes.fromhex(path.read_text(encoding="ascii").strip())
        except (OSError, ValueError):
            raise ParameterError(
                f"{owner}: there is no key in {self.key_file!r}; make one: fastdp plan key {self.key_file}"
            ) from None
        if shared:
            raise ParameterError(f"{owner}: others may read the key {self.key_file!r}; chmod 600 it")
        if len(key) != KEY_BYTES:
            raise ParameterError(f"{owner}: {self.key_file!r} holds no key of {KEY_BYTES} bytes")
        return key

    def result_type(self, owner: str, kind: pa.DataType) -> pa.DataType:
        import pyarrow as pa

        types = pa.types
        plain = kind.value_type if types.is_dictionary(kind) or types.is_run_end_encoded(kind) else kind
        text = types.is_string(plain) or types.is_large_string(plain) or types.is_string_view(plain)
        if not (text or types.is_integer(plain) or types.is_binary(plain) or types.is_fixed_size_binary(plain)):
            raise SchemaError(f"{owner}: arrow type {kind} holds no ids; pseudonyms are of text, integers and bytes")
        return pa.string()

    def apply(self, key: bytes, values: pa.Array) -> pa.Array:
        """Pseudonyms of 24 hexadecimal digits; nulls stay nulls. An integer has that of its decimal text."""
        import pyarrow as pa

        if pa.types.is_dictionary(values.type) and len(values.dictionary) <= len(values):
            return self.apply(key, values.dictionary).take(values.indices)
        plain = decode(values)
        if pa.types.is_integer(plain.type):
            plain = plain.cast(pa.string())
        texts = plain if pa.types.is_large_binary(plain.type) else plain.cast(pa.large_binary())
        count, width = len(texts), 2 * DIGEST
        digits = _digests(key, texts)
        ends = np.arange(count + 1, dtype=np.int32) * np.int32(width)
        validity = blank_nulls(texts, digits, blank=ord("0"))
        return pa.Array.from_buffers(pa.string(), count, [validity, pa.py_buffer(ends), pa.py_buffer(digits)])


def _digests(key: bytes, texts: pa.LargeBinaryArray) -> np.ndarray:
    """The digits of each text's keyed digest, a row of them per text."""
    from fastdp.kernels.blake2b import BLOCK, fill_blake2b, start_state

    count = len(texts)
    out = np.zeros((count, 2 * DIGEST), np.uint8)
    _, ends, content = texts.buffers()
    if count:
        body = np.zeros(0, np.uint8) if content is None else np.frombuffer(content, np.uint8)
        padded = np.frombuffer(key.ljust(BLOCK, b"\0"), np.uint8)
        fill_blake2b(
            start_state(DIGEST, key, PURPOSE), padded, body, np.frombuffer(ends, np.int64, count + 1, texts.offset * 8),
            np.zeros(32, np.uint64), out,
        )  # fmt: skip
    return out
