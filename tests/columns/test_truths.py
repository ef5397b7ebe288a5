"""Truth values: bytes and packed bits, in every container."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pytest

import fastdp as fd
from fastdp.columns.booleans import read_truths

VALUES = [True, False, False, True, True, False, True, True, True, False, True]


def bits_of(column) -> list[bool]:
    found = []
    for piece in column.pieces:
        if piece.packed:
            bits = np.unpackbits(piece.data, bitorder="little")[piece.offset : piece.offset + piece.size]
            found += bits.astype(bool).tolist()
        else:
            found += (piece.data != 0).tolist()
    return found


def test_read_truths__reads_every_container_as_it_is():
    arrow = pa.array(VALUES)
    for given in (
        VALUES, tuple(VALUES), np.array(VALUES), np.array(VALUES)[::-1][::-1], arrow, arrow.dictionary_encode(),
        pa.compute.run_end_encode(arrow), pa.chunked_array([arrow[:3], arrow[3:]]),
        pa.concat_arrays([arrow[:5], arrow])[5:], [np.bool_(value) for value in VALUES],
    ):  # fmt: skip
        column = read_truths("test", given)
        assert bits_of(column) == VALUES
        assert column.size == len(VALUES)
        copies = [np.packbits(np.unpackbits(p.data, bitorder="little")[p.offset : p.offset + p.size], bitorder="little")
                  if p.packed else (p.data != 0).view(np.uint8) for p in column.pieces]  # fmt: skip
        back = column.rebuild(copies)
        assert list(back.to_pylist() if isinstance(back, pa.Array | pa.ChunkedArray) else back) == VALUES


def test_read_truths__does_not_unpack_or_copy_arrow_bits():
    arrow = pa.array(VALUES * 100)
    column = read_truths("test", arrow[13:])
    assert column.pieces[0].offset == 13
    assert column.pieces[0].data.ctypes.data == arrow.buffers()[1].address


def test_read_truths__keeps_public_nulls_and_clears_what_is_under_them():
    values = [True, None, False, None, True, None, None, True, True, None]
    for given in (pa.array(values), pa.array(values).dictionary_encode(), pa.compute.run_end_encode(pa.array(values))):
        with pytest.raises(fd.DomainError, match="nulls"):
            read_truths("test", given)
        column = read_truths("test", given, nulls="public")
        back = column.rebuild([np.full(2, 255, np.uint8)])
        assert back.is_null().to_pylist() == [value is None for value in values]
        raw = np.unpackbits(np.frombuffer(back.buffers()[1], np.uint8), bitorder="little")
        assert raw[:10].tolist() == [int(value is not None) for value in values]
        assert not raw[10:].any()


@pytest.mark.parametrize(
    "bad",
    [None, 1, "True", [1], [True, None], [True, 0.0], np.array([1]), np.ma.array([True]), pa.array([1]),
     pa.array(["a"]), pa.chunked_array([], pa.int8()), pa.array([[True]]), {}, pa.scalar(True),
     np.array([True, None], object)],
)  # fmt: skip
def test_read_truths__refuses_what_is_not_a_bool(bad):
    with pytest.raises(fd.SchemaError, match="test"):
        read_truths("test", bad)
