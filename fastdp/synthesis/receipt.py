"""What a synthetic table says of itself: plan, guarantee, what was measured with which noise; nothing of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from fastdp.queries.plans.receipt import NoiseReceipt

WARNING = (
    "Synthetic rows repeat the marginals that were modelled, up to noise. They are not people: what was not modelled, "
    "rare cases, links between rows, and tests of significance made on them as if they were data, mislead."
)


@dataclass(frozen=True, slots=True)
class SynthesisReceipt(NoiseReceipt):
    """One synthesis: what was drawn from the data, and at which price."""

    kind = "synthesis"
    warning = WARNING

    def with_rows(self, rows: int | None) -> Self:
        """The same for a number of synthetic rows, which is public."""
        return replace(self, rows=rows)
