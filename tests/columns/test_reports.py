"""Report types: one definition for numpy and arrow, and nothing read that was not declared."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

import fastdp as fd
from fastdp.columns.reports import Field, ReportType

PACKED = ReportType((Field.packed("bits", 13),))
NUMBER = ReportType((Field("index", np.dtype(np.uint16)),))
LIST = ReportType((Field("histogram", np.dtype(np.float64), 3),))
STRUCT = ReportType((Field("cohort", np.dtype(np.uint16)), Field.packed("bits", 13)))
KINDS = [PACKED, NUMBER, LIST, STRUCT]
each_kind = pytest.mark.parametrize("kind", KINDS, ids=["packed", "number", "list", "struct"])


def filled(kind: ReportType, count: int, values):
    """A buffer of reports for such values, written in two blocks; and what was written, field by field."""
    buffer, whole = kind.allocate(count, values), []
    for start, stop in ((0, count // 2), (count // 2, count)):
        parts = buffer.take(start, stop)
        for i, part in enumerate(parts):
            part[:] = (np.arange(part.size) + start) * (7 + i) % 200
        buffer.put(start, stop, parts)
        whole.append([part.copy() for part in parts])
    return buffer, joined(whole)


def reports_of(kind: ReportType, count: int, *, arrow: bool):
    values = pa.array([0] * count) if arrow else [0] * count
    return kind.wrap([filled(kind, count, values)[0]], values)


def joined(pieces) -> list[np.ndarray]:
    return [np.concatenate(flat) for flat in zip(*pieces, strict=True)]


def test_arrow_type__is_what_the_documentation_says():
    assert PACKED.arrow_type() == pa.binary(2)
    assert NUMBER.arrow_type() == pa.uint16()
    assert LIST.arrow_type() == pa.list_(pa.field("item", pa.float64(), nullable=False), 3)
    assert STRUCT.arrow_type().field("bits").type == pa.binary(2)
    assert not STRUCT.arrow_type().field("cohort").nullable
    assert STRUCT.numpy_dtype() == np.dtype([("cohort", "<u2"), ("bits", "u1", (2,))])


@each_kind
def test_dress_and_read__are_inverse(kind):
    """Numpy, arrow, slices of any offset, chunks."""
    _, parts = filled(kind, 50, [0] * 50)
    plain, arrow = reports_of(kind, 50, arrow=False), reports_of(kind, 50, arrow=True)
    arrow.validate(full=True)
    assert arrow.type == kind.arrow_type()
    for given in (
        plain,
        arrow,
        pa.chunked_array([arrow[:7], arrow[7:7], arrow[7:]]),
        pa.concat_arrays([arrow[:3], arrow])[3:],
    ):
        for found, part in zip(joined(kind.read("test", given)), parts, strict=True):
            assert np.array_equal(found, part)
    for start in (1, 8, 49):
        for given in (plain[start:], arrow[start:]):
            for found, field, part in zip(joined(kind.read("test", given)), kind.fields, parts, strict=True):
                assert np.array_equal(found, part[start * field.per_report :])
    strided = np.repeat(plain, 2, axis=0)[::2]
    assert all(np.array_equal(a, b) for a, b in zip(joined(kind.read("test", strided)), parts, strict=True))


@each_kind
@pytest.mark.parametrize("how", ["plain", "dictionary", "null in dictionary", "runs", "sliced", "chunked"])
def test_dress__zeroes_what_lies_under_nulls_however_they_are_stored(kind, how):
    """Nulls in a dictionary or in runs do not show in the validity of the values."""
    values = pa.array([None if i % 3 == 0 else i % 5 for i in range(21)], pa.int32())
    given = values
    if how == "dictionary":
        given = values.dictionary_encode()
    elif how == "null in dictionary":
        given = values.dictionary_encode(null_encoding="encode")
        assert given.null_count == 0
    elif how == "runs":
        given = pa.compute.run_end_encode(values)
        assert given.null_count == 0
    elif how == "sliced":
        given = pa.concat_arrays([values[:4], values])[4:]
    elif how == "chunked":
        given = pa.chunked_array([values[:4], values[4:]])
    sizes = (4, 17) if how == "chunked" else (21,)
    buffers = [filled(kind, size, given)[0] for size in sizes]
    reports = kind.wrap(buffers, given)
    reports.validate(full=True)
    missing = [i % 3 == 0 for i in range(21)]
    assert reports.is_null().to_pylist() == missing
    offset = 0
    for buffer, size in zip(buffers, sizes, strict=True):
        for field, part in zip(kind.fields, buffer.content, strict=True):
            under = part.reshape(-1, field.per_report)
            assert not under[missing[offset : offset + size]].any()
            assert under.any()
        offset += size
    with pytest.raises(fd.DomainError, match="nulls"):
        list(kind.read("test", reports))
    assert sum(parts[0].size for parts in kind.read("test", reports, nulls="public")) == 14 * kind.fields[0].per_report


@each_kind
def test_read__refuses_everything_else(kind):
    plain = reports_of(kind, 6, arrow=False)
    others = [reports_of(other, 6, arrow=True) for other in KINDS if other is not kind]
    bad = [None, [1, 2], "ab", b"ab", 1, plain[0], np.ma.array(plain), plain.reshape(1, *plain.shape), pa.array(["a"]),
           pa.array([b"a"]), pa.array([b"abcde"]), pa.chunked_array([], pa.string()), pa.scalar(1), *others,
           np.zeros((6, 2), np.int8)]  # fmt: skip
    for given in bad:
        with pytest.raises(fd.SchemaError, match="test"):
            list(kind.read("test", given))


def test_read__refuses_fields_with_nulls():
    children = [pa.array([1, None], pa.uint16()), pa.array([b"ab", b"cd"], pa.binary(2))]
    with pytest.raises(fd.DomainError, match="nulls"):
        list(STRUCT.read("test", pa.StructArray.from_arrays(children, ["cohort", "bits"])))


def test_read__takes_types_whose_writers_forgot_that_nothing_is_null():
    """Names of list items and nullability differ between writers; the content decides."""
    arrow = reports_of(LIST, 5, arrow=True)
    other = arrow.cast(pa.list_(pa.field("element", pa.float64()), 3))
    struct = reports_of(STRUCT, 5, arrow=True)
    loose = pa.StructArray.from_arrays([struct.field(0), struct.field(1)], ["cohort", "bits"])
    for kind, one, two in ((LIST, arrow, other), (STRUCT, struct, loose)):
        for a, b in zip(joined(kind.read("test", one)), joined(kind.read("test", two)), strict=True):
            assert np.array_equal(a, b)
