"""Why criteria exclude each other: Chouldechova's identity with a table's own numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.fairness.contrasts import Contrast, Group
from fastdp.fairness.rates import divide, number


@dataclass(frozen=True, slots=True)
class Incompatibility:
    """Criteria that cannot hold together, and the identity that says so.

    In every group FPR = p / (1 - p) * (1 - PPV) / PPV * (1 - FNR), with p the base rate. With equal PPV and FNR,
    unequal base rates force unequal FPR: ``forced[i, j]`` is the FPR of group i with the PPV and FNR of group j.
    [Chouldechova 2017; Kleinberg, Mullainathan, Raghavan 2016]
    """

    groups: tuple[Group, ...]
    base: Contrast
    fpr: np.ndarray
    identity: np.ndarray
    forced: np.ndarray
    pairs: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "base_rate_gap": self.base.to_dict(),
            "groups": [list(group) for group in self.groups],
            "fpr": [number(value) for value in self.fpr],
            "identity": [number(value) for value in self.identity],
            "forced_fpr": [[number(value) for value in row] for row in self.forced],
            "incompatible": list(self.pairs),
        }


def false_positive_rate(base: np.ndarray, ppv: np.ndarray, fnr: np.ndarray) -> np.ndarray:
    """The FPR that a base rate, a PPV and an FNR force."""
    return divide(base * (1 - ppv) * (1 - fnr), (1 - base) * ppv)


def explain(groups: tuple[Group, ...], cells: np.ndarray, base: Contrast) -> Incompatibility:
    """The identity in every group, and the pairs of criteria that unequal base rates exclude."""
    tn, fp, fn, tp = (cells[:, i, j].astype(float) for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)))
    rate, ppv, fnr = divide(tp + fn, tn + fp + fn + tp), divide(tp, tp + fp), divide(fn, tp + fn)
    identity = false_positive_rate(rate, ppv, fnr)
    forced = np.stack([false_positive_rate(np.full(rate.size, p), ppv, fnr) for p in rate])
    pairs = _pairs(base, imperfect=bool((fp + fn).any()))
    return Incompatibility(groups, base, divide(fp, fp + tn), identity, forced, pairs)


def _pairs(base: Contrast, *, imperfect: bool) -> tuple[str, ...]:
    """Statements for base rates that differ beyond chance."""
    if base.low <= 0:
        return ()
    stated = (
        f"base rates differ by {base.value:.3f}, at least {base.low:.3f}",
        "independence and sufficiency exclude each other: with both, base rates are equal",
        "independence and separation exclude each other unless decisions ignore the labels",
    )
    if not imperfect:
        return stated[:2]
    return (*stated, "separation and sufficiency exclude each other: decisions are not free of errors")
