"""pandas: ``df.fastdp.sanitize(plan)``, once ``fastdp.pandas`` is imported."""

from __future__ import annotations

from typing import Any

from fastdp.optional import load
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize

_pandas = load("fastdp.pandas", "pandas", extra="pandas")


@_pandas.api.extensions.register_dataframe_accessor("fastdp")
class FrameAccessor:
    """What fastdp does with a data frame.

    >>> import pandas as pd, fastdp as fd
    >>> _ = fd.pandas
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> pd.DataFrame({"ill": [True, False] * 500}).fastdp.sanitize(plan).shape
    (1000, 1)
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def sanitize(self, plan: Plan, **options: Any) -> Any:
        """The sanitized frame, its rows numbered afresh: `fastdp.sanitize`, whose options it takes.

        Parameters
        ----------
        plan
            What becomes of each column.
        options
            Those of `fastdp.sanitize`.
        """
        return sanitize(self._frame, plan, **options)
