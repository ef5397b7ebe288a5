"""pandas: ``df.fastdp.sanitize(plan)``, once ``fastdp.pandas`` is imported."""

from __future__ import annotations

from fastdp.integrations.frames import Frame
from fastdp.optional import load

_pandas = load("fastdp.pandas", "pandas", extra="pandas")


@_pandas.api.extensions.register_dataframe_accessor("fastdp")
class FrameAccessor(Frame):
    """What fastdp does with a data frame; rows of results are numbered afresh.

    >>> import pandas as pd, fastdp as fd
    >>> _ = fd.pandas
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> pd.DataFrame({"ill": [True, False] * 500}).fastdp.sanitize(plan).shape
    (1000, 1)
    """
