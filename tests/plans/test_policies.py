"""Nulls, NaN and undeclared values: what a plan says becomes of them, the same for any batches, and never shown."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

import fastdp as fd
from fastdp.columns.domain import Domain
from fastdp.plans.explain import explain
from fastdp.plans.plan import Plan
from fastdp.plans.policies import Policies
from fastdp.tables.sanitize import sanitize
from tests.tables.people import randomized

KRR = {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b", "?"]}
SURE = KRR | {"epsilon": 40.0}
CODES = {"mechanism": "krr", "epsilon": 40.0, "domain": 3}
NUMBERS = {"mechanism": "krr", "epsilon": 40.0, "domain": [-5, 7, 1000]}
LAPLACE = {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 9]}
TRUTH = {"mechanism": "randomized_response", "epsilon": 40.0}


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


def one(**entry) -> Plan:
    return Plan(columns={"x": entry})


def run(values, **entry) -> list:
    return sanitize(pa.table({"x": values}), one(**entry), rng=seeded())["x"].to_pylist()


class TestNulls:
    def test_category__counts_as_its_label(self):
        assert run(["a", None, "b"], **SURE, nulls="category", null_label="?") == ["a", "?", "b"]
        assert run([2, None, 1], **CODES, nulls="category", null_label=0) == [2, 0, 1]
        assert run([7, None], **NUMBERS, nulls="category", null_label=-5) == [7, -5]
        assert run([True, None], **TRUTH, nulls="category", null_label=False) == [True, False]

    @pytest.mark.parametrize(
        "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    )
    def test_category__is_the_same_in_every_encoding(self, kind):
        values = pa.array(["a", None, "b", "a"]).cast(kind)
        assert run(values, **SURE, nulls="category", null_label="?") == ["a", "?", "b", "a"]

    def test_category__is_hidden_by_the_mechanism(self):
        """A null is reported as the row of its label says."""
        rows = 60_000
        reports = run(pa.nulls(rows, pa.string()), **KRR, nulls="category", null_label="?")
        seen = [reports.count(label) for label in ("a", "b", "?")]
        row = fd.KRR(epsilon=1.0, domain=3).channel().row(2)
        assert chisquare(seen, row * rows).pvalue > 1e-3
        assert chisquare(seen, np.full(3, rows / 3)).pvalue < 1e-3

    @pytest.mark.parametrize(
        ("entry", "said"),
        [
            (KRR | {"nulls": "category"}, "needs null_label"),
            (KRR | {"nulls": "category", "null_label": "c"}, "needs null_label"),
            (KRR | {"nulls": "category", "null_label": 1}, "needs null_label"),
            (CODES | {"nulls": "category", "null_label": 3}, "needs null_label"),
            (CODES | {"nulls": "category", "null_label": True}, "needs null_label"),
            (TRUTH | {"nulls": "category", "null_label": 1}, "true or false"),
            (LAPLACE | {"nulls": "category"}, '"public"'),
            (KRR | {"null_label": "?"}, 'nulls = "category"'),
            (KRR | {"nulls": "dropp"}, "nulls must be"),
            (KRR | {"out_of_domain": 3}, "label of the domain"),
            (KRR | {"out_of_domain": "c"}, '"uniform"'),
            (KRR | {"domain": ["a", "uniform"], "out_of_domain": "uniform"}, 'rename the label "uniform"'),
            (CODES | {"out_of_domain": 3}, "label of the domain"),
            (LAPLACE | {"out_of_domain": "uniform"}, "unknown key"),
            (LAPLACE | {"nan": "upper"}, "nan must be"),
        ],
    )  # fmt: skip
    def test_policies__are_checked(self, entry, said):
        with pytest.raises(fd.ParameterError) as caught:
            one(**entry)
        assert said in str(caught.value)
        assert "'x'" in str(caught.value)

    def test_narrow_types__that_cannot_hold_the_label_are_refused(self):
        values = pa.array([7, None], pa.int8())
        with pytest.raises(fd.SchemaError, match="column 'x': arrow type int8 cannot hold"):
            run(values, **NUMBERS, nulls="category", null_label=1000)


class TestDrop:
    PLAN = Plan(columns={
        "x": LAPLACE | {"nulls": "drop"}, "y": KRR | {"nulls": "drop"}, "z": KRR | {"nulls": "public"}, "k": "keep",
    })  # fmt: skip

    def table(self, rows: int = 200, seed: int = 1) -> pa.Table:
        source = np.random.default_rng(seed)

        def holes() -> np.ndarray:
            return source.random(rows) < 0.2

        labels = np.array(["a", "b"], object)
        return pa.table({
            "x": pa.array(source.random(rows), mask=holes()),
            "y": pa.array(labels[source.integers(0, 2, rows)], mask=holes()),
            "z": pa.array(labels[source.integers(0, 2, rows)], mask=holes()),
            "k": pa.array(np.arange(rows)),
        })  # fmt: skip

    @given(st.integers(1, 250), st.integers(0, 9))
    def test_rows__that_are_left_are_those_without_nulls(self, batch, seed):
        """In any batches; with the reports that they had if the others were kept: each row has its own slots."""
        table = self.table(seed=seed)
        result = sanitize(table, self.PLAN, rng=seeded(), batch_rows=batch).replace_schema_metadata(None)
        whole = [~(table[name].is_null().to_numpy()) for name in ("x", "y")]
        assert result["k"].to_pylist() == np.flatnonzero(whole[0] & whole[1]).tolist()
        public = Plan(
            columns={
                name: dict(e.given) | ({"nulls": "public"} if e.mechanism else {})
                for name, e in self.PLAN.columns.items()
            }
        )
        kept = randomized(table, public, seeded()).filter(pa.array(whole[0] & whole[1]))
        assert randomized(table, self.PLAN, seeded()).equals(kept.combine_chunks())

    def test_dictionaries__may_hold_the_nulls(self):
        values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0, None], pa.int8()), pa.array(["a", None]))
        assert run(values, **SURE, nulls="drop") == ["a", "a"]

    def test_all_rows__may_go(self, tmp_path):
        plan = one(**KRR, nulls="drop")
        assert sanitize(pa.table({"x": pa.nulls(5, pa.string())}), plan).num_rows == 0
        receipt = sanitize(pa.table({"x": pa.nulls(5, pa.string())}), plan, tmp_path / "out.parquet")
        assert receipt.rows == 0
        assert pq.read_table(tmp_path / "out.parquet").num_rows == 0

    def test_receipt__counts_what_was_written_and_says_what_shows(self, tmp_path):
        receipt = sanitize(self.table(), self.PLAN, tmp_path / "out.parquet", batch_rows=33).to_dict()
        assert receipt["rows"] == pq.read_metadata(tmp_path / "out.parquet").num_rows < 200
        assert "left out" in receipt["guarantee"]["columns"]["x"]["nulls"]
        assert any("left out, which is public" in line.guarantee for line in explain(self.PLAN))


class TestOutOfDomain:
    @pytest.mark.parametrize(
        "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
    )
    def test_named__in_every_encoding(self, kind):
        values = pa.array(["a", "zebra", None, "b"]).cast(kind)
        assert run(values, **SURE, nulls="public", out_of_domain="?") == ["a", "?", None, "b"]

    @pytest.mark.parametrize("kind", [pa.int8(), pa.uint8(), pa.int64(), pa.uint64()])
    def test_codes__beyond_the_domain(self, kind):
        values = [0, 2, 3, 100, *([2**63 + 5] if kind == pa.uint64() else [])]
        expected = [0, 2, 1, 1, *([1] if kind == pa.uint64() else [])]
        assert run(pa.array(values, kind), **CODES, out_of_domain=1) == expected
        if kind in {pa.int8(), pa.int64()}:
            assert run(pa.array([-1, 2], kind), **CODES, out_of_domain=1) == [1, 2]

    def test_numbers__beyond_the_type_of_the_labels(self):
        values = pa.array([7, 2**63 + 5], pa.uint64())
        assert run(values, **NUMBERS | {"domain": [7, 8]}, out_of_domain=8) == [7, 8]
        assert run(pa.array([7, -5, 3], pa.int16()), **NUMBERS, out_of_domain=1000) == [7, -5, 1000]

    def test_uniform__is_uniform_over_the_declared_values(self):
        """Exactly: the reports of an undeclared value are the mean of the rows of the declared ones."""
        rows = 60_000
        reports = run(["zebra"] * rows, **SURE, out_of_domain="uniform")
        seen = [reports.count(label) for label in ("a", "b", "?")]
        assert chisquare(seen).pvalue > 1e-3
        named = run(["zebra"] * rows, **KRR, out_of_domain="?")
        assert chisquare([named.count(label) for label in ("a", "b", "?")]).pvalue < 1e-3  # others would be seen

    @given(st.integers(1, 130), st.integers(0, 9))
    def test_uniform__does_not_depend_on_batches(self, batch, seed):
        source = np.random.default_rng(seed)
        values = np.array(["a", "b", "zebra", None], object)[source.integers(0, 4, 120)]
        entry = KRR | {"out_of_domain": "uniform", "nulls": "public"}
        table = pa.table({"x": pa.array(values)})
        expected = sanitize(table, one(**entry), rng=seeded())["x"].to_pylist()
        assert sanitize(table, one(**entry), rng=seeded(), batch_rows=batch)["x"].to_pylist() == expected

    def test_uniform__draws_a_slot_for_every_row(self):
        """What replaces a row's value does not depend on the rows before it."""
        entry = SURE | {"out_of_domain": "uniform"}
        tables = [pa.table({"x": values}) for values in (["b", "a"] * 25 + ["zebra"] * 50, ["zebra"] * 100)]
        alone, among = (randomized(table, one(**entry), seeded())["x"].to_pylist()[50:] for table in tables)
        assert alone == among
        assert len(set(alone)) == 3

    def test_replacement__has_a_stream_of_its_own(self):
        """The lie and the replacement of a row are independent: the k-RR keystream is not read twice."""
        entry = {"mechanism": "krr", "epsilon": 1e-3, "domain": ["a", "b", "?"]}
        replaced = np.array(run(["zebra"] * 3000, **SURE, out_of_domain="uniform"))
        reported = np.array(run(["a"] * 3000, **entry))
        assert abs((replaced == reported).mean() - 1 / 3) < 0.04


def test_nan__counts_as_the_lower_bound_in_every_encoding():
    values = pa.array([math.nan, 9.0, math.nan])
    entry = LAPLACE | {"epsilon": 40.0, "nan": "lower"}
    for given_values in (values, values.dictionary_encode(), values.cast(pa.float32())):
        result = run(given_values, **entry)
        assert max(result[0], result[2]) < 4.5 < result[1]


def test_settle__leaves_types_that_do_not_fit_to_the_mechanism():
    """Its own error names the type; nothing is converted before."""
    for values in (pa.array([1.5]), pa.array([True]), pa.nulls(1)):
        with pytest.raises(fd.SchemaError, match="column 'x'"):
            run(values, **KRR, nulls="category", null_label="?", out_of_domain="uniform")
    policies = Policies(others="?", domain=Domain.read("test", ["a", "?"]))
    assert policies.settle(pa.array([1.5]), seeded()).to_pylist() == [1.5]


CANARY = "canary-5f3c"


@given(
    st.lists(st.sampled_from(["a", "b", CANARY, None]), min_size=1, max_size=40),
    st.sampled_from(["public", "drop", "category"]),
    st.sampled_from(["?", "uniform"]),
    st.sampled_from([pa.string(), pa.large_string(), pa.dictionary(pa.int16(), pa.string())]),
    st.integers(1, 40),
)
def test_undeclared_values__are_nowhere_in_the_result(values, nulls, others, kind, batch):
    """Neither in columns nor in dictionaries nor in buffers."""
    entry = KRR | {"nulls": nulls, "out_of_domain": others} | ({"null_label": "?"} if nulls == "category" else {})
    result = sanitize(pa.table({"x": pa.array(values).cast(kind)}), one(**entry), batch_rows=batch)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, result.schema) as writer:
        writer.write_table(result)
    content = sink.getvalue().to_pybytes() + json.dumps(result.to_pydict()).encode()
    assert CANARY.encode() not in content


@pytest.mark.parametrize("nulls", ["error", "drop"])
def test_errors__hold_no_value(nulls):
    with pytest.raises(fd.DomainError) as caught:
        run(["a", CANARY, None], **KRR, nulls=nulls)
    assert CANARY not in str(caught.value)
    assert caught.value.__suppress_context__
