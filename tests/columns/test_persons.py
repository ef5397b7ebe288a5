"""Persons: a number each, the same from every container, and never by accident another one."""

from __future__ import annotations

import hashlib

import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.columns.persons import read_persons

KEY = b"k" * 32


def read(persons, size=None, key=KEY):
    size = len(persons) if size is None else size
    return read_persons("test", persons, size, key).read(0, size).tolist()


def test_read_persons__keeps_integers_of_any_width():
    for dtype in ("i1", "u1", "i2", "i4", "u4", "i8", "u8", ">i4", ">u8"):
        assert read(np.array([3, 1, 100], dtype)) == [3, 1, 100]
    numbers = [3, 1, 100]
    arrow = pa.array(numbers)
    containers = [
        numbers,
        tuple(numbers),
        [np.int8(3), 1, 100],
        arrow,
        arrow.cast(pa.uint8()),
        arrow.dictionary_encode(),
    ]
    containers += [pa.chunked_array([[3], [1, 100]]), np.array([3, 0, 1, 0, 100])[::2], pa.array([9, 3, 1, 100])[1:]]
    for given in containers:
        assert read(given) == [3, 1, 100]
    assert read(np.array([-1], np.int8)) == read(np.array([-1])) == [2**64 - 1]
    assert read(np.array([2**64 - 1], np.uint64)) == [2**64 - 1]
    assert read([]) == read(np.zeros(0)) == read(pa.array([], pa.int64())) == []


def test_read_persons__hashes_text_the_same_from_every_container():
    """Trailing zero characters too: numpy's own text type would cut them off."""
    names = ["ada", "bob", "zoë", "", "a\0"]
    expected = [int.from_bytes(hashlib.blake2b(n.encode(), digest_size=8, key=KEY).digest(), "little") for n in names]
    for given in (
        names, tuple(names), np.array(names, object), pa.array(names), pa.array(names, pa.large_string()),
        pa.array(names).dictionary_encode(), pa.chunked_array([names[:2], names[2:]]),
        pa.array(names, pa.string_view()),
    ):  # fmt: skip
        assert read(given) == expected
    assert read(np.array(names[:4])) == expected[:4]
    assert len(set(expected)) == 5
    assert read(names, key=b"l" * 32) != expected
    blocks = read_persons("test", pa.array(names), 5, KEY)
    assert blocks.read(1, 3).tolist() == expected[1:3]
    assert read(["1"]) != read([1])


@pytest.mark.parametrize(
    "bad",
    [[1, "a"], ["a", 1], [True, "a"], [True, False], [1, True], [1.5, 2], ["a", None], [None], [b"a"], [2**64, 1], [1j],
     np.array([1.0]), np.array([True]), np.array([1, "a"], object), np.array([1, 2], object), np.array(["a"], "S1"),
     np.zeros(2, "M8[s]"), np.ma.array([1]), pa.array([1.5]), pa.array([b"a"]), pa.array([True]), "ab", None, 7, {1: 2},
     range(3), pa.array([1], pa.timestamp("s")), pa.DictionaryArray.from_arrays([0, 1], ["SECRET", None])],
)  # fmt: skip
def test_read_persons__refuses_anything_that_could_name_a_person_twice(bad):
    """Numbers among texts would be read as texts: the same person would get another permanent answer."""
    size = len(bad) if hasattr(bad, "__len__") else 1
    with pytest.raises((fd.SchemaError, fd.ParameterError), match="persons") as caught:
        read(bad, size)
    assert "SECRET" not in str(caught.value)


@pytest.mark.parametrize("bad", [[1, 2], [[1, 2, 3]], [], np.zeros((3, 1), int)])
def test_read_persons__wants_one_for_each_value(bad):
    with pytest.raises(fd.ParameterError, match="persons"):
        read_persons("test", bad, 3, KEY)


def test_read_persons__refuses_nulls():
    for bad in (pa.array([1, None]), pa.array(["a", None]), pa.chunked_array([["a"], [None]])):
        with pytest.raises(fd.DomainError, match="nulls"):
            read_persons("test", bad, 2, KEY)
