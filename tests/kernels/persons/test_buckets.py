"""Buckets of a few rows in order: persons are told apart however near their images are."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.persons import bounding
from tests.kernels.persons.naive import KEY, kept_of, naive, summed, unmix


@pytest.mark.parametrize("mode", ["sums", bounding.SAMPLE, bounding.ROWS])
@pytest.mark.parametrize("apart", [0, 20])
def test_persons__whose_images_are_nearly_equal_are_told_apart(mode, apart):
    """Planted persons, whose images differ in the lowest bits only: mixed by the short order of a bucket.

    Whoever trusts that order takes a person anew after each row of another, and lets it into all of its groups.
    """
    source = np.random.default_rng(8)
    people = [unmix((0xABCDE << 44) + (one << apart), int(KEY)) for one in range(3)]
    persons = np.repeat(np.array(people, np.uint64), 10)
    codes = np.concatenate([source.permutation(90)[:10] for _ in people]).astype(np.int32)
    order = source.permutation(30)
    persons, codes, steps = persons[order], codes[order], np.ones((1, 30), np.int32)
    if mode == "sums":
        found = summed(persons, codes, steps, np.array([1]), 2, 3, 4)[:, 0]
    else:
        kept = kept_of(persons, codes, steps, np.array([1]), 2, 3 if mode == bounding.SAMPLE else 1, mode)
        found = np.bincount(kept[:, 0], minlength=100)
    expected = np.zeros(100, np.int64)
    for code, *_ in naive(persons, codes, steps, np.array([1]), 2, 1, mode if mode != "sums" else bounding.SAMPLE):
        expected[code] += 1
    assert found.sum() == 6
    np.testing.assert_array_equal(found, expected)
