"""Estimates from sanitized tables: near the truth, and refused where there is nothing to tell."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.tables.estimate import estimate_columns
from fastdp.tables.plan import Plan
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS, people

ROWS = 60_000


@pytest.fixture(scope="module")
def truth():
    source = np.random.default_rng(8)
    return pa.table({
        "ill": source.random(ROWS) < 0.2,
        "kind": pa.array(np.array(["a", "b", "c"])[source.choice(3, ROWS, p=[0.6, 0.3, 0.1])]),
        "code": source.integers(0, 4, ROWS),
        "weight": source.random(ROWS) * 50,
    })  # fmt: skip


@pytest.mark.parametrize("protocol", ["krr", "oue", "sue", "subset", "hadamard"])
def test_estimates__are_near_the_truth(tmp_path, truth, protocol):
    """Within five standard errors, through a file, for every protocol."""
    plan = Plan(columns={
        "ill": {"mechanism": "randomized_response", "epsilon": 2.0},
        "kind": {"mechanism": protocol, "epsilon": 2.0, "domain": ["a", "b", "c"]},
        "code": {"mechanism": protocol, "epsilon": 2.0, "domain": 4},
        "weight": {"mechanism": "duchi", "epsilon": 2.0, "bounds": [0, 50]},
    })  # fmt: skip
    sanitize(truth, plan, tmp_path / "out.parquet", rng=fd.Rng.unsafe_seed(4))
    found = {estimate.column: estimate for estimate in estimate_columns(tmp_path / "out.parquet", plan)}
    assert [share.value for share in found["kind"].shares] == ["a", "b", "c"]
    assert found["ill"].reports == ROWS
    for name in ("ill", "kind", "code"):
        column = truth[name].to_numpy(zero_copy_only=False)
        for share in found[name].shares:
            assert abs(share.estimate - (column == share.value).mean()) < 2.5 * (share.high - share.low) / 1.96
    (mean,) = found["weight"].shares
    assert abs(mean.estimate - truth["weight"].to_numpy().mean()) < 2.5 * (mean.high - mean.low) / 1.96


def test_estimates__leave_public_nulls_out():
    plan = Plan(columns=COLUMNS)
    (found,) = estimate_columns(sanitize(people(), plan), plan, ["ill"])
    assert found.reports == people()["ill"].drop_null().length()


def test_estimates__refuse_what_has_none(tmp_path):
    plan = Plan(columns=COLUMNS)
    table = sanitize(people(), plan)
    with pytest.raises(fd.ParameterError, match="did you mean 'disease'"):
        estimate_columns(table, plan, ["diseas"])
    for name in ("income", "region", "name"):
        with pytest.raises(fd.ParameterError, match="no reports"):
            estimate_columns(table, plan, [name])
    with pytest.raises(fd.SchemaError, match="'disease'"):
        estimate_columns(table.drop(["disease"]), plan)
    with pytest.raises(fd.ParameterError, match="no column with"):
        estimate_columns(table, Plan(columns={"region": "keep"}))
    with pytest.raises(fd.ParameterError, match="no reports"):
        estimate_columns(table.slice(0, 0), plan)
    wrong = pa.table({"disease": ["canary"], "ill": [True]})
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(fd.DomainError, match="'disease'") as caught:
        estimate_columns(tmp_path / "wrong.parquet", plan)
    assert "canary" not in str(caught.value)
