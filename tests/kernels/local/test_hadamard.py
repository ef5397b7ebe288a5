"""Hadamard response: indices drawn, indices counted."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.stream.keystream import fill_plane
from fastdp.mechanisms.local.hadamard import HadamardResponse
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.cells import HALVES
from tests.reference.hadamard import hadamard


@each_generator
@pytest.mark.parametrize("k", [2, 1000, 40_000, 100_000])
def test_hadamard__agrees_with_plain_python(k, generator):
    """Bit for bit, also where the first sixteen bits leave the coin open."""
    mechanism, rng = HadamardResponse(epsilon=1.3, domain=k), seeded(generator=generator)
    size = 400_000 // 1024 * 1024
    key, values = key_of(rng), (np.arange(size) * 7 % k).astype(np.int32)
    reports = mechanism.randomize(values, rng=rng)
    halves = np.zeros(size // 2, np.uint32)
    fill_plane(np.array(key, np.uint32), np.uint32(HALVES), np.uint64(0), np.zeros(16, np.uint64), halves)
    threshold = mechanism._odds.threshold
    flagged = np.flatnonzero(halves.view(np.uint16) == threshold >> 112)
    assert flagged.size >= 2
    for slot in [*range(2_000), *flagged.tolist()]:
        assert reports[slot] == hadamard(key, slot, int(values[slot]), threshold, mechanism.rows)


@pytest.mark.parametrize("k", [3, 100, 5_000])
def test_aggregate__counts_what_reports_support(k):
    """The transform gives the same support as looking up every sign."""
    mechanism = HadamardResponse(epsilon=1.0, domain=k)
    reports = mechanism.randomize(np.arange(2_001) * 7 % k, rng=seeded())
    signs = np.bitwise_count(reports[:, None].astype(np.int64) & np.arange(1, k + 1)[None, :]) & 1
    counts = mechanism.aggregate(reports)
    assert np.array_equal(counts.support, (signs == 0).sum(axis=0))
    assert counts.n == 2_001
