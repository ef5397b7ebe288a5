"""Bloom filters in cohorts: written, and counted."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from tests.generators import each_generator
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.bits import byte_at
from tests.reference.cells import HALVES
from tests.reference.keystream import plane_word


@each_generator
def test_randomize__agrees_with_plain_python(generator):
    """The cohort from the half word of a report's first slot, the flips from its byte slots."""
    for bits, reserved in ((5, 0), (16, 1000), (21, 1021)):
        mechanism, rng = fd.RAPPOR(epsilon=2.0, domain=30, bits=bits, cohorts=8), seeded(generator=generator)
        rng.reserve(reserved)
        values = np.arange(30)
        reports = mechanism.randomize(values, rng=rng)
        filters, width, key = mechanism.filters(), (bits + 7) // 8, key_of(rng)
        for i in range(30):
            slot = reserved + i * width
            cohort = plane_word(key, HALVES, slot, 16) % 8
            assert reports["cohort"][i] == cohort
            flips = int.from_bytes(
                bytes(byte_at(key, slot + j, mechanism._noise.threshold) for j in range(width)), "little"
            )
            truth = int((filters[cohort, i].astype(object) << np.arange(bits)).sum())
            assert int.from_bytes(bytes(reports["bits"][i]), "little") == (truth ^ flips) & (1 << bits) - 1


def test_aggregate__counts_bits_by_cohort():
    mechanism = fd.RAPPOR(epsilon=1.0, domain=10, bits=13, cohorts=4)
    reports = mechanism.randomize(np.arange(3_000) % 10, rng=seeded())
    counts = mechanism.aggregate(reports)
    bits = np.unpackbits(reports["bits"], axis=1, bitorder="little")
    for cohort in range(4):
        assert np.array_equal(counts.support[cohort, :-1], bits[reports["cohort"] == cohort, :13].sum(axis=0))
    assert np.array_equal(counts.support[:, -1], np.bincount(reports["cohort"], minlength=4))
    for name, value in (("cohort", 4), ("bits", [0, 1 << 5])):
        spoiled = reports.copy()
        spoiled[name][1_234] = value
        with pytest.raises(fd.InputCorruptError, match="not this protocol"):
            mechanism.aggregate(spoiled)
