"""Columns that are not randomized: coarser values, pseudonyms, structs by field, and how labels are read."""

import datetime as dt
import gzip
import hashlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.plans.public.pseudonym import PURPOSE, Pseudonym, write_key

SURE = {"mechanism": "krr", "epsilon": 30}


def sanitize(column, entry):
    """One column by one entry, as a list."""
    return fd.sanitize(pa.table({"x": column}), fd.Plan(columns={"x": entry}))["x"].to_pylist()


@pytest.mark.parametrize(
    ("column", "way", "released"),
    [
        (["66123", "66345", None], {"prefix": 3}, ["661**", "663**", None]),
        (pa.array([66123, 7], pa.int32()), {"prefix": 1}, ["6****", "7"]),
        (["ärgern", "", None, "ä", "日本国"], {"prefix": 2}, ["är****", "", None, "ä", "日本*"]),
        (pa.array(["66123", None], pa.large_string()), {"prefix": [4, 2], "level": 2}, ["66***", None]),
        (pa.nulls(2, pa.string()), {"prefix": 2}, [None, None]),
        ([23, 27, 44], {"intervals": [5, 20], "level": 2}, ["20-39", "20-39", "40-59"]),
        ([0.3, 0.8, None], {"intervals": 0.5}, ["[0.0, 0.5)", "[0.5, 1.0)", None]),
        ([dt.date(1984, 3, 9)], {"dates": "quarter"}, ["1984-Q1"]),
        (pa.array([0, 10**15], pa.timestamp("us", "UTC")), {"dates": "year"}, ["1970", "2001"]),
        (["Bonn", "Lyon"], {"labels": {"Bonn": ["DE"], "Lyon": ["FR"]}}, ["DE", "FR"]),
    ],
)
def test_generalize__releases_labels(column, way, released):
    found = sanitize(column, {"action": "generalize", **way})
    if "intervals" in way and isinstance(released[0], str) and released[0].startswith("["):
        assert [one is None for one in found] == [one is None for one in released]
        assert len(set(found[:2])) == 2
    else:
        assert found == released


def test_generalize__is_checked():
    for entry in ({}, {"prefix": 3, "dates": "year"}, {"prefix": 0}, {"prefix": 3, "level": 2}, {"dates": "week"}):
        with pytest.raises(fd.ParameterError, match="column 'x'"):
            fd.Plan(columns={"x": {"action": "generalize", **entry}})
    with pytest.raises(fd.FastDPError, match="does not cover") as error:
        sanitize(["Bonn", "Secretville"], {"action": "generalize", "labels": {"Bonn": ["DE"]}})
    assert "Secretville" not in str(error.value)


def test_pseudonyms__are_the_same_in_every_file_with_one_key(tmp_path):
    for name in ("one.key", "two.key"):
        write_key(tmp_path / name)
    assert (tmp_path / "one.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(fd.FastDPError, match="exists"):
        write_key(tmp_path / "one.key")
    made = {}
    for name in ("one.key", "two.key"):
        (tmp_path / "plan.toml").write_text(f'[columns.id]\naction = "pseudonym"\nkey_file = "{name}"\n')
        plan = fd.Plan.load(tmp_path / "plan.toml")
        for kind, ids in (("text", ["7", "8", None, "7"]), ("number", [7, 8, None, 7]), ("late", ["x", "7"])):
            made[name, kind] = fd.sanitize(pa.table({"id": ids}), plan)["id"].to_pylist()
    first = made["one.key", "text"]
    assert first[0] == first[3] != first[1]
    assert first[2] is None
    assert made["one.key", "number"] == first
    assert made["one.key", "late"][1] == first[0]
    assert not {*first} & {*made["two.key", "text"]} - {None}
    assert all(len(one) == 24 for one in first if one is not None)


def test_pseudonyms__are_keyed_digests_of_hashlib(tmp_path):
    """Whatever holds the ids: pseudonyms of files that were released before stay what they are."""
    write_key(tmp_path / "ids.key")
    key = bytes.fromhex((tmp_path / "ids.key").read_text())
    ids = ["7", None, "", "ä" * 200, "7"]
    expected = [
        None if one is None else hashlib.blake2b(one.encode(), digest_size=12, key=key, person=PURPOSE).hexdigest()
        for one in ids
    ]
    plain = pa.array(ids)
    for column in (plain, plain.dictionary_encode(), plain.cast(pa.large_string()), plain.cast(pa.string_view()),
                   plain.cast(pa.binary()), pa.concat_arrays([plain, plain]).slice(5)):  # fmt: skip
        assert Pseudonym("ids.key").apply(key, column).to_pylist() == expected
        entry = fd.Plan(columns={"x": {"action": "pseudonym", "key_file": str(tmp_path / "ids.key")}})
        assert fd.sanitize(pa.table({"x": column}), entry)["x"].to_pylist() == expected


def test_pseudonyms__need_a_key_that_nobody_else_reads(tmp_path):
    table = pa.table({"id": ["a"]})
    (tmp_path / "plan.toml").write_text('[columns.id]\naction = "pseudonym"\nkey_file = "ids.key"\n')
    with pytest.raises(fd.ParameterError, match="fastdp plan key"):
        fd.sanitize(table, fd.Plan.load(tmp_path / "plan.toml"))
    write_key(tmp_path / "ids.key")
    (tmp_path / "ids.key").chmod(0o644)
    with pytest.raises(fd.ParameterError, match="chmod 600"):
        fd.sanitize(table, fd.Plan.load(tmp_path / "plan.toml"))
    (tmp_path / "ids.key").chmod(0o600)
    key = (tmp_path / "ids.key").read_text().strip()
    fd.sanitize(table, fd.Plan.load(tmp_path / "plan.toml"), tmp_path / "out.parquet")
    assert key not in (tmp_path / "out.parquet.receipt.json").read_text()
    assert "not differential privacy" in (tmp_path / "out.parquet.receipt.json").read_text()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "txt"])
def test_domain_files__become_the_domain(tmp_path, ending):
    path = tmp_path / f"zips.{ending}"
    if ending == "parquet":
        pq.write_table(pa.table({"zip": ["a", "b", "a"], "n": [1, 2, 3]}), path)
    else:
        text = b"a\nb\na\n" if ending == "txt" else b"n,zip\n1,a\n2,b\n3,a\n"
        path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    named = "" if ending == "txt" else 'domain_column = "zip"'
    (tmp_path / "plan.toml").write_text(
        f'[columns.x]\nmechanism = "krr"\nepsilon = 1\ndomain_file = "{path.name}"\n{named}\n'
    )
    plan = fd.Plan.load(tmp_path / "plan.toml")
    assert plan.to_dict()["columns"]["x"]["domain"] == ["a", "b"]
    assert fd.Plan.from_dict(plan.to_dict()) == plan
    path.unlink()
    with pytest.raises(fd.ParameterError, match="cannot read"):
        fd.Plan.load(tmp_path / "plan.toml")


def test_spellings__stand_for_labels():
    entry = {**SURE, "domain": ["New York", "Rome"], "aliases": {"NYC": "New York"}, "fold_case": True}
    assert sanitize(["nyc", "  ROME ", "new  york", "Rome"], entry) == ["New York", "Rome", "New York", "Rome"]
    encoded = pa.array(["nyc", "Rome"]).dictionary_encode()
    assert sanitize(encoded, entry) == ["New York", "Rome"]
    with pytest.raises(fd.DomainError, match="withheld"):
        sanitize(["Rom"], entry)
    assert sanitize(["Rom"], entry | {"out_of_domain": "Rome"}) == ["Rome"]
    for wrong in ({"aliases": {"x": "Paris"}}, {"fold_case": 1}, {"domain": ["a", "A"], "fold_case": True}):
        with pytest.raises(fd.ParameterError):
            fd.Plan(columns={"x": {**entry, "aliases": {}, **wrong}})


def test_structs__are_read_by_field():
    city = {"city": "Rome", "at": {"lat": 1.5}}
    table = pa.table({"home": pa.array([city, None]), "n": [1, 2]})
    plan = fd.Plan(columns={"home.city": "keep", "home.at.lat": "keep", "n": "drop"})
    assert fd.sanitize(table, plan).to_pydict() == {"home.city": ["Rome", None], "home.at.lat": [1.5, None]}
    with pytest.raises(fd.SchemaError, match=r"'home\.at\.lat' is not in the plan|home\.at"):
        fd.sanitize(table, fd.Plan(columns={"home.city": "keep", "n": "drop"}))


def test_lists__give_one_element_each_as_likely_as_the_others():
    """Within 4.5 standard errors; empty and missing lists are nulls."""
    lists = pa.array([["a", "b", "b"]] * 30_000 + [[], None])
    entry = {**SURE, "domain": ["a", "b", "none"], "items": "one", "nulls": "category", "null_label": "none"}
    plan = fd.Plan(columns={"x": entry})
    found = fd.sanitize(pa.table({"x": lists}), plan, rng=fd.Rng.unsafe_seed(2))["x"].to_pylist()
    assert found[-2:] == ["none", "none"]
    share = np.mean(np.array(found[:-2]) == "a")
    assert abs(share - 1 / 3) < 4.5 * (2 / 9 / 30_000) ** 0.5
    with pytest.raises(fd.SchemaError, match="is for lists"):
        sanitize(["a"], entry)


def test_half_floats__are_randomized_as_single_ones():
    half = pa.array(np.array([0.5, 0.25], np.float16))
    plan = fd.Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1000, "bounds": [0, 1]}})
    made = fd.sanitize(pa.table({"x": half}), plan)["x"]
    assert made.type == pa.float32()
    np.testing.assert_allclose(made.to_numpy(), [0.5, 0.25], atol=0.05)
