"""Outcomes of rows of integers, bit for bit, and cells moved by offsets."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.metric.probability_rows import add_offsets, fill_rows
from fastdp.kernels.stream.words import make_scratch
from fastdp.laws.metric.probability_rows import arrange, realise_row
from tests.reference.metric import draw

KEY = np.arange(30, 38, dtype=np.uint32)
WORDS = tuple(int(word) for word in KEY)
START = 2**20 + 3


@pytest.mark.parametrize("size", [2, 5, 300])
def test_fill_rows__agrees_with_plain_python(size):
    """Draws that the guide decides and draws that need all bits; another row's outcomes are others."""
    masses = np.random.default_rng(size).dirichlet(np.ones(size), 3)
    shares = [realise_row(row, np.ones(size, bool)) for row in masses]
    codes, out = np.arange(3000) % 3, np.zeros(3000, np.int64)
    assert fill_rows(KEY, np.uint64(START), codes, arrange(shares), make_scratch(), out) == 0
    assert out.tolist() == [draw(WORDS, START + i, shares[code]) for i, code in enumerate(codes)]
    assert out.tolist() != [draw(WORDS, START + i, shares[(code + 1) % 3]) for i, code in enumerate(codes)]


@pytest.mark.parametrize("bad", [-1, 1, 2**40])
def test_fill_rows__tells_of_codes_that_are_no_row(bad):
    rows, out = arrange([realise_row(np.array([0.5, 0.5]), np.ones(2, bool))]), np.zeros(3, np.int64)
    assert fill_rows(KEY, np.uint64(0), np.array([0, bad, 0]), rows, make_scratch(), out) == 1


def test_add_offsets__moves_and_clamps():
    """Every cell of a grid by every offset, rows and columns by themselves; offsets beyond name their cell."""
    down, across = (side.ravel() for side in np.meshgrid([-2, 0, 1], [-1, 0, 3], indexing="ij"))
    codes, offsets = (side.ravel() for side in np.meshgrid(np.arange(12), np.arange(9 + 12), indexing="ij"))
    out = np.zeros(codes.size, np.int64)
    assert add_offsets(codes, offsets, down, across, 3, 4, out) == 0
    for code, offset, found in zip(codes.tolist(), offsets.tolist(), out.tolist(), strict=True):
        if offset >= 9:
            assert found == offset - 9
        else:
            row, column = np.clip(code // 4 + down[offset], 0, 2), np.clip(code % 4 + across[offset], 0, 3)
            assert found == row * 4 + column
    assert add_offsets(np.array([12]), np.array([0]), down, across, 3, 4, out[:1]) == 1
