"""Arrow arrays: every encoding is decoded in one place."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fastdp.columns.arrow import decode, is_arrow, is_encoded, plain_type, to_labels, validate
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import read_numeric
from fastdp.columns.visits import Visits
from fastdp.errors import DomainError
from fastdp.threads import BLOCK

WORDS = ["b", "a", "a", None]
ENCODED = {
    "plain": pa.array(WORDS),
    "dictionary": pa.array(WORDS).dictionary_encode(),
    "null within the dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 1, 2]), pa.array(["b", "a", None])),
    "runs": pc.run_end_encode(pa.array(WORDS)),
    "unused entries": pa.DictionaryArray.from_arrays(pa.array([1, 0, 0, None]), pa.array(["a", "b", "c"])),
}


@pytest.mark.parametrize("name", ENCODED)
def test_decode__gives_the_values_whatever_the_encoding(name):
    """Dictionaries, runs and nulls within them all become the same plain array."""
    array = ENCODED[name]

    assert decode(array).to_pylist() == WORDS
    assert plain_type(array.type) == pa.string()
    assert is_encoded(array.type) == (name != "plain")
    assert is_arrow(array)
    assert is_arrow(pa.chunked_array([array]))


def test_to_labels__casts_to_the_type_of_the_column():
    """Codes become labels of a declared domain, or stay codes."""
    codes = np.array([1, 0, 1])

    assert to_labels(codes, Domain.read("t", ["x", "y"]), pa.large_string()).equals(
        pa.array(["y", "x", "y"], pa.large_string())
    )
    assert to_labels(codes, Domain.read("t", 2)).to_pylist() == [1, 0, 1]


def test_blocks__cover_all_pieces_in_order():
    """Blocks of a chunked column are its values in order, none larger than a block."""
    chunks = pa.chunked_array([pa.array(np.arange(BLOCK + 3)), pa.array([], pa.int64()), pa.array([7, None, 9])])
    blocks = list(read_numeric("t", chunks, "integer", nulls="public").blocks("t"))

    assert [block.size for block in blocks] == [BLOCK, 3, 3]
    np.testing.assert_array_equal(np.concatenate(blocks), [*range(BLOCK + 3), 7, 0, 9])


def test_visits__read_persons_from_runs_and_refuse_nulls_within_them():
    """Columns of persons and times may be encoded in runs; a null inside a run is still a null."""
    runs = pc.run_end_encode(pa.array(["ann", "ann", "bob"]))

    assert Visits.read("t", runs, [1, 2, 3], 3).names.tolist() == ["ann", "bob"]
    with pytest.raises(DomainError, match="nulls"):
        Visits.read("t", pc.run_end_encode(pa.array(["ann", None, "bob"])), [1, 2, 3], 3)


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_validate__looks_at_the_elements_of_a_slice_alone(kind):
    """What is wrong elsewhere is not this slice's; what is wrong in it is found at any depth."""
    lists = pa.array([["a"], ["b", "c"], None, [], ["d"]], kind(pa.string()))
    for start, stop in ((0, 5), (1, 3), (2, 4), (5, 5)):
        validate(lists.slice(start, stop - start))
    width = np.int32 if kind is pa.list_ else np.int64
    words = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], np.int32)), pa.py_buffer(b"a\xffb")]
    )
    broken = pa.Array.from_buffers(
        kind(pa.string()), 3, [None, pa.py_buffer(np.array([0, 1, 2, 3], width))], children=[words]
    )
    validate(broken.slice(0, 1))
    validate(broken.slice(2, 1))
    for wrong in (broken, broken.slice(1, 1)):
        with pytest.raises(pa.ArrowInvalid):
            validate(wrong)
    nested = pa.Array.from_buffers(
        kind(broken.type), 1, [None, pa.py_buffer(np.array([0, 3], width))], children=[broken]
    )
    with pytest.raises(pa.ArrowInvalid):
        validate(nested)


@pytest.mark.parametrize("offsets", [[0, 2, 1, 3], [-1, 1, 2, 3], [0, 1, 2, 9], [0, 9, 2, 3]])
def test_validate__finds_offsets_out_of_order(offsets):
    ends, numbers = pa.py_buffer(np.array(offsets, np.int32)), pa.array([1, 2, 3], pa.int8())
    with pytest.raises(pa.ArrowInvalid):  # Arrow itself refuses some of them
        validate(pa.Array.from_buffers(pa.list_(pa.int8()), 3, [None, ends], children=[numbers]))
