"""Cohorts that share a joint hash, whole sets of them or not, give the products of the matrix."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import hashing
from fastdp.kernels.products.cohorts import MOST_JOINT, cohorts_joined


@pytest.mark.parametrize(("g", "joined"), [(2, 8), (3, 5), (4, 4), (6, 3), (7, 2), (16, 2), (17, 1), (5000, 1)])
def test_cohorts_joined__as_many_as_the_table_holds(g, joined):
    assert cohorts_joined(g) == joined
    assert g**joined <= MOST_JOINT or joined == 1
    assert g ** (joined + 1) > MOST_JOINT


@pytest.mark.parametrize("kept", [1 << 26, 0], ids=["kept", "made anew"])
@pytest.mark.parametrize(("g", "cohorts"), [(2, 37), (4, 18), (4, 3), (16, 9), (40, 5), (300, 6)])
def test_products__are_those_of_the_matrix(monkeypatch, g, cohorts, kept):
    monkeypatch.setattr(hashing, "LARGEST_TABLE", kept)
    channel = fd.LocalHashing(epsilon=1.0, domain=61, g=g, cohorts=cohorts).channel()
    matrix = np.stack([channel.row(x) for x in range(61)])
    source = np.random.default_rng(g)
    p, w = source.dirichlet(np.ones(61)), source.random(matrix.shape[1])
    np.testing.assert_allclose(channel.forward(p), p @ matrix, rtol=1e-12)
    np.testing.assert_allclose(channel.backward(w), matrix @ w, rtol=1e-12)
