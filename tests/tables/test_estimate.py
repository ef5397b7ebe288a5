"""Estimates from sanitized tables: near the truth for every mechanism, and refused where there is nothing to tell."""

from __future__ import annotations

import functools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fastdp as fd
from fastdp.plans.plan import Plan
from fastdp.plans.spec import MECHANISMS
from fastdp.tables.estimate import estimate_table
from fastdp.tables.estimating import means
from fastdp.tables.estimating.results import Range
from fastdp.tables.sanitize import sanitize
from tests.tables.people import COLUMNS, people

ROWS = 40_000
LABELS = ["a", "b", "c"]
BOUNDS = [0, 50]


def seeded(number: int = 4) -> fd.Rng:
    return fd.Rng.unsafe_seed(number)


@pytest.fixture(scope="module")
def truth():
    source = np.random.default_rng(8)
    return pa.table({
        "ill": source.random(ROWS) < 0.2,
        "kind": pa.array(np.array(LABELS)[source.choice(3, ROWS, p=[0.6, 0.3, 0.1])]),
        "code": source.choice(4, ROWS, p=[0.5, 0.25, 0.15, 0.1]),
        "weight": np.minimum(source.gamma(2.0, 5.0, ROWS), 50),
        "visits": np.minimum(source.poisson(6, ROWS), 50),
    })  # fmt: skip


def near(line, true: float) -> bool:
    """Within five standard errors, or twice a 99.9 % interval; within 0.05 where cells of a map have neither."""
    known = [size for size in (5 * line.std_error, line.high - line.low) if not np.isnan(size)]
    return abs(line.estimate - true) <= max(known, default=0.05) + 1e-9


CATEGORIES = [name for name, spec in MECHANISMS.items() if spec.takes == "categories"]


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("protocol", CATEGORIES)
def test_shares__are_near_the_truth(tmp_path, truth, protocol, unbiased):
    """Through a file, for every protocol that a plan can name."""
    plan = Plan(columns={
        "kind": {"mechanism": protocol, "epsilon": 2.0, "domain": LABELS},
        "code": {"mechanism": protocol, "epsilon": 2.0, "domain": 4},
    })  # fmt: skip
    sanitize(truth.select(["kind", "code"]), plan, tmp_path / "out.parquet", rng=seeded())
    found = estimate_table(tmp_path / "out.parquet", plan, unbiased=unbiased)
    assert [estimate.column for estimate in found] == ["kind", "code"]
    assert [line.value for line in found["kind"].lines] == LABELS
    assert [line.value for line in found["code"].lines] == [0, 1, 2, 3]
    for estimate in found:
        assert (estimate.kind, estimate.reports, estimate.mechanism) == ("shares", ROWS, protocol)
        column = truth[estimate.column].to_numpy(zero_copy_only=False)
        for line in estimate.lines:
            assert line.low <= line.estimate <= line.high
            assert near(line, (column == line.value).mean())
        if not unbiased:
            assert sum(line.estimate for line in estimate.lines) == pytest.approx(1)


def test_truths__are_near_the_truth(truth):
    plan = Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    (found,) = estimate_table(sanitize(truth.select(["ill"]), plan, rng=seeded()), plan)
    assert [line.value for line in found.lines] == [False, True]
    assert near(found.lines[1], 0.2)


NUMBERS = {
    "laplace": ("weight", {"epsilon": 2.0}),
    "laplace-clamp": ("weight", {"mechanism": "laplace", "epsilon": 2.0, "boundary": "clamp"}),
    "laplace-fold": ("weight", {"mechanism": "laplace", "epsilon": 3.0, "boundary": "fold"}),
    "laplace-resample": ("weight", {"mechanism": "laplace", "epsilon": 3.0, "boundary": "resample"}),
    "laplace-fine": ("weight", {"mechanism": "laplace", "epsilon": 1.0, "unit": 0.001}),
    "gaussian": ("weight", {"epsilon": 2.0, "delta": 1e-6}),
    "gaussian-clamp": ("weight", {"mechanism": "gaussian", "epsilon": 2.0, "delta": 1e-6, "boundary": "clamp"}),
    "staircase": ("weight", {"epsilon": 3.0}),
    "staircase-clamp": ("weight", {"mechanism": "staircase", "epsilon": 3.0, "boundary": "clamp"}),
    "geometric": ("visits", {"epsilon": 2.0}),
    "geometric-clamp": ("visits", {"mechanism": "geometric", "epsilon": 2.0, "boundary": "clamp"}),
    "geometric-fold": ("visits", {"mechanism": "geometric", "epsilon": 3.0, "boundary": "fold"}),
    "geometric-resample": ("visits", {"mechanism": "geometric", "epsilon": 3.0, "boundary": "resample"}),
    "discrete_gaussian": ("visits", {"rho": 4.0}),
    "discrete_gaussian-clamp": ("visits", {"mechanism": "discrete_gaussian", "rho": 4.0, "boundary": "clamp"}),
    "duchi": ("weight", {"epsilon": 2.0}),
    "piecewise": ("weight", {"epsilon": 2.0}),
    "hybrid": ("weight", {"epsilon": 2.0}),
    "square_wave": ("weight", {"epsilon": 2.0}),
}


def numeric_plan(name: str) -> tuple[str, Plan]:
    column, given = NUMBERS[name]
    return column, Plan(columns={column: {"mechanism": name, "bounds": BOUNDS} | given})


@pytest.fixture(scope="module")
def restored(truth):
    """A column's name, and its reports and what is estimated from them in five ranges, made once for each name."""

    @functools.cache
    def made(name):
        column, plan = numeric_plan(name)
        private = sanitize(truth.select([column]), plan, rng=seeded())
        return column, private, estimate_table(private, plan, bins=5)

    return made


@pytest.mark.parametrize("name", NUMBERS)
def test_means__are_near_the_truth(truth, restored, name):
    """However noise is held within bounds; reports themselves are far off, where they are pulled to the middle."""
    column, private, found = restored(name)
    (mean,) = (estimate for estimate in found if estimate.kind == "mean")
    (line,) = mean.lines
    true = truth[column].to_numpy().mean()
    assert line.value is None
    assert 0 < line.std_error < 2
    assert near(line, true)
    reported = private[column].to_numpy().mean()
    if name.endswith("-clamp") or name == "laplace-fold":
        assert abs(reported - true) > 8 * line.std_error
    elif name in {"laplace", "gaussian", "geometric", "staircase", "discrete_gaussian"}:  # open: as they are
        assert abs(reported - true) < 5 * line.std_error


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in {"duchi", "hybrid"}])
def test_distributions__are_near_the_truth(truth, restored, name):
    """Over five ranges, within a few hundredths; nearer than the reports themselves."""
    column, private, estimates = restored(name)
    (found,) = (e for e in estimates if e.kind == "distribution")
    edges = [line.value.start for line in found.lines] + [50.5]
    assert found.lines[-1].value.end == pytest.approx(50, abs=1e-3)
    true = np.histogram(truth[column].to_numpy(), edges)[0] / ROWS
    shares = np.array([line.estimate for line in found.lines])
    assert shares.sum() == pytest.approx(1)
    assert np.abs(shares - true).max() < 0.12
    noisy = np.histogram(np.clip(private[column].to_numpy(), 0, 50), edges)[0] / ROWS
    assert np.abs(shares - true).sum() < np.abs(noisy - true).sum() + 0.01
    assert all(line.low <= line.estimate <= line.high for line in found.lines)


@pytest.mark.parametrize("boundary", ["clamp", "open"])
def test_means__hold_their_intervals(boundary):
    """Of 60 means of small samples 95 % intervals hold the truth in 49 at the least; where reports are clamped, those
    around the plain mean of the reports do not."""
    plan = Plan(columns={"x": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 1], "boundary": boundary}})
    values, runs = np.full(400, 0.2), 60
    held = forgetful = 0
    for run in range(runs):
        private = sanitize(pa.table({"x": values}), plan, rng=seeded(run))
        ((line,),) = (estimate.lines for estimate in estimate_table(private, plan))
        held += line.low <= 0.2 <= line.high
        half = (line.high - line.low) / 2
        forgetful += abs(private["x"].to_numpy().mean() - 0.2) <= half
    assert held >= 49  # 1 in 10,000 for a sound interval
    assert forgetful < 0.5 * runs if boundary == "clamp" else forgetful >= 49


def test_means__state_the_bias_that_is_left():
    """Two values that look nearly alike: no weights bring the bias to nothing, and the interval says so."""
    probabilities = np.array([[0.51, 0.49], [0.49, 0.51]])
    tally = means.ReportTally(np.array([5, 5]), np.zeros(2), 0.0)
    found = means.corrected_mean(tally, probabilities, np.array([0.0, 1.0]), np.zeros(2), np.zeros(2))
    assert found.bias > 0.1
    many = means.ReportTally(np.array([5 * 10**9, 5 * 10**9]), np.zeros(2), 0.0)
    found = means.corrected_mean(many, probabilities, np.array([0.0, 1.0]), np.zeros(2), np.zeros(2))
    assert found.bias < 0.01
    assert found.mean == pytest.approx(0.5)


def test_numbers_without_bounds__have_a_mean(truth):
    plan = Plan(columns={"weight": {"mechanism": "laplace", "epsilon": 1.0, "unit": 2.0}})
    found = estimate_table(sanitize(truth.select(["weight"]), plan, rng=seeded()), plan, bins=5)
    assert [estimate.kind for estimate in found] == ["mean"]
    assert near(found["weight"].lines[0], truth["weight"].to_numpy().mean())
    assert "declare bounds" in found.skipped["weight"]


def test_bins__of_reports_that_tell_the_mean_only(truth):
    column, plan = numeric_plan("duchi")
    found = estimate_table(sanitize(truth.select([column]), plan, rng=seeded()), plan, bins=5)
    assert "square_wave" in found.skipped[column]


def test_bins__more_than_there_are_integers(truth):
    column, plan = numeric_plan("geometric")
    found = estimate_table(sanitize(truth.select([column]), plan, rng=seeded()), plan, bins=200)
    assert [line.value for line in found.estimates[1].lines] == [Range(i, i) for i in range(51)]


@pytest.mark.parametrize("mechanism", ["exponential_metric", "grid_geometric", "grid_laplace"])
def test_codes__are_near_the_truth(truth, mechanism):
    more = (
        {"shape": [2, 2]} if "grid" in mechanism else {"distance": [[abs(i - j) for i in range(4)] for j in range(4)]}
    )
    given = {"mechanism": mechanism, "epsilon": 3.0, "unit": "km"} | more
    plan = Plan(columns={"code": given})
    (found,) = estimate_table(sanitize(truth.select(["code"]), plan, rng=seeded()), plan)
    for number, line in enumerate(found.lines):
        assert near(line, (truth["code"].to_numpy() == number).mean())


class TestGroups:
    """Reports of several columns together."""

    DOMAINS = {"kind": LABELS, "code": 4}  # noqa: RUF012

    def find(self, truth, mechanism, unbiased=False, **more):
        group = {"columns": ["kind", "code"], "mechanism": mechanism, "epsilon": 3.0, "domains": self.DOMAINS}
        plan = Plan(groups=[group | more])
        private = sanitize(truth.select(["kind", "code"]), plan, rng=seeded())
        return estimate_table(private, plan, ["code"], unbiased=unbiased)

    @pytest.mark.parametrize("unbiased", [False, True])
    def test_joint(self, truth, unbiased):
        (found,) = self.find(truth, "krr", unbiased)
        kind, code = (truth[name].to_numpy(zero_copy_only=False) for name in ("kind", "code"))
        assert found.lines[0].name == "a, 0"
        for line in found.lines:
            assert near(line, ((kind == line.value[0]) & (code == line.value[1])).mean())

    @pytest.mark.parametrize("unbiased", [False, True])
    @pytest.mark.parametrize("mechanism", ["split", "sample", "sample_and_fake"])
    def test_several(self, truth, mechanism, unbiased):
        found = self.find(truth, mechanism, unbiased)
        for name in ("kind", "code"):
            column = truth[name].to_numpy(zero_copy_only=False)
            for line in found[name].lines:
                assert near(line, (column == line.value).mean())

    def test_points__are_skipped_with_a_reason(self):
        home = {"columns": ["x", "y"], "mechanism": "planar_laplace", "epsilon": 1.0, "unit": "km"}
        plan = Plan({"ill": {"mechanism": "randomized_response", "epsilon": 1.0}}, [home])
        table = pa.table({"x": [0.0, 1.0], "y": [0.0, 1.0], "ill": [True, False]})
        found = estimate_table(sanitize(table, plan), plan)
        assert "density" in found.skipped["x, y"]
        with pytest.raises(fd.ParameterError, match="grid"):
            estimate_table(sanitize(table, plan), plan, ["x"])


def test_estimates__do_not_depend_on_batches_or_formats(tmp_path, truth):
    """One pass over many batches, a file and a folder counts as one over all."""
    plan = Plan(columns={
        "ill": {"mechanism": "randomized_response", "epsilon": 2.0},
        "kind": {"mechanism": "krr", "epsilon": 2.0, "domain": LABELS},
        "code": "drop",
        "weight": {"mechanism": "laplace", "epsilon": 2.0, "bounds": BOUNDS},
        "visits": {"mechanism": "duchi", "epsilon": 2.0, "bounds": BOUNDS},
    })  # fmt: skip
    private = sanitize(truth, plan, rng=seeded())
    whole = estimate_table(private)
    seen = []
    for source in (
        private.to_reader(999),
        *(tmp_path / f"out{end}" for end in (".parquet", ".arrow", ".arrows", ".csv")),
    ):
        if not hasattr(source, "read_all"):
            sanitize(truth, plan, source, rng=seeded())
        found = estimate_table(source, progress=lambda done, total: seen.append(done))
        for one, other in zip(whole, found, strict=True):
            np.testing.assert_allclose(
                [line.estimate for line in one.lines], [line.estimate for line in other.lines], rtol=1e-9
            )
    assert max(seen) == ROWS


def test_estimates__leave_public_nulls_out():
    plan = Plan(columns=COLUMNS)
    (found,) = estimate_table(sanitize(people(), plan), plan, ["ill"])
    assert found.reports == people()["ill"].drop_null().length()


def test_estimates__of_nothing_but_nulls_are_skipped():
    plan = Plan(columns=dict.fromkeys(("ill", "well"), COLUMNS["ill"]))
    table = pa.table({"ill": pa.nulls(3, pa.bool_()), "well": [True] * 3})
    found = estimate_table(sanitize(table, plan), plan)
    assert [estimate.column for estimate in found] == ["well"]
    assert "nulls" in found.skipped["ill"]


def test_estimates__refuse_what_has_none(tmp_path):
    plan = Plan(columns=COLUMNS)
    table = sanitize(people(), plan)
    with pytest.raises(fd.ParameterError, match="did you mean 'disease'"):
        estimate_table(table, plan, ["diseas"])
    for name, way_out in (("region", "read it directly"), ("name", "dropped")):
        with pytest.raises(fd.ParameterError, match=way_out):
            estimate_table(table, plan, [name])
    bare = table.replace_schema_metadata(None)
    with pytest.raises(fd.SchemaError, match="'disease'"):
        estimate_table(bare.drop(["disease"]), plan)
    with pytest.raises(fd.ParameterError, match="no column"):
        estimate_table(bare, Plan(columns={"region": "keep"}))
    with pytest.raises(fd.ParameterError, match="no reports"):
        estimate_table(table.slice(0, 0), plan)
    with pytest.raises(fd.ParameterError, match="receipt"):
        estimate_table(bare)
    for bad in ({"level": 1.0}, {"level": "high"}, {"bins": 1}, {"bins": 2.5}, {"bins": 5000}):
        with pytest.raises(fd.ParameterError):
            estimate_table(table, plan, **bad)
    with pytest.raises(fd.ParameterError, match="plan"):
        estimate_table(table, COLUMNS)
    wrong = pa.table({"disease": ["canary"], "ill": [True]})
    pq.write_table(wrong, tmp_path / "wrong.parquet")
    with pytest.raises(fd.DomainError, match="'disease'") as caught:
        estimate_table(tmp_path / "wrong.parquet", plan, ["disease", "ill"])
    assert "canary" not in str(caught.value)


class TestReceipts:
    """The plan of a file is that of its receipt; another one is refused."""

    OTHER = COLUMNS | {"disease": COLUMNS["disease"] | {"epsilon": 1.6}}

    @pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.csv", "folder/"])
    def test_receipt__states_the_plan(self, tmp_path, name):
        plan, path = Plan(columns=COLUMNS), f"{tmp_path}/{name}"
        sanitize(people(), plan, path, rng=seeded())
        given, found = estimate_table(path, plan), estimate_table(path)
        assert found.to_dict() == given.to_dict()
        with pytest.raises(fd.ParameterError, match="'disease'.*receipt"):
            estimate_table(path, Plan(columns=self.OTHER))
        assert len(estimate_table(path, Plan(columns=self.OTHER), ["ill"])) == 1

    def test_receipt__inside_suffices(self, tmp_path):
        plan, path = Plan(columns=COLUMNS), tmp_path / "out.parquet"
        sanitize(people(), plan, path, rng=seeded())
        (tmp_path / "out.parquet.receipt.json").unlink()
        assert len(estimate_table(path)) == 4

    def test_receipt__of_a_later_version_is_refused(self, tmp_path):
        plan, path = Plan(columns=COLUMNS), tmp_path / "out.csv"
        sanitize(people(), plan, path, rng=seeded())
        for text in ("{", "[]", json.dumps({"plan": {"columns": {"x": {"mechanism": "other"}}}}), "\xff"):
            (tmp_path / "out.csv.receipt.json").write_bytes(text.encode("latin-1"))
            with pytest.raises(fd.InputCorruptError, match="receipt"):
                estimate_table(path)


def test_to_arrow__has_a_row_per_line(truth):
    column, plan = numeric_plan("laplace")
    found = estimate_table(sanitize(truth.select([column]), plan, rng=seeded()), plan, bins=4)
    table = found.to_arrow()
    assert table["kind"].to_pylist() == ["mean"] + ["distribution"] * 4 + ["quartiles"] * 3
    assert table["from"].to_pylist()[:2] == [None, 0.0]
    assert json.loads(json.dumps(found.to_dict()))["estimates"][1]["estimates"][0]["value"] == [0.0, 12.5]
    with pytest.raises(KeyError):
        found["nobody"]
