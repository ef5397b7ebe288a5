"""What generalization costs: normalized certainty penalty, non-uniform entropy, discernibility."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fastdp.anonymity.generalization import Ladder
from fastdp.kernels.classes.rollup import DISCERNIBILITY, SEPARABLE

LOSSES = ("ncp", "entropy", "discernibility")


@dataclass(frozen=True, slots=True)
class Loss:
    """A penalty per column, level and group, of one row; a suppressed or a dummy row counts 1.

    ``ncp``: the values that share the group, less 1, over all values less 1, mean over columns.
    ``entropy``: the information that the group leaves open about the value, relative to losing it all: rows whose group
    has n_g of n rows cost ln n_g, to which only a constant is missing.
    ``discernibility``: the square of the class size; a suppressed row counts as many as there are rows.
    """

    name: str
    penalties: tuple[tuple[np.ndarray, ...], ...]
    floors: np.ndarray
    """The penalty of all rows by column and level."""
    rows: int

    @property
    def kind(self) -> int:
        """How kernels add it up."""
        return DISCERNIBILITY if self.name == "discernibility" else SEPARABLE

    def scaled(self, raw: float) -> float:
        """From 0, nothing generalized, to 1, everything gone; discernibility as it is."""
        if self.kind == DISCERNIBILITY:
            return raw
        least = float(self.floors[:, 0].sum())
        return (raw - least) / (self.rows - least) if self.rows > least else 0.0

    @classmethod
    def of(cls, name: str, ladders: Sequence[Ladder]) -> Loss:
        """The penalties of every column."""
        rows = int(ladders[0].counts.sum())
        most = max(ladder.top for ladder in ladders) + 1
        floors = np.zeros((len(ladders), most))
        penalties = []
        for j, ladder in enumerate(ladders):
            levels = []
            for level, groups in enumerate(ladder.groups):
                sums = np.bincount(groups, ladder.counts)
                penalty = _penalty(name, groups, sums, ladder.counts.size, rows) / len(ladders)
                floors[j, level] = float((penalty * sums).sum())
                levels.append(penalty)
            floors[j, len(ladder.groups) :] = floors[j, len(ladder.groups) - 1]
            penalties.append(tuple(levels))
        return cls(name, tuple(penalties), floors, rows)


def _penalty(name: str, groups: np.ndarray, sums: np.ndarray, values: int, rows: int) -> np.ndarray:
    if name == "ncp":
        return np.asarray((np.bincount(groups) - 1) / max(values - 1, 1))
    if name == "entropy":
        return np.asarray(np.log(sums) / math.log(rows)) if rows > 1 else np.zeros(sums.size)
    return np.zeros(sums.size)
