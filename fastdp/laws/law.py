"""What a law of noise gives to the runner."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from fastdp.kernels.stream.words import Scratch

Fill = Callable[[np.ndarray, Any, int, Any, Scratch, np.ndarray], None]
"""``fill(key, slot, first, steps, scratch, out)`` writes the noise of records first, first + 1, ... at slots slot,
slot + 1, ... to out. ``steps`` are the records' values on the grid, for laws that depend on them, else None."""


class Law(Protocol):
    """A law of integer noise."""

    def sampler(self) -> Fill:
        """How to draw it; tables are looked up here, once per call."""
