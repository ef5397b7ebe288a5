"""The file of a ledger: one SQLite database with a rollback journal and full syncs, and what it raises in our words."""

from __future__ import annotations

import contextlib
import os
import secrets
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from fastdp.accounting.ledger.chain import link
from fastdp.errors import LedgerCorruptError, LedgerLockedError, OutputExistsError

PRAGMAS = ("journal_mode=DELETE", "synchronous=EXTRA", "trusted_schema=OFF", "cell_size_check=ON")
PATIENCE = 60.0
"""Seconds to wait for another process that writes."""
SCHEMA = (
    """CREATE TABLE entries(
        seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL,
        amount INTEGER NOT NULL CHECK(amount >= 0), delta INTEGER NOT NULL CHECK(delta >= 0),
        total INTEGER NOT NULL, total_delta INTEGER NOT NULL, hash BLOB NOT NULL)""",
    "CREATE TRIGGER no_update BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'append only'); END",
    "CREATE TRIGGER no_delete BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'append only'); END",
    """CREATE TRIGGER in_order BEFORE INSERT ON entries
        WHEN NEW.seq IS NOT (SELECT COALESCE(MAX(seq), 0) + 1 FROM entries) BEGIN SELECT RAISE(ABORT, 'gap'); END""",
    "CREATE INDEX limits ON entries(seq) WHERE kind IN ('create', 'raise')",
)
COLUMNS = "seq, kind, body, amount, delta, total, total_delta, hash"


@contextlib.contextmanager
def open_store(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that never creates a file, with what SQLite raises in our words."""
    try:
        uri = path.resolve().as_uri() + "?mode=rw"
        with contextlib.closing(sqlite3.connect(uri, uri=True, timeout=PATIENCE, isolation_level=None)) as found:
            for pragma in PRAGMAS:
                found.execute(f"PRAGMA {pragma}")
            yield found
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise LedgerLockedError(
                f"ledger: {str(path)!r} is in use by another process for more than {PATIENCE:g} s; nothing was spent"
            ) from None
        if "full" in str(error) or "readonly" in str(error) or "I/O" in str(error) or "open" in str(error):
            raise OSError(f"ledger: {str(path)!r} cannot be written ({error}); nothing was spent") from None
        raise LedgerCorruptError(f"ledger: {str(path)!r} is no whole ledger") from None
    except sqlite3.DatabaseError:
        raise LedgerCorruptError(f"ledger: {str(path)!r} is no whole ledger") from None


def make_store(path: Path, body: str) -> None:
    """The file with its first entry; it appears whole, and never over another."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with contextlib.closing(sqlite3.connect(temporary, isolation_level=None)) as made:
            made.execute("PRAGMA synchronous=EXTRA")
            made.execute("BEGIN IMMEDIATE")
            for statement in SCHEMA:
                made.execute(statement)
            row = (1, "create", body, 0, 0, 0, 0)
            made.execute("INSERT INTO entries VALUES(?, ?, ?, ?, ?, ?, ?, ?)", (*row, link(b"", row)))
            made.execute("COMMIT")
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise OutputExistsError(f"ledger: {str(path)!r} exists; a ledger never replaces a file") from None
    except sqlite3.OperationalError as error:
        raise OSError(f"ledger: {str(path)!r} cannot be made ({error})") from None
    finally:
        temporary.unlink(missing_ok=True)
    folder = os.open(path.resolve().parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
