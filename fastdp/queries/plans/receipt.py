"""What a release says of itself: plan, guarantee, sensitivities and noise of every part; nothing of the data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

from fastdp.privacy import Privacy
from fastdp.tables.sanitizing.receipt import SAFE, UNSAFE, versions


class Described(Protocol):
    """A plan that can be written down."""

    def to_dict(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class NoiseReceipt:
    """What was drawn from the data, and at which price: it can be checked without the data."""

    kind: ClassVar[str]
    warning: ClassVar[str] = ""

    plan: Described
    privacy: Privacy
    parts: Sequence[Mapping[str, Any]]
    unsafe: bool
    generator: str
    ledger: Mapping[str, Any] | None = None
    output: Mapping[str, Any] | None = None
    """Sizes and digests of the files, in the receipt beside them."""
    rows: int | None = None
    """The number of rows where that is public."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        stated = {
            "epsilon": self.privacy.epsilon, "delta": self.privacy.delta, "rho": self.privacy.rho,
            "unit": self.privacy.unit, "neighbours": self.privacy.neighbours,
        }  # fmt: skip
        return {
            "format": 1,
            "kind": self.kind,
            **({"warning": self.warning} if self.warning else {}),
            "guarantee": stated,
            "generator": f"{self.generator}, {UNSAFE if self.unsafe else SAFE}",
            "plan": self.plan.to_dict(),
            "parts": [dict(part) for part in self.parts],
            "versions": dict(versions()),
            **({} if self.ledger is None else {"ledger": dict(self.ledger)}),
            **({} if self.rows is None else {"rows": self.rows}),
            **({} if self.output is None else {"output": dict(self.output)}),
        }

    def with_output(self, output: Mapping[str, Any]) -> Self:
        """The same for what is complete: sizes and digests of its files."""
        return replace(self, output=output)

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, default=str) + "\n"


@dataclass(frozen=True, slots=True)
class ReleaseReceipt(NoiseReceipt):
    """One release: it can be checked against the answers without the data."""

    kind = "release"

    def with_rows(self, rows: int | None) -> Self:  # noqa: ARG002 - the number of rows is a secret
        """The same: a receipt of a release says nothing of the data."""
        return self
