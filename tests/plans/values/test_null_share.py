"""Nullness by randomized response: its channel, its cost, the estimates from it, and what plans refuse."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import mpmath
import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom, chisquare

import fastdp as fd
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.plan import Plan
from fastdp.plans.values.null_share import NullShare
from fastdp.tables.estimating.null_tally import NullTally
from tests.statements.exact import DIGITS
from tests.statements.test_plans import exact_of

BASE = {"mechanism": "geometric", "epsilon": 2.0, "bounds": [0, 3], "boundary": "clamp", "null_share": True}
DRAWS = 50_000


def plan_of(**changes):
    return Plan(columns={"x": BASE | changes})


def channel_of(plan: Plan) -> np.ndarray:
    """The rows are 0, 1, 2, 3 and null, and so are the columns."""
    part = plan.columns["x"]
    keep, values = part.null_share.response.p, part.mechanism.channel().dense()
    values = np.vstack([values, values[part.policies.filled]])
    reported = np.array([1 - keep] * 4 + [keep])
    return np.hstack([values * (1 - reported[:, None]), reported[:, None]])


def counts_of(plan: Plan, seed: int = 1) -> np.ndarray:
    """How often each report was seen of each value."""
    table = pa.table({"x": pa.array([0, 3, 1, 2, None] * DRAWS)})
    found = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(seed))["x"].fill_null(4).to_numpy()
    parts = found.reshape(DRAWS, 5)[:, [0, 2, 3, 1, 4]].T
    return np.array([np.bincount(part, minlength=5) for part in parts])


def fits(plan: Plan) -> bool:
    counts, expected = counts_of(plan), DRAWS * channel_of(plan)
    return min(chisquare(*pair).pvalue for pair in zip(counts, expected, strict=True)) > 1e-4


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 4.0])
@pytest.mark.parametrize("changes", [{}, {"null_epsilon": 0.4, "nulls": 3}])
def test_reports__follow_the_channel_that_the_cost_is_of(epsilon, changes):
    """The largest ratio of any two rows is at most what is stated, and not far from it."""
    plan = plan_of(epsilon=epsilon, **changes)
    rows = np.log(channel_of(plan))
    worst = max(float((a - b).max()) for a in rows for b in rows)
    assert worst <= plan.privacy.record.epsilon * (1 + 1e-12)
    assert plan.privacy.record.epsilon <= epsilon
    assert fits(plan)


def test_truth__is_caught(monkeypatch):
    """A mutant that reports nulls as they are."""
    monkeypatch.setattr(NullShare, "draw", lambda _, values, _rng: values.is_null())
    assert not fits(plan_of())


@pytest.mark.parametrize("name", ["laplace", "geometric", "staircase", "duchi", "piecewise", "square_wave"])
def test_cost__is_that_of_both_reports(name):
    """From the integers of both samplers, wherever it is stated."""
    entry = {"mechanism": name, "epsilon": 1.0, "bounds": [0, 8], "null_share": True}
    plan = Plan(columns={"x": entry})
    part = plan.columns["x"]
    with mpmath.workdps(DIGITS):
        total = exact_of(part.mechanism).epsilon + exact_of(part.null_share.response).epsilon
        assert total <= mpmath.mpf(plan.privacy.record.epsilon)
    assert 1 - 1e-6 < plan.privacy.record.epsilon <= 1.0 + 1e-12
    stated = describe_guarantee(plan)
    assert stated["columns"]["x"]["epsilon"] == plan.privacy.record.epsilon
    assert stated["columns"]["x"]["null_share"] == "randomized response, epsilon 0.25 of it"
    assert len(plan.losses()) == len(part.mechanism.losses()) + 1


SHARE, RUNS, ROWS = 0.3, 80, 3000


def covered(plan: Plan) -> tuple[int, int]:
    """How many intervals hold the mean of the values and the share of nulls."""
    hits = [0, 0]
    source = np.random.default_rng(5)
    for run in range(RUNS):
        values, nulls = source.beta(1, 4, ROWS) * 3, source.random(ROWS) < SHARE
        if plan.columns["x"].spec.whole:
            values = values.astype(np.int64)
        table = pa.table({"x": pa.array(values, mask=nulls)})
        private = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(run))
        found = fd.estimate_table(private)
        lines = [estimate.lines[0] for estimate in found]
        truths = [values[~nulls].mean(), nulls.mean()]
        for i, (line, truth) in enumerate(zip(lines, truths, strict=False)):
            hits[i] += line.low <= truth <= line.high
    return hits[0], hits[1]


@pytest.mark.parametrize(
    ("name", "boundary"), [("laplace", "open"), ("geometric", "clamp"), ("duchi", None), ("piecewise", None)]
)
def test_estimates__cover_the_mean_and_the_share(name, boundary):
    entry = {"mechanism": name, "epsilon": 4.0, "bounds": [0, 3], "null_share": True, "null_epsilon": 1.5}
    hits = covered(Plan(columns={"x": entry | ({} if boundary is None else {"boundary": boundary})}))
    assert min(hits) >= binom.ppf(1e-4, RUNS, 0.95)


def test_estimates__without_the_correction_miss(monkeypatch):
    """The mutant: numbers that stand in for nulls are taken for values."""
    plan = plan_of(epsilon=4.0, boundary="open", nulls=3)
    table = pa.table({"x": pa.array([1, None] * 50_000)})
    private = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(1))
    (right,) = fd.estimate_table(private)["x"].lines
    assert right.low <= 1 <= right.high
    monkeypatch.setattr(NullTally, "_mean", lambda _, mean: mean)
    (wrong,) = fd.estimate_table(private)["x"].lines
    assert not wrong.low <= 1 <= wrong.high


@pytest.mark.parametrize(
    ("values", "entry"),
    [
        ([dt.date(2000, 1, 1), None] * 20_000, {"bounds": [dt.date(1990, 1, 1), dt.date(2010, 12, 31)]}),
        ([Decimal("17.25"), None] * 20_000, {"bounds": [0, 20], "step": 0.25}),
        ([[3, 3], None] * 20_000, {"bounds": [0, 9], "items": "one"}),
    ],
)
def test_other_types__have_null_shares(values, entry):
    table = pa.table({"x": values})
    plan = Plan(columns={"x": {"mechanism": "geometric", "epsilon": 6.0, "null_share": True} | entry})
    private = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(3))
    mean, share = list(fd.estimate_table(private))
    assert share.kind == "shares"
    assert share.lines[0].low <= 0.5 <= share.lines[0].high
    truth = values[0][0] if isinstance(values[0], list) else values[0]
    truth = (truth - dt.date(1970, 1, 1)).days if isinstance(truth, dt.date) else float(truth)
    assert mean.lines[0].low <= truth <= mean.lines[0].high
    assert Plan.from_dict(plan.to_dict()) == plan


def test_few_values__are_not_determined():
    table = pa.table({"x": pa.array([None] * 500, pa.int64())})
    plan = plan_of(epsilon=0.2)
    mean, share = list(fd.estimate_table(fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(2))))
    assert not mean.lines[0].determined
    assert math.isnan(mean.lines[0].std_error)
    assert share.lines[0].estimate <= 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"null_share": 1}, "true or false"),
        ({"null_share": False, "null_epsilon": 0.1}, "null_epsilon is for"),
        ({"null_epsilon": 2.0}, "below epsilon"),
        ({"null_epsilon": -1}, "null_epsilon"),
        ({"unit": 1}, "without unit or rho"),
        ({"nulls": "public"}, "leave out nulls"),
        ({"nulls": "drop"}, "leave out nulls"),
        ({"nulls": 7}, "within the bounds"),
        ({"mechanism": "krr", "domain": [0, 1], "bounds": None, "boundary": None}, "unknown key 'null_share'"),
        ({"mechanism": "discrete_gaussian", "epsilon": None, "rho": 0.5}, "give epsilon and bounds"),
    ],
)
def test_contradictions__are_refused(changes, said):
    entry = {key: value for key, value in (BASE | changes).items() if value is not None}
    with pytest.raises(fd.ParameterError, match=said):
        Plan(columns={"x": entry})


def test_bins__are_not_estimated(tmp_path):
    private = fd.sanitize(pa.table({"x": [1, None, 2] * 100}), plan_of(epsilon=9.0), rng=fd.Rng.unsafe_seed(1))
    assert "only the mean and the share" in fd.estimate_table(private, bins=4).skipped["x"]


def test_text__has_null_shares(tmp_path):
    """CSV has an empty field for what is reported as null."""
    plan = plan_of(epsilon=8.0)
    fd.sanitize(pa.table({"x": [1, None] * 2000}), plan, tmp_path / "o.csv", rng=fd.Rng.unsafe_seed(4))
    _, share = list(fd.estimate_table(tmp_path / "o.csv"))
    assert share.lines[0].low <= 0.5 <= share.lines[0].high
