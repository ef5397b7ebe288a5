"""Draws that are uniform on pieces of a table, against plain Python."""

from __future__ import annotations

from fractions import Fraction

import pytest

from fastdp.kernels import cell_tables as kernels
from fastdp.kernels.central.staircase import fill_stairs
from fastdp.laws import cell_tables as cells
from fastdp.laws.central import staircase
from fastdp.laws.rate import Rate
from tests.kernels.central.draws import COUNT, KEY, START, draws_of
from tests.reference import private
from tests.reference.cells import CellSampler


@pytest.mark.parametrize(("epsilon", "steps", "tread"), [(0.3, 10, 4), (2.5, 1000, 200), (9.0, 2**30, 2**24)])
def test_fill_stairs__agrees_with_plain_python(epsilon, steps, tread):
    law = staircase.StaircaseLaw(Rate.below(Fraction(epsilon)), steps, tread)
    pieces = staircase.build(law)
    weights, _, _ = staircase.piece_weights(law)
    _, residues, _ = cells.realise(weights, (kernels.TAIL_UP, kernels.TAIL_DOWN), staircase.INDEX_BITS)
    sampler = CellSampler.of_table(pieces.table, residues, KEY)
    expected = [private.stairs(pieces, sampler, START + i) for i in range(COUNT)]
    assert draws_of(fill_stairs, *pieces) == expected
