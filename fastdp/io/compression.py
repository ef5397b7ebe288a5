"""Compressed streams and files, gzip and zstd: read and written as they come, told by their first bytes or ending."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastdp.errors import InputCorruptError, ParameterError
from fastdp.io.byte_stream import PIECE, ByteStream, ConvertedStream
from fastdp.io.formats import Compression

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1 << 20
"""Bytes that are decompressed at once."""


def decompressed(owner: str, stream: ByteStream, kind: Compression) -> ByteStream:
    """What a compressed stream holds, in bounded memory."""
    import pyarrow as pa

    _check_known(owner, kind)
    inside = pa.CompressedInputStream(pa.PythonFile(_Readable(stream), mode="r"), kind)

    def convert() -> bytes:
        try:
            piece: bytes = inside.read(AT_ONCE)
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise InputCorruptError(f"{owner}: {stream.name} is damaged or cut short ({kind})") from None
        return piece

    return ConvertedStream(convert, stream)


class _Readable:
    """A stream as pyarrow wants it; at most a piece is read at once."""

    closed = False

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream

    def read(self, count: int = -1) -> bytes:
        return self._stream.read(min(count, PIECE))

    def close(self) -> None:
        self.closed = True


class Compressed:
    """A file that takes bytes and writes them compressed; ``close`` ends the compression and leaves the file open."""

    closed = False

    def __init__(self, file: Any, kind: Compression) -> None:
        import pyarrow as pa

        _check_known("output", kind)
        self._inside: pa.CompressedOutputStream = pa.CompressedOutputStream(
            pa.PythonFile(BorrowedFile(file), mode="w"), kind
        )
        self._place = 0

    def write(self, data: Any) -> int:
        view = memoryview(data).cast("B")
        self._inside.write(view)
        self._place += view.nbytes
        return view.nbytes

    def tell(self) -> int:
        return self._place

    def flush(self) -> None:
        """Nothing: what is flushed in the middle compresses worse."""

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self._inside.close()


class BorrowedFile:
    """A file that whoever opened it closes."""

    closed = False

    def __init__(self, file: Any) -> None:
        self._file = file

    def write(self, data: Any) -> int:
        self._file.write(data)
        return len(data)

    def tell(self) -> int:
        return int(self._file.tell())

    def flush(self) -> None:
        self._file.flush()

    def close(self) -> None:
        self.closed = True


def _check_known(owner: str, kind: Compression) -> None:
    import pyarrow as pa

    if not pa.Codec.is_available(kind):
        raise ParameterError(f"{owner}: this build of pyarrow has no {kind}; install one that has, or decompress first")
