"""Flipped answers, as bytes and as bits."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.bits import bit_at

TILE = 8192


@each_generator
@pytest.mark.parametrize("epsilon", [0.4, 2.5])
@pytest.mark.parametrize("reserved", [0, 1, 7, 8, 13, TILE - 9, TILE - 3, TILE + 5])
@pytest.mark.parametrize("offset", [0, 1, 5, 8, 11])
def test_randomize__agrees_with_plain_python(epsilon, reserved, offset, generator):
    """Numpy bytes and arrow bits from odd offsets, at slots around the end of a tile: the same flips, bit for bit."""
    mechanism = fd.RandomizedResponse(epsilon=epsilon)
    values = np.random.default_rng(offset).random(300) < 0.5
    arrow, size = pa.array(values)[offset:], values.size - offset

    def draw(given):
        rng = seeded(generator=generator)
        rng.reserve(reserved)
        return mechanism.randomize(given, rng=rng)

    packed, plain = draw(arrow), draw(values[offset:])
    packed.validate(full=True)
    assert np.array_equal(packed.to_numpy(zero_copy_only=False), plain)
    key, threshold = key_of(seeded(generator=generator)), mechanism._noise.threshold
    for i in [*range(12), *range(size - 12, size)]:
        assert int(plain[i]) == int(values[offset + i]) ^ bit_at(key, reserved + i, threshold)
    last = np.frombuffer(packed.buffers()[1], np.uint8)[(size + 7) // 8 - 1]
    assert size % 8 == 0 or last >> size % 8 == 0


@pytest.mark.parametrize("size", [1, 7, 8, 9, TILE - 1, TILE, TILE + 1, 3 * TILE + 5, 140_003])
def test_randomize__flips_packed_bits_as_bytes_for_every_length(size, threads):
    """Chunks and threads included."""
    threads(3)
    mechanism, values = fd.RandomizedResponse(epsilon=1.0), np.arange(size + 3) % 3 == 0
    for reserved in (0, 5):
        results = []
        for given in (
            values[3:],
            pa.array(values)[3:],
            pa.chunked_array([pa.array(values)[3:9], pa.array(values)[9:]]),
        ):
            rng = seeded()
            rng.reserve(reserved)
            results.append(mechanism.randomize(given, rng=rng))
        assert results[1].to_pylist() == results[0].tolist() == results[2].to_pylist()
        counts = [mechanism.aggregate(result) for result in (*results, results[1][1:], results[1][: size - 1])]
        assert [c.n for c in counts] == [size, size, size, size - 1, size - 1]
        trues = int(results[0].sum())
        assert counts[0].support.tolist() == counts[1].support.tolist() == counts[2].support.tolist()
        assert counts[0].support.tolist() == [size - trues, trues]
        assert counts[3].support[1] == results[0][1:].sum()
        assert counts[4].support[1] == results[0][:-1].sum()


def test_randomize__takes_any_true_byte():
    """A bool whose byte is neither 0 nor 1 is true, and comes out as 0 or 1: nothing else survives."""
    odd = np.array([0, 1, 2, 255] * 100, np.uint8).view(bool)
    mechanism = fd.RandomizedResponse(epsilon=1.0)
    out = mechanism.randomize(odd, rng=seeded())
    assert set(out.view(np.uint8).tolist()) <= {0, 1}
    assert np.array_equal(out, mechanism.randomize(np.array([False, True, True, True] * 100), rng=seeded()))
    assert mechanism.randomize(True, rng=seeded()) in (True, False)
    assert type(mechanism.randomize(True)) is bool
    assert type(mechanism.randomize(np.True_)) is np.bool_
    assert mechanism.randomize(np.ones((3, 4), bool)).shape == (3, 4)
