"""Verify a release: whether its files, its receipt, its plan and the ledger that paid for it agree."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastdp.accounting.ledger.entries import receipt_digest
from fastdp.accounting.ledger.events import digest
from fastdp.errors import FastDPError, InputCorruptError, LedgerCorruptError, ParameterError
from fastdp.io.digests import digest_of
from fastdp.io.formats import is_text
from fastdp.io.open import open_source
from fastdp.io.sinks import receipt_path
from fastdp.plans.documents.earlier import read_stated
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.plan import Plan
from fastdp.tables.sanitizing.receipt_lookup import own_receipt

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger

OWNER = "verify"


@dataclass(frozen=True, slots=True)
class Check:
    """One comparison: what was compared, whether both agree (None if one of them is not there), and in words."""

    subject: str
    agrees: bool | None
    words: str


@dataclass(frozen=True, slots=True)
class Verification:
    """All comparisons of a release."""

    checks: tuple[Check, ...]

    @property
    def agrees(self) -> bool:
        """Whether nothing contradicts anything else; what could not be compared does not count."""
        return all(check.agrees is not False for check in self.checks)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        rows = [{"subject": one.subject, "agrees": one.agrees, "words": one.words} for one in self.checks]
        return {"agrees": self.agrees, "checks": rows}


def verify(
    release: str | os.PathLike[str],
    *,
    receipt: str | os.PathLike[str] | None = None,
    plan: str | os.PathLike[str] | Plan | None = None,
    ledger: str | os.PathLike[str] | Ledger | None = None,
) -> Verification:
    """Compare a release with its receipt, and that with its plan and its ledger.

    The receipt's digests tell whether a byte of the release was changed. A digest proves nothing about who made the
    receipt: whoever can change both can make them agree, but for the ledger's note of the receipt.

    Parameters
    ----------
    release
        The path of a sanitized file or folder.
    receipt
        The path of its receipt; by default the release's name and ".receipt.json".
    plan
        The plan that it is said to have been made with, or its path.
    ledger
        The ledger that paid for it, or its path.

    >>> import fastdp as fd, pyarrow as pa, tempfile
    >>> path = tempfile.mkdtemp() + "/private.parquet"
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> made = fd.sanitize(pa.table({"ill": [True, False]}), plan, path)
    >>> verify(path, plan=plan).agrees
    True
    """
    path = Path(release)
    if not path.exists():
        raise ParameterError(f"{OWNER}: there is no release {str(path)!r}")
    beside = receipt_path(path) if receipt is None else Path(receipt)
    text = _read(beside)
    stated = _parse(beside, text)
    checks = [
        *_compare_files(path, stated),
        *_compare_content(path, stated),
        *_compare_plan(stated, plan),
        *_compare_ledger(stated, text, ledger),
    ]
    return Verification(tuple(checks))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ParameterError(
            f"{OWNER}: there is no receipt {str(path)!r} ({error.strerror}); name it (receipt=..., --receipt)"
        ) from None


def _parse(path: Path, text: bytes) -> dict[str, Any]:
    try:
        stated: dict[str, Any] = json.loads(text)
        read_stated(stated["plan"])
        for key in ("guarantee", "generator", "order", "rows"):
            stated[key]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, FastDPError):
        raise InputCorruptError(f"{OWNER}: {str(path)!r} is no receipt that this version can read") from None
    return stated


def _compare_files(path: Path, stated: Mapping[str, Any]) -> Iterator[Check]:
    """Sizes and digests of all files of a release."""
    output = (stated.get("release") or {}).get("output")
    if output is None:
        yield Check("file", None, "the receipt has no digest of the release: it was made by an earlier version")
        return
    if not path.is_dir():
        yield _compare_digest("file", path, output)
        return
    files = output.get("files", {})
    for name, expected in files.items():
        yield _compare_digest(f"file {name}", path / name, expected)
    found = {file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file()}
    more = sorted(found - files.keys())
    if more:
        yield Check("folder", False, f"the folder holds {len(more)} files that the receipt does not name")


def _compare_digest(subject: str, path: Path, expected: Mapping[str, Any]) -> Check:
    try:
        with path.open("rb") as file:
            found = digest_of(file)
    except OSError:
        return Check(subject, False, "is missing")
    if found == {"bytes": expected.get("bytes"), "sha256": expected.get("sha256")}:
        return Check(
            subject, True, f"SHA-256 {found['sha256'][:16]}..., {found['bytes']:,} bytes, as the receipt has it"
        )
    return Check(subject, False, "is not the file of the receipt: its SHA-256 is another")


def _compare_content(path: Path, stated: Mapping[str, Any]) -> Iterator[Check]:
    """The receipt inside the release, and the number of its rows."""
    if is_text(path):  # in a dialect that need not be known for this
        yield Check("receipt inside", None, "this format holds none")
        return
    opened = open_source(OWNER, path)
    inside = own_receipt(opened)
    if inside is None:
        yield Check("receipt inside", None, "this format holds none")
    else:
        theirs = _parse(path, inside)
        same = all(theirs[key] == stated[key] for key in ("plan", "guarantee", "generator", "order"))
        yield Check("receipt inside", same, "says the same" if same else "says something else than the one beside it")
    if opened.rows is not None and stated["rows"] is not None:
        same = opened.rows == stated["rows"]
        yield Check(
            "rows", same, f"{opened.rows:,}" if same else f"{opened.rows:,}, the receipt has {stated['rows']:,}"
        )


def _compare_plan(stated: Mapping[str, Any], given: Any) -> Iterator[Check]:
    """The plan of the receipt against its own digest, its guarantee, and the plan that was given."""
    plan = read_stated(stated["plan"])
    release = stated.get("release") or {}
    if "plan" in release:
        same = digest(stated["plan"]) == release["plan"]
        yield Check(
            "plan's digest", same, release["plan"][:16] + "..." if same else "is not that of the receipt's plan"
        )
    same = json.loads(json.dumps(describe_guarantee(plan))) == stated["guarantee"]
    yield Check(
        "guarantee", same, "follows from the plan" if same else "is not what the plan guarantees, as computed here"
    )
    if given is not None:
        theirs = given if isinstance(given, Plan) else Plan.load(given)
        same = theirs == plan
        yield Check("plan", same, "is the receipt's" if same else "says something else than the receipt's")


def _compare_ledger(stated: Mapping[str, Any], text: bytes, given: Any) -> Iterator[Check]:
    """The entry that paid, the chain around it, and what was noted of the receipt."""
    from fastdp.accounting.ledger import Ledger

    stamp = stated.get("ledger")
    if given is None:
        if stamp is not None:
            yield Check(
                "ledger", None, f"paid from entry {stamp.get('entry')} of {stamp.get('id')}; give it (--ledger)"
            )
        return
    ledger = given if isinstance(given, Ledger) else Ledger(given)
    if stamp is None:
        yield Check("ledger", False, "the receipt names no ledger")
        return
    try:
        ledger.verify([stamp])
    except (LedgerCorruptError, KeyError, TypeError, ValueError) as error:
        yield Check(
            "ledger", False, str(error) if isinstance(error, LedgerCorruptError) else "the stamp is not readable"
        )
        return
    yield Check("ledger", True, f"entry {stamp['entry']} is as the receipt has it, and the chain is whole")
    notes = [entry.body for entry in ledger.entries() if entry.kind == "settle"]
    noted = [body["receipt"] for body in notes if body["of"] == stamp["entry"]]
    if not noted:
        yield Check("settlement", None, "the ledger has no note of what the entry became")
        return
    same = receipt_digest(text) in noted
    yield Check("settlement", same, "the ledger notes this receipt" if same else "the ledger notes another receipt")
