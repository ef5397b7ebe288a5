"""What a release says of itself: plan, guarantee, sensitivities and noise of every part; nothing of the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastdp.privacy import Privacy
from fastdp.tables.sanitizing.receipt import SAFE, UNSAFE, versions

if TYPE_CHECKING:
    from fastdp.queries.plans.plan import ReleasePlan


@dataclass(frozen=True, slots=True)
class ReleaseReceipt:
    """One release: it can be checked against the answers without the data."""

    plan: ReleasePlan
    privacy: Privacy
    parts: Sequence[Mapping[str, Any]]
    unsafe: bool
    generator: str
    ledger: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None
    """Sizes and digests of the files of answers, in the receipt beside them."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        stated = {
            "epsilon": self.privacy.epsilon, "delta": self.privacy.delta, "rho": self.privacy.rho,
            "unit": self.privacy.unit, "neighbours": self.privacy.neighbours,
        }  # fmt: skip
        return {
            "format": 1,
            "kind": "release",
            "guarantee": stated,
            "generator": f"{self.generator}, {UNSAFE if self.unsafe else SAFE}",
            "plan": self.plan.to_dict(),
            "parts": [dict(part) for part in self.parts],
            "versions": dict(versions()),
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
            **({} if self.output is None else {"output": dict(self.output)}),
        }

    def with_rows(self, rows: int | None) -> ReleaseReceipt:  # noqa: ARG002 - the number of rows is a secret
        """The same: a receipt of a release says nothing of the data."""
        return self

    def with_output(self, output: Mapping[str, Any]) -> ReleaseReceipt:
        """The same for answers that are complete: sizes and digests of their files."""
        return replace(self, output=output)

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"
