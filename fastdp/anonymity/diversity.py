"""What classes tell about one sensitive column: the worst class by every model of the literature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.anonymity.coding.grouping import Shares
from fastdp.kernels.classes import diversity as places


@dataclass(frozen=True, slots=True)
class Diversity:
    """The worst class by every model, and what an adversary who knows the quasi-identifiers learns on average."""

    sensitive: str
    values: int
    """Distinct values of the sensitive column."""
    k: int
    """The smallest class."""
    distinct_l: int
    """The fewest distinct values in a class."""
    entropy_l: float
    """e to the smallest entropy of a class: m for m equally frequent values."""
    alpha: float
    """The largest share of one value in a class."""
    t_equal: float
    """The largest total variation between a class and the table."""
    t_ordered: float | None
    """The largest earth mover's distance by rank, over the number of values less 1; None for values without order."""
    beta: float
    """The largest relative gain (q - p) / p of a value's share."""
    enhanced_beta: float
    """The same, no larger than the information -ln p of the rarest value."""
    delta: float
    """The largest abs(ln(q / p)); infinite where a value of the table is missing in a class."""
    finite_delta: float
    """The same, of values that occur."""
    homogeneous: int
    """Rows in classes with a single value: whoever knows the quasi-identifiers knows it."""
    guessed: float
    """The share of rows whose value is the most frequent one of their class."""
    prior: float
    """The share of rows with the most frequent value of the table: what a guess gets right without the classes."""
    information: float
    """Bits that the quasi-identifiers tell about the value, on average."""
    uncertainty: float
    """Bits of the value without them."""

    @classmethod
    def of(cls, name: str, summary: np.ndarray, shares: Shares, *, ordered: bool) -> Diversity:
        """From the summary of a fold over all classes."""
        rows = float(shares.counts.sum())
        finite = float(summary[places.DELTA])
        beta = float(summary[places.BETA])
        uncertainty = float(-(shares.shares * shares.logs).sum())
        left = float(summary[places.INFORMATION]) / rows
        return cls(
            sensitive=name,
            values=shares.counts.size,
            k=int(summary[places.SIZE]),
            distinct_l=int(summary[places.DISTINCT]),
            entropy_l=_snapped(math.exp(summary[places.ENTROPY])),
            alpha=float(summary[places.ALPHA]),
            t_equal=float(summary[places.EQUAL]),
            t_ordered=float(summary[places.ORDERED]) if ordered else None,
            beta=beta,
            enhanced_beta=min(beta, float(-shares.logs.min())),
            delta=math.inf if summary[places.MISSING] else finite,
            finite_delta=finite,
            homogeneous=int(summary[places.HOMOGENEOUS]),
            guessed=float(summary[places.RIGHT]) / rows,
            prior=float(shares.shares.max()),
            information=max(0.0, uncertainty - left) / math.log(2),
            uncertainty=uncertainty / math.log(2),
        )

    def to_dict(self) -> dict[str, Any]:
        """The figures, as JSON has them: infinity as None."""
        figures = {name: getattr(self, name) for name in self.__slots__}
        return {
            name: None if isinstance(value, float) and math.isinf(value) else value for name, value in figures.items()
        }


def _snapped(value: float) -> float:
    """An integer where only rounding keeps the value from it."""
    return float(round(value)) if math.isclose(value, round(value), rel_tol=1e-12) else value
