"""Columns that are kept: their values go through as they are, however deep they nest and wherever they are cut."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fastdp as fd
from fastdp.tables.sanitizing.public_column import keep, kept_type

LEAVES = {
    pa.int16(): st.integers(-9, 9),
    pa.float64(): st.floats(-1, 1),
    pa.string(): st.text("ab", max_size=3),
    pa.bool_(): st.booleans(),
}


def nest(kinds):
    """Types made of others, with how their values are made."""
    return st.one_of(
        kinds.map(lambda made: (pa.list_(made[0]), st.lists(_or_none(made[1]), max_size=3))),
        kinds.map(lambda made: (pa.large_list(made[0]), st.lists(_or_none(made[1]), max_size=3))),
        kinds.map(lambda made: (pa.list_(made[0], 2), st.lists(_or_none(made[1]), min_size=2, max_size=2))),
        st.tuples(kinds, kinds).map(
            lambda made: (
                pa.struct([("a", made[0][0]), ("b", made[1][0])]),
                st.fixed_dictionaries({"a": _or_none(made[0][1]), "b": _or_none(made[1][1])}),
            )
        ),
    )


def _or_none(values):
    return st.none() | values


KINDS = st.recursive(st.sampled_from(list(LEAVES.items())), nest, max_leaves=4)


@given(KINDS, st.data(), st.booleans(), st.integers(0, 3), st.integers(0, 3))
def test_values__go_through(made, data, copy, start, stop):
    kind, values = made
    array = pa.array(data.draw(st.lists(_or_none(values), max_size=12)), kind)
    array = array[start : len(array) - stop]
    result = keep("sanitize", "x", array, copy=copy)
    result.validate(full=True)
    assert result.type == kept_type("sanitize", "x", kind)
    assert result.to_pylist() == array.to_pylist()


@pytest.mark.parametrize("kind", [pa.map_(pa.string(), pa.int8()), pa.list_view(pa.int8()), pa.dense_union([])])
def test_other_types__are_refused(kind):
    with pytest.raises(fd.SchemaError, match="'x'"):
        kept_type("sanitize", "x", kind)


def test_fields__may_be_null_under_a_null():
    """A part that is never null is null where the whole is."""
    kind = pa.struct([pa.field("a", pa.int8(), nullable=False)])
    array = pa.Array.from_buffers(kind, 2, [pa.py_buffer(b"\1")], children=[pa.array([1, 7], pa.int8())])
    result = keep("sanitize", "x", array, copy=True)
    assert result.to_pylist() == [{"a": 1}, None]
    assert result.field(0).to_pylist() == [1, None]
