"""Sums over inputs and outputs of a channel, a block at a time: a large structured channel is never written out."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from fastdp.channels import Channel
from fastdp.measures.payoff import BLOCK, Payoff

WRITTEN_OUT = 1 << 22
"""Entries up to which any channel is written out, since one matrix product beats many structured ones; 32 MB."""


def row_blocks(channel: Channel, inputs: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Some of ``inputs`` and their rows, until all have come; memory for one block."""
    step = max(1, BLOCK // channel.shape[1])
    for first in range(0, inputs.size, step):
        some = inputs[first : first + step]
        yield some, np.stack([channel.row(int(x)) for x in some])


def column_maxima(channel: Channel, weights: np.ndarray) -> np.ndarray:
    """For each output y, the largest weights[x] C[x, y]; O(inputs x outputs) time, O(outputs) memory."""
    best = np.zeros(channel.shape[1])
    for some, rows in row_blocks(channel, np.flatnonzero(weights)):
        np.maximum(best, (rows * weights[some, None]).max(axis=0), out=best)
    return best


def best_guesses(channel: Channel, prior: np.ndarray, payoff: Payoff, *, most: bool) -> tuple[np.ndarray, np.ndarray]:
    """For each output y, the most (or least) sum over x of prior[x] C[x, y] payoff(w, x), and the guess w that has it.

    One matrix product for all guesses, or one product of the channel for each. The first of equal guesses is taken.
    """
    matrix = channel.dense() if math.prod(channel.shape) <= WRITTEN_OUT else None
    outputs = np.arange(channel.shape[1])
    values = np.full(outputs.size, -np.inf if most else np.inf)
    chosen = np.zeros(outputs.size, np.intp)
    for first, part in payoff.blocks(max(channel.shape)):
        weights = part * prior
        sums = channel.forward(weights) if matrix is None else weights @ matrix
        here = sums.argmax(axis=0) if most else sums.argmin(axis=0)
        found = sums[here, outputs]
        better = found > values if most else found < values
        values[better] = found[better]
        chosen[better] = here[better] + first
    return values, chosen
