"""Buckets in order: each person's rows together, groups by priority, equal keys side by side; also of heavy persons."""

from __future__ import annotations

import numpy as np
import pytest

from fastdp.kernels.persons.ordering import RADIX, sort_few, sort_many


def records(persons, priorities, codes):
    found = np.zeros((len(persons), 3), np.uint64)
    found[:, 0], found[:, 1], found[:, 2] = persons, priorities, np.asarray(codes, np.uint64) << np.uint64(32)
    found[:, 2] |= np.arange(len(persons), dtype=np.uint64)
    return found


def check(before, after):
    assert sorted(map(tuple, before.tolist())) == sorted(map(tuple, after.tolist()))
    groups = [(row[0], row[1], row[2] >> 32) for row in after.tolist()]
    changes = [group for i, group in enumerate(groups) if i == 0 or groups[i - 1] != group]
    assert len(set(changes)) == len(changes)  # no group comes twice
    people = [change[0] for i, change in enumerate(changes) if i == 0 or changes[i - 1][0] != change[0]]
    assert len(set(people)) == len(people)
    for a, b in zip(changes, changes[1:], strict=False):
        assert a[0] != b[0] or a[1:] < b[1:]


def heavy(source, size, share, keys):
    persons = np.where(source.random(size) < share, 7, source.integers(0, 20, size))
    tags = source.integers(0, 2**64, keys, np.uint64)
    codes = source.integers(0, keys, size)
    return records(persons, tags[codes] ^ persons.astype(np.uint64), codes)


@pytest.mark.parametrize("size", [0, 1, 2, 100])
def test_sort_few(size):
    rows = heavy(np.random.default_rng(size), size, 0.3, 5)
    after = rows.copy()
    sort_few(after, 0, size)
    check(rows, after)


@pytest.mark.parametrize(("share", "keys"), [(1.0, 1), (1.0, 3000), (0.9, 50), (0.5, 10_000), (0.0, 5)])
def test_sort_many(share, keys):
    """One person or twenty, one key or thousands of them."""
    rows = heavy(np.random.default_rng(5), 6000, share, keys)
    after = rows.copy()
    sort_many(after, np.empty_like(after), 0, 6000, np.empty((2, RADIX), np.int64))
    check(rows, after)


def test_sort_many__tells_keys_apart_whose_priorities_collide():
    rows = records([3] * 300, [9] * 300, np.arange(300) % 4)
    after = rows.copy()
    sort_many(after, np.empty_like(after), 0, 300, np.empty((2, RADIX), np.int64))
    check(rows, after)
