"""Hashed reports and their counting, draw by draw."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.stream.keystream import fill_plane
from fastdp.laws.local.hashing import buckets
from fastdp.mechanisms.local.hashing import LocalHashing
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.hashing import COHORTS, HashSampler, line, polynomial


@each_generator
@pytest.mark.parametrize(("epsilon", "g", "k"), [(1.3, None, 100), (0.5, 2, 70_000), (4.0, 200, 1000), (1.0, 4096, 50)])
def test_hashing__agrees_with_plain_python(epsilon, g, k, generator):
    """Bit for bit, ambiguous entries included."""
    mechanism, rng = LocalHashing(epsilon=epsilon, domain=k, g=g), seeded(generator=generator)
    sampler, values = HashSampler(mechanism, key_of(rng)), (np.arange(60_000) * 7 % k).astype(np.int32)
    reports = mechanism.randomize(values, rng=rng)
    for slot in range(values.size):
        assert reports[slot].item() == sampler.report(slot, int(values[slot]))
    assert sampler.finished >= 1 or g == 2  # two draws in 65,536 are late there


@pytest.mark.parametrize(
    ("epsilon", "g", "cohorts"), [(1.3, None, 100), (0.5, 2, 1), (4.0, 200, 1000), (1.0, 4, 64_497)]
)
def test_cohorts__agree_with_plain_python(epsilon, g, cohorts):
    """Bit for bit; 2**32 % 64,497 is large, so that some cohorts are drawn anew."""
    mechanism, rng, k = LocalHashing(epsilon=epsilon, domain=1 << 24, g=g, cohorts=cohorts, salt=2), seeded(), 1 << 24
    size = 500 * 1024
    sampler, values = HashSampler(mechanism, key_of(rng)), (np.arange(size) * 77_773 % k).astype(np.int32)
    words = np.zeros(size, np.uint32)
    fill_plane(np.array(key_of(rng), np.uint32), np.uint32(COHORTS), np.uint64(0), np.zeros(16, np.uint64), words)
    reports = mechanism.randomize(values, rng=rng)
    uneven = np.flatnonzero((words.astype(np.uint64) * np.uint64(cohorts)) % np.uint64(1 << 32) < 2**32 % cohorts)
    assert uneven.size >= 2 or cohorts < 2_000
    for slot in [*range(2_000), *uneven.tolist()]:
        assert reports[slot] == sampler.cohort_report(slot, int(values[slot]))


@pytest.mark.parametrize(("k", "g"), [(3, 2), (1000, 4), (1000, 100), (70_000, 5)])
def test_aggregate__counts_what_reports_support(k, g):
    """The same support as hashing every value for every report, by seeds and by cohorts."""
    mechanism, values = LocalHashing(epsilon=1.0, domain=k, g=g), np.arange(301) * 7 % k
    reports = mechanism.randomize(values, rng=seeded())
    supports = line(reports["seed"][:, None], np.arange(k)[None, :], g) == reports["value"][:, None]
    assert np.array_equal(mechanism.aggregate(reports).support, supports.sum(axis=0))
    mechanism = LocalHashing(epsilon=1.0, domain=k, g=g, cohorts=11, salt=1)
    reports = mechanism.randomize(values, rng=seeded())
    probes = [0, 1, k // 2, k - 1]
    expected = [sum(polynomial(1, int(r) // g, v, g) == r % g for r in reports) for v in probes]
    assert mechanism.aggregate(reports).support[probes].tolist() == expected


@pytest.mark.parametrize("g", [2, 3, 100, 4096])
def test_aggregate__is_exact_at_the_edges_of_buckets(g):
    """Lines through the first and last number of every bucket, which random seeds hardly ever meet."""
    mechanism = LocalHashing(epsilon=1.0, domain=5, g=g)
    starts = buckets(g).starts.astype(np.uint64)
    numbers = np.concatenate([starts, starts[1:] - np.uint64(1), [np.uint64(2**32 - 1)]])
    for shift in (0, 1, g - 1):
        reports = np.zeros(numbers.size, mechanism.report_type.numpy_dtype())
        reports["seed"] = numbers << np.uint64(32)
        reports["value"] = (line(reports["seed"], 0, g) + np.uint64(shift)) % np.uint64(g)
        assert mechanism.aggregate(reports).support.tolist() == [0 if shift else numbers.size] * 5
