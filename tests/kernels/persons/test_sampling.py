"""Sums of bounded persons in one go, against a naive version in Python."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.persons import bounding
from tests.kernels.persons.naive import naive, summed, visits


@pytest.mark.parametrize("bucket_bits", [1, 7, 10])
@pytest.mark.parametrize("widths", [[], [1], [2]])
@pytest.mark.parametrize(("limit", "rows"), [(1, 1), (3, 2), (50, 9)])
def test_sums__are_those_of_each_person_alone(bucket_bits, widths, limit, rows):
    """In buckets of hundreds of rows, of few, and of hardly any."""
    persons, codes, steps, widths = visits(300, 4000, 0.2, widths)
    expected = np.zeros((100, 2 + int(widths.sum())), np.int64)
    for code, *places in naive(persons, codes, steps, widths, limit, rows, bounding.SAMPLE):
        expected[code] += places
    np.testing.assert_array_equal(summed(persons, codes, steps, widths, limit, rows, bucket_bits), expected)
