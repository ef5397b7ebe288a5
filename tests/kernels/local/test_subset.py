"""Drawn sets, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.stream.keystream import fill_plane
from fastdp.laws.local.subset import steps
from fastdp.mechanisms.local.subset import SubsetSelection
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.cells import HALVES
from tests.reference.subset import subset, unpack


@each_generator
@pytest.mark.parametrize(("k", "epsilon", "bits"), [(2, 1.3, 16), (100, 1.0, 16), (8, 5.0, 16), (300, 1.0, 32)])
def test_subset__agrees_with_plain_python(k, epsilon, bits, generator):
    """Bit for bit, also where the first sixteen bits leave the coin open, and where a set is drawn anew."""
    mechanism, rng, size = SubsetSelection(epsilon=epsilon, domain=k), seeded(generator=generator), 200 * 1024
    key, values = key_of(rng), (np.arange(size) * 7 % k).astype(np.int32)
    reports = unpack(mechanism.randomize(values, rng=rng), k)
    halves = np.zeros(size // 2, np.uint32)
    fill_plane(np.array(key, np.uint32), np.uint32(HALVES), np.uint64(0), np.zeros(16, np.uint64), halves)
    threshold = mechanism._law.odds.threshold
    flagged = np.flatnonzero(halves.view(np.uint16) == threshold >> 112)
    assert flagged.size >= 1
    assert steps(k, mechanism.size).bits == bits
    attempts = []
    for slot in [*range(3_000 if k < 300 else 300), *flagged.tolist()]:
        expected, count = subset(key, slot, int(values[slot]), threshold, k, mechanism.size, bits)
        assert set(np.flatnonzero(reports[slot]).tolist()) == expected
        attempts.append(count)
    if k == 100:
        assert max(attempts) >= 2


def test_subset__looks_at_all_words_or_at_one_alike():
    """Both ways of a step, on domains beside the limit between them, and sets larger than a block."""
    for k in (767, 768, 769, 800):
        mechanism, rng = SubsetSelection(epsilon=0.1, domain=k), seeded()
        key, values = key_of(rng), np.arange(40) * 7 % k
        reports = unpack(mechanism.randomize(values, rng=rng), k)
        for slot in range(values.size):
            threshold, bits = mechanism._law.odds.threshold, steps(k, mechanism.size).bits
            expected, _ = subset(key, slot, int(values[slot]), threshold, k, mechanism.size, bits)
            assert set(np.flatnonzero(reports[slot]).tolist()) == expected
