"""Answers that a key and a person determine, against plain Python."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from tests.contracts.protocols import KEY
from tests.reference.permanent import answers_key, sample, sets


@pytest.mark.parametrize(("k", "bits"), [(2, 1), (8, 8), (9, 4), (70, 20), (130, 3), (20, 19)])
def test_randomize__agrees_with_plain_python(k, bits):
    mechanism = fd.DBitFlip(epsilon=1.1, domain=k, bits=bits)
    persons = np.array([0, 3, 2**63, *range(50, 80)], np.uint64)
    values = np.arange(persons.size) * 5 % k
    reports = mechanism.randomize(values, persons=persons, key=KEY)
    key = answers_key(KEY, ("DBitFlip", k, bits, mechanism._noise))
    q = mechanism._noise.threshold
    for person, value, report in zip(persons.tolist(), values.tolist(), reports, strict=True):
        asked = sum(1 << bucket for bucket in sample(key, person, k, bits))
        yes = sets(key, person, value, k, 2**128 - q, q, by_value=False)
        assert int.from_bytes(bytes(report["asked"]), "little") == asked
        assert int.from_bytes(bytes(report["yes"]), "little") == yes & asked
