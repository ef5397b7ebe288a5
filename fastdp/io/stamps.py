"""How a release says what it is: the key of its receipt in a file's metadata, and what writers need of a receipt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, Self

METADATA_KEY = "fastdp.receipt"


class Stamp(Protocol):
    """A receipt, as writers see it."""

    def to_json(self) -> str:
        """All of it as text."""

    def with_rows(self, rows: int | None) -> Self:
        """The same for another number of rows, None while it is not known."""

    def with_output(self, output: Mapping[str, Any]) -> Self:
        """The same for a release that is complete: sizes and digests of its files."""
