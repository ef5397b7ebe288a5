"""Entries of a ledger, and a spend that was committed."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from fastdp.accounting.ledger.filters import Total
from fastdp.errors import LedgerCorruptError


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a ledger: ``create``, ``spend``, ``settle`` or ``raise``, and the head of the chain after it."""

    number: int
    kind: str
    body: dict[str, Any]
    added: Total
    spent: Total
    head: str

    @classmethod
    def of(cls, row: tuple[Any, ...]) -> Entry:
        try:
            return cls(row[0], row[1], json.loads(row[2]), Total(row[3], row[4]), Total(row[5], row[6]), row[7].hex())
        except (ValueError, AttributeError, TypeError):
            raise LedgerCorruptError("ledger: an entry is not readable") from None


@runtime_checkable
class Written(Protocol):
    """A receipt, as text."""

    def to_json(self) -> str: ...


class Book(Protocol):
    """What a spend needs of its ledger."""

    @property
    def stamp(self) -> dict[str, Any]: ...

    def append(self, kind: str, body: dict[str, Any]) -> Entry: ...


class Spending:
    """A spend that was committed; what it paid for may now be drawn, and settled with what it became."""

    def __init__(self, ledger: Book, entry: Entry) -> None:
        self._ledger, self.entry = ledger, entry

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing comes back: an error may depend on the data, and a refund would answer questions about them."""

    def settle(self, receipt: Any) -> Entry:
        """Note what the release became, by its receipt or a digest; a spend that is never settled counts fully."""
        return self._ledger.append("settle", {"of": self.entry.number, "receipt": receipt_digest(receipt)})

    @property
    def stamp(self) -> dict[str, Any]:
        """What a receipt carries of the ledger: its id, the data set, the number of the entry and the chain's head."""
        return {**self._ledger.stamp, "entry": self.entry.number, "head": self.entry.head}


def receipt_digest(receipt: Any) -> str:
    """SHA-256 of a receipt or its text; a digest that was computed elsewhere stays as it is."""
    text = receipt.to_json().encode() if isinstance(receipt, Written) else receipt
    return "sha256:" + hashlib.sha256(text).hexdigest() if isinstance(text, bytes) else str(text)
