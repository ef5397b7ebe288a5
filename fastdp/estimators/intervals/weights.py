"""Weights on outputs whose mean bounds a functional of the inputs: found in three ways, by the size of the channel.

For any weights w, and any distribution p of inputs, h'p <= w'(pC) + max(h - Cw). Good weights make the right side, plus
z standard errors of w's mean over the reports, small. Here they are found for a guess ``d`` of the distribution of
outputs; whoever uses them adds up the bound for other reports, so that a poor guess or an inexact solution makes the
bound wider and never wrong.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from fastdp.channels import Channel
from fastdp.channels.line import GeometricChannel, LaplaceChannel
from fastdp.channels.window import WindowChannel
from fastdp.kernels.products.quadratic import solve_simplex_programme

LARGEST_PROGRAMME = 400
"""Inputs of a quadratic programme: one takes 1 ms at 111 of them, 15 ms at 289, 20 to 40 at 400. On maps of these sizes
it takes less time than descent, and its bounds are 1 to 60 % narrower."""
LONGEST_LINE = 320
"""Inputs of a line all of which are in the programme."""
LARGEST_WRITTEN = 1 << 22
"""Entries of a channel that is written out for it."""
COARSE = 128
"""Inputs and outputs that stand for all on a longer line; widths are within 2 % of those of all 1,001 at epsilon 1."""
MOST_SELECTED = 2 * COARSE
"""Inputs that one programme has for all functionals; where these jump in more places, each has its own."""
TOLERANCE = 0.02
"""How much wider a bound may be than the best, as a part of its distance from the guess's own value; it is 0.3 % wider
on average, in half as many iterations as at 1e-5."""
MOST_ITERATIONS = 40
FIRST, FURTHER = 0.5, 0.1
"""The part of the uniform distribution in the start of a search, from the guess and from what was found before."""


class Start(NamedTuple):
    """Where a search ended, for the next one to begin near: the least favourable distribution and its multiplier."""

    p: np.ndarray
    t: float


class Weights(NamedTuple):
    """Weights on outputs, and their variance by channel if the least favourable distribution were true."""

    values: np.ndarray
    variances: np.ndarray
    start: Start | None = None


class Finder(Protocol):
    """Finds weights for an upper bound of h'p, from the end of a similar search if there was one."""

    def find(self, h: np.ndarray, start: Start | None = None) -> Weights: ...


class Stack:
    """Channels over the same inputs side by side, each with its part of all reports."""

    def __init__(self, channels: Sequence[Channel], reports: Sequence[float]) -> None:
        self.channels = tuple(channels)
        self.size = channels[0].shape[0]
        ends = np.cumsum([0, *(channel.shape[1] for channel in channels)]).tolist()
        self.slices = [slice(*pair) for pair in itertools.pairwise(ends)]
        self.outputs = ends[-1]
        self.n = float(sum(reports))
        self.parts = np.concatenate(
            [np.full(channel.shape[1], n / self.n) for channel, n in zip(channels, reports, strict=True)]
        )

    def forward(self, p: np.ndarray) -> np.ndarray:
        """Distributions of the outputs of each channel, one after the other."""
        return np.concatenate([channel.forward(p) for channel in self.channels])

    def backward(self, w: np.ndarray) -> np.ndarray:
        """For each input, the expectations of weights on the outputs of all channels, added up."""
        return sum(
            (channel.backward(w[part]) for channel, part in zip(self.channels, self.slices, strict=True)),
            start=np.zeros(self.size),
        )

    def rows(self, inputs: np.ndarray) -> np.ndarray:
        """The entries of these inputs, outputs of all channels side by side."""
        return np.hstack([channel.select(inputs, np.arange(channel.shape[1])) for channel in self.channels])

    def variances(self, w: np.ndarray, d: np.ndarray) -> np.ndarray:
        """The variance of weights under distributions of outputs, by channel."""
        return np.array([variance(w[part], d[part]) for part in self.slices])

    @property
    def is_line(self) -> bool:
        """Whether neighbouring inputs have nearly the same outputs, so that some stand for all."""
        return all(isinstance(channel, GeometricChannel | LaplaceChannel | WindowChannel) for channel in self.channels)


def variance(w: np.ndarray, d: np.ndarray) -> float:
    """The variance of weights ``w`` under probabilities ``d``."""
    centre = float(w @ d)
    return float((w - centre) ** 2 @ d)


class Programme:
    """By quadratic programs over all inputs.

    With H = (C - d) diag(1/d) (C - d)', n p'Hp is the squared distance of the outputs of p from the guess, in standard
    errors of the reports. The least favourable distribution has the largest h'p of all within z of them; with t the
    multiplier of p'Hp, w = t (pC / d - 1).
    """

    def __init__(
        self,
        rows: np.ndarray,
        pilot: np.ndarray,
        d: np.ndarray,
        parts: np.ndarray,
        slices: Sequence[slice],
        n: float,
        z: float,
    ) -> None:
        self._slices, self._pilot, self._outputs = slices, pilot, d.size
        self._radius = z * z / n
        seen = np.flatnonzero(d > 0)
        self._seen, self._d, self._parts = seen, d[seen], parts[seen]
        self._centred = rows[:, seen] - self._d
        scaled = self._centred * np.sqrt(self._parts / self._d)
        self._matrix = scaled @ scaled.T
        size = len(rows)
        self._factor, self._work = np.empty((size, size)), np.empty((10, size))

    def find(self, h: np.ndarray, start: Start | None = None) -> Weights:
        span = float(np.ptp(h))
        if not span > 0:
            return Weights(np.zeros(self._outputs), np.zeros(len(self._slices)))
        p, t = self._search((h - h.min()) / span, start)
        moved = p @ self._centred
        w, chances = np.zeros(self._outputs), np.zeros(self._outputs)
        w[self._seen] = span * t * self._parts * moved / self._d
        chances[self._seen] = np.maximum(self._d + moved / p.sum(), 0.0)
        variances = np.array([variance(w[part], chances[part]) for part in self._slices])
        return Weights(w, variances, Start(p, t))

    def _search(self, h: np.ndarray, start: Start | None) -> Start:
        """The least favourable distribution, and its t; 0 where nothing below the largest h is a bound."""
        size, usual = h.size, 0.1 / self._radius
        if start is None:
            p, t = (1 - FIRST) * self._pilot + FIRST / size, usual
        else:
            p, t = (1 - FURTHER) * start.p / start.p.sum() + FURTHER / size, start.t or usual / 100
        best = np.empty(size)
        t = solve_simplex_programme(
            self._matrix, h, float(h @ self._pilot), self._radius, TOLERANCE, MOST_ITERATIONS, t, p, self._factor,
            self._work, best,
        )  # fmt: skip
        good = math.isfinite(t) and bool(np.isfinite(best).all()) and best.sum() > 0
        return Start(best, t) if good else Start(self._pilot, 0.0)


class Coarse:
    """By quadratic programs over some inputs of a line and groups of its outputs, for lines of any length."""

    def __init__(self, stack: Stack, pilot: np.ndarray, d: np.ndarray, z: float, functionals: np.ndarray) -> None:
        self._stack, self._pilot, self._d, self._z = stack, pilot, d, z
        starts = np.concatenate([part.start + _group_starts(part.stop - part.start) for part in stack.slices])
        ends = np.searchsorted(starts, [*(part.start for part in stack.slices), stack.outputs]).tolist()
        self._starts, self._slices = starts, [slice(*pair) for pair in itertools.pairwise(ends)]
        self._groups = np.searchsorted(starts, np.arange(stack.outputs), "right") - 1
        inputs = _select_inputs(functionals)
        self._shared = self._open(inputs) if inputs.size <= MOST_SELECTED else None

    def _open(self, inputs: np.ndarray) -> tuple[np.ndarray, Programme]:
        stack, starts = self._stack, self._starts
        rows = np.add.reduceat(stack.rows(inputs), starts, axis=1)
        nearest = np.searchsorted((inputs[1:] + inputs[:-1]) / 2, np.arange(stack.size))
        pilot = np.bincount(nearest, self._pilot, inputs.size)
        d = np.add.reduceat(self._d, starts)
        return inputs, Programme(rows, pilot, d, stack.parts[starts], self._slices, stack.n, self._z)

    def find(self, h: np.ndarray, start: Start | None = None) -> Weights:
        inputs, programme = self._shared or self._open(_select_inputs(h[None, :]))
        found = programme.find(h[inputs], start)
        return found._replace(values=found.values[self._groups])


def _group_starts(size: int) -> np.ndarray:
    """Where groups of outputs start: the ends are by themselves, since clamping puts atoms there."""
    inner = 1 + np.arange(min(COARSE, size - 2)) * (size - 2) // max(min(COARSE, size - 2), 1)
    return np.unique(np.concatenate(([0], inner, [size - 1]))).astype(np.int64)


def _select_inputs(functionals: np.ndarray) -> np.ndarray:
    """Evenly spaced inputs, and both sides of every place where a functional jumps."""
    size = functionals.shape[1]
    even = np.rint(np.linspace(0, size - 1, COARSE)).astype(np.int64)
    steep = 4 * np.ptp(functionals, axis=1, keepdims=True) / COARSE
    jumps = np.flatnonzero((np.abs(np.diff(functionals, axis=1)) > steep).any(axis=0))
    if functionals.shape[0] == 1:
        jumps = jumps[:COARSE]
    return np.unique(np.concatenate((even, jumps, jumps + 1)))
