"""The likelihood of sets of values, against the matrix of all of them."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.products.support import (
    STRIDE,
    apply_backward,
    apply_forward,
    fill_hashed_sets,
    step_support,
)
from tests.reference.hashing import line

EXCESS = 1.7


def case(k, reports):
    """Sets as the kernels read them, and the matrix that they stand for: 1 + excess for members, 1 for others."""
    source = np.random.default_rng([k, reports])
    member = source.random((reports, k)) < 0.4
    packed = np.packbits(member, axis=1, bitorder="little").T
    sets = np.zeros((-(-packed.shape[0] // STRIDE) * STRIDE, reports), np.uint8)
    sets[: packed.shape[0]] = packed
    return sets, (1 + EXCESS * member).T, source.dirichlet(np.ones(k)), source


@pytest.mark.parametrize(("k", "reports"), [(2, 1), (9, 30), (40, 1500)])
def test_products__are_those_of_the_matrix(k, reports):
    """Forward, backward, and both in one step; one member more is seen."""
    sets, matrix, p, source = case(k, reports)
    tables = np.zeros((sets.shape[0], 256))
    forward, backward = np.zeros(reports), np.zeros(k)
    apply_forward(sets, p, EXCESS, tables, forward)
    assert np.allclose(forward, p @ matrix, rtol=1e-13)
    weights = source.random(reports)
    apply_backward(sets, weights, EXCESS, tables, backward)
    assert np.allclose(backward, matrix @ weights, rtol=1e-12)
    counts, gradient = source.integers(1, 5, reports).astype(float), np.zeros(k)
    places = np.zeros((sets.shape[0], 256))
    likelihood = step_support(sets, counts, p, EXCESS, tables, places, np.zeros(reports), gradient)
    assert likelihood == pytest.approx(counts @ np.log(p @ matrix), rel=1e-12)
    assert np.allclose(gradient, matrix @ (counts / (p @ matrix)), rtol=1e-12)
    sets[0, 0] ^= 1
    apply_forward(sets, p, EXCESS, tables, forward)
    assert not np.allclose(forward, p @ matrix, rtol=1e-6)


@pytest.mark.parametrize("g", [2, 5])
def test_hashed_sets__hold_what_hashes_to_the_report(g):
    source, k = np.random.default_rng(g), 21
    seeds, hashes = source.integers(0, 2**64, 50, np.uint64), source.integers(0, g, 50).astype(np.uint16)
    out = np.zeros((4, 50), np.uint8)
    fill_hashed_sets(seeds, hashes, g, k, out)
    found = np.unpackbits(out.T.copy(), axis=1, bitorder="little")[:, :k]
    expected = [[line(int(seed), x, g) == wanted for x in range(k)] for seed, wanted in zip(seeds, hashes, strict=True)]
    assert np.array_equal(found, expected)
