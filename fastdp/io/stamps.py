"""How a release says what it is: the key of its receipt in a file's metadata, and what writers need of a receipt."""

from __future__ import annotations

from typing import Protocol

METADATA_KEY = "fastdp.receipt"


class Stamp(Protocol):
    """A receipt, as writers see it."""

    def to_json(self) -> str:
        """All of it as text."""

    def with_rows(self, rows: int | None) -> Stamp:
        """The same for another number of rows, None while it is not known."""
