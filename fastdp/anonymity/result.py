"""An anonymized table, its certificate and the alternatives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastdp.anonymity.certificate import Certificate
from fastdp.anonymity.classes import Classes
from fastdp.anonymity.lattice import Node


@dataclass(frozen=True)
class Anonymized:
    """An anonymized table and how it came about."""

    table: Any
    """The output in the kind of container that came in; None where it went to a file."""
    certificate: Certificate
    classes: Classes
    """The recount: the classes of the output itself."""
    alternatives: tuple[Node, ...] = ()
    """The next best nodes of the lattice."""
    nodes: tuple[Node, ...] = ()
    """Every node that qualifies, where the whole lattice was checked."""

    @property
    def levels(self) -> dict[str, int] | None:
        """The level of every column, 0 for as it was; None for Mondrian."""
        return self.certificate.levels

    @property
    def loss(self) -> float:
        """Of the loss that was minimized: 0 for nothing lost; for ncp and entropy, 1 for everything."""
        return self.certificate.loss[1]

    @property
    def suppressed(self) -> int:
        """Rows that were left out because their class does not meet the requirement."""
        return self.certificate.suppressed

    @property
    def dummies(self) -> int:
        """Records that were added to fill classes up to k."""
        return self.certificate.dummies

    @property
    def proven(self) -> bool:
        """Whether no other levels can have a smaller loss."""
        return bool(self.certificate.nodes and self.certificate.nodes["proven"])

    def __repr__(self) -> str:
        return f"<Anonymized, k = {self.classes.k}, {self.suppressed:,} rows suppressed, loss {self.loss:.4g}>"

    def __str__(self) -> str:
        made = self.certificate
        name, value = made.loss
        lines = [
            f"{made.written:,} of {made.rows:,} rows, {made.suppressed:,} suppressed"
            + (f", {made.dropped:,} with missing values left out" if made.dropped else "")
            + (f", {made.dummies:,} dummy records added" if made.dummies else ""),
            f"loss ({name}) {value:.6g}"
            + (f", the least of {made.nodes['size']:,} nodes" if made.nodes and made.nodes["proven"] else ""),
        ]
        if made.levels:
            lines.append("levels: " + ", ".join(f"{column} {level}" for column, level in made.levels.items()))
        return "\n".join([*lines, "recounted:", *("  " + line for line in str(self.classes).splitlines())])
