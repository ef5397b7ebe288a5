"""Columns of several blocks: the same results as from whole arrays, at every edge of a block and of a window."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import fastdp as fd
from fastdp.columns.arrow import blank_nulls, holds_nulls
from fastdp.columns.pieces import ArrowNumbers, Windows
from fastdp.threads import BLOCK

ROWS = 2 * BLOCK + 4321
LABELS = ["cold", "", "flu", "a label that is not so short", "zoë"]
NUMBERS = [3, -5, 70, 1000, 2**40]
CODES = (np.arange(ROWS) * 7919 % 5).astype(np.int32)
ABSENT = np.arange(ROWS) % 11 == 3
TEXT, WHOLE = pa.array(LABELS), pa.array(NUMBERS)
VALUES = TEXT.take(pa.array(CODES))

LAYOUTS = {
    "string": (LABELS, VALUES),
    "sliced": (LABELS, pa.concat_arrays([VALUES[:3], VALUES])[3:]),
    "large_string": (LABELS, VALUES.cast(pa.large_string())),
    "string_view": (LABELS, VALUES.cast(pa.string_view())),
    "chunks": (LABELS, pa.chunked_array([VALUES[:7], VALUES[7:7], VALUES[7:]])),
    "dictionary": (LABELS, pa.DictionaryArray.from_arrays(pa.array(CODES), TEXT)),
    "small dictionary": (LABELS, pa.DictionaryArray.from_arrays(pa.array(CODES.astype(np.int8)), TEXT)),
    "runs": (LABELS, pc.run_end_encode(VALUES)),
    "integers": (NUMBERS, WHOLE.take(pa.array(CODES))),
    "numpy text": (LABELS, np.array(LABELS)[CODES]),
    "numpy objects": (LABELS, np.array(LABELS, object)[CODES]),
    "numpy integers": (NUMBERS, np.array(NUMBERS)[CODES]),
    "list": (LABELS, VALUES.to_pylist()),
    "tuple": (LABELS, tuple(VALUES.to_pylist())),
}


def seeded() -> fd.Rng:
    return fd.Rng.unsafe_seed(5)


def expected(labels: list) -> list:
    codes = fd.KRR(epsilon=1.0, domain=5).randomize(CODES, rng=seeded())
    return [labels[code] for code in codes.tolist()]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_labels__are_the_same_in_every_layout(layout, threads):
    """The reports of codes, as labels; the container is the caller's and valid, whatever the number of threads."""
    labels, values = LAYOUTS[layout]
    mechanism = fd.KRR(epsilon=1.0, domain=labels)
    for count in (1, 3):
        threads(count)
        reports = mechanism.randomize(values, rng=seeded())
        if isinstance(values, pa.Array | pa.ChunkedArray):
            reports.validate(full=True)
            assert isinstance(reports, type(values)) or layout == "runs"
        else:
            assert type(reports) is type(values)
        found = reports.to_pylist() if hasattr(reports, "to_pylist") else np.asarray(reports).tolist()
        assert list(found) == expected(labels)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), "dictionary", pa.int64()])
def test_labels__keep_public_nulls_and_nothing_under_them(kind):
    """Reports elsewhere are those without nulls; under a null there is no text, code 0 or number 0."""
    labels = NUMBERS if kind == pa.int64() else LABELS
    indices = pa.array(CODES, mask=ABSENT)
    values = pa.DictionaryArray.from_arrays(indices, TEXT) if kind == "dictionary" else pa.array(labels).take(indices)
    reports = fd.KRR(epsilon=1.0, domain=labels).randomize(
        values if kind == "dictionary" else values.cast(kind), rng=seeded(), nulls="public"
    )
    reports.validate(full=True)
    found = reports.to_pylist()
    assert [value is None for value in found] == ABSENT.tolist()
    wanted = expected(labels)
    assert all(value == wanted[i] for i, value in enumerate(found) if value is not None)
    if kind in {pa.string(), pa.large_string()}:
        offsets = np.frombuffer(reports.buffers()[1], np.int32 if kind == pa.string() else np.int64)
        assert not np.diff(offsets[: ROWS + 1])[ABSENT].any()
    else:
        hidden = reports.indices if kind == "dictionary" else reports
        words = np.frombuffer(hidden.buffers()[1], np.uint8).reshape(ROWS, -1)
        assert not words[ABSENT].any()


@pytest.mark.parametrize("encode", [lambda a: a, pa.Array.dictionary_encode, pc.run_end_encode])
def test_numbers__with_nulls_are_those_of_whole_arrays(encode):
    plain = CODES.astype(np.float64)
    mechanism = fd.Laplace(epsilon=1.0, sensitivity=1.0)
    wanted = mechanism.randomize(np.where(ABSENT, 0.0, plain), rng=seeded())
    found = mechanism.randomize(encode(pa.array(plain, mask=ABSENT)), rng=seeded(), nulls="public")
    found.validate(full=True)
    assert np.array_equal(found.is_null().to_numpy(zero_copy_only=False), ABSENT)
    assert np.array_equal(np.frombuffer(found.buffers()[1]), np.where(ABSENT, 0.0, wanted))


@pytest.mark.parametrize("span", [(0, 1), (0, 7), (6, 8), (3, 3), (5, 23), (20, 23)])
def test_windows__give_what_the_piece_gives(span):
    piece = ArrowNumbers(pa.array(np.arange(23)))
    assert np.array_equal(Windows(piece, 7).read(*span), np.arange(*span))


def test_many_labels__are_read_in_windows():
    """More labels than a block should look up anew: the same reports as from a dictionary, which needs no windows."""
    labels = [f"label {i}" for i in range(20_000)]
    codes = np.arange(ROWS) * 31 % 20_000
    mechanism = fd.KRR(epsilon=9.0, domain=labels)
    whole = mechanism.randomize(pa.array(labels).take(pa.array(codes)), rng=seeded())
    entries = pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(labels))
    assert whole.equals(mechanism.randomize(entries, rng=seeded()).cast(pa.string()))


def test_nulls__are_found_wherever_they_are():
    late = pa.array([1.0] * BLOCK + [None])
    for array in (late, late.dictionary_encode(), pc.run_end_encode(late)):
        assert holds_nulls(array)
        assert not holds_nulls(array[:BLOCK])
        with pytest.raises(fd.DomainError, match="nulls"):
            fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(array)
    unused = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([1.0, None]))
    assert not holds_nulls(unused)
    assert blank_nulls(pa.array([1, 2])) is None


@pytest.mark.parametrize("bad", [[3, 70.0], [3, True], [3.7], np.array([3, 70.5], object), np.array([3, True], object)])
def test_integer_labels__take_integers_only(bad):
    """Arrow would cut the digits off, and so report another value than was given."""
    with pytest.raises(fd.SchemaError, match="labels' type"):
        fd.KRR(epsilon=1.0, domain=NUMBERS).randomize(bad)


def test_integer_labels__must_fit_the_columns_type():
    with pytest.raises(fd.SchemaError, match="int8 cannot hold all labels"):
        fd.KRR(epsilon=1.0, domain=NUMBERS).randomize(pa.array([3, 70], pa.int8()))


def test_points__in_chunks_and_in_one_array_are_the_same():
    """Pieces that end at different points in either column, and an array of both."""
    x, y = CODES.astype(np.float64), CODES[::-1].astype(np.float64)
    for mechanism in (
        fd.PlanarLaplace(epsilon=1.0, unit="km"),
        fd.GlobeLaplace(epsilon=1.0, unit="km"),
        fd.PlanarLaplace(epsilon=1.0, unit="km").remap([0.5, 0.5], [(0.0, 0.0), (3.0, 3.0)]),
    ):
        wanted = mechanism.randomize(x, y, rng=seeded())
        chunks = pa.chunked_array([x[:5], x[5 : BLOCK + 9], x[BLOCK + 9 :]]), pa.chunked_array([y[:70_000], y[70_000:]])
        for found, whole in zip(mechanism.randomize(*chunks, rng=seeded()), wanted, strict=True):
            assert np.array_equal(found.to_numpy(), whole)
        if not isinstance(mechanism, fd.GlobeLaplace):
            found = mechanism.randomize(np.stack((x, y), axis=1), rng=seeded())
            assert np.array_equal(found, np.stack(wanted, axis=1))


@pytest.mark.parametrize("way", [fd.SplitBudget, fd.SampleOne, fd.SampleAndFake])
@pytest.mark.parametrize("protocol", [fd.KRR, fd.UnaryEncoding])
def test_attributes__do_not_depend_on_chunks(way, protocol, monkeypatch):
    """Nor on whether the attributes that were drawn are kept."""
    mechanism = way(epsilon=1.0, domains={"a": 5, "b": LABELS}, protocol=protocol)
    whole = mechanism.randomize({"a": pa.array(CODES), "b": VALUES}, rng=seeded())
    monkeypatch.setattr("fastdp.engine.uniform.MOST_KEPT", 0)
    chunks = {"a": pa.chunked_array([CODES[:13], CODES[13:]]), "b": pa.chunked_array([VALUES[:BLOCK], VALUES[BLOCK:]])}
    found = mechanism.randomize(chunks, rng=seeded())
    for name in "ab":
        joined = found[name].combine_chunks() if isinstance(found[name], pa.ChunkedArray) else found[name]
        joined.validate(full=True)
        assert joined.equals(whole[name])
