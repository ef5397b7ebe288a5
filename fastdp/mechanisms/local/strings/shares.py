"""What `FrequentStrings` finds: strings, their shares, and intervals that hold all at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fastdp import validation
from fastdp.mechanisms.local.frequencies import FrequencyEstimate

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class StringShares:
    """The strings found, the most frequent first: shares of all people, and intervals that hold all at once.

    Parameters
    ----------
    strings
        The strings; one longer than the mechanism's ``length`` is cut to it.
    shares
        Their estimated shares.
    n
        The number of reports.
    """

    strings: list[str]
    shares: np.ndarray
    n: int
    _estimate: FrequencyEstimate
    _tested: int

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Intervals that hold the shares of all strings found with probability ``level``, whichever were found.

        Parameters
        ----------
        level
            The level of confidence of all intervals together.
        """
        level = validation.level("StringShares", level)
        return self._estimate.interval(1 - (1 - level) / self._tested)

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """A table of strings, shares and their intervals.

        Parameters
        ----------
        level
            The level of confidence of all intervals together.
        """
        import pyarrow as pa

        low, high = self.interval(level)
        return pa.table({"string": pa.array(self.strings, pa.string()), "share": self.shares, "low": low, "high": high})

    def __repr__(self) -> str:
        return f"StringShares({len(self.strings)} strings, n={self.n})"
