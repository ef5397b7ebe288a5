"""The logarithm that log-likelihoods add up."""

from __future__ import annotations

import numpy as np


def test_logarithm__is_good_to_the_last_digit():
    """Over the whole range, and near 1, where it is small itself."""
    from fastdp.kernels.products.likelihood import log_normal

    source = np.random.default_rng(4)
    numbers = np.concatenate(
        (np.exp(source.uniform(-708, 709, 20_000)), 1 + source.normal(size=10_000) * 1e-7, [1.0, 2.0, 0.5, 2.3e-308])
    )
    found, expected = np.array([log_normal(number) for number in numbers]), np.log(numbers)
    assert (np.abs(found - expected) <= np.spacing(np.abs(expected))).all()
