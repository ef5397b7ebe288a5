"""What mechanisms share that add noise to integers: within bounds there are finitely many, and a channel."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.columns.numeric import read_numeric
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.local.count_codes import count_codes
from fastdp.laws.central.laplace import unconditioned
from fastdp.laws.central.placement import IntegerRange, OpenIntegers
from fastdp.mechanisms.annotations import OptionalIntegers
from fastdp.mechanisms.base import FiniteMechanism
from fastdp.mechanisms.central.additive import Additive
from fastdp.typing import Column

CERTAIN = 1 - 2.0**-50
"""The probability with which noise is within the reach that results have room for."""


class IntegerNoise(Additive, FiniteMechanism):
    """Additive mechanisms on integers; with ``bounds`` their channel is between the integers of these, low first."""

    __slots__ = ()

    number_kind = "integer"
    bounds: OptionalIntegers

    def _placement(self, dtype: np.dtype[Any]) -> IntegerRange | OpenIntegers:
        if self.boundary == "open":
            assert self.bounds is not None, "checked at construction"
            return OpenIntegers.within(type(self).__name__, dtype, self.bounds, self.reach)
        return IntegerRange.within(type(self).__name__, dtype, self.bounds, self.boundary)

    @property
    def reach(self) -> int:
        """The size of the noise that outputs of an open boundary have room for: beyond it with probability 2**-50."""
        return int(np.max(np.atleast_1d(unconditioned(self._law).half_width(CERTAIN)), initial=0.0))

    def _widened(self, dtype: np.dtype[Any]) -> np.dtype[Any]:
        place = self._placement(dtype)
        return place.dtype if isinstance(place, OpenIntegers) else dtype

    @property
    def counts_outputs(self) -> bool:
        """Whether it has a channel whose outputs its reports can be counted as: within bounds."""
        return self.bounds is not None and self.boundary != "open"

    def value_names(self) -> range | None:
        """The integers within the bounds."""
        return None if self.bounds is None or not self.counts_outputs else range(self.bounds[0], self.bounds[1] + 1)

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How often each integer of the bounds is reported, in one pass; counts of batches add up."""
        owner = type(self).__name__
        if self.bounds is None or not self.counts_outputs:
            raise ParameterError(f"{owner}: reports are counted within bounds; give bounds that outputs keep")
        low, high = self.bounds
        column = read_numeric(owner, reports, "integer")
        counts = np.zeros((4, high - low + 1), np.int64)
        for block in column.blocks(owner):
            if count_codes(block.astype(np.int64) - low, np.uint64(counts.shape[1]), counts):
                raise DomainError(f"{owner}: reports hold values outside the bounds; they are not of this mechanism")
        return counts.sum(axis=0)  # type: ignore[no-any-return]
