"""Products of channels agree with their matrices, and rows are distributions."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd

CHANNELS = [
    fd.KRR(epsilon=1.3, domain=7).channel(),
    fd.Geometric(epsilon=0.4, bounds=(-2, 9)).channel(),
    fd.Geometric(epsilon=0.4, bounds=(-2, 9), boundary="fold").channel(),
    fd.DiscreteGaussian(scale=2.0, bounds=(0, 5)).channel(),
]


@pytest.mark.parametrize("channel", CHANNELS, ids=lambda channel: type(channel).__name__)
def test_channel__agrees_with_its_matrix(channel):
    dense = channel.dense()
    assert dense.shape == channel.shape
    assert np.allclose(dense.sum(axis=1), 1, atol=1e-12)
    source = np.random.default_rng(1)
    p, w = source.dirichlet(np.ones(dense.shape[0])), source.normal(size=dense.shape[1])
    assert np.allclose(channel.forward(p), p @ dense, atol=1e-14)
    assert np.allclose(channel.backward(w), dense @ w, atol=1e-13)
    assert np.array_equal(channel.row(2), dense[2])
    logs = np.log(dense)
    assert channel.epsilon() == pytest.approx((logs.max(axis=0) - logs.min(axis=0)).max(), rel=1e-9)


@pytest.mark.parametrize("bad", [np.ones(3), np.zeros((0, 2)), [[0.5, 0.6]], [[-0.1, 1.1]], [[np.nan, 1.0]]])
def test_dense_channel__refuses_what_is_no_channel(bad):
    from fastdp.channels import DenseChannel

    with pytest.raises(fd.ParameterError, match="Channel"):
        DenseChannel(bad)
