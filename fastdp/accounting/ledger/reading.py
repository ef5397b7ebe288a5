"""What stored entries say of limits and neighbours, and when an entry is made."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from typing import Any

from fastdp._version import __version__
from fastdp.accounting.ledger.filters import Total
from fastdp.errors import ParameterError


def read_limits(found: sqlite3.Connection) -> list[dict[str, Any]]:
    """The bodies of the entries that set a limit."""
    rows = found.execute("SELECT body FROM entries WHERE kind IN ('create', 'raise') ORDER BY seq").fetchall()
    return [json.loads(row[0]) for row in rows]


def read_limit(found: sqlite3.Connection) -> Total:
    first, last = (bodies := read_limits(found))[0], bodies[-1]
    return Total(last["amount"], last.get("delta", first["delta"]))


def check_neighbours(found: sqlite3.Connection, neighbours: str) -> None:
    """Refuse a release for other neighbours than the first one's: such sums guarantee nothing."""
    row = found.execute("SELECT body FROM entries WHERE kind = 'spend' AND amount > 0 ORDER BY seq LIMIT 1").fetchone()
    stated = neighbours if row is None else json.loads(row[0])["event"]["neighbours"]
    if stated != neighbours:
        raise ParameterError(
            f"ledger: its releases are for neighbours by {stated!r}, this one by {neighbours!r}; a guarantee for "
            "add/remove becomes one for replacement by privacy.for_replacement()"
        )


def circumstances() -> dict[str, str]:
    """When, and by which version; never where the data are."""
    now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
    return {"time": now, "fastdp": __version__}
