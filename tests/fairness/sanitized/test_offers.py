"""Everything that a table offers, of reports too: against the table of the truth."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.fairness.independence import chi_square_tail
from fastdp.fairness.sanitized.moments import monotone_counts, nearest_counts
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.tables import FairnessTable

ROWS = 200_000
MECHANISMS = {"race": fd.KRR(epsilon=1.5, domain=["a", "b", "c"]), "y_true": fd.RandomizedResponse(epsilon=3.0)}


def people(seed=1, rows=ROWS):
    """Race, sex, district, score, label and decision; one sex has no district 2 and race c scores lower."""
    source = np.random.default_rng(seed)
    race, sex = source.choice(["a", "b", "c"], rows, p=[0.5, 0.3, 0.2]), source.choice(["f", "m"], rows)
    score = np.clip(source.binomial(10, 0.6 - 0.2 * (race == "c")), 1, 9)
    label = source.random(rows) < score / 10
    return {
        "race": race, "sex": sex, "district": np.where(sex == "f", 0, source.integers(0, 2, rows)), "score": score,
        "label": label, "decision": score >= 6,
    }  # fmt: skip


def tables(sanitized=("race", "y_true"), attributes=("race", "sex"), seed=1, rows=ROWS, **more):
    """The table of reports and that of the truth."""
    data, rng = people(seed, rows), fd.Rng.unsafe_seed(seed)
    mechanisms = {name: MECHANISMS[name] for name in sanitized}
    given = dict(data)
    for name, one in mechanisms.items():
        column = "label" if name == "y_true" else name
        given[column] = one.randomize(data[column], rng=rng)

    def build(columns, **options):
        return fd.fairness.table(
            y_true=columns["label"], y_pred=columns["decision"], score=columns["score"],
            sensitive={name: columns[name] for name in attributes}, **more, **options,
        )  # fmt: skip

    return build(given, mechanisms=mechanisms), build(data)


@pytest.fixture(scope="module")
def both():
    return tables()


def test_offers__are_all_that_a_table_has():
    """Also what is added later: a name that a table of reports lacks must be one of these."""
    public = {name for name in dir(FairnessTable) if not name.startswith("_")}
    lacking = public - {name for name in dir(SanitizedTable) if not name.startswith("_")}
    assert lacking == {"effective", "squares", "stratified", "tally", "within"}  # sums of rows as they are: of `naive`


def test_price__is_that_of_the_truth(both):
    """Every criterion's share of the profit, and less if reports are taken at face value."""
    found, true = (table.by("race").price(gain=1, cost=1.5) for table in both)
    for policy in true.policies:
        assert found[policy.criterion].share == pytest.approx(policy.share, abs=0.03)
        assert found[policy.criterion].groups == policy.groups
    naive = both[0].by("race").naive.price(gain=1, cost=1.5)
    assert abs(naive["independence"].share - true["independence"].share) > 0.03


def test_groups__that_may_have_nobody_have_no_thresholds():
    """A value of the domain that nobody has; its scores are noise, and would decide what a criterion costs."""
    data, krr = people(rows=20_000), fd.KRR(epsilon=1.0, domain=["a", "b", "c", "nobody"])
    columns = {"y_true": data["label"], "y_pred": data["decision"], "score": data["score"]}
    reports = krr.randomize(data["race"], rng=fd.Rng.unsafe_seed(3))
    found = fd.fairness.table(**columns, sensitive={"race": reports}, mechanisms={"race": krr})
    true = fd.fairness.table(**columns, sensitive={"race": data["race"]})
    assert found.rates("selection").undefined == (("nobody",),)
    assert found.price(gain=1, cost=1.5)["separation"].groups == true.groups
    assert found.roc().groups == found.scaling().groups == true.groups
    assert ("nobody",) in found.calibration().groups


def test_scaling__is_that_of_the_truth(both):
    found, true = (table.by("race").scaling() for table in both)
    assert found.groups == true.groups
    shares = [one.apply(score=[2, 5, 8] * 3, sensitive=np.repeat(["a", "b", "c"], 3)) for one in (found, true)]
    assert shares[0] == pytest.approx(shares[1], abs=0.04)
    naive = both[0].by("race").naive.scaling()
    assert np.abs(naive.slope - true.slope).max() > 3 * np.abs(found.slope - true.slope).max()


def test_by__sums_over_attributes_with_their_mechanisms(both):
    found, true = both
    assert found.by("sex").mechanisms.keys() == {"y_true"}
    assert found.by("sex").counts.sum(axis=1) == pytest.approx(found.counts.sum(axis=(0, 2))[:, :])
    rates = found.by("race", "sex").rates("selection", level=0.9999)
    due = true.by("race", "sex").rates("selection").values
    assert ((rates.low <= due) & (due <= rates.high)).all()
    assert found.cells.sum(axis=0) == pytest.approx(found.counts.sum(axis=(0, 1, 2)))


def test_groups__that_no_kept_attribute_has_are_left_out():
    """Sex f has one district: its other intersections are not there, whatever races are reported."""
    found, true = tables(attributes=("race", "sex", "district"), sanitized=("race",), rows=20_000)
    assert found.groups == true.groups
    assert len(found.groups) == 9
    assert found.gap("selection").undefined == ()


def test_large__counts_kept_attributes_alone():
    data = people(rows=5000)
    data["sex"] = np.where(np.arange(5000) < 4, "x", data["sex"])
    krr = MECHANISMS["race"]
    found = fd.fairness.table(
        y_true=data["label"], y_pred=data["decision"], mechanisms={"race": krr}, score=data["score"],
        sensitive={"race": krr.randomize(data["race"], rng=fd.Rng.unsafe_seed(1)), "sex": data["sex"]},
    )  # fmt: skip
    kept, withheld = found.large(10)
    assert withheld == 3
    assert {sex for _, sex in found.groups} == {"f", "m", "x"}
    assert {sex for _, sex in kept.groups} == {"f", "m"}
    assert kept.rows == 4996
    assert {sex for _, sex in kept.thresholds("profit", gain=1, cost=1).groups} == {"f", "m"}


def test_tables__of_batches_add_up(both):
    found, _ = both
    other = tables(seed=2)[0]
    total = found + other
    assert total.counts == pytest.approx(found.counts + other.counts)
    assert total.rows == 2 * ROWS
    with pytest.raises(fd.ParameterError, match="same attributes"):
        _ = found + found.by("race")
    with pytest.raises(fd.ParameterError, match="same mechanisms"):
        _ = found + tables(sanitized=("race",), rows=1000)[0]


def test_bootstrap__is_as_wide_as_the_interval(both):
    """Percentile intervals against Fieller's; undefined where a draw may have nobody."""
    found = both[0].by("race")
    drawn, rates = found.bootstrap("tpr", runs=2000), found.rates("tpr")
    assert drawn["groups"] == rates.groups
    assert drawn["high"] - drawn["low"] == pytest.approx(rates.high - rates.low, rel=0.1)
    with pytest.raises(fd.ParameterError, match='truth="sample"'):
        SanitizedTable(found.naive, found.mechanisms, "fixed").bootstrap("tpr")
    with pytest.raises(fd.ParameterError, match="fieller"):
        found.rates("tpr", method="clopper-pearson")


def test_incompatible__shows_the_identity_of_the_truth(both):
    found, true = (table.by("race").incompatible() for table in both)
    assert found.pairs[1:] == true.pairs[1:]
    assert found.identity == pytest.approx(found.fpr, abs=1e-12)
    assert found.fpr == pytest.approx(true.fpr, abs=0.03)


def test_label_sensitivity__is_that_of_the_truth(both):
    found, true = (table.by("race").label_sensitivity("fpr", wrong=0.02) for table in both)
    assert (found.gap_low, found.gap, found.gap_high) == pytest.approx(
        (true.gap_low, true.gap, true.gap_high), abs=0.04
    )


def test_classes__one_against_the_rest():
    source, krr = np.random.default_rng(1), fd.KRR(epsilon=2.0, domain=["x", "y"])
    label, group = source.choice(["low", "mid", "high"], 20_000), source.choice(["x", "y"], 20_000)
    found = fd.fairness.table(
        y_true=label, y_pred=label, sensitive={"g": krr.randomize(group, rng=fd.Rng.unsafe_seed(1))},
        mechanisms={"g": krr},
    )  # fmt: skip
    assert found.classes == ("high", "low", "mid")
    with pytest.raises(fd.ParameterError, match="one_vs_rest"):
        found.rates("tpr")
    assert "one_vs_rest" in str(found)
    assert found.one_vs_rest("mid").rates("tpr").values == pytest.approx([1, 1])


class TestCriteria:
    """Conditional parity, calibration, and tests on reports that need no inverse."""

    def test_conditional__parity_holds_given_the_score(self):
        """Decisions are made from the score alone: parity given it, though not without."""
        data, krr = people(rows=ROWS), MECHANISMS["race"]
        decision = np.random.default_rng(5).random(ROWS) < data["score"] / 10
        options = {"y_true": data["label"], "y_pred": decision, "given": data["score"] // 4}
        reports = krr.randomize(data["race"], rng=fd.Rng.unsafe_seed(1))
        found = fd.fairness.table(**options, sensitive={"race": reports}, mechanisms={"race": krr})
        by_name = {one.name: one for one in found.criteria()}
        true = {one.name: one for one in fd.fairness.table(**options, sensitive={"race": data["race"]}).criteria()}
        ours, theirs = by_name["conditional_parity"].contrasts[0], true["conditional_parity"].contrasts[0]
        assert ours.low <= theirs.value <= ours.high
        assert by_name["independence"].verdict == "violated"

    def test_verdicts__are_those_of_the_truth_and_have_calibration(self, both):
        found, true = ({one.name: one for one in table.by("race").criteria()} for table in both)
        assert found.keys() == true.keys()
        for name in ("independence", "four_fifths", "separation"):
            assert found[name].verdict == true[name].verdict == "violated"
        assert found["calibration"].verdict != "violated"

    def test_p_values__are_uniform_where_groups_are_alike(self):
        """Of 400 tables without any gap: within four standard errors of 5 %."""
        source, krr, hits = np.random.default_rng(2), fd.KRR(epsilon=1.0, domain=3), np.zeros(3)
        for seed in range(400):
            race, label = source.integers(0, 3, 600), source.integers(0, 2, 600)
            decision = np.where(source.random(600) < 0.6, label, 1 - label)
            reports = krr.randomize(race, rng=fd.Rng.unsafe_seed(seed))
            found = fd.fairness.table(
                y_true=label, y_pred=decision, sensitive={"race": reports}, mechanisms={"race": krr}
            )
            by_name = {one.name: one.p_value for one in found.criteria()}
            hits += np.array([by_name[name] for name in ("independence", "separation", "sufficiency")]) < 0.05
        assert np.abs(hits / 400 - 0.05).max() < 4 * np.sqrt(0.05 * 0.95 / 400)

    def test_p_values__condition_on_nothing_that_is_sanitized(self, both):
        """With labels that are reports a test given the label would be wrong, and there is none."""
        tests = {one.name: one.tests for one in both[0].by("race").criteria()}
        assert [name for name, found in tests.items() if found] == ["independence", "sufficiency", "calibration"]
        assert tests["independence"][0].p_value == pytest.approx(
            chi_square_tail(tests["independence"][0].statistic, tests["independence"][0].degrees)
        )


def test_scores__of_many_values_are_not_pulled_together_by_noise():
    """With 1,000 scores most counts are noise: setting negative ones to 0, the mutant, makes groups look alike."""
    source, krr = np.random.default_rng(4), fd.KRR(epsilon=1.0, domain=2)
    group = (source.random(40_000) < 0.3).astype(int)
    score = np.clip(source.normal(500 - 200 * group, 120, 40_000).round(), 0, 999)
    label = (source.random(40_000) < score / 1000).astype(int)
    found = fd.fairness.table(
        y_true=label, y_pred=label, score=score, mechanisms={"g": krr},
        sensitive={"g": krr.randomize(group, rng=fd.Rng.unsafe_seed(4))},
    )  # fmt: skip
    true = fd.fairness.table(y_true=label, y_pred=label, score=score, sensitive={"g": group})
    raw = np.einsum("ab,bys->ays", np.linalg.inv(krr.channel().dense()).T, found.naive.scores.tally.counts)

    def mean_gap(cells):
        rows = cells.sum(axis=1)
        means = (rows * true.scores.scores[: rows.shape[1]]).sum(axis=1) / rows.sum(axis=1)
        return means[0] - means[1]

    due = mean_gap(true.scores.cells())
    assert raw.shape[2] == true.scores.cells().shape[2]
    assert mean_gap(found.scores.cells()) == pytest.approx(due, rel=0.05)
    assert mean_gap(np.maximum(raw, 0)) < 0.9 * due
    assert found.roc().auc == pytest.approx(true.roc().auc, abs=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_monotone__sums_are_no_further_from_the_truth(seed):
    """In the largest error; counts are not negative, and right ones stay as they are."""
    source = np.random.default_rng(seed)
    true = source.poisson(3.0, (4, 200)).astype(float)
    noisy = true + source.normal(0, 5, true.shape)
    found = monotone_counts(noisy)
    assert found.min() >= 0
    errors = [np.abs(np.cumsum(one - true, axis=1)).max(axis=1) for one in (found, noisy)]
    assert (errors[0] <= errors[1] + 1e-9).all()
    assert monotone_counts(true) == pytest.approx(true)


def test_nearest__counts_keep_what_is_known():
    """Totals of every label and decision, which were not sanitized."""
    inverse = np.linalg.inv(fd.KRR(epsilon=0.5, domain=3).channel().dense())
    counts = np.random.default_rng(1).integers(0, 9, (3, 1, 2, 2))
    found = nearest_counts(counts, {0: inverse})
    assert found.min() >= 0
    assert found.sum(axis=0) == pytest.approx(counts.sum(axis=0))
