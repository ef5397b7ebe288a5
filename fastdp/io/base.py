"""What every source is, and what all of them share: the size of batches, and errors without values."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from fastdp.errors import InputCorruptError, SchemaError
from fastdp.typing import Progress as Progress  # noqa: PLC0414 - sources and sinks report it

if TYPE_CHECKING:
    import pyarrow as pa

BATCH_BYTES = 8 << 20
"""Bytes that a batch aims at; a few of them are in flight at once."""
LEAST_ROWS, MOST_ROWS = 1 << 10, 1 << 20
STANDARD = "-"
"""The name of standard input and standard output."""
_UNSUPPORTED = re.compile(r"annotated|not supported|unsupported|not (yet )?implemented|key-value", re.IGNORECASE)
"""In what Arrow says of a file that keeps to its format, and that Arrow has no types for."""


class Source(Protocol):
    """A table that is read once, batch by batch."""

    @property
    def schema(self) -> pa.Schema: ...

    @property
    def rows(self) -> int | None:
        """How many rows there are, where that is known."""

    @property
    def path(self) -> Path | None: ...

    def batches(self, columns: list[str], rows: int | None, encoded: list[str]) -> Iterator[pa.RecordBatch]:
        """All rows of these columns, at most ``rows`` at once; text that is ``encoded`` may come in dictionaries."""


@runtime_checkable
class Cancellable(Protocol):
    """A source that may wait for bytes that never come."""

    def cancel(self) -> None:
        """Let no read wait any longer, on any thread."""


@runtime_checkable
class Measured(Protocol):
    """A source that knows how much of it has been read."""

    @property
    def part(self) -> float | None:
        """The share of its bytes or batches; None where nobody knows how many there are."""


@runtime_checkable
class Placed(Protocol):
    """A source whose rows lie in files and row groups."""

    @property
    def places(self) -> list[tuple[tuple[int, int], int]]:
        """The number of the file and of the row group in it, and its rows, in the order in which they are read."""


def expected_rows(source: Source, seen: int) -> int | None:
    """How many rows a source has, or as many as it would have if the rest were like what was ``seen``."""
    part = source.part if source.rows is None and isinstance(source, Measured) else None
    return round(seen / part) if part else source.rows


def suitable_rows(schema: pa.Schema, bytes_per_row: float = 0.0) -> int:
    """Rows of a batch of about BATCH_BYTES."""
    nominal = 0.0
    for kind in schema.types:
        try:
            nominal += kind.bit_width / 8
        except ValueError:  # text, lists
            nominal += 16
    width = max(bytes_per_row, nominal, 1.0)
    return int(min(max(BATCH_BYTES // width, LEAST_ROWS), MOST_ROWS))


@contextmanager
def intact(owner: str, what: str) -> Iterator[None]:
    """Arrow's errors as ours, without the values that they print."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise OSError(error.errno, f"cannot read {what}: {os.strerror(error.errno)}") from None
        if isinstance(error, pa.ArrowNotImplementedError) or _UNSUPPORTED.search(str(error)):
            raise SchemaError(
                f"{owner}: {what} holds columns of a form that pyarrow cannot read, such as repeated "
                "groups without the annotation of a list; write it anew without them"
            ) from None
        raise InputCorruptError(f"{owner}: {what} contradicts its own format") from None
