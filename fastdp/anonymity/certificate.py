"""What an anonymized table says of itself: what was asked, what was done, and the recount of what came out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from fastdp._version import __version__
from fastdp.anonymity.requirements import Requirement


@dataclass(frozen=True, slots=True)
class Certificate:
    """The certificate of an anonymized table; never a record's value."""

    requirement: Requirement
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    method: str
    levels: dict[str, int] | None
    """The level of every column; None for Mondrian, which has none."""
    loss: tuple[str, float]
    rows: int
    """Rows that were read."""
    suppressed: int
    dropped: int
    dummies: int
    nodes: dict[str, Any] | None
    """How much of the lattice was visited, and whether the optimum is proven."""
    recount: dict[str, Any] | None = None
    """The figures of the output, counted from what was written; None in formats that state them before the rows."""
    written: int | None = None
    output: Mapping[str, Any] | None = None
    """Sizes and digests of the files, in the certificate beside them."""

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        name, value = self.loss
        return {
            "format": 1,
            "kind": "anonymized",
            "rows": self.written,
            "read": self.rows,
            "suppressed": self.suppressed,
            "dropped": self.dropped,
            "dummies": self.dummies,
            "requirement": self.requirement.to_dict(),
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "method": self.method,
            "levels": self.levels,
            "loss": {name: value},
            "lattice": self.nodes,
            "recount": self.recount,
            "guarantee": "none against what an adversary knows besides: k-anonymity is no differential privacy",
            "versions": {"fastdp": __version__},
            **({} if self.output is None else {"output": dict(self.output)}),
        }

    def to_json(self) -> str:
        """The same as text."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    def with_rows(self, rows: int | None) -> Certificate:
        """The same for another number of rows, None while it is not known."""
        return replace(self, written=rows)

    def with_output(self, output: Mapping[str, Any]) -> Certificate:
        """The same for a table that is complete: sizes and digests of its files."""
        return replace(self, output=output)
