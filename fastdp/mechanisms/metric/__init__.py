"""Mechanisms for d-privacy: on points, on grids, on any finite metric, and along trajectories."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    """`ExponentialMetric` was here when this was a module."""
    if name != "ExponentialMetric":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import warnings

    from fastdp.mechanisms.metric.exponential import ExponentialMetric

    message = "ExponentialMetric moved to fastdp.mechanisms.metric.exponential; the old path goes with the next version"
    warnings.warn(message, DeprecationWarning, stacklevel=2)
    return ExponentialMetric
