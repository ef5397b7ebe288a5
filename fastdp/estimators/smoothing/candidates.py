"""Candidate estimates of many rows of counts at once, from smooth to sparse, along few paths.

Accelerated steps from uniform towards the likeliest distribution, with and without averages of neighbours, at numbers
of steps in a geometric sequence; the inverted channel, projected onto the simplex; and the end of the path cut down to
its largest values, fewer and fewer of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastdp.channels import Channel, GeometricChannel, KRRChannel
from fastdp.channels.hadamard import HadamardChannel
from fastdp.errors import NotIdentifiableError
from fastdp.estimators.inversion import LARGEST_CONDITION, invert
from fastdp.estimators.likelihood.problem import Problem
from fastdp.estimators.simplex import project_simplex
from fastdp.estimators.smoothing.step_paths import After, CountRows, accelerated_steps, rows_of

STEPS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 19, 23, 27, 32, 38, 45, 54, 64, 76, 91, 108, 128, 152, 181, 215,
         256, 304, 362, 431, 512, 609, 724, 861, 1024, 1218, 1448, 1722, 2048, 2435, 2896, 3444, 4096)  # fmt: skip
"""Numbers of steps that are candidates, about a fifth apart."""
KEPT = (24, 12, 6, 3, 2, 1)
"""Numbers of values that sparse candidates keep, one after the other."""
STEPS_KEPT = 12
"""Accelerated steps after each cut."""
TIE = 1e-9
"""Values that differ by less, in parts of them, are equal, and kept or cut together."""
LARGEST_INVERTED = 128
"""Inputs of a channel without a closed form whose inverse is a candidate."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A rule that turns counts into a distribution."""

    kind: str
    """``steps``, ``averaged``, ``inversion`` or ``sparse``."""
    number: int = 0
    """Of steps, or of values that are kept."""


GoesOn = Callable[[str, int], bool]
"""Whether a path of such a kind goes on after so many steps."""
Found = tuple[Candidate, np.ndarray, list[np.ndarray], CountRows]
"""A candidate, its points and the probabilities of their outputs, in the form of such rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """The candidates of a problem, and how far their paths go."""

    problem: Problem
    averages: After | None
    inverse: Callable[[np.ndarray], np.ndarray] | None
    most: Mapping[str, int]
    """Steps at most, by kind of path; a path that is not named is left out, and so is ``sparse`` with inversion."""

    def until(self, most: Mapping[str, int]) -> Ladder:
        """The same candidates as far as this."""
        return replace(self, most=most)

    def walk(self, counts: Sequence[np.ndarray], goes_on: GoesOn | None = None) -> Iterator[Found]:
        """All candidates for rows of counts; ``goes_on(kind, step)`` may end a path, or leave out what follows it."""
        if self.averages is not None and self.most.get("averaged", -1) >= 0:
            rows = rows_of(self.problem, counts, mixed=True)
            yield from _along(rows, "averaged", self.averages, self.most["averaged"], goes_on)
        if self.most.get("steps", -1) < 0:
            return
        rows, end = rows_of(self.problem, counts), np.zeros(0)
        for found in _along(rows, "steps", None, self.most["steps"], goes_on):
            end = found[1]
            yield found
        if not self.most.get("sparse") or not (goes_on is None or goes_on("sparse", 0)):
            return
        if self.inverse is not None:
            points = rows.entries(self.inverse(counts[0]))
            yield Candidate("inversion"), points, rows.products(points)[1], rows
        yield from _cut(rows, end)


def _along(rows: CountRows, kind: str, after: After | None, most: int, goes_on: GoesOn | None) -> Iterator[Found]:
    """Points of one path at the numbers of steps that are candidates."""
    for step, points, chances in accelerated_steps(rows, after, wanted=STEPS):
        yield Candidate(kind, step), points, chances, rows
        if step >= most or not (goes_on is None or goes_on(kind, step)):
            return


def _cut(rows: CountRows, points: np.ndarray) -> Iterator[Found]:
    """Points with fewer and fewer values, the largest, each time with some steps on these alone."""
    for kept in KEPT:
        if 2 * kept > rows.size:
            continue
        least = (1 - TIE) * rows.largest(points, kept)
        points = rows.normalised(np.where(points >= least, points, 0.0))
        _, points, chances = next(accelerated_steps(rows, start=points, wanted=(STEPS_KEPT,)))
        yield Candidate("sparse", kept), points, chances, rows


def inverter(problem: Problem) -> Callable[[np.ndarray], np.ndarray] | None:
    """What inverts rows of counts and projects them onto the simplex; None where that is not possible or too slow."""
    if len(problem.channels) > 1:
        return None
    channel = problem.channels[0]
    if isinstance(channel, KRRChannel | GeometricChannel | HadamardChannel):
        try:
            invert(channel, problem.counts[0])
        except NotIdentifiableError:
            return None
        if isinstance(channel, KRRChannel):
            return lambda rows: _invert_krr(channel, rows)
        return lambda rows: np.array([invert(channel, row, project="simplex") for row in rows])
    inverse = _written_inverse(channel) if channel.shape[0] <= LARGEST_INVERTED else None
    if inverse is None:
        return None
    return lambda rows: np.array([project_simplex(row) for row in rows / rows.sum(axis=1, keepdims=True) @ inverse])


def _invert_krr(channel: KRRChannel, rows: np.ndarray) -> np.ndarray:
    """All rows at once: checks of each took longer than the inversion."""
    if channel.shape[0] == 1:
        return np.ones(rows.shape)
    p, q = channel.row(0)[:2]
    return np.array([project_simplex(row) for row in (rows / rows.sum(axis=1, keepdims=True) - q) / (p - q)])


def _written_inverse(channel: Channel) -> np.ndarray | None:
    matrix = channel.dense()
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    if len(values) < len(matrix) or not values[-1] * math.sqrt(LARGEST_CONDITION) > values[0]:
        return None
    return np.asarray((right.T / values) @ left.T)
