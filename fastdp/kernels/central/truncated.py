"""Laplace noise conditioned on an interval, from private streams."""

from __future__ import annotations

import numpy as np

from fastdp.kernels.cell_tables import draw_cell, finish, keep
from fastdp.kernels.jit import kernel
from fastdp.kernels.stream.lanes import private_draws
from fastdp.kernels.stream.words import draw_below, next_word

_U = np.uint64


@private_draws
def _fill_repeated(i, key, work, blocks, table, values, width):
    """Draws of the law until one is inside."""
    m = table.law[0]
    while True:
        cell = draw_cell(table, key, work, blocks)
        fine = next_word(key, work, blocks) >> (_U(64) - m) if m > _U(0) else _U(0)
        first = next_word(key, work, blocks)
        noise = finish(cell, fine, first, table, key, work, blocks)
        if -values[i] <= noise <= width - values[i]:
            return noise


@private_draws
def _fill_kept(i, key, work, blocks, table, values, width):
    """A uniform value of the interval, until one is kept."""
    count = _U(width + 1)
    while True:
        noise = np.int64(draw_below(count, key, work, blocks)) - values[i]
        first = next_word(key, work, blocks)
        if keep(_U(0), _U(abs(noise)), table.law, first, key, work, blocks):
            return noise


@kernel
def fill_cell_noise_within(key, start, table, values, width, scratch, out):
    """Write draws z conditioned on 0 <= values[i] + z <= width, one per slot start, start + 1, ...

    Pre:  0 <= values[i] <= width; the interval is not much narrower than the law's scale, or this takes long.
    Post: out[i] follows the conditional law exactly, as far as the law itself: each draw is repeated until inside.
    Bits: the private stream of slot start + i. The number of draws depends on the value: time is not private.
    """
    _fill_repeated(key, start, scratch, out, table, values, width)


@kernel
def fill_uniform_within(key, start, table, values, width, scratch, out):
    """As fill_cell_noise_within for a Laplace law, fast where the interval is narrower than the scale.

    Pre:  0 <= values[i] <= width; width * rate < 1.
    Post: a uniform value of the interval, kept with the probability that the law gives its distance.
    """
    _fill_kept(key, start, scratch, out, table, values, width)
