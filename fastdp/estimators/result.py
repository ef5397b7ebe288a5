"""What an estimator returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.estimators.intervals import Spread


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate:
    """A distribution of inputs estimated from counts of outputs, with proof of how likely it is.

    ``gap`` bounds how far the mean log-likelihood per report is from the best there is; an estimate that is regularised
    has a large one on purpose. ``log_likelihood`` is that of all reports together.

    >>> from fastdp.channels import KRRChannel
    >>> from fastdp.estimators import ibu
    >>> ibu(KRRChannel(2, 0.75, 0.25), [60, 40])
    Estimate of 2 values from 100 reports, closed form of k-RR
      gap 0.0e+00 after 0 iterations, log-likelihood -67.3012
      0: 0.7000
      1: 0.3000
    """

    distribution: np.ndarray
    gap: float
    log_likelihood: float
    iterations: int
    method: str
    n: float
    values: Any = None
    """What the entries stand for, in order; None for their numbers."""
    _spread: Callable[[Estimate], Spread] | None = None
    _cache: dict[str, Any] = field(default_factory=dict)

    def _get_spread(self) -> Spread:
        if "spread" not in self._cache:
            from fastdp.estimators.intervals import unknown_spread

            self._cache["spread"] = (self._spread or unknown_spread)(self)
        spread: Spread = self._cache["spread"]
        return spread

    @property
    def std_error(self) -> np.ndarray:
        """The standard error of each entry: of the information matrix where that is regular, else of a bootstrap.

        Worked out when first asked for. It says how much the estimate would vary from one sample of people to another,
        and nothing of the bias of a regularised one.
        """
        return self._get_spread().std_error

    def interval(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Confidence intervals, one per entry: normal ones where the information matrix is regular, else percentiles.

        They hold one at a time, not all together.
        """
        return self._get_spread().interval(self.distribution, validation.level("interval", level))

    def to_arrow(self, level: float | None = None) -> pa.Table:
        """A table of values and probabilities; with a level also of standard errors and intervals.

        The rest of the estimate is in the metadata of its schema.
        """
        import pyarrow as pa

        columns = {
            "value": pa.array(list(self.values) if self.values is not None else np.arange(self.distribution.size)),
            "probability": pa.array(self.distribution),
        }
        if level is not None:
            low, high = self.interval(level)
            columns |= {"std_error": pa.array(self.std_error), "low": pa.array(low), "high": pa.array(high)}
        details = {
            "n": f"{self.n:.17g}", "gap": repr(self.gap), "log_likelihood": repr(self.log_likelihood),
            "iterations": str(self.iterations), "method": self.method,
        }  # fmt: skip
        return pa.table(columns).replace_schema_metadata(details)

    def __repr__(self) -> str:
        size = self.distribution.size
        order = np.argsort(-self.distribution, kind="stable")[:5] if size > 5 else np.arange(size)
        names = [str(self.values[i]) if self.values is not None else f"{i}" for i in order]
        width = max(map(len, names))
        lines = [
            f"Estimate of {size:,} values from {self.n:,.12g} reports, {self.method}",
            f"  gap {self.gap:.1e} after {self.iterations:,} iterations, log-likelihood {self.log_likelihood:.6g}",
            *(f"  {name:>{width}}: {self.distribution[i]:.4f}" for name, i in zip(names, order, strict=True)),
        ]
        return "\n".join([*lines, f"  {'...':>{width}}"] if size > 5 else lines)
