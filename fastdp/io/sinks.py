"""What every sink is: it takes batches, for a file that appears when it is complete or for standard output."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from fastdp.errors import SchemaError
from fastdp.io.atomic import AtomicFiles
from fastdp.io.byte_stream import StandardOutput
from fastdp.io.digests import HashedFile
from fastdp.io.stamps import Stamp

if TYPE_CHECKING:
    import pyarrow as pa


class Sink(Protocol):
    """Takes batches in order; nothing of them is visible until ``finish``, unless it is a stream."""

    keeps_buffers: bool

    def write(self, batch: pa.RecordBatch | pa.Table) -> None: ...

    def finish(self, receipt: Stamp) -> Stamp:
        """Put everything in place; the receipt with what is known of the output by then."""

    def discard(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Target:
    """Where output and receipt go; no path is standard output, no receipt none but what the format itself holds."""

    owner: str
    path: Path | None
    receipt: Path | None
    force: bool = False

    def files(self) -> list[Path]:
        """What will be written."""
        return [*filter(None, (self.path, self.receipt))]


@contextlib.contextmanager
def writable(owner: str) -> Any:
    """Arrow's errors as ours, for its messages may hold a value."""
    import pyarrow as pa

    try:
        yield
    except pa.ArrowException:
        raise SchemaError(f"{owner}: the output's format cannot hold a column; drop or convert it") from None


class _WriterSink:
    """A sink whose batches go to a writer of the format."""

    keeps_buffers = False
    _owner: str
    _writer: Any

    def write(self, batch: pa.RecordBatch | pa.Table) -> None:
        with writable(self._owner):
            self._writer.write(batch)


class FileSink(_WriterSink):
    """A file with its receipt beside it; both appear when both are complete."""

    def __init__(self, target: Target, open_writer: Callable[[Any], Any]) -> None:
        assert target.path is not None
        self._owner = target.owner
        self._writer: Any = None
        self._outputs = AtomicFiles(force=target.force, owner=target.owner)
        try:
            file, *beside = map(self._outputs.open, target.files())
            self._receipts, self._file = beside, HashedFile(file)
            with writable(self._owner):
                self._writer = open_writer(self._file.buffered)
        except BaseException:
            self.discard()
            raise

    def finish(self, receipt: Stamp) -> Stamp:
        self._close(receipt.to_json())
        complete = receipt.with_output(self._file.digest())
        for file in self._receipts:
            file.write(complete.to_json().encode())
        self._outputs.commit()
        return complete

    def _close(self, receipt: str) -> None:  # noqa: ARG002 - formats with a footer write it there
        self._writer.close()

    def _abandon(self) -> None:
        """Close a writer whose file goes away."""
        self._writer.close()

    def discard(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(Exception):  # the file goes away whether or not it can still be closed
                self._abandon()
        self._outputs.discard()


class StreamSink(_WriterSink):
    """Standard output, with a receipt where its target names one.

    What was written cannot be taken back: on an error the stream just ends, without the end marker where its format has
    one, and no receipt appears.
    """

    def __init__(self, target: Target, file: StandardOutput, open_writer: Callable[[Any], Any]) -> None:
        self._owner, self._file = target.owner, HashedFile(file)
        self._outputs = AtomicFiles(force=target.force, owner=target.owner)
        try:
            self._receipt = None if target.receipt is None else self._outputs.open(target.receipt)
            with writable(self._owner):
                self._writer = open_writer(self._file)
        except BaseException:
            self.discard()
            raise

    def finish(self, receipt: Stamp) -> Stamp:
        self._writer.close()
        self._file.flush()
        complete = receipt.with_output(self._file.digest())
        if self._receipt is not None:
            self._receipt.write(complete.to_json().encode())
        self._outputs.commit()
        return complete

    def discard(self) -> None:
        self._outputs.discard()


def receipt_path(path: Path) -> Path:
    """Beside the output, under its name."""
    return path.with_name(path.name + ".receipt.json")
