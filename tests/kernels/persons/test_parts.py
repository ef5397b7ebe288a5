"""Records by part: every row once, those of a person together, each with its priority, code and steps."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.persons.parts import count_parts, scatter_rows

KEY, PRIORITY = np.uint64(99), np.uint64(7)


@pytest.mark.parametrize("columns", [0, 1, 2, 3, 4])
def test_scatter__keeps_every_row_whole(columns):
    source = np.random.default_rng(columns)
    persons = source.integers(0, 50, 2000).astype(np.uint64)
    codes = source.integers(-1, 9, 2000).astype(np.int32)
    steps = source.integers(-(2**31), 2**31, (columns, 2000)).astype(np.int32)
    tags, shift = np.arange(9, dtype=np.uint64) * np.uint64(31), np.uint64(60)
    counts = np.zeros(16, np.int64)
    count_parts(persons, codes, KEY, shift, counts)
    assert counts.sum() == (codes >= 0).sum()

    places = np.cumsum(counts) - counts
    records = np.zeros((2000, 3 + columns // 2), np.uint64)
    scatter_rows(persons, persons, codes, tags, steps, KEY, PRIORITY, shift, places, records)
    np.testing.assert_array_equal(places, np.cumsum(counts))

    used = records[: counts.sum()]
    assert (np.diff((used[:, 0] >> shift).astype(int)) >= 0).all()
    packed = [(used[:, 2] & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.int32)]
    for word in range(3, used.shape[1]):
        packed += [(used[:, word] >> np.uint64(32 * half)).astype(np.uint32).view(np.int32) for half in range(2)]
    found = sorted(
        zip((used[:, 2] >> np.uint64(32)).tolist(), *(one.tolist() for one in packed[:columns]), strict=False)
    )
    assert found == sorted(zip(codes[codes >= 0].tolist(), *(row[codes >= 0].tolist() for row in steps), strict=False))
    # One image per person; one priority per person and code.
    pairs = {(int(image), int(code)): int(priority) for image, priority, code in
             zip(used[:, 0], used[:, 1], used[:, 2] >> np.uint64(32), strict=False)}  # fmt: skip
    assert len(set(used[:, 0].tolist())) == np.unique(persons[codes >= 0]).size
    assert len(set(pairs.values())) == len(pairs)


def test_scatter__takes_priorities_from_seeds_and_tags_alone():
    """Codes in another order, and persons under other numbers, leave priorities as they are."""
    persons, seeds = np.array([5, 6, 5], np.uint64), np.array([50, 60, 50], np.uint64)
    found = []
    for ids, codes, tags in (
        (persons, [0, 1, 1], [10, 20]),
        (persons + np.uint64(9), [1, 0, 0], [20, 10]),
    ):
        records, places = np.zeros((3, 3), np.uint64), np.zeros(2, np.int64)
        counts = np.zeros(2, np.int64)
        shift = np.uint64(63)
        count_parts(ids, np.array(codes, np.int32), KEY, shift, counts)
        places[1] = counts[0]
        scatter_rows(ids, seeds, np.array(codes, np.int32), np.array(tags, np.uint64), np.empty((0, 3), np.int32), KEY,
                     PRIORITY, shift, places, records)  # fmt: skip
        found.append(sorted(records[:, 1].tolist()))
    assert found[0] == found[1]
