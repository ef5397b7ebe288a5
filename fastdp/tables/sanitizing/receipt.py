"""What a release says of itself: its plan, its guarantee and how it was made; never a record's value."""

from __future__ import annotations

import datetime as dt
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fastdp._version import __version__
from fastdp.accounting.ledger.events import digest
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.plan import Plan

if TYPE_CHECKING:
    from fastdp.plans.total import RecordPrivacy
    from fastdp.random.rng import Rng

SAFE = "keyed by the operating system"
SHUFFLED, IN_ORDER = "shuffled: rows are in a uniformly random order", "that of the input"
UNSAFE = "unsafe seed: whoever knows the seed can remove the noise; for tests only"


@dataclass(frozen=True, slots=True)
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

    guarantee: Mapping[str, Any] | None = None
    """What the plan promises, where it has been described already."""

    @classmethod
    def of(
        cls,
        plan: Plan,
        rows: int | None,
        rng: Rng,
        *,
        shuffled: bool = False,
        ledger: Mapping[str, Any] | None = None,
        source: Mapping[str, Any] | None = None,
        guarantee: Mapping[str, Any] | None = None,
    ) -> Receipt:
        return cls(plan, rows, rng.is_unsafe, rng.generator, shuffled, ledger, source=source, guarantee=guarantee)

    @property
    def privacy(self) -> RecordPrivacy:
        """The guarantee of its plan."""
        return self.plan.privacy

    _stated: dict[str, Any] | None = field(default=None, init=False, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        if self._stated is None:
            object.__setattr__(self, "_stated", self._state())
        assert self._stated is not None
        return self._stated | ({} if self.release is None else {"release": dict(self.release)})

    def _state(self) -> dict[str, Any]:
        return {
            "format": 1,
            "rows": self.rows,
            "order": SHUFFLED if self.shuffled else IN_ORDER,
            "guarantee": self.guarantee or describe_guarantee(self.plan),
            "generator": f"{self.generator}, {UNSAFE if self.unsafe else SAFE}",
            "plan": self.plan.to_dict(),
            "versions": versions(),
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
        }

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

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"


def versions() -> dict[str, str]:
    """What made the release."""
    from importlib.metadata import version

    made_with = {name: version(name) for name in ("numpy", "numba", "pyarrow")}
    return {"fastdp": __version__, "python": platform.python_version(), **made_with}
