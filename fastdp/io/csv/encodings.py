"""Other encodings of text than UTF-8, translated on the way in and out."""

from __future__ import annotations

import codecs
from typing import Any

from fastdp.errors import InputCorruptError, SchemaError
from fastdp.io.byte_stream import ByteStream, ConvertedStream
from fastdp.io.csv.dialect import UTF8

PIECE = 1 << 20
"""Bytes that are translated at once."""


def decoded(owner: str, stream: ByteStream, encoding: str) -> ByteStream:
    """The text of a stream in UTF-8, decoded while it is read."""
    if encoding == UTF8:
        return stream
    decoder = codecs.getincrementaldecoder(encoding)()

    def convert() -> bytes:
        while True:
            piece = stream.read(PIECE)
            try:
                text = decoder.decode(piece, final=not piece)
            except UnicodeError:
                raise InputCorruptError(
                    f"{owner}: {stream.name} holds bytes that are not text in {encoding} (--encoding)"
                ) from None
            if text or not piece:
                return text.encode()

    return ConvertedStream(convert, stream)


class EncodedFile:
    """A file that takes UTF-8 and writes another encoding, with one character in place of another and back."""

    closed = False

    def __init__(self, owner: str, file: Any, encoding: str) -> None:
        self._owner, self._file, self._encoding = owner, file, encoding
        self._decoder = codecs.getincrementaldecoder(UTF8)()
        self._encoder = codecs.getincrementalencoder(encoding)()

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._file.write(self._encode(self._decoder.decode(view)))
        return view.nbytes

    def _encode(self, text: str, *, final: bool = False) -> bytes:
        try:
            return self._encoder.encode(text, final)
        except UnicodeError:
            raise SchemaError(
                f"{self._owner}: the output holds text that {self._encoding} cannot write; choose utf-8 (--encoding)"
            ) from None

    def tell(self) -> int:
        return int(self._file.tell())

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        """What is left goes to the file, which stays open."""
        if not self.closed:
            self.closed = True
            self._file.write(self._encode("", final=True))
