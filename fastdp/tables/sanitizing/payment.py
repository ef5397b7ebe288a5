"""Paying for a release from a ledger: all that can be checked without data first, then the spend, then the data."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from fastdp.accounting.ledger.entries import Spending
from fastdp.errors import FastDPError, ParameterError

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger
    from fastdp.io.base import Source
    from fastdp.io.outputs import Output
    from fastdp.plans.plan import Plan
    from fastdp.random.job import JobKey
    from fastdp.tables.sanitizing.receipt import Receipt

Budget: TypeAlias = "Ledger | str | os.PathLike[str] | None"
"""A ledger, its path, or none but that of the plan."""
LARGEST_RECEIPT = 1 << 22
"""Bytes of a file that is read as a receipt."""


def pay(
    given: Budget,
    plan: Plan,
    source: Source,
    stated: dict[str, Any],
    output: Output | None,
    *,
    name: str = "",
    records: int | None = None,
    may_repeat: bool = False,
) -> Spending | None:
    """Spend what a release by the plan costs; None where neither the caller nor the plan names a ledger.

    ``stated`` tells an identical redo, as `once` makes it: with ``may_repeat``, that was paid for if any entry says so.
    """
    if given is None and plan.ledger is None:
        if records is not None or name:
            raise ParameterError("sanitize: name and records are for a ledger; name one")
        return None
    ledger = _open(given, plan)
    folders = {ledger.path.resolve().parent}
    if output is not None and output.folder is not None:
        folders.add(output.folder.resolve())
        with tempfile.TemporaryFile(dir=output.folder):  # a folder that cannot be written to costs nothing
            pass
    named = None if output is None else output.target.receipt
    check_stamps(ledger, [*_receipts(folders), *([] if named is None else [named])])
    _warn_of_other_ledger(ledger, source)
    if may_repeat:
        for entry in ledger.entries():
            if entry.kind == "spend" and entry.body.get("once") == stated:
                return Spending(ledger, entry)
    return ledger.spend(plan, name=name or "sanitize", records=records, once=stated)


def pay_for(plan: Plan, given: Budget, *, name: str, records: int | None = None) -> Spending | None:
    """Spend what a release by the plan costs where there is no file to look at; None where nobody names a ledger."""
    if given is None and plan.ledger is None:
        if records is not None:
            raise ParameterError("sanitize: records is for a ledger; name one")
        return None
    return _open(given, plan).spend(plan, name=name, records=records)


def settle(paid: Spending, receipt: Receipt) -> None:
    """Note the receipt of what was released; it is out by now, so that a failure is a warning."""
    try:
        paid.settle(receipt)
    except (FastDPError, OSError) as error:
        warnings.warn(f"sanitize: released and paid for, but the ledger has no note of it: {error}", stacklevel=4)


def _open(given: Budget, plan: Plan) -> Ledger:
    from fastdp.accounting.ledger import Ledger

    ledger = given if isinstance(given, Ledger) else Ledger(plan.ledger if given is None else given)  # type: ignore[arg-type]
    if given is not None and plan.ledger is not None and Ledger(plan.ledger).id != ledger.id:
        raise ParameterError("sanitize: the plan names another ledger than the one given; pay from one of them")
    return ledger


def check_stamps(ledger: Ledger, receipts: list[Path]) -> None:
    """Refuse a ledger that is older than a receipt that was paid from it, and warn of another one for its data set."""
    for path in receipts:
        stamp = read_stamp(path)
        if stamp is None:
            continue
        if stamp["id"] == ledger.id:
            ledger.check_stamp(stamp)
        elif ledger.name and stamp["name"] == ledger.name:
            _warn(f"{path.name!r} was paid from another ledger of the data set {ledger.name!r}")


def _receipts(folders: set[Path]) -> Iterator[Path]:
    for folder in sorted(folders):
        yield from sorted(folder.glob("*.receipt.json"))


def read_stamp(path: Path) -> dict[str, Any] | None:
    """What a receipt says of its ledger; None if it was paid from none, or is no receipt."""
    try:
        if path.stat().st_size > LARGEST_RECEIPT:
            return None
        return _stamp(path.read_bytes())
    except OSError:
        return None


def _stamp(text: bytes) -> dict[str, Any] | None:
    try:
        stamp = json.loads(text)["ledger"]
        return {
            "id": str(stamp["id"]), "name": str(stamp.get("name", "")), "entry": int(stamp["entry"]),
            "head": str(stamp["head"]),
        }  # fmt: skip
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _warn_of_other_ledger(ledger: Ledger, source: Source) -> None:
    """Warn if the input is itself a release that another ledger paid for."""
    from fastdp.io.sinks import receipt_path
    from fastdp.io.stamps import METADATA_KEY

    inside = (source.schema.metadata or {}).get(METADATA_KEY.encode())
    stamp = None if inside is None else _stamp(inside)
    if stamp is None and source.path is not None:
        stamp = read_stamp(receipt_path(source.path))
    if stamp is not None and stamp["id"] != ledger.id:
        _warn(f"the input was paid for from ledger {stamp['id']}")


def _warn(what: str) -> None:
    warnings.warn(
        f"sanitize: {what}; two ledgers for the same people guarantee the sum of their limits, not either of them",
        stacklevel=6,
    )


def once(plan: Plan, source: Source, key: JobKey, root: str | None = None) -> dict[str, Any]:
    """What tells a redo that is identical to the byte: the plan's digest, the input's identity, the key's id.

    The last two are keyed by the job's own key, so that nobody who reads the ledger learns a thing about the
    input, and are never the same again unless the key is. The input is identified by the ``root`` of its tags, where it
    was read, else by size, time and number of its file.
    """
    from fastdp.accounting.ledger.events import digest

    own = key.digest(b"ledger")
    identity = _identity(source) if root is None else root.encode()
    return {"plan": digest(plan.to_dict()), "input": _keyed(own, identity), "key": _keyed(own, b"key")}


def _keyed(key: bytes, text: bytes) -> str:
    return hmac.new(key, text, hashlib.sha256).hexdigest()


def _identity(source: Source) -> bytes:
    if source.path is None:
        return b"no file"
    found = source.path.stat()
    return f"{found.st_size} {found.st_mtime_ns} {found.st_ino} {found.st_dev}".encode()
