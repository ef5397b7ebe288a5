"""What is done to blocks between transforms, against numpy."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.jit import kernel
from fastdp.kernels.products.blocks import add_numbers, clear, clip, copy, turn, turn_add
from fastdp.kernels.products.vectors import LANES, VECTOR, address

SQUARE = LANES * VECTOR


@kernel
def run_turns(count, source, target, added):
    turn(count, address(source), VECTOR, SQUARE, address(target), VECTOR, SQUARE)
    turn_add(count, address(source), VECTOR, SQUARE, address(added), VECTOR, SQUARE)


@kernel
def run_rows(count, width, source, clipped, copied, summed, cleared):
    clip(count, address(clipped))
    copy(count, width, address(source), VECTOR, address(copied), VECTOR)
    add_numbers(count, address(source), VECTOR, address(summed), VECTOR)
    clear(count, address(cleared))


@pytest.mark.parametrize("count", [1, 4])
def test_squares__are_turned_over(count):
    source = np.random.default_rng(count).normal(size=(count, LANES, LANES))
    target, added = np.zeros_like(source), np.ones_like(source)
    run_turns(count, source, target, added)
    assert np.array_equal(target, source.transpose(0, 2, 1))
    assert np.array_equal(added, 1 + source.transpose(0, 2, 1))
    assert not np.array_equal(target, source)


@pytest.mark.parametrize("width", [1, LANES - 1, LANES])
def test_rows__are_clipped_copied_added_and_cleared(width):
    """Copies are as wide as they are asked to be, sums are of first numbers alone."""
    source = np.random.default_rng(width).normal(size=(5, LANES))
    clipped, copied, summed, cleared = source.copy(), np.ones_like(source), np.ones_like(source), source.copy()
    run_rows(5, width, source, clipped, copied, summed, cleared)
    assert np.array_equal(clipped, np.maximum(source, 0))
    assert np.array_equal(copied[:, :width], source[:, :width])
    assert (copied[:, width:] == 1).all()
    assert np.array_equal(summed[:, 0], 1 + source[:, 0])
    assert (summed[:, 1:] == 1).all()
    assert not cleared.any()
