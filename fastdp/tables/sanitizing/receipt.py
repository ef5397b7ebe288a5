"""What a release says of itself: its plan, its guarantee and how it was made; never a record's value."""

from __future__ import annotations

import datetime as dt
import functools
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fastdp._version import __version__
from fastdp.accounting.ledger.events import digest
from fastdp.display.html import to_html
from fastdp.errors import ParameterError
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.plan import Plan

if TYPE_CHECKING:
    from fastdp.plans.total import RecordPrivacy
    from fastdp.random.job import JobKey
    from fastdp.tables.tags import Tags

SAFE = "keyed by the operating system"
SHUFFLED, IN_ORDER = "shuffled: rows are in a uniformly random order", "that of the input"
UNSAFE = "unsafe seed: whoever knows the seed can remove the noise; for tests only"


@dataclass(frozen=True, slots=True, repr=False)
class Receipt:
    """A release of ``rows`` records under a plan."""

    plan: Plan
    rows: int | None
    unsafe: bool
    generator: str
    shuffled: bool = False
    ledger: Mapping[str, Any] | None = None
    """Which entry of which ledger paid for it, and the head of the chain after that entry."""
    release: Mapping[str, Any] | None = None
    """When it was made, of which input, and its files' digests; in the receipt beside a release, not inside it."""
    source: Mapping[str, Any] | None = None
    """The input's name, rows and columns; never its size in bytes, which depends on values where it is compressed."""

    key: str | None = None
    """The public id of the job's key."""
    tags: Tags | None = None
    """The tags of the places that were sanitized; none while they are not known."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        rows: int | None,
        key: JobKey,
        *,
        shuffled: bool = False,
        ledger: Mapping[str, Any] | None = None,
        source: Mapping[str, Any] | None = None,
        tags: Tags | None = None,
    ) -> Receipt:
        return cls(
            plan, rows, key.is_unsafe, key.generator, shuffled, ledger, source=source, key=key.id, tags=tags
        )  # fmt: skip

    def __add__(self, other: Receipt) -> Receipt:
        """The receipt of both parts of one release: of other places, or the same ones again.

        Parts of another plan, key, generator or payment are refused; so is a place that holds other rows than it did.
        """
        if not isinstance(other, Receipt):
            return NotImplemented
        for what, mine, theirs in (
            ("plan", self.plan.to_dict(), other.plan.to_dict()),
            ("key", self.key, other.key),
            ("generator", self.generator, other.generator),
            ("payment", self.ledger, other.ledger),
            ("order", self.shuffled, other.shuffled),
        ):
            if mine != theirs:
                raise ParameterError(f"Receipt: these are of two releases, for each has a {what} of its own")
        if self.tags is None or other.tags is None or self.rows is None or other.rows is None:
            raise ParameterError("Receipt: only receipts of parts that are complete, with rows and tags, add up")
        known = {tag.place for tag in self.tags}
        both = sum(tag.rows for tag in other.tags if tag.place in known)
        if both and {tag.place for tag in other.tags} - known:
            raise ParameterError("Receipt: of two parts that share places, one must be the same as the other's part")
        return replace(self, rows=self.rows if both else self.rows + other.rows, tags=self.tags + other.tags)

    @property
    def guarantee(self) -> Mapping[str, Any]:
        """What the plan promises, for a record and for every column."""
        stated: Mapping[str, Any] = self.to_dict()["guarantee"]
        return stated

    @property
    def privacy(self) -> RecordPrivacy:
        """The guarantee of its plan."""
        return self.plan.privacy

    _stated: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        if self._stated is not None:
            return self._stated | ({} if self.release is None else {"release": dict(self.release)})
        tags = {} if self.tags is None else self.tags.to_dict()
        stated = {
            "format": 1,
            "rows": self.rows,
            "order": SHUFFLED if self.shuffled else IN_ORDER,
            "guarantee": describe_guarantee(self.plan),
            "generator": f"{self.generator}, {UNSAFE if self.unsafe else SAFE}",
            "plan": self.plan.to_dict(),
            "versions": dict(versions()),
            **({} if self.key is None else {"job": {"key": self.key, **tags}}),
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
        }
        object.__setattr__(self, "_stated", stated)
        return stated | ({} if self.release is None else {"release": dict(self.release)})

    def with_rows(self, rows: int | None) -> Receipt:
        """The same for another number of rows, None while it is not known."""
        return replace(self, rows=rows)

    def with_output(self, output: Mapping[str, Any]) -> Receipt:
        """The receipt of a release that is complete: when, of what, by which plan, and the digests of its files.

        The same key gives the same file, so that none of this is inside it.
        """
        now = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        stated = self.to_dict()
        release = {"time": now, "input": self.source, "plan": digest(stated["plan"]), "output": dict(output)}
        complete = replace(self, release=release)
        object.__setattr__(complete, "_stated", stated)
        return complete

    def __repr__(self) -> str:
        rows = "" if self.rows is None else f"{self.rows:,} rows, "
        unsafe = ", UNSAFE SEED" if self.unsafe else ""
        return f"Receipt({rows}{self.privacy}, {self.generator}{unsafe})"

    def _repr_html_(self) -> str:
        stated = self.to_dict()
        rows = [[name, str(stated[name])] for name in ("rows", "order", "generator", "versions")]
        rows += [[str(name), str(value)] for name, value in stated["guarantee"].items()]
        return to_html("Receipt", rows)

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


@functools.cache
def versions() -> Mapping[str, str]:
    """What made the release."""
    from importlib.metadata import version

    made_with = {name: version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"fastdp": __version__, "python": platform.python_version(), **made_with}
