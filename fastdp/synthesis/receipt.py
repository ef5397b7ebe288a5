"""What a synthetic table says of itself: plan, guarantee, what was measured with which noise; nothing of the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fastdp.privacy import Privacy
from fastdp.tables.sanitizing.receipt import SAFE, UNSAFE, versions

if TYPE_CHECKING:
    from fastdp.synthesis.plan import SynthesisPlan

WARNING = (
    "Synthetic rows repeat the marginals that were modelled, up to noise. They are not people: what was not modelled, "
    "rare cases, links between rows, and tests of significance made on them as if they were data, mislead."
)


@dataclass(frozen=True, slots=True)
class SynthesisReceipt:
    """One synthesis: what was drawn from the data, and at which price."""

    plan: SynthesisPlan
    privacy: Privacy
    parts: Sequence[Mapping[str, Any]]
    unsafe: bool
    generator: str
    ledger: Mapping[str, Any] | None = None
    rows: int | None = None
    output: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        stated = {
            "epsilon": self.privacy.epsilon, "delta": self.privacy.delta, "rho": self.privacy.rho,
            "unit": self.privacy.unit, "neighbours": self.privacy.neighbours,
        }  # fmt: skip
        return {
            "format": 1,
            "kind": "synthesis",
            "warning": WARNING,
            "guarantee": stated,
            "generator": f"{self.generator}, {UNSAFE if self.unsafe else SAFE}",
            "plan": self.plan.to_dict(),
            "parts": [dict(part) for part in self.parts],
            "versions": dict(versions()),
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
            **({} if self.rows is None else {"rows": self.rows}),
            **({} if self.output is None else {"output": dict(self.output)}),
        }

    def with_rows(self, rows: int | None) -> SynthesisReceipt:
        """The same for a number of synthetic rows, which is public."""
        return replace(self, rows=rows)

    def with_output(self, output: Mapping[str, Any]) -> SynthesisReceipt:
        """The same for rows that are complete: size and digest of their file."""
        return replace(self, output=output)

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, default=str) + "\n"
