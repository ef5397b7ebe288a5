"""Codes of integers and texts, batch by batch: exact, whatever their range and order."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from fastdp.queries.data import codes as codes_module
from fastdp.queries.data.codes import IntegerTable, TextTable

EDGES = [-(1 << 63), (1 << 63) - 1, 0, -1, 1 << 62]


def integer_batches(kind):
    source = np.random.default_rng(3)
    if kind == "narrow":
        return [source.integers(low, low + 500, 300) for low in (0, 400, -900, 70_000, -70_000)]
    if kind == "edges":
        return [np.array([edge, edge]) for edge in EDGES]
    if kind == "at the end":
        return [np.array([(1 << 63) - 1 - one]) for one in range(0, 5000, 999)]
    if kind == "at the start":
        return [np.array([one - (1 << 63)]) for one in range(0, 5000, 999)]
    wide = [source.integers(-(1 << 63), (1 << 63) - 1, 700) for _ in range(3)]
    return [np.arange(200), *wide, np.empty(0, np.int64), np.arange(-200, 300)]


@pytest.mark.parametrize("kind", ["narrow", "edges", "at the end", "at the start", "wide"])
@pytest.mark.parametrize("span", [1, 1 << 21])
def test_integers__have_one_code_each(kind, span, monkeypatch):
    """By value, by hash, and where the one becomes the other."""
    monkeypatch.setattr(codes_module, "SPAN", span)
    table, batches = IntegerTable(5), integer_batches(kind)
    found = [table.find(batch, is_open=True) for batch in batches]
    names = table.names().to_numpy()
    assert names.size == table.used == np.unique(np.concatenate(batches)).size
    for batch, codes in zip(batches, found, strict=True):
        np.testing.assert_array_equal(names[codes], batch)
        np.testing.assert_array_equal(table.find(batch, is_open=False), codes)
    assert (table.find(np.array([123_456_789, -3_000_000_000]), is_open=False) == -1).all()


def test_closed_tables__that_are_empty_know_nothing():
    assert IntegerTable(1).find(np.array([0, -(1 << 63)]), is_open=False).tolist() == [-1, -1]
    assert TextTable(1).find(pa.array(["", "a"]), is_open=False).tolist() == [-1, -1]
