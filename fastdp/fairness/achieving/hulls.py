"""Upper concave hulls of the points that thresholds reach, and the mixtures of thresholds that lie on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Hull:
    """The upper concave hull of points (x, y), one per threshold; ``places`` are the thresholds at its corners.

    Thresholds are numbered from that of everyone, 0, to that of nobody, the number of scores.
    """

    x: np.ndarray
    y: np.ndarray
    places: np.ndarray

    @classmethod
    def over(cls, x: np.ndarray, y: np.ndarray) -> Hull:
        """Of points whose x falls from threshold to threshold, by the monotone chain."""
        order = np.lexsort((y, x))
        corners: list[int] = []
        for place in order:
            if corners and x[corners[-1]] == x[place]:  # the higher one of equal x
                corners.pop()
            while len(corners) >= 2 and _turn(x, y, corners[-2], corners[-1], place) >= 0:
                corners.pop()
            corners.append(int(place))
        chosen = np.array(corners)
        return cls(x[chosen], y[chosen], chosen)

    def height(self, x: np.ndarray | float) -> np.ndarray:
        """The largest y at x."""
        return np.asarray(np.interp(x, self.x, self.y))

    @property
    def peak(self) -> float:
        """The x of the largest y."""
        return float(self.x[np.argmax(self.y)])

    def chances(self, x: float, scores: int) -> np.ndarray:
        """The probability to be chosen at each score, for the mixture of the two corners around x."""
        right = int(np.clip(np.searchsorted(self.x, x), 0, self.x.size - 1))
        left = max(right - 1, 0)
        width = self.x[right] - self.x[left]
        part = (x - self.x[left]) / width if width > 0 else 1.0
        steps = np.arange(scores)
        first, second = (steps >= self.places[corner] for corner in (left, right))
        return np.asarray((1 - part) * first + part * second)


def _turn(x: np.ndarray, y: np.ndarray, a: int, b: int, c: int) -> float:
    """Positive if b lies below the line from a to c."""
    return float((x[b] - x[a]) * (y[c] - y[a]) - (x[c] - x[a]) * (y[b] - y[a]))
