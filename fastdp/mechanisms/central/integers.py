"""What mechanisms share that add noise to integers: within bounds there are finitely many, and a channel."""

from __future__ import annotations

import numpy as np

from fastdp.columns.numeric import read_block, read_numeric
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.local.count_codes import count_codes
from fastdp.mechanisms.annotations import OptionalIntegers
from fastdp.mechanisms.base import FiniteMechanism
from fastdp.mechanisms.central.additive import Additive
from fastdp.threads import BLOCK
from fastdp.typing import Column


class IntegerNoise(Additive, FiniteMechanism):
    """Additive mechanisms on integers; with ``bounds`` their channel is between the integers of these, low first."""

    __slots__ = ()

    number_kind = "integer"
    bounds: OptionalIntegers

    def value_names(self) -> range | None:
        """The integers within the bounds."""
        return None if self.bounds is None else range(self.bounds[0], self.bounds[1] + 1)

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How often each integer of the bounds is reported, in one pass; counts of batches add up."""
        owner = type(self).__name__
        if self.bounds is None:
            raise ParameterError(f"{owner}: reports are counted within bounds; give bounds")
        low, high = self.bounds
        column = read_numeric(owner, reports, "integer")
        counts = np.zeros((4, high - low + 1), np.int64)
        for piece in column.pieces:
            for start in range(0, piece.size, BLOCK):
                block = read_block(owner, piece, start, min(start + BLOCK, piece.size), column.result_dtype)
                if count_codes(block.astype(np.int64) - low, np.uint64(counts.shape[1]), counts):
                    raise DomainError(
                        f"{owner}: reports hold values outside the bounds; they are not of this mechanism"
                    )
        return counts.sum(axis=0)  # type: ignore[no-any-return]
