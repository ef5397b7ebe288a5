"""Sanitized attributes, labels and decisions: unbiased counts, intervals that cover, and what is naive."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from tests.fairness.coverage import (
    SETTINGS,
    TOGETHER,
    draw,
    from_counts,
    joint_channel,
    largest_of_sanitized,
    rate,
    sanitized_cells,
    truth_of,
)


@pytest.mark.parametrize("truth", ["sample", "fixed"])
@pytest.mark.parametrize("several", [("a",), ("a", "y_true"), ("a", "y_true", "y_pred")])
def test_intervals__cover_in_forty_cells(truth, several):
    """Five settings, four rates and four differences, 4,000 runs each: each cell, and their mean."""
    found = [cell["covered"] for setting in SETTINGS for cell in sanitized_cells(setting, 4000, truth, several)]
    assert len(found) == 40
    assert min(found) >= 0.935
    assert max(found) <= 0.965
    assert abs(np.mean(found) - 0.95) <= 0.01


def test_intervals__of_a_mutant_that_forgets_a_variance_do_not_cover():
    """Of people that are a sample, where only the mechanism's own noise is counted."""
    table = from_counts(np.ones((4, 2, 2)), {"a": fd.KRR(epsilon=2.0, domain=4)})
    drawn = draw(np.random.default_rng(1), truth_of(4), 2000, joint_channel(table.mechanisms, 4), "sample", 4000)
    low, high = table.sums("accuracy").moments(drawn, truth="fixed").fieller(1.959964)
    due = rate(truth_of(4), "accuracy")[0]
    assert ((low[:, 0] <= due) & (due <= high[:, 0])).mean() < 0.9


def test_moments__of_many_tables_are_those_of_each():
    """Intervals of a batch of tables, as coverage is measured by, against those that a table gives."""
    drawn = np.random.default_rng(1).integers(50, 500, (3, 4, 2, 2))
    for truth in ("sample", "fixed"):
        tables = [from_counts(counts, {"a": fd.KRR(epsilon=1.0, domain=4)}, truth) for counts in drawn]
        moments = tables[0].sums("ppv").moments(drawn.reshape(3, -1), truth=truth)
        low, high = moments.fieller(1.959963984540054)
        down, up = moments.differences(1.959963984540054)
        for place, table in enumerate(tables):
            rates = table.rates("ppv")
            assert (low[place], high[place]) == (pytest.approx(rates.low), pytest.approx(rates.high))
            assert (down[place], up[place]) == tuple(map(pytest.approx, table.differences("ppv")))


@pytest.mark.parametrize("epsilon", [0.5, 1.0, math.log(3), 2.0])
def test_naive_gap__shrinks_by_tanh(epsilon):
    """Two groups of one size; exactly, in expectation."""
    mechanism = fd.KRR(epsilon=epsilon, domain=2)
    cells = np.array([[[30, 10], [20, 40]], [[40, 20], [30, 10]]]) * 1e6
    reports = np.tensordot(mechanism.channel().dense().T, cells, 1)
    found = from_counts(reports, {"a": mechanism})
    true_gap = 0.5 - 0.3
    assert found.naive.gap("selection").value == pytest.approx(true_gap * math.tanh(epsilon / 2), rel=1e-6)
    assert found.gap("selection").value == pytest.approx(true_gap, rel=1e-9)
    assert found.naive_bias("selection") == pytest.approx(true_gap * (1 - math.tanh(epsilon / 2)), rel=1e-6)


@pytest.mark.parametrize("several", [("a",), ("a", "y_true"), ("a", "y_true", "y_pred")])
def test_counts__through_several_channels_are_the_truth_in_expectation(several):
    cells = truth_of(4) * 1e6
    mechanisms = {"a": fd.KRR(epsilon=1.0, domain=4), "y_true": fd.RandomizedResponse(epsilon=1.5)}
    mechanisms["y_pred"] = fd.RandomizedResponse(epsilon=2.0)
    mechanisms = {name: mechanisms[name] for name in several}
    reports = cells
    for axis, name in enumerate(("a", "y_true", "y_pred")):
        if name in mechanisms:
            channel = mechanisms[name].channel().dense()
            reports = np.moveaxis(np.tensordot(reports, channel, (axis, 0)), -1, axis)
    found = from_counts(reports, mechanisms)
    assert found.counts[:, 0] == pytest.approx(cells, rel=1e-9)
    assert found.likeliest()[:, 0] == pytest.approx(cells, rel=1e-2)
    assert found.rates("tpr").values == pytest.approx(rate(cells, "tpr"))


def test_reports__of_columns_that_were_randomized():
    """Attribute, label and decision all sanitized: the truth within its interval, the naive gap beside it."""
    source = np.random.default_rng(3)
    place = source.choice(16, 200_000, p=truth_of(4).ravel())
    race = np.array(["a", "b", "c", "d"])[place // 4]
    mechanisms = {
        "race": fd.KRR(epsilon=2.0, domain=["a", "b", "c", "d"]), "y_true": fd.RandomizedResponse(epsilon=2.0),
        "y_pred": fd.RandomizedResponse(epsilon=3.0),
    }  # fmt: skip
    rng = fd.Rng.unsafe_seed(4)
    found = fd.fairness.table(
        y_true=mechanisms["y_true"].randomize(place // 2 % 2 == 1, rng=rng),
        y_pred=mechanisms["y_pred"].randomize(place % 2 == 1, rng=rng),
        sensitive={"race": mechanisms["race"].randomize(race, rng=rng)}, mechanisms=mechanisms,
    )  # fmt: skip
    rates = found.rates("tpr", level=0.9999)
    due = rate(truth_of(4), "tpr")
    assert ((rates.low <= due) & (due <= rates.high)).all()
    assert found.gap("tpr").low <= due.max() - due.min() <= found.gap("tpr").high
    assert found.naive_bias("tpr") > 0.05
    assert found.ratio("tpr").low <= due.min() / due.max() <= found.ratio("tpr").high
    assert found.to_dict()["sanitized"]["race"]["type"] == "KRR"


def test_reports__of_bytes_whose_first_rows_are_alike():
    """More values than the first rows have, where truth values come as bytes."""
    mechanism, reports = fd.RandomizedResponse(epsilon=2.0), np.zeros(100_000, np.uint8)
    reports[-40_000:] = 1
    found = fd.fairness.table(
        y_true=reports, y_pred=np.ones(100_000, np.uint8), sensitive={"a": np.zeros(100_000, np.uint8)},
        mechanisms={"y_true": mechanism},
    )  # fmt: skip
    p = mechanism.p
    assert found.rates("base").values[0] == pytest.approx((0.4 - (1 - p)) / (2 * p - 1))


def test_group__that_may_be_empty_is_undefined():
    mechanism = fd.KRR(epsilon=0.5, domain=3)
    cells = np.array([[[300, 100], [200, 400]], [[400, 200], [300, 100]], [[0, 0], [0, 0]]])
    reports = np.tensordot(mechanism.channel().dense().T, cells, 1).round().astype(int)
    found = from_counts(reports, {"a": mechanism})
    assert found.rates("tpr").undefined == ((2,),)
    assert found.gap("tpr").undefined == ((2,),)


def test_mechanisms__that_do_not_fit_are_refused():
    columns = {"y_true": [1, 0], "y_pred": [1, 0], "sensitive": {"race": ["a", "b"]}}
    with pytest.raises(fd.ParameterError, match="did you mean 'race'"):
        fd.fairness.table(**columns, mechanisms={"rac": fd.KRR(epsilon=1.0, domain=["a", "b"])})
    with pytest.raises(fd.ParameterError, match="KRR and RandomizedResponse"):
        fd.fairness.table(**columns, mechanisms={"race": fd.UnaryEncoding(epsilon=1.0, domain=["a", "b"])})
    with pytest.raises(fd.DomainError, match="race"):
        fd.fairness.table(**columns, mechanisms={"race": fd.KRR(epsilon=1.0, domain=["a", "c"])})


@pytest.mark.slow
@pytest.mark.parametrize("setting", TOGETHER)
def test_largest_gap__covers_for_all_pairs_together(setting):
    """Of four groups behind k-RR, also where all are equal: at least 95 % less three Monte-Carlo errors."""
    found = largest_of_sanitized(*TOGETHER[setting], 2000)
    assert min(cell["covered"] for cell in found) >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / 2000)


def loans(seed, rows=20_000):
    """Group, label, decision and score of applicants; rows count 1 to 3 times."""
    source = np.random.default_rng(seed)
    group = (source.random(rows) < 0.4).astype(int)
    score = np.clip(source.binomial(5, 0.6 - 0.2 * group), 0, 5)
    label = (source.random(rows) < 0.1 + 0.15 * score).astype(int)
    return group, label, (score >= 3).astype(int), score, source.integers(1, 4, rows).astype(float)


@pytest.mark.parametrize("sanitized", [("group",), ("group", "y_true")])
def test_weights__count_and_their_intervals_cover(sanitized):
    """Of 200 runs; the intervals of a mutant that takes the sum of weights for the number of rows are too narrow."""
    made = {"group": fd.KRR(epsilon=1.0, domain=[0, 1]), "y_true": fd.RandomizedResponse(epsilon=2.0)}
    covered, mutant = [], []
    for seed in range(200):
        group, label, decision, _, weights = loans(seed, 4000)
        mechanisms = {name: made[name] for name in sanitized}
        rng = fd.Rng.unsafe_seed(seed)
        reports = mechanisms["group"].randomize(group, rng=rng)
        labels = (
            mechanisms["y_true"].randomize(label.astype(bool), rng=rng).astype(int) if len(sanitized) > 1 else label
        )
        found = fd.fairness.table(
            y_true=labels, y_pred=decision, sensitive={"group": reports}, weights=weights, mechanisms=mechanisms
        )
        true = (0.31744, 0.68256)[1]
        rates = found.rates("selection")
        covered.append([low <= 0.68256 <= high for low, high in [(rates.low[0], rates.high[0])]])
        half = (rates.high[0] - rates.low[0]) / 2 / math.sqrt(2.0)
        mutant.append(abs(rates.values[0] - true) <= half)
    assert abs(np.mean(covered) - 0.95) < 4 * math.sqrt(0.95 * 0.05 / 200)
    assert np.mean(mutant) < 0.9


def test_scores__of_reports_are_those_of_the_truth():
    group, label, decision, score, _ = loans(7, 400_000)
    rng = fd.Rng.unsafe_seed(7)
    krr, rr = fd.KRR(epsilon=1.0, domain=[0, 1]), fd.RandomizedResponse(epsilon=2.0)
    found = fd.fairness.table(
        y_true=rr.randomize(label.astype(bool), rng=rng).astype(int), y_pred=decision, score=score,
        sensitive={"group": krr.randomize(group, rng=rng)}, mechanisms={"group": krr, "y_true": rr},
    )  # fmt: skip
    true = fd.fairness.table(y_true=label, y_pred=decision, score=score, sensitive={"group": group})
    assert found.roc().tpr == pytest.approx(true.roc().tpr, abs=0.03)
    assert found.roc().auc == pytest.approx(true.roc().auc, abs=0.02)
    naive = np.abs(found.naive.calibration().values - true.calibration().values)
    won = found.calibration()
    assert np.abs(won.values - true.calibration().values)[won.sizes > 5000].max() < 0.03 < naive.max()
    covers = (won.low <= 0.1 + 0.15 * won.scores) & (0.1 + 0.15 * won.scores <= won.high)
    assert covers.mean() >= 10 / 12
    kept = found.thresholds("equal_opportunity", gain=1, cost=1)
    assert kept.share == pytest.approx(true.thresholds("equal_opportunity", gain=1, cost=1).share, abs=0.02)


def test_labels__whose_first_value_is_positive_are_turned():
    """A domain that lists the positive class first must not swap labels in the table of scores."""
    group, label, decision, score, _ = loans(3, 200_000)
    krr = fd.KRR(epsilon=3.0, domain=["pays", "not"])
    given = krr.randomize(np.where(label == 1, "pays", "not"), rng=fd.Rng.unsafe_seed(3))
    found = fd.fairness.table(
        y_true=given, y_pred=np.where(decision == 1, "pays", "not"), score=score, positive="pays",
        sensitive={"group": group}, mechanisms={"y_true": krr},
    )  # fmt: skip
    shares = found.calibration().values
    assert (np.diff(shares, axis=1) > 0).all()
    assert shares == pytest.approx(np.tile(0.1 + 0.15 * np.arange(6), (2, 1)), abs=0.06)
