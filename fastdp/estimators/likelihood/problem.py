"""The likelihood to maximise: checked counts of the outputs of one channel or several, and its gradient."""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from fastdp.channels import Channel
from fastdp.errors import NotIdentifiableError, ParameterError
from fastdp.measures.inputs import read_channel

LARGEST_PART = 25_000_000
"""Entries of a channel that a second-order step writes out: 200 MB."""
SMALLEST_COLUMN = 1e-100
"""Columns whose entries are all below are scaled up: squares of them would leave the range of float64."""
LARGEST_DEALT = 2.0**53
"""Counts from here on are split evenly: chance would not move them."""


def read_counts(owner: str, counts: ArrayLike, size: int, *, dimensions: int = 1) -> np.ndarray:
    """Counts as float64: finite, not negative, one for each of ``size`` outputs, and not all zero.

    >>> read_counts("ibu", [3, 1], 3)
    Traceback (most recent call last):
    fastdp.errors.ParameterError: ibu: counts must have one entry per output of the channel, 3, got 2
    """
    try:
        given = np.asarray(counts)
    except (TypeError, ValueError):
        given = np.zeros(0, object)
    if given.ndim != dimensions or given.dtype.kind not in "iuf":
        raise ParameterError(f"{owner}: counts must be {'a one' if dimensions == 1 else 'a two'}-dimensional array "
                             "of numbers")  # fmt: skip
    if given.shape[-1] != size:
        raise ParameterError(
            f"{owner}: counts must have one entry per output of the channel, {size}, got {given.shape[-1]}"
        )
    values = given.astype(np.float64)
    total = values.sum(axis=-1)
    if not np.isfinite(total).all() or not np.isfinite(values).all() or (values < 0).any():
        raise ParameterError(f"{owner}: counts must be finite numbers >= 0")
    if not (total > 0).all():
        raise ParameterError(f"{owner}: counts must not all be zero; there is nothing to estimate from")
    return values


def plain_channel(owner: str, channel: object) -> Any:
    """A matrix, inputs by outputs, as a channel; anything else but arrays, lists and tuples as it is.

    >>> plain_channel("ibu", [[0.75, 0.25], [0.25, 0.75]]).shape
    (2, 2)
    """
    return read_channel(owner, channel) if isinstance(channel, np.ndarray | list | tuple) else channel


def read_start(owner: str, start: ArrayLike | None, size: int) -> np.ndarray:
    """A start inside the simplex, uniform unless given; an entry of zero could never grow."""
    if start is None:
        return np.full(size, 1 / size)
    try:
        p = np.asarray(start, np.float64)
    except (TypeError, ValueError):
        p = np.zeros(0)
    if p.shape != (size,) or not np.isfinite(p).all() or (p <= 0).any() or abs(p.sum() - 1) > 1e-6:
        raise ParameterError(f"{owner}: start must hold {size} probabilities > 0 that sum to 1, one per input")
    scaled: np.ndarray = p / p.sum()
    return scaled


class Problem:
    """The mean log-likelihood of counts, over distributions of inputs.

    With shares q of the counts and d = p C, it is sum(q log d), and its gradient is G = C (q / d): at any p on the
    simplex the best value is at most log max G away.
    """

    def __init__(self, owner: str, parts: Sequence[tuple[Channel, Any]], *, is_checked: bool = False) -> None:
        if not parts:
            raise ParameterError(f"{owner}: give at least one pair of a channel and its counts")
        for channel, _ in parts:
            if not isinstance(channel, Channel):
                raise ParameterError(f"{owner}: channel must be a Channel or a matrix, got {type(channel).__name__}")
        sizes = {channel.shape[0] for channel, _ in parts}
        if len(sizes) > 1:
            raise ParameterError(f"{owner}: channels must have the same inputs, got {sorted(sizes)} of them")
        self.owner = owner
        self.size = sizes.pop()
        self.channels = tuple(channel for channel, _ in parts)
        self.counts = tuple(
            np.asarray(counts, np.float64) if is_checked else read_counts(owner, counts, channel.shape[1])
            for channel, counts in parts
        )
        self.n = float(sum(float(counts.sum()) for counts in self.counts))
        self.shares = tuple(counts / self.n for counts in self.counts)
        if not is_checked:
            for channel, q in zip(self.channels, self.shares, strict=True):
                check_possible(owner, channel, q)

    @functools.cached_property
    def _terms(self) -> list[_Term]:
        return [_Term(channel, q) for channel, q in zip(self.channels, self.shares, strict=True)]

    def gradient(self, p: np.ndarray) -> tuple[np.ndarray, float]:
        """G and the mean log-likelihood at p; -inf where some output that occurred has no probability."""
        with np.errstate(all="ignore"):
            g, likelihood = self._terms[0].gradient(p)
            for term in self._terms[1:]:
                more, also = term.gradient(p)
                g, likelihood = g + more, likelihood + also
        if not math.isfinite(likelihood) or not math.isfinite(g.sum()):
            return g, -math.inf
        return g, likelihood

    def iterate(self, p: np.ndarray, steps: int) -> np.ndarray:
        """So many steps of EM from ``p``, with nobody to tell of them."""
        if len(self._terms) == 1:
            return self._terms[0].iterate(p, steps)
        for _ in range(steps):
            p = p * self.gradient(p)[0]
            p /= p.sum()
        return p

    def columns(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The entries of these inputs and of all outputs that occurred, side by side, and the shares of the latter.

        Columns of tiny entries come scaled: a factor per output changes neither G nor the curvature.
        """
        pieces = [term.columns(rows) for term in self._terms]
        if len(pieces) == 1:
            return pieces[0]
        return np.hstack([piece[0] for piece in pieces]), np.concatenate([piece[1] for piece in pieces])

    def fits(self, rows: int) -> bool:
        """Whether the entries of so many inputs and all outputs that occurred may be written out."""
        return rows * sum(int(np.count_nonzero(q)) for q in self.shares) <= LARGEST_PART

    def with_counts(self, counts: Sequence[np.ndarray]) -> Problem:
        """The same channels with other counts, of outputs that they can give."""
        return Problem(self.owner, list(zip(self.channels, counts, strict=True)), is_checked=True)


class _Term:
    """One channel with its shares."""

    def __init__(self, channel: Channel, q: np.ndarray) -> None:
        self._channel, self._q = channel, q
        self._seen = np.flatnonzero(q)
        observed = channel.prepare(q)
        self.gradient, self.iterate = observed.gradient, observed.iterate

    def columns(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        part = self._channel.select(rows, self._seen)
        largest = part.max(axis=0, initial=0.0)
        rare = (largest > 0) & (largest < SMALLEST_COLUMN)
        if rare.any():
            part[:, rare] /= largest[rare]
        return part, self._q[self._seen]


def seed_of(counts: Sequence[np.ndarray]) -> int:
    """A seed that is a function of the counts."""
    digest = hashlib.blake2b(digest_size=8)
    for part in counts:
        digest.update(np.ascontiguousarray(part, np.float64).tobytes())
    return int.from_bytes(digest.digest(), "little")


def deal_reports(counts: np.ndarray, folds: int, source: np.random.Generator) -> np.ndarray:
    """Each report dealt to one of the folds, as counts of folds by outputs; parts of reports go to all alike."""
    whole = np.where(counts < LARGEST_DEALT, np.floor(counts), 0.0)
    dealt = source.multinomial(whole.astype(np.int64), np.full(folds, 1 / folds)).T
    return dealt + (counts - whole) / folds


def check_possible(owner: str, channel: Channel, counts: np.ndarray) -> None:
    """Refuse counts of outputs that the channel never gives: no distribution explains them."""
    chances = channel.forward(np.ones(channel.shape[0]))  # over all inputs: a mean of the rarest would be 0
    if not (chances > 0)[(counts > 0).reshape(-1, counts.shape[-1]).any(axis=0)].all():
        raise NotIdentifiableError(
            f"{owner}: counts are positive for an output that the channel never gives; they are not of this channel"
        )
