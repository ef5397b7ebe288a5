"""Labels that are themselves biased: how far each criterion moves if a stated share of them is wrong in each group.

A wrong label is taken to be independent of the decision, given the group and the true label. Rates of wrong labels are
then a channel of each group, and true counts are won back through its inverse. Every rate is a monotone function of
either share of wrong labels, so its extremes over all shares up to the stated ones are at the corners.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.fairness.contrasts import Group
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.rates import divide, number, weights_of

STEPS = 50


@dataclass(frozen=True, slots=True)
class LabelSensitivity:
    """The range of each group's rate, and of the largest gap, if up to the stated shares of labels are wrong.

    ``rates`` [group, 2] are the least shares of wrong labels that the range allows for: false ones among negatives and
    missing ones among positives. These are ranges of the estimates themselves; sampling error comes on top.
    ``tipping`` is the smallest common share of wrong labels of either kind at which the gap could be within the
    tolerance, NaN if it is within already, infinity if no share would do.
    """

    rate: str
    groups: tuple[Group, ...]
    rates: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray
    gap: float
    gap_low: float
    gap_high: float
    tipping: float

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        rows = zip(self.groups, self.observed, self.low, self.high, self.rates, strict=True)
        return {
            "rate": self.rate,
            "gap": number(self.gap), "gap_low": number(self.gap_low), "gap_high": number(self.gap_high),
            "tipping": None if not np.isfinite(self.tipping) else self.tipping,
            "groups": [
                {"group": list(group), "observed": number(value), "low": number(low), "high": number(high),
                 "wrong_negatives": float(wrong[0]), "wrong_positives": float(wrong[1])}
                for group, value, low, high, wrong in rows
            ],
        }  # fmt: skip

    def __str__(self) -> str:
        said = f"gap of {self.rate}: {self.gap:.4f}; from {self.gap_low:.4f} to {self.gap_high:.4f} with wrong labels"
        return (
            said if not np.isfinite(self.tipping) else f"{said}; may be within the tolerance from {self.tipping:.4f} on"
        )


def corrected(cells: np.ndarray, false: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """True counts [group, label, decision] from observed ones, unbiased.

    ``false`` is the share of true negatives of each group that are labelled positive, ``missing`` that of true
    positives that are labelled negative.
    """
    negative, positive = cells[:, 0].astype(float), cells[:, 1].astype(float)
    a, b = false[:, None], missing[:, None]
    scale = 1 - a - b
    low, high = ((1 - b) * negative - b * positive) / scale, ((1 - a) * positive - a * negative) / scale
    return np.stack([low, high], axis=1)


def largest_shares(cells: np.ndarray) -> np.ndarray:
    """The largest shares [group, (false, missing)] that can be: those at which no true count is negative."""
    shares = divide(cells.astype(float), np.broadcast_to(cells.sum(axis=1, keepdims=True), cells.shape))
    return np.asarray(np.where(np.isnan(shares), 1.0, shares).min(axis=2)[:, ::-1])


def sensitivity(
    rate: str, groups: tuple[Group, ...], cells: np.ndarray, wrong: float | Mapping[Any, Any], tolerance: float
) -> LabelSensitivity:
    """How far a rate and its gap move, for shares of wrong labels up to those stated."""
    stated = read_shares(groups, wrong)
    limits = np.minimum(stated, largest_shares(cells) * (1 - 1e-9))
    low, high = ranges(rate, cells, limits)
    observed = _rate(rate, cells)
    gap = float(np.nanmax(observed) - np.nanmin(observed)) if np.isfinite(observed).sum() > 1 else np.nan
    least, most = _gaps(low, high)
    return LabelSensitivity(
        rate, groups, limits, observed, low, high, gap, least, most, _tipping(rate, cells, tolerance, gap)
    )


def read_shares(groups: tuple[Group, ...], wrong: float | Mapping[Any, Any]) -> np.ndarray:
    """Shares [group, (false, missing)] from one number, or from a number or a pair for each group; 0 for others."""
    found = np.zeros((len(groups), 2))
    given = wrong if isinstance(wrong, Mapping) else dict.fromkeys(groups, wrong)
    for group, share in given.items():
        key = group if isinstance(group, tuple) else (group,)
        if key not in groups:
            raise ParameterError(f"{OWNER}: wrong names a group that the table does not have; see .groups")
        pair = share if isinstance(share, tuple | list) else (share, share)
        numbers = [validation.as_float(one) for one in pair]
        if len(numbers) != 2 or not all(0 <= one < 0.5 for one in numbers):
            raise ParameterError(
                f"{OWNER}: wrong must be a share of labels from 0 to below 0.5, or a pair of them (labelled positive "
                "though negative, labelled negative though positive)"
            )
        found[groups.index(key)] = numbers
    return found


def ranges(rate: str, cells: np.ndarray, limits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest rate of each group over all shares up to the limits."""
    corners = [
        _rate(rate, corrected(cells, limits[:, 0] * a, limits[:, 1] * b)) for a, b in itertools.product((0, 1), (0, 1))
    ]
    found = np.clip(np.array(corners), 0, 1)
    return np.asarray(found.min(axis=0)), np.asarray(found.max(axis=0))


def _rate(rate: str, cells: np.ndarray) -> np.ndarray:
    hits, total = weights_of(rate)
    return divide((cells * hits).sum(axis=(1, 2)), (cells * total).sum(axis=(1, 2)))


def _gaps(low: np.ndarray, high: np.ndarray) -> tuple[float, float]:
    """The least and the largest gap between groups whose rates lie anywhere in their ranges."""
    known = ~np.isnan(low)
    if known.sum() < 2:
        return np.nan, np.nan
    apart = ~np.eye(int(known.sum()), dtype=bool)
    least = (low[known][:, None] - high[known][None, :])[apart].max()
    most = (high[known][:, None] - low[known][None, :])[apart].max()
    return max(0.0, float(least)), float(most)


def _tipping(rate: str, cells: np.ndarray, tolerance: float, gap: float) -> float:
    """The smallest common share from which the gap could be within the tolerance, by bisection: ranges only grow."""
    if np.isnan(gap) or gap <= tolerance:
        return np.nan

    def may_hold(share: float) -> bool:
        limits = np.minimum(share, largest_shares(cells) * (1 - 1e-9))
        return _gaps(*ranges(rate, cells, limits))[0] <= tolerance

    low, high = 0.0, 0.5
    if not may_hold(high):
        return np.inf
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (low, middle) if may_hold(middle) else (middle, high)
    return high
