"""The error to expect of a column's reports, in words."""

from __future__ import annotations

import math
from decimal import ROUND_UP, Context
from typing import TYPE_CHECKING, Any

from fastdp.mechanisms.local.square_wave import SquareWave
from fastdp.plans.part import RECORDS

if TYPE_CHECKING:
    from fastdp.mechanisms.metric.finite import CodeMechanism


def expected_error(mechanism: Any, takes: str, records: int = RECORDS) -> str:
    """Where 95 % of the errors lie: of a value, or of what is estimated from so many reports."""
    if takes == "codes":
        return f"{_in_digits(_reach(mechanism))} {mechanism.unit} from each value"
    if takes == "numbers":
        return f"±{_in_digits(half_width(mechanism))} on each value"
    if isinstance(mechanism, SquareWave):
        return f"±{_in_digits(_wave_reach(mechanism))} on each value"
    if takes == "bounded":
        return f"±{_in_digits(_half(mechanism.variance(records)))} on the mean of {records:,}"
    return f"{share_error(worst_variance(mechanism, records))} on shares of {records:,}"


def worst_variance(mechanism: Any, reports: int) -> float:
    """The variance of an estimated share, of whichever size it is the largest: it is linear in the share."""
    return max(float(mechanism.variance(reports, share)) for share in (0.0, 1.0))


def share_error(variance: float) -> str:
    """The distance of 1.96 standard errors in per cent, to two digits, rounded up.

    >>> share_error(0.0113**2)
    '±2.3 %'
    """
    return f"±{Context(2, ROUND_UP).create_decimal(100 * _half(variance)).normalize():f} %"


def _half(variance: float) -> float:
    return 1.96 * math.sqrt(float(variance))


def half_width(mechanism: Any) -> float:
    """Half of the interval of 95 % of the noise on a number; at most the width of bounds that results keep."""
    half = float(mechanism.interval(0.95)[1])
    return (
        half
        if mechanism.bounds is None or mechanism.boundary == "open"
        else min(half, mechanism.bounds[1] - mechanism.bounds[0])
    )


def _in_digits(number: float) -> str:
    """Four digits that count, in thousands.

    >>> _in_digits(599146.5), _in_digits(2.9957), _in_digits(3e-9)
    ('599,100', '2.996', '3e-09')
    """
    return f"{float(f'{number:.4g}'):,.15g}"


def _wave_reach(mechanism: SquareWave) -> float:
    """The distance that 95 % of the reports of the middle value are within."""
    near = 2 * mechanism.b * mechanism.p
    part = 0.95 / (2 * mechanism.p) if near > 0.95 else mechanism.b + (0.95 - near) / (2 * mechanism.q)
    return part * (mechanism.bounds[1] - mechanism.bounds[0])


def _reach(mechanism: CodeMechanism) -> float:
    """The distance that 95 % of the reports of the middle value are within."""
    import numpy as np

    lengths = mechanism.distances_from(mechanism.middle)
    order = np.argsort(lengths)
    reached = np.searchsorted(np.cumsum(mechanism.channel().row(mechanism.middle)[order]), 0.95)
    return float(lengths[order][min(int(reached), len(order) - 1)])
