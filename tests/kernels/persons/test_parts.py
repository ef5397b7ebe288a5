"""Records by part: every row once, those of a person together, each with its code and steps."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.persons.parts import count_parts, scatter_rows

KEY = np.uint64(99)


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 4])
def test_scatter__keeps_every_row_whole(columns):
    source = np.random.default_rng(columns)
    persons = source.integers(0, 50, 2000).astype(np.uint64)
    codes = source.integers(-1, 9, 2000).astype(np.int32)
    steps = source.integers(-(2**31), 2**31, (columns, 2000)).astype(np.int32)
    shift, counts = np.uint64(60), np.zeros(16, np.int64)
    count_parts(persons, codes, KEY, shift, counts)
    assert counts.sum() == (codes >= 0).sum()

    places = np.cumsum(counts) - counts
    records = np.zeros((2000, 2 + columns // 2), np.uint64)
    scatter_rows(persons, codes, steps, KEY, shift, places, records)
    np.testing.assert_array_equal(places, np.cumsum(counts))

    used = records[: counts.sum()]
    assert (np.diff((used[:, 0] >> shift).astype(int)) >= 0).all()
    packed = [(used[:, 1] & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)]
    for word in range(2, used.shape[1]):
        packed += [(used[:, word] >> np.uint64(32 * half)).astype(np.uint32).view(np.int32) for half in range(2)]
    found = sorted(
        zip((used[:, 1] >> np.uint64(32)).tolist(), *(one.tolist() for one in packed[:columns]), strict=False)
    )
    assert found == sorted(zip(codes[codes >= 0].tolist(), *(row[codes >= 0].tolist() for row in steps), strict=False))
    assert len(set(used[:, 0].tolist())) == np.unique(persons[codes >= 0]).size  # one image per person
