"""Inputs that nobody expects: an error in fastdp's own words, or no error at all."""

from __future__ import annotations

import struct

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.cli.plan import show
from fastdp.plans.documents.template import skeleton
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.io import parquet_by_hand
from tests.io.parquet_by_hand import SHAPES, write_repeated

COIN = '[columns.ill]\nmechanism = "randomized_response"\nepsilon = 1.0\n'


class TestPlans:
    @pytest.mark.parametrize("depth", [20, 300, 5000, 100_000])
    @pytest.mark.parametrize("key", ["domain", "mechanism", "action"])
    def test_nested_too_deeply__is_refused(self, depth, key):
        with pytest.raises(fd.ParameterError, match="nested too deeply"):
            Plan.loads(f"[columns.x]\n{key} = {'[' * depth}{']' * depth}\n")

    def test_nested_tables__are_refused(self):
        with pytest.raises(fd.ParameterError, match="nested too deeply"):
            Plan.loads(f"[columns.x{'.y' * 2000}]\n")

    def test_nested_receipt__is_refused(self):
        deep = '{"plan": ' + "[" * 100_000 + "]" * 100_000 + "}"
        table = pa.table({"ill": [True]}).replace_schema_metadata({"fastdp.receipt": deep})
        with pytest.raises(fd.InputCorruptError, match="the receipt states no plan"):
            fd.estimate_table(table)

    def test_byte_order_mark__is_no_part_of_it(self, tmp_path):
        path = tmp_path / "plan.toml"
        path.write_bytes(b"\xef\xbb\xbf" + COIN.encode())
        assert Plan.load(path) == Plan.loads(COIN)

    def test_endless_integers__are_no_toml(self):
        with pytest.raises(fd.ParameterError, match="not valid TOML"):
            Plan.loads(f"[columns.x]\nepsilon = {'9' * 10_000}\n")


class TestControlCharacters:
    """In names, where a terminal or TOML would take them for more than text."""

    @pytest.mark.parametrize("code", [*range(32), 127, 0x85, 0x2028])
    def test_nested_names__give_a_plan_that_loads(self, code):
        kind = pa.struct([(f"a{chr(code)}b", pa.int64())])
        plan = skeleton(pa.schema({f"x{chr(code)}": kind, "ill": pa.bool_()}))
        assert list(Plan.loads(plan).columns) == [f"x{chr(code)}", "ill"]

    def test_check__shows_none(self, capsys):
        show(Plan(columns={"bell\x07": "keep", "x": {"mechanism": "randomized_response", "epsilon": 1.0}}))
        assert "\x07" not in capsys.readouterr().out


def stream_of_intervals(path, unit: int) -> None:
    """An Arrow stream with a column of months (0) or of days and milliseconds (1), which pyarrow cannot write."""
    table = pa.table({"a": [1, 2], "x": pa.nulls(2, pa.month_day_nano_interval())})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    content = bytearray(sink.getvalue().to_pybytes())
    wanted = ("month_interval", "day_time_interval")[unit]
    for place in range(8, struct.unpack_from("<i", content, 4)[0]):
        if struct.unpack_from("<H", content, place)[0] == 2:  # the unit of the schema's interval is one of these
            changed = bytearray(content)
            struct.pack_into("<H", changed, place, unit)
            try:
                kind = str(pa.ipc.open_stream(bytes(changed)).schema.field("x").type)
            except (pa.ArrowException, KeyError, OSError):
                continue
            if kind == wanted:
                path.write_bytes(changed)
                return
    raise AssertionError


@pytest.mark.parametrize("unit", [0, 1])
class TestIntervals:
    """Columns of types that pyarrow can name, but has no arrays for."""

    @pytest.mark.parametrize(
        "entry",
        [
            "keep",
            {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 1]},
            {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b"]},
            {"mechanism": "randomized_response", "epsilon": 1.0},
        ],
    )
    def test_sanitize__refuses_them(self, tmp_path, unit, entry):
        stream_of_intervals(tmp_path / "x.arrows", unit)
        with pytest.raises(fd.SchemaError, match="column 'x': pyarrow has no arrays of arrow type"):
            sanitize(tmp_path / "x.arrows", Plan(columns={"a": "keep", "x": entry}))

    def test_sanitize__drops_them(self, tmp_path, unit):
        stream_of_intervals(tmp_path / "x.arrows", unit)
        assert sanitize(tmp_path / "x.arrows", Plan(columns={"a": "keep", "x": "drop"})).to_pydict() == {"a": [1, 2]}

    def test_others__refuse_them(self, tmp_path, unit):
        stream_of_intervals(tmp_path / "x.arrows", unit)
        plan = Plan(columns={"a": "keep", "x": {"mechanism": "randomized_response", "epsilon": 1.0}})
        with pytest.raises(fd.SchemaError, match="estimate: column 'x'"):
            fd.estimate_table(tmp_path / "x.arrows", plan)
        column = pa.ipc.open_stream((tmp_path / "x.arrows").read_bytes()).read_all().column("x")
        with pytest.raises(fd.SchemaError, match="Laplace: pyarrow has no arrays"):
            fd.Laplace(epsilon=1.0, sensitivity=1.0).randomize(column)


class TestRepeatedFields:
    """Parquet files of older writers: repeated fields without the annotation of a list."""

    @pytest.mark.parametrize("shape", SHAPES)
    @pytest.mark.parametrize("rows", [[[1, 2], [], [3]], [[1, 2], None, [3]]])
    def test_unannotated__are_kept_as_lists(self, tmp_path, shape, rows):
        path = tmp_path / "x.parquet"
        write_repeated(path, rows, shape)
        expected = pq.read_table(path).to_pydict()
        assert expected["plain"] == [0, 1, 2]
        assert sanitize(path, Plan(columns={"plain": "keep", "x": "keep"})).to_pydict() == expected

    @pytest.mark.parametrize("annotation", [parquet_by_hand.AS_LIST, parquet_by_hand.AS_MAP])
    def test_forms_that_pyarrow_cannot_read__are_not_called_corrupt(self, tmp_path, monkeypatch, annotation):
        monkeypatch.setitem(SHAPES, "wrong", parquet_by_hand.annotated(annotation))
        write_repeated(tmp_path / "x.parquet", [[1, 2], [], [3]], "wrong")
        with pytest.raises(fd.SchemaError, match="holds columns of a form that pyarrow cannot read"):
            sanitize(tmp_path / "x.parquet", Plan(columns={"plain": "keep", "x": "drop"}))
