"""What data frames of any library can do once fastdp is attached to them."""

from __future__ import annotations

from typing import Any

from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize


class Frame:
    """What fastdp does with a data frame in memory."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def sanitize(self, plan: Plan, **options: Any) -> Any:
        """The sanitized frame: `fastdp.sanitize`, whose options it takes.

        Parameters
        ----------
        plan
            What becomes of each column.
        options
            Those of `fastdp.sanitize`.
        """
        return sanitize(self._frame, plan, **options)
