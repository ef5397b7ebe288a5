"""Grouping by buckets agrees with numpy's unique, whatever the keys look like."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from fastdp.anonymity.coding.codes import Codes
from fastdp.anonymity.coding.grouping import Entries, _number_keys, class_sizes, group_values, is_small
from fastdp.kernels.classes.buckets import mix, sort_values, table_mask

RNG = np.random.default_rng(7)
KEYS = {
    "random": RNG.integers(0, 2**63, 20_000, dtype=np.uint64),
    "few": RNG.integers(0, 5, 20_000, dtype=np.uint64) << np.uint64(60),
    "one": np.zeros(9_000, np.uint64),
    "mostly one": np.where(RNG.random(30_000) < 0.9, 7, RNG.integers(0, 2**40, 30_000)).astype(np.uint64),
    "a progression": np.arange(20_000, dtype=np.uint64) * np.uint64(1 << 44),
    "none": np.zeros(0, np.uint64),
    "extremes": np.array([0, 2**64 - 1, 0, 2**63], np.uint64),
}


@pytest.mark.parametrize("name", KEYS)
def test_number_classes__gives_equal_keys_equal_numbers(name):
    keys = KEYS[name]
    ids, first = _number_keys(keys)
    values, index, counts = np.unique(keys, return_index=True, return_counts=True)
    assert first.size == values.size
    np.testing.assert_array_equal(keys[first][ids], keys)
    np.testing.assert_array_equal(np.sort(first), np.sort(index))  # the earliest row of each
    np.testing.assert_array_equal(np.sort(np.bincount(ids, minlength=first.size)), np.sort(counts))


def test_mix__is_a_bijection():
    """Odd factors and a shift that is undone: 1e5 words near one another and far apart stay distinct."""
    words = np.concatenate([np.arange(50_000, dtype=np.uint64), np.arange(50_000, dtype=np.uint64) << np.uint64(48)])
    assert len({int(mix(word)) for word in np.unique(words)}) == np.unique(words).size


@pytest.mark.parametrize("count", [0, 1, 10, 11, 4096, 4097])
def test_table_mask__leaves_a_third_free(count):
    mask = int(table_mask(count))
    assert mask >= 1.5 * count - 1
    assert mask & (mask + 1) == 0


@pytest.mark.parametrize("size", [0, 1, 2, 24, 25, 26, 1000])
def test_sort_values__sorts_a_slice_alone(size):
    values = RNG.integers(0, 50, size + 4)
    expected = [*values[:2], *sorted(values[2 : size + 2]), *values[size + 2 :]]
    sort_values(values, 2, size + 2)
    assert values.tolist() == expected


def wide(columns: list[np.ndarray]) -> list[Codes]:
    """Columns of more than a direct table holds."""
    return [Codes(str(j), column, 1 << 30, 0, pa.uint32()) for j, column in enumerate(columns)]


def test_size_classes__counts_rows():
    columns = [RNG.integers(0, 40, 30_000).astype(np.uint32) for _ in range(2)]
    assert not is_small(1 << 60, 30_000)
    expected = np.unique(np.stack(columns), axis=1, return_counts=True)[1]
    np.testing.assert_array_equal(np.sort(class_sizes(wide(columns), None)), np.sort(expected))


@pytest.mark.parametrize("values", [1, 3, 200])
def test_list_entries__counts_values_per_class(values):
    columns = [RNG.integers(0, 40, 30_000).astype(np.uint32) for _ in range(2)]
    secret = RNG.integers(0, values, 30_000).astype(np.uint8)
    found = group_values(wide(columns), Codes("s", secret, values, 0, pa.uint8()), None)
    assert isinstance(found, Entries)
    expected = defaultdict(Counter)
    for a, b, s in zip(*columns, secret, strict=True):
        expected[a, b][int(s)] += 1
    offsets = found.offsets
    pairs = list(zip(found.values.tolist(), found.counts.tolist(), strict=True))
    seen = [tuple(pairs[a:b]) for a, b in itertools.pairwise(offsets)]
    assert sorted(seen) == sorted(tuple(sorted(counts.items())) for counts in expected.values())
