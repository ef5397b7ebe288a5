"""Packed sets of coins: drawn, and counted bit by bit."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.bits import unary


@each_generator
@pytest.mark.parametrize(("k", "reserved"), [(2, 0), (8, 1000), (9, 8187), (64, 3), (65, 65_530), (150, 17)])
def test_randomize__agrees_with_plain_python(k, reserved, generator):
    """Bit for bit, truth bits included, from any slot on, also across the ends of tiles."""
    width = (k + 7) // 8
    for mechanism in (
        fd.UnaryEncoding(epsilon=1.3, domain=k),
        fd.UnaryEncoding(epsilon=1.3, domain=k, optimized=False),
        fd.UnaryEncoding.of(p=0.625, q=1 / 512, domain=k),
    ):
        rng = seeded(generator=generator)
        rng.reserve(reserved)
        values = np.arange(40) * 7 % k
        reports = mechanism.randomize(values, rng=rng)
        p, q = (coin.threshold for coin in mechanism.coins)
        for i, value in enumerate(values.tolist()):
            assert bytes(reports[i]) == unary(key_of(rng), reserved + i * width, value, k, p, q)


@pytest.mark.parametrize("k", [2, 7, 8, 9, 100, 1000, 5_000])
def test_aggregate__counts_every_bit(k):
    """Against unpacked bits, for enough reports that single-byte counters would overflow."""
    mechanism = fd.UnaryEncoding(epsilon=0.5, domain=k)
    reports = mechanism.randomize(np.arange(3_000 if k < 1000 else 700) % k, rng=seeded())
    bits = np.unpackbits(reports, axis=1, bitorder="little")
    assert np.array_equal(mechanism.aggregate(reports).support, bits[:, :k].sum(axis=0, dtype=np.int64))
    full = np.full_like(reports, 255)
    if k % 8 == 0:
        assert (mechanism.aggregate(full).support == len(full)).all()
        return
    full[:, -1] = (1 << k % 8) - 1
    assert (mechanism.aggregate(full).support == len(full)).all()
    for bit in range(k % 8, 8):
        spoiled = reports.copy()
        spoiled[len(reports) // 2, -1] |= 1 << bit
        with pytest.raises(fd.InputCorruptError, match="beyond the domain"):
            mechanism.aggregate(spoiled)
