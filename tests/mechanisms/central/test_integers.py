"""Integers of every width: nothing wraps."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd

WIDTHS = [np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64]
MECHANISMS = [fd.Geometric(epsilon=0.05), fd.Geometric(scale=1e6), fd.DiscreteGaussian(scale=20.0)]


@pytest.mark.parametrize("dtype", WIDTHS)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=["narrow", "wide", "gaussian"])
def test_randomize__saturates_at_the_ends(dtype, mechanism, rng):
    """Against exact sums in Python integers, for values at and near both ends."""
    ends = np.iinfo(dtype)
    values = np.array([ends.min, ends.min + 3, ends.max - 3, ends.max] * 2_000, dtype)
    out = mechanism.randomize(values, rng=fd.Rng.unsafe_seed(3))
    noise = mechanism.randomize(np.zeros(values.size, np.int64), rng=fd.Rng.unsafe_seed(3))
    exact = [min(max(int(v) + int(z), int(ends.min)), int(ends.max)) for v, z in zip(values, noise, strict=True)]
    assert [int(v) for v in out] == exact
    assert out.dtype == dtype


@pytest.mark.parametrize("dtype", WIDTHS)
def test_fold__meets_the_reflection_step_by_step(dtype):
    """Against reflecting one end at a time, in Python integers."""
    low, high = (0, 9) if np.iinfo(dtype).min == 0 else (-4, 9)
    mechanism = fd.Geometric(epsilon=0.05, bounds=(low, high), boundary="fold")
    values = np.tile(np.arange(low, high + 1), 300).astype(dtype)
    out = mechanism.randomize(values, rng=fd.Rng.unsafe_seed(5))
    noise = fd.Geometric(epsilon=0.05).randomize(np.zeros(values.size, np.int64), rng=fd.Rng.unsafe_seed(5))
    for value, z, result in zip(values.tolist(), noise.tolist(), out.tolist(), strict=True):
        y = value + z
        while not low <= y <= high:
            y = 2 * low - y if y < low else 2 * high - y
        assert y == result


def test_bounds__must_fit_the_type():
    with pytest.raises(fd.SchemaError, match="wider"):
        fd.Geometric(epsilon=1.0, bounds=(0, 300)).randomize(np.zeros(3, np.uint8))


def test_integer_mechanisms__refuse_floats_and_the_way_out_is_named():
    for mechanism in MECHANISMS:
        with pytest.raises(fd.SchemaError, match="integers"):
            mechanism.randomize(np.zeros(3))


def test_float_mechanisms__take_integers_exactly(rng):
    """As float64, and not beyond 2**53, where they would have to be rounded before the noise."""
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    out = mechanism.randomize(np.array([1, 2, 2**53]), rng=rng)
    assert out.dtype == np.float64
    for bad in (2**53 + 1, -(2**53) - 1):
        with pytest.raises(fd.DomainError, match=r"2\*\*53"):
            mechanism.randomize(np.array([0, bad]))
    with pytest.raises(fd.DomainError, match=r"2\*\*53"):
        mechanism.randomize(np.array([2**64 - 1], np.uint64))
