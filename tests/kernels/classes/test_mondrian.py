"""Parts of Mondrian: a partition, none too small, none that could still be cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fastdp.anonymity.coding.codes import Codes
from fastdp.anonymity.coding.grouping import Shares
from fastdp.anonymity.mondrian import partition
from fastdp.anonymity.requirements import Requirement


def columns_of(rows: int, sizes: tuple[int, ...], seed: int) -> list[Codes]:
    rng = np.random.default_rng(seed)
    drawn = [np.minimum(rng.geometric(min(4 / size, 0.5), rows) - 1, size - 1).astype(np.uint16) for size in sizes]
    return [
        Codes(str(j), codes, size, 0, pa.uint16()) for j, (codes, size) in enumerate(zip(drawn, sizes, strict=True))
    ]


def can_be_cut(codes: np.ndarray, k: int) -> bool:
    """Whether some column has a cut with k rows on both sides."""
    for column in codes:
        ordered = np.sort(column)
        if len(ordered) >= 2 * k and any(ordered[i - 1] != ordered[i] for i in range(k, len(ordered) - k + 1)):
            return True
    return False


@pytest.mark.parametrize(
    ("rows", "sizes", "k"), [(1, (3,), 1), (400, (50, 3, 9), 5), (3000, (1000, 2, 30), 10), (50, (4,), 50)]
)
def test_parts__are_a_partition_that_cannot_be_cut_further(rows, sizes, k):
    columns = columns_of(rows, sizes, rows)
    found = partition(columns, [], [], Requirement(k=k))
    np.testing.assert_array_equal(np.bincount(found.part), found.sizes)
    assert found.sizes.sum() == rows
    assert found.sizes.min() >= k
    for t in range(found.sizes.size):
        codes = np.stack([column.codes[found.part == t] for column in columns])
        np.testing.assert_array_equal(found.low[t], codes.min(axis=1))
        np.testing.assert_array_equal(found.high[t], codes.max(axis=1))
        assert not can_be_cut(codes, k)


def test_parts__of_equal_rows_are_not_torn_apart():
    """Strict Mondrian never separates equal rows: 100 of them and one other are one part."""
    codes = np.array([0] * 100 + [1], np.uint8)
    found = partition([Codes("a", codes, 2, 0, pa.uint8())], [], [], Requirement(k=2))
    assert found.sizes.tolist() == [101]


@pytest.mark.parametrize("asked", [{"l": 2}, {"t": 0.25}, {"alpha": 0.7}, {"l": 2, "l_model": "recursive", "c": 3.0}])
def test_parts__meet_what_is_asked_of_values(asked):
    columns = columns_of(2000, (100, 5), 4)
    rng = np.random.default_rng(8)
    secret = Codes("s", rng.choice(3, 2000, p=[0.6, 0.3, 0.1]).astype(np.uint8), 3, 0, pa.uint8())
    shares = Shares.of(np.bincount(secret.codes))
    free = partition(columns, [], [], Requirement(k=4))
    found = partition(columns, [secret], [shares], Requirement(k=4, **asked))
    assert 1 < found.sizes.size < free.sizes.size  # without the requirement there are more: it is what binds
    counts = np.array([np.bincount(secret.codes[found.part == t], minlength=3) for t in range(found.sizes.size)])
    share = counts / counts.sum(axis=1, keepdims=True)
    if "t" in asked:
        assert (np.abs(share - shares.shares).sum(axis=1) / 2 <= 0.25 + 1e-9).all()
    elif "alpha" in asked:
        assert (share.max(axis=1) <= 0.7 + 1e-9).all()
    elif "c" in asked:
        assert (counts.max(axis=1) < 3.0 * (counts.sum(axis=1) - counts.max(axis=1))).all()
    else:
        assert ((counts > 0).sum(axis=1) >= 2).all()


def test_parts__meet_what_is_asked_of_several_columns():
    columns, rng = columns_of(2000, (100, 5), 4), np.random.default_rng(8)
    secrets = [Codes(name, rng.integers(0, 3, 2000).astype(np.uint8), 3, 0, pa.uint8()) for name in "st"]
    shares = [Shares.of(np.bincount(secret.codes)) for secret in secrets]
    found = [partition(columns, secrets[:n], shares[:n], Requirement(k=4, l=3)) for n in range(3)]
    assert found[0].sizes.size > found[1].sizes.size > found[2].sizes.size > 1
    for t in range(found[2].sizes.size):
        assert all(np.unique(secret.codes[found[2].part == t]).size == 3 for secret in secrets)


def test_parts__cut_long_parts_where_short_ones_would_be():
    """Medians by digits and by comparing all with all agree: a copy of each row doubles parts, not cuts."""
    (column,) = columns_of(40, (30_000,), 6)
    twice = Codes("a", np.repeat(column.codes, 64), column.size, 0, pa.uint16())
    short, long = partition([column], [], [], Requirement(k=5)), partition([twice], [], [], Requirement(k=320))
    np.testing.assert_array_equal(short.sizes * 64, long.sizes)
    np.testing.assert_array_equal(short.high, long.high)
