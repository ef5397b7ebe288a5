"""Pictures that results draw of themselves, by matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastdp import optional

MOST_NAMES = 30
"""Values whose names are written below the axis."""


def new_axes(owner: str, ax: Any) -> Any:
    """The given axes, or those of a new figure; needs matplotlib."""
    return ax or optional.load(owner, "matplotlib.pyplot", extra="report").subplots()[1]


def draw_shares(
    axes: Any,
    shares: np.ndarray,
    *,
    names: Sequence[Any] | None = None,
    edges: np.ndarray | None = None,
    interval: tuple[np.ndarray, np.ndarray] | None = None,
) -> Any:
    """Shares as bars with their names, or as a histogram with its edges; intervals as whiskers."""
    places = np.arange(shares.size) if edges is None else (edges[1:] + edges[:-1]) / 2
    widths = np.full(shares.size, 0.8) if edges is None else np.diff(edges)
    axes.bar(places, shares, widths)
    if interval is not None:
        sides = np.stack([shares - interval[0], interval[1] - shares]).clip(0)
        axes.errorbar(places, shares, yerr=sides, fmt="none", ecolor="black", capsize=2)
    if names is not None and edges is None and shares.size <= MOST_NAMES:
        axes.set_xticks(places, [str(name) for name in names], rotation=90 if shares.size > 6 else 0)
    axes.set_ylabel("share")
    return axes
