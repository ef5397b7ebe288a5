"""Groups of a plan: points and joint categories, what they promise, what they refuse, and that nothing leaks."""

from __future__ import annotations

import io
import json
import math
import pickle
import struct
from itertools import product

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import fastdp as fd
from fastdp.io.stamps import METADATA_KEY
from fastdp.mechanisms.metric.globe_laplace import GlobeLaplace
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.plans.explain import as_data, explain, explain_total
from fastdp.plans.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import randomized

HOME = {"columns": ["latitude", "longitude"], "mechanism": "planar_laplace", "epsilon": "ln(2)/500m"}
PARIS = HOME | {"origin": [48.85, 2.35]}
PLANE = {"columns": ["x", "y"], "mechanism": "planar_laplace", "epsilon": "ln(2)/500m", "unit": "km"}
DOMAINS = {"sex": ["f", "m"], "age": 3}
JOINT = {"columns": ["sex", "age"], "mechanism": "krr", "epsilon": 1.0, "domains": DOMAINS}
WAYS = ("split", "sample", "sample_and_fake")
PROTOCOLS = ("krr", "oue", "olh", "hadamard", "subset")


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def plain(table: pa.Table) -> pa.Table:
    return table.replace_schema_metadata(None).combine_chunks()


def table_of(group: dict, rows: int = 1000, nulls: float = 0.0) -> pa.Table:
    """Random values of the columns of a group, some of them null."""
    source = np.random.default_rng(3)
    makers = {
        "latitude": lambda: source.uniform(48.8, 48.9, rows),
        "longitude": lambda: source.uniform(2.3, 2.4, rows),
        "x": lambda: source.uniform(-3, 3, rows),
        "y": lambda: source.uniform(-3, 3, rows),
        "sex": lambda: np.array(["f", "m"], object)[source.integers(0, 2, rows)],
        "age": lambda: source.integers(0, 3, rows),
    }
    return pa.table({name: pa.array(makers[name](), mask=source.random(rows) < nulls) for name in group["columns"]})


def several(way: str, protocol: str) -> dict:
    return JOINT | {"mechanism": way, "protocol": protocol}


GROUPS = [HOME, PARIS, PLANE, JOINT, *(several(way, protocol) for way in WAYS for protocol in PROTOCOLS)]


class TestPlan:
    def test_toml__as_in_the_manual(self):
        plan = Plan.loads(
            '[columns.name]\naction = "drop"\n[[groups]]\ncolumns = ["latitude", "longitude"]\n'
            'mechanism = "planar_laplace"\nepsilon = "ln(2)/500m"\n'
        )
        assert plan == Plan(columns={"name": "drop"}, groups=[HOME])
        assert isinstance(plan.groups[0].mechanism, GlobeLaplace)
        assert isinstance(Plan(groups=[PARIS]).groups[0].mechanism, PlanarLaplace)

    @pytest.mark.parametrize("group", GROUPS)
    def test_plan__goes_through_words_and_pickles(self, group):
        plan = Plan(columns={"name": "drop"}, groups=[group])
        for copy in (
            pickle.loads(pickle.dumps(plan)),
            Plan(**plan.to_dict()),
            Plan(**json.loads(json.dumps(plan.to_dict()))),
        ):
            assert copy == plan
            assert hash(copy) == hash(plan)
            assert copy.privacy == plan.privacy
        assert plan != Plan(columns={"name": "keep"}, groups=[group])
        assert plan != Plan(columns={"name": "drop"}, groups=[group | {"nulls": "public"}])

    @pytest.mark.parametrize("group", GROUPS)
    def test_plan__is_not_changed_by_changing_what_it_was_given(self, group):
        given = json.loads(json.dumps(group))
        plan = Plan(groups=[given])
        before = json.dumps(plan.to_dict())
        given["columns"].append("more")
        plan.to_dict()["groups"][0]["columns"].append("more")
        assert json.dumps(plan.to_dict()) == before

    @pytest.mark.parametrize("epsilon", ["ln(2)/500m", "0.7/km", "3/m", "ln(4)/2/mi", "2/(3km)"])
    @pytest.mark.parametrize("group", [HOME, PARIS, PLANE])
    def test_points__keep_the_epsilon_at_its_distance(self, group, epsilon):
        """What the grid's rounding costs is made up for: at most what was asked, and little less."""
        plan = Plan(groups=[group | {"epsilon": epsilon}])
        (found,) = plan.privacy.metric.values()
        asked = {"ln(2)/500m": math.log(2), "0.7/km": 0.7, "3/m": 3.0, "ln(4)/2/mi": math.log(2), "2/(3km)": 2.0}[
            epsilon
        ]
        assert 0.999 * asked < found.epsilon <= asked * (1 + 1e-12)
        assert plan.privacy.record is None

    def test_points__say_their_distance_everywhere(self):
        plan = Plan(groups=[HOME])
        assert plan.privacy.metric["latitude, longitude"].unit == "distance 500 m"
        (line,) = explain(plan)
        assert "per distance 500 m" in line.guarantee
        assert line.error.endswith("m from each point")
        (total,) = explain_total(plan)
        assert "d-privacy" in total
        (said,) = as_data(plan)["groups"]
        assert "d-privacy" in said["kind"]
        assert said["columns"] == ["latitude", "longitude"]
        assert said["error_within_95_percent"] == line.error
        assert Plan(groups=[PARIS | {"epsilon": 0.7, "unit": "km"}]).groups[0].privacy.unit == "distance 1 km"

    def test_units__of_epsilon_and_of_coordinates_may_differ(self):
        """A rate per metres on coordinates in kilometres."""
        in_km, in_m = Plan(groups=[PLANE]), Plan(groups=[PLANE | {"unit": "m"}])
        ratio = in_km.groups[0].mechanism.radius(0.5) * 1000 / in_m.groups[0].mechanism.radius(0.5)
        assert ratio == pytest.approx(1, rel=1e-3)

    def test_joint__counts_once_in_the_total(self):
        plan = Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}}, groups=[JOINT])
        assert plan.privacy.record.epsilon == pytest.approx(2.0)
        for way in WAYS:
            assert Plan(groups=[several(way, "krr")]).privacy.record.epsilon == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("group", "said"),
    [
        (3, "give a table"),
        ({}, "columns must be"),
        ({"columns": []}, "columns must be"),
        ({"columns": ["a", 3]}, "columns must be"),
        ({"columns": ["a", "a"]}, "twice"),
        ({"columns": ["a", "b"]}, "unknown mechanism"),
        ({"columns": ["a", "b"], "mechanism": "planar_laplac"}, "did you mean 'planar_laplace'"),
        ({"columns": ["a", "b"], "mechanism": "laplace"}, "mechanism of a group"),
        (HOME | {"epsilom": 1}, "did you mean 'epsilon'"),
        (HOME | {"columns": ["latitude"]}, "two columns"),
        (HOME | {"columns": ["longitude", "latitude"]}, "latitude first"),
        (HOME | {"columns": ["a", "b"]}, "coordinates"),
        (HOME | {"coordinates": "globe"}, "coordinates must be"),
        (HOME | {"epsilon": 0.7}, "per length"),
        (HOME | {"epsilon": "ln(2)"}, "per length"),
        (HOME | {"epsilon": True}, "epsilon must be"),
        (HOME | {"epsilon": "ln(2)/500s"}, "epsilon must be"),
        (HOME | {"epsilon": "1/50km"}, "give origin"),
        (HOME | {"epsilon": 0.7, "unit": "furlong"}, "unit must be"),
        (HOME | {"region": [[0, 1], [0, 1]]}, "origin"),
        (HOME | {"origin": [91, 0]}, "origin must be"),
        (HOME | {"nulls": "category"}, "is for categories"),
        (HOME | {"granularity": 3}, "power of two"),
        (PLANE | {"unit": None}, "unit"),
        (PLANE | {"origin": [0, 0], "coordinates": "plane"}, "origin is for"),
        ({key: value for key, value in HOME.items() if key != "epsilon"}, "epsilon must be"),
        ({key: value for key, value in JOINT.items() if key != "epsilon"}, "give epsilon"),
        (JOINT | {"epsilon": "ln(2)"}, "epsilon must be"),
        (JOINT | {"columns": ["sex"]}, "two or more"),
        (JOINT | {"domains": None}, "never inferred"),
        (JOINT | {"domains": {"sex": ["f", "m"]}}, "lack column 'age'"),
        (JOINT | {"domains": DOMAINS | {"agee": 3}}, "did you mean 'age'"),
        (JOINT | {"domains": {"sex": ["f"], "age": 3}}, "column 'sex': domain"),
        (JOINT | {"domains": {"sex": 1 << 20, "age": 1 << 20}}, "combinations"),
        (JOINT | {"protocol": "krr"}, "unknown key 'protocol'"),
        (JOINT | {"nulls": "category"}, "column 'sex': nulls"),
        (JOINT | {"nulls": "category", "null_label": "f"}, "column 'age': nulls"),
        (JOINT | {"out_of_domain": "f"}, "column 'age': out_of_domain"),
        (several("split", "krrr"), "did you mean 'krr'"),
        (several("split", "laplace"), "unknown protocol"),
    ],
)  # fmt: skip
def test_group__refuses(group, said):
    with pytest.raises(fd.ParameterError) as caught:
        Plan(groups=[{"columns": ["p", "q"], "mechanism": "krr", "epsilon": 1, "domains": {"p": 2, "q": 2}}, group])
    assert said in str(caught.value)
    assert str(caught.value).startswith("Plan: group 2")


@pytest.mark.parametrize(
    ("columns", "groups", "said"),
    [
        ({"sex": "keep"}, [JOINT], "column 'sex' is in group 1 and in its own entry"),
        ({}, [JOINT, PLANE | {"columns": ["age", "y"], "coordinates": "plane"}], "'age' is in group 2 and in group 1"),
        ({"sex, age": "keep"}, [JOINT], "has the name of column"),
        ({}, "groups", "groups must be a list"),
        ({}, [], "names no column"),
    ],
)  # fmt: skip
def test_parts__must_be_apart(columns, groups, said):
    with pytest.raises(fd.ParameterError) as caught:
        Plan(columns=columns, groups=groups)
    assert said in str(caught.value)


def test_names__count_the_columns_of_groups():
    plan = Plan(columns={"name": "drop"}, groups=[JOINT])
    plan.check_names(["age", "name", "sex"])
    with pytest.raises(fd.SchemaError, match="'agee' is not in the plan"):
        plan.check_names(["name", "sex", "age", "agee"])
    with pytest.raises(fd.SchemaError, match="lacks a column"):
        plan.check_names(["name", "sex"])


class TestResults:
    @pytest.mark.parametrize("group", GROUPS)
    @pytest.mark.parametrize("nulls", ["public", "drop"])
    def test_results__do_not_depend_on_batches(self, group, nulls):
        plan, table = Plan(groups=[group | {"nulls": nulls}]), table_of(group, 90, nulls=0.1)
        expected = plain(sanitize(table, plan, rng=seeded()))
        for rows in (1, 7, 50):
            some = plain(sanitize(table, plan, rng=seeded(), batch_rows=rows))
            assert some.equals(expected)
        missing = np.logical_or.reduce([column.is_null().to_numpy() for column in table.columns])
        assert 0 < missing.sum() < 90
        if nulls == "drop":  # every row has its own slots, also the dropped ones
            public = plain(randomized(table, Plan(groups=[group | {"nulls": "public"}]), seeded()))
            assert plain(randomized(table, plan, seeded())).equals(plain(public.filter(pa.array(~missing))))
        elif group["mechanism"] != "sample":  # where those who are not asked are null, too
            for column in expected.columns:
                assert column.is_null().to_numpy().tolist() == missing.tolist()
        else:
            assert all(column.is_null().to_numpy()[missing].all() for column in expected.columns)

    @pytest.mark.parametrize("group", [group for group in GROUPS if group["mechanism"] != "sample"])
    def test_reports__of_one_row_do_not_depend_on_other_rows(self, group):
        """Not on their values, and not on whether they are null: every row has its own slots.

        Of a sample, the n-th who is asked has the n-th slot: that depends on the sampling, not on values.
        """
        plan, table = Plan(groups=[group | {"nulls": "public"}]), table_of(group, 300)
        expected = plain(randomized(table, plan, seeded()))
        holes = [pa.array([None] * 150 + column.to_pylist()[150:], column.type) for column in table.columns]
        found = plain(randomized(pa.table(holes, names=table.column_names), plan, seeded()))
        assert found.slice(150).combine_chunks().equals(expected.slice(150).combine_chunks())

    @pytest.mark.parametrize("group", GROUPS)
    def test_containers__and_encodings_give_the_same(self, group):
        plan, table = Plan(groups=[group]), table_of(group, 400)
        expected = plain(sanitize(table, plan, rng=seeded()))
        encoded = pa.table(
            [column.combine_chunks().dictionary_encode() for column in table.columns], names=table.column_names
        )
        found = sanitize(encoded, plan, rng=seeded())
        assert [plain(found)[name].to_pylist() for name in found.column_names] == [
            expected[name].to_pylist() for name in expected.column_names
        ]
        chunked = pa.concat_tables([table.slice(0, 10), table.slice(10, 0), table.slice(10)])
        assert plain(sanitize(chunked, plan, rng=seeded())).equals(expected)

    def test_columns__keep_their_order_and_types(self, tmp_path):
        plan = Plan(columns={"name": "drop", "region": "keep"}, groups=[JOINT, PARIS])
        table = table_of(PARIS).append_column("region", pa.array(["r"] * 1000))
        table = table.append_column("name", pa.array(["n"] * 1000))
        for name, column in zip(JOINT["columns"], table_of(JOINT).columns, strict=True):
            table = table.append_column(name, column)
        expected = sanitize(table, plan, rng=seeded())
        assert expected.column_names == ["latitude", "longitude", "region", "sex", "age"]
        assert [expected[name].type for name in expected.column_names] == [table[n].type for n in expected.column_names]
        pq.write_table(table, tmp_path / "in.parquet")
        sanitize(tmp_path / "in.parquet", plan, tmp_path / "out.parquet", rng=seeded(), batch_rows=77)
        assert plain(pq.read_table(tmp_path / "out.parquet")).equals(plain(expected))
        receipt = json.loads(pq.read_metadata(tmp_path / "out.parquet").metadata[METADATA_KEY.encode()])
        assert receipt["plan"] == plan.to_dict()
        assert [group["columns"] for group in receipt["guarantee"]["groups"]] == [
            ["sex", "age"],
            ["latitude", "longitude"],
        ]
        assert "d-privacy" in receipt["guarantee"]["metric"]["latitude, longitude"]["kind"]

    def test_groups__have_streams_of_their_own(self):
        """Two groups with the same values and laws do not get the same noise."""
        other = JOINT | {"columns": ["sex2", "age2"], "domains": {"sex2": ["f", "m"], "age2": 3}}
        table = table_of(JOINT)
        both = pa.table([*table.columns, *table.columns], names=["sex", "age", "sex2", "age2"])
        result = sanitize(both, Plan(groups=[JOINT, other]), rng=seeded())
        assert not result["age"].equals(result["age2"])

    def test_joint__is_one_krr_of_the_combinations(self):
        """Reports of one row are distributed as the channel's row of its combination."""
        rows = 60_000
        table = pa.table({"sex": ["m"] * rows, "age": np.full(rows, 1)})
        result = sanitize(table, Plan(groups=[JOINT]), rng=seeded())
        codes = 3 * (result["sex"].to_numpy() == "m") + result["age"].to_numpy()
        expected = fd.KRR(epsilon=1.0, domain=6).channel().row(4) * rows
        assert chisquare(np.bincount(codes, minlength=6), expected).pvalue > 1e-3
        split = sanitize(table, Plan(groups=[several("split", "krr")]), rng=seeded())
        apart = 3 * (split["sex"].to_numpy() == "m") + split["age"].to_numpy()
        assert chisquare(np.bincount(apart, minlength=6), expected).pvalue < 1e-3  # columns by themselves would be seen

    @pytest.mark.parametrize("group", [HOME, PARIS])
    def test_points__move_as_far_as_is_said(self, group):
        """95 % of the reports are within the stated error, as the crow flies."""
        table, rows = table_of(group, 20_000), 20_000
        plan = Plan(groups=[group])
        result = sanitize(table, plan, rng=seeded())
        north = (result["latitude"].to_numpy() - table["latitude"].to_numpy()) * 111_195
        east = (
            (result["longitude"].to_numpy() - table["longitude"].to_numpy()) * 111_195 * math.cos(math.radians(48.85))
        )
        said = float(explain(plan)[0].error.split()[0].replace(",", ""))
        within = (np.hypot(north, east) <= said).sum()
        assert abs(within - 0.95 * rows) < 4 * math.sqrt(0.95 * 0.05 * rows) + 0.003 * rows

    def test_several__can_be_estimated(self):
        """Reports have the types that the mechanism reads."""
        for way in WAYS:
            plan, table = Plan(groups=[several(way, "oue")]), table_of(JOINT, 20_000)
            result = plain(sanitize(table, plan, rng=seeded()))
            found = plan.groups[0].mechanism.estimate(result)["sex"]
            true = (table["sex"].to_numpy() == "f").mean()
            assert abs(found.frequencies[0] - true) < 5 * found.std_error[0]

    def test_policies__apply_to_each_column(self):
        domains = {"sex": ["f", "m", "?"], "age": ["young", "old", "?"]}
        group = JOINT | {
            "domains": domains,
            "epsilon": 30.0,
            "nulls": "category",
            "null_label": "?",
            "out_of_domain": "?",
        }
        table = pa.table({"sex": ["f", None, "zebra"], "age": [None, "old", "young"]})
        result = sanitize(table, Plan(groups=[group]))
        assert result.to_pydict() == {"sex": ["f", "?", "?"], "age": ["?", "old", "young"]}


class TestBadInput:
    """Errors name the group and the column, and hold no value; nothing is left."""

    @pytest.mark.parametrize(
        ("group", "column", "values", "error"),
        [
            (PARIS, "latitude", [48.8, 91.7777], fd.DomainError),
            (HOME, "longitude", [2.3, 180.7777], fd.DomainError),
            (HOME, "longitude", [2.3, math.nan], fd.DomainError),
            (PLANE, "x", [2.3, math.inf], fd.DomainError),
            (PLANE, "x", [2.3, None], fd.DomainError),
            (PARIS, "latitude", ["canary", "canary"], fd.SchemaError),
            (JOINT, "sex", ["f", "canary"], fd.DomainError),
            (JOINT, "sex", ["f", None], fd.DomainError),
            (JOINT, "age", [1, 7777], fd.DomainError),
            (JOINT, "age", ["canary", "canary"], fd.SchemaError),
            (several("sample", "krr"), "sex", ["f", "canary"], fd.DomainError),
            (several("split", "oue"), "age", [1, 7777], fd.DomainError),
        ],
    )  # fmt: skip
    def test_values__are_withheld(self, tmp_path, group, column, values, error):
        table = table_of(group, 2)
        table = table.set_column(table.column_names.index(column), column, pa.array(values))
        with pytest.raises(error) as caught:
            sanitize(table, Plan(groups=[group]), tmp_path / "out.parquet")
        message = str(caught.value)
        assert f"group ({', '.join(group['columns'])})" in message
        assert not any(mark in message for mark in ("canary", "7777"))
        assert caught.value.__suppress_context__ or caught.value.__context__ is None
        assert not list(tmp_path.iterdir())
        if isinstance(values[-1], str) or values[-1] == 7777:
            assert f"column {column!r}" in message

    def test_corrupt_dictionaries__are_refused(self):
        bad = pa.DictionaryArray.from_arrays(pa.array([0, 9], pa.int8()), ["f", "m"], safe=False)
        table = pa.table({"sex": bad, "age": [0, 1]})
        with pytest.raises(fd.InputCorruptError, match="column 'sex'"):
            sanitize(table, Plan(groups=[JOINT]))

    def test_sorted_columns__are_warned_of(self):
        table = pa.table({"x": np.linspace(0, 1, 500), "y": np.random.default_rng(1).random(500)})
        with pytest.warns(UserWarning, match="'x' arrived sorted"):
            sanitize(table, Plan(groups=[PLANE]))


CANARY = "canary-5f3c"
NUMBER = struct.unpack("<d", struct.pack("<q", 0x404A_5B5C_5D5E_5F60))[0]  # a longitude like any other
MARKS = (CANARY.encode(), struct.pack("<d", NUMBER))


def planted(rows: int, seed: int) -> pa.Table:
    """Marked values under nulls, in unused entries of dictionaries, in metadata, and as the values themselves."""
    source = np.random.default_rng(seed)
    valid = np.packbits(np.arange(rows) % 3 != 0, bitorder="little")

    def under_nulls() -> pa.Array:
        values = np.where(np.arange(rows) % 3 == 0, NUMBER, source.uniform(1, 2, rows))
        return pa.Array.from_buffers(pa.float64(), rows, [pa.py_buffer(valid), pa.py_buffer(values)])

    labels = pa.DictionaryArray.from_arrays(pa.array(source.integers(0, 3, rows), pa.int8()), ["f", "m", CANARY])
    unused = pa.DictionaryArray.from_arrays(pa.array(source.integers(0, 2, rows), pa.int8()), ["y", "n", CANARY])
    columns = {"lat": under_nulls(), "lon": pa.array(np.full(rows, NUMBER)), "sex": labels, "smoker": unused}
    fields = [pa.field(name, array.type, metadata={CANARY: CANARY}) for name, array in columns.items()]
    return pa.table(list(columns.values()), pa.schema(fields, metadata={CANARY: CANARY}))


@given(
    st.integers(1, 90), st.integers(0, 9), st.integers(1, 90), st.sampled_from(["public", "drop"]),
    st.sampled_from(["uniform", "f"]), st.sampled_from([("krr", "krr"), *product(WAYS, ("krr", "oue"))]),
)  # fmt: skip
def test_results__hold_no_mark(rows, seed, batch, nulls, others, way):
    """Neither in columns, dictionaries, buffers beyond them, nor metadata; whatever the policies."""
    domains = {"sex": ["f", "m"], "smoker": ["y", "n", "f"]}
    joint = {
        "columns": ["sex", "smoker"],
        "mechanism": way[0],
        "epsilon": 1.0,
        "domains": domains,
        "out_of_domain": others,
    }
    joint |= {} if way[0] == "krr" else {"protocol": way[1]}
    point = {"columns": ["lat", "lon"], "mechanism": "planar_laplace", "epsilon": "1/km", "nulls": nulls}
    table = planted(rows, seed)
    result = sanitize(table, Plan(groups=[joint, point]), batch_rows=batch)
    content = [_as_ipc(result), json.dumps(str(result.schema.metadata)).encode()]
    content += [
        b.to_pybytes() for column in result.columns for c in column.chunks for b in c.buffers() if b is not None
    ]
    assert not any(mark in part for mark in MARKS for part in content)
    assert any(mark in _as_ipc(table) for mark in MARKS)


def _as_ipc(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
