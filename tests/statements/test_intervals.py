"""Every interval that is printed covers: driven by the lists of mechanisms, so that a new one cannot go untested.

Shares and means of protocols, bins and quartiles of tables, quarters of maps, what the demo restores, and the errors
that ``plan check`` tells to expect.
"""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import fastdp as fd
from fastdp.channels import GridChannel
from fastdp.cli.demo import _compare, people
from fastdp.locations import Grid, heat_map, survey
from fastdp.mechanisms.local.means.reports import MeanReports
from fastdp.mechanisms.registry import rows
from fastdp.plans.expected_error import share_error, worst_variance
from fastdp.plans.explain import explain
from fastdp.plans.part import RECORDS
from fastdp.plans.spec import MECHANISMS
from fastdp.report.survey import survey_page
from tests.contracts.protocols import PROTOCOLS
from tests.plans.test_plan import entry_of
from tests.statements.test_plans import JOINT

REPETITIONS, PEOPLE = 80, 400
LEAST = 0.90
"""Of all intervals together. Values of one sample are not independent; 80 samples of 95 % fall below this by chance
less than once in a thousand lists."""


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_intervals__of_every_protocol_cover(protocol):
    """The frequencies of a protocol, and what :func:`fastdp.estimate` makes of its reports where it takes them."""
    mechanism = protocol.make(1.5, protocol.domain(4))
    size = protocol.domain(4)
    truth = np.array([0.6, 0.3, 0.1, 0.0])[:size] / np.array([0.6, 0.3, 0.1, 0.0])[:size].sum()
    source, rng = np.random.default_rng(7), fd.Rng.unsafe_seed(7) if protocol.rng else None
    own, restored = [], []
    for repetition in range(REPETITIONS):
        values = source.choice(size, PEOPLE, p=truth)
        values = values.astype(bool) if protocol.bools else values.astype(np.int32)
        reports = protocol.randomize(mechanism, values, rng=rng, first=repetition * PEOPLE)
        own.append(covers(mechanism.estimate(reports), truth))
        if repetition < REPETITIONS // 4:
            restored.append(covers(fd.estimate(mechanism, reports, progress=False), truth))
    assert np.mean(own) >= LEAST
    assert np.mean(restored) >= LEAST - 0.05


def covers(found, truth):
    low, high = found.interval(0.95)
    return (low - 1e-9 <= truth) & (truth <= high + 1e-9)


def test_half_as_wide__is_caught():
    """The mutant: intervals at half their width cover some 67 %."""
    mechanism, source, rng = fd.KRR(epsilon=1.5, domain=4), np.random.default_rng(7), fd.Rng.unsafe_seed(7)
    truth, inside = np.array([0.6, 0.3, 0.1, 0.0]), []
    for _ in range(REPETITIONS):
        found = mechanism.estimate(mechanism.randomize(source.choice(4, PEOPLE, p=truth).astype(np.int32), rng=rng))
        low, high = found.interval(0.95)
        inside.append(np.abs(truth - (low + high) / 2) <= (high - low) / 4)
    assert np.mean(inside) < LEAST - 0.05


def least(repetitions: int) -> int:
    """Hits that 95 % fall short of once in ten thousand times."""
    return int(binom.ppf(1e-4, repetitions, 0.95))


MEANS = [row.name for row in rows() if issubclass(getattr(fd, row.name, object), MeanReports)]


@pytest.mark.parametrize("name", MEANS)
def test_intervals__of_every_mean_cover(name):
    """And at half their width they do not."""
    mechanism, source, rng = (
        getattr(fd, name)(epsilon=1.0, bounds=(0.0, 10.0)),
        np.random.default_rng(1),
        fd.Rng.unsafe_seed(1),
    )
    hits = halves = 0
    for _ in range(300):
        found = mechanism.estimate(mechanism.randomize(source.beta(1, 4, 300) * 10, rng=rng))
        low, high = found.interval(0.95)
        hits += low <= 2.0 <= high
        halves += abs(found.mean - 2.0) <= (high - low) / 4
    assert hits >= least(300)
    assert halves < 0.8 * 300


def test_means__are_of_all_mechanisms_that_report_them():
    assert set(MEANS) >= {"Duchi", "Hybrid", "Piecewise"}


TABLE = {
    "sex": {"mechanism": "krr", "epsilon": 1.0, "domain": ["a", "b", "c"]},
    "ill": {"mechanism": "randomized_response", "epsilon": 1.0},
    "children": {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 8]},
    "height": {"mechanism": "duchi", "epsilon": 1.0, "bounds": [0, 2]},
    "hobby": {"mechanism": "oue", "epsilon": 1.0, "domain": ["x", "y", "z"]},
}


class TestTables:
    """Whole tables: every line of every kind, as ``fastdp estimate`` prints it."""

    def truth(self, part, line):
        children = np.array([20, 20, 20, 20, 10, 10, 0, 0, 0]) / 100
        if part.kind == "quartiles":
            return {"lower quartile": 1, "median": 2, "upper quartile": 3}[line.value]
        if part.kind == "distribution":
            return children[int(line.value.start) : int(line.value.end) + 1].sum()
        if part.kind == "mean":
            return {"children": float(children @ np.arange(9)), "height": 1.2}[part.column]
        shares = {"sex": {"a": 0.7, "b": 0.3, "c": 0.0}, "ill": {True: 0.3, False: 0.7}}
        shares["hobby"] = {"x": 0.5, "y": 0.5, "z": 0.0}
        return shares[part.column][line.value]

    def test_every_line__covers(self):
        plan, source, hits = fd.Plan(columns=TABLE), np.random.default_rng(4), {}
        repetitions = 40
        for repetition in range(repetitions):
            n = 400
            table = pa.table({
                "sex": source.choice(["a", "b", "c"], n, p=[0.7, 0.3, 0.0]).tolist(),
                "ill": source.random(n) < 0.3,
                "children": source.choice(9, n, p=[0.2, 0.2, 0.2, 0.2, 0.1, 0.1, 0, 0, 0]),
                "height": source.uniform(0.9, 1.5, n),
                "hobby": source.choice(["x", "y"], n).tolist(),
            })  # fmt: skip
            private = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(repetition))
            for part in fd.estimate_table(private, plan, bins=3):
                for line in part.lines:
                    true = self.truth(part, line)
                    held = line.low - 1e-9 <= true <= line.high + 1e-9
                    hits.setdefault((part.column, part.kind, line.name), []).append(held)
        assert {kind for _, kind, _ in hits} == {"shares", "mean", "distribution", "quartiles"}
        assert {case: sum(held) for case, held in hits.items() if sum(held) < least(repetitions)} == {}
        assert np.mean(list(hits.values())) >= 0.935


class TestMaps:
    GRID = Grid(x=(0, 8), y=(0, 8), cell=1)

    def test_shares_of_blocks__cover(self):
        """The quarters, and a block of nine cells: of the default, for a town and hamlets."""
        channel, source = GridChannel.laplace(1.0, (8, 8)), np.random.default_rng(6)
        truth = np.full((8, 8), 0.2 / 64)
        truth[2, 2] += 0.6
        truth[6, 5] += 0.2
        block = np.zeros((8, 8), bool)
        block[1:4, 1:4] = True
        quarters = {"north-west": truth[:4, :4], "north-east": truth[:4, 4:], "south-west": truth[4:, :4],
                    "south-east": truth[4:, 4:]}  # fmt: skip
        hits = dict.fromkeys((*quarters, "block"), 0)
        for _ in range(12):
            counts = source.multinomial(1_000, channel.forward(truth.reshape(-1)))
            heat = heat_map(channel, counts.reshape(8, 8), self.GRID, progress=False)
            for name, (_, low, high) in heat.quadrants(0.95).items():
                hits[name] += low <= quarters[name].sum() <= high
            _, low, high = heat.share(block, 0.95)
            hits["block"] += low <= truth[block].sum() <= high
        assert min(hits.values()) >= least(12), hits

    def test_page_and_json__show_those_of_the_map(self):
        """The quarters that a survey prints are the heat map's of the same reports, at 95 %."""
        source = np.random.default_rng(2)
        places = pa.table({"x": source.uniform(0, 8, 500), "y": source.uniform(0, 4, 500)})
        found = survey(places, self.GRID, epsilon=1.0, columns=("x", "y"), curve=False, rng=fd.Rng.unsafe_seed(1))
        expected = heat_map(found.mechanism, found.counts, self.GRID).quadrants(0.95)
        stated = json.loads(json.dumps(found.to_dict()))["quadrants"]
        page = survey_page(found, "A survey")
        for name, share in expected.items():
            assert stated[name] == pytest.approx(share._asdict())
            assert f"{share.low:.2%} to {share.high:.2%}" in page


def test_demo__is_within_what_it_says():
    """Truth and restored differ by no more than '95 % within', in 95 % of the runs."""
    plan = fd.Plan.loads(people.PLAN)
    columns = {name: entry for name, entry in plan.to_dict()["columns"].items() if name != "weight"}
    columns["weight"] = {"action": "keep"}  # the distribution of a square wave takes its time
    plan, hits = fd.Plan(columns=columns), []
    truth = people.Truth()
    table = pa.Table.from_batches(list(people.batches(3_000)))
    for batch in table.to_batches():
        truth.add(batch)
    for repetition in range(40):
        found = fd.estimate_table(fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(repetition)), plan)
        lines = _compare(found, truth, truth)
        hits.append([abs(line["truth"] - line["restored"]) <= line["within"] for line in lines])
    assert np.min(np.sum(hits, axis=0)) >= least(40)


def test_demo__compares_shares_and_means_alone():
    """Quartiles of a square wave have no truth to stand beside: they stood beside 0 once."""
    plan = fd.Plan(columns={"weight": {"mechanism": "square_wave", "epsilon": 4.0, "bounds": [0, 1], "bins": 2}})
    table, truth = pa.table({"weight": np.full(200, 0.5)}), people.Truth(1, {"weight": 0.5})
    found = fd.estimate_table(fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(1)), plan)
    assert {part.kind for part in found} == {"distribution", "quartiles", "mean"}
    (line,) = _compare(found, truth, truth)
    assert (line["of"], line["truth"]) == ("mean", 0.5)


class TestErrorsToExpect:
    """``plan check``: 95 % of errors within."""

    def said(self, plan):
        (line, *_) = explain(plan)
        return float(line.error.removeprefix("±").split()[0].replace(",", "")), line.error

    @pytest.mark.parametrize(
        "name", [name for name, spec in MECHANISMS.items() if spec.takes in {"categories", "truths"}]
    )
    def test_shares__of_any_size_are_within(self, name):
        """A frequent value, a rare one, and one that nobody has."""
        plan = fd.Plan(columns={"x": entry_of(name)})
        mechanism, said = plan.columns["x"].mechanism, self.said(plan)[0] / 100
        values = np.array([True] * 9_000 + [False] * 1_000) if MECHANISMS[name].takes == "truths" else None
        if values is None:
            labels = list(plan.columns["x"].mechanism.domain.labels or range(mechanism.domain.size))
            values = np.array([labels[0]] * 9_000 + [labels[1]] * 1_000)
        rng, hits = fd.Rng.unsafe_seed(3), 0
        true = np.zeros(2 if MECHANISMS[name].takes == "truths" else mechanism.domain.size)
        true[:2] = (0.1, 0.9) if MECHANISMS[name].takes == "truths" else (0.9, 0.1)
        for _ in range(40):
            found = np.atleast_1d(mechanism.estimate(mechanism.randomize(values, rng=rng)).frequencies)
            hits += np.abs(found - true[-found.size :]) <= said
        assert np.min(hits) >= least(40)

    def test_error_of_a_rare_share__is_too_small_for_a_frequent_one(self):
        """The mutant, stated once: at epsilon 3 the errors of a frequent value are 1.4 times those of a rare one."""
        mechanism, rng = fd.KRR(epsilon=3.0, domain=20), fd.Rng.unsafe_seed(1)
        rare, worst = 1.96 * np.sqrt(mechanism.variance(RECORDS)), worst_variance(mechanism, RECORDS)
        values = np.zeros(RECORDS, np.uint8)
        errors = [abs(mechanism.estimate(mechanism.randomize(values, rng=rng)).frequencies[0] - 1) for _ in range(60)]
        assert np.sum(np.array(errors) <= rare) < least(60)
        assert np.sum(np.array(errors) <= float(share_error(worst)[1:-2]) / 100) >= least(60)

    @pytest.mark.parametrize(
        "name", [name for name, spec in MECHANISMS.items() if spec.takes in {"numbers", "bounded"}]
    )
    def test_numbers_and_means__are_within(self, name):
        plan = fd.Plan(columns={"x": entry_of(name)})
        mechanism, (said, text), rng = plan.columns["x"].mechanism, self.said(plan), fd.Rng.unsafe_seed(3)
        low, high = mechanism.bounds
        if "mean" in text:
            for value in (low, (low + high) / 2):
                found = [
                    mechanism.estimate(mechanism.randomize(np.full(RECORDS, value), rng=rng)).mean for _ in range(60)
                ]
                assert np.sum(np.abs(np.array(found) - value) <= said) >= least(60)
            return
        middle = int((low + high) / 2) if name in {"geometric", "discrete_gaussian"} else (low + high) / 2
        reports = np.asarray(mechanism.randomize(np.full(20_000, middle), rng=rng), float)
        assert np.sum(np.abs(reports - middle) <= 1.0002 * said) >= least(20_000)

    @pytest.mark.parametrize("name", [name for name, spec in MECHANISMS.items() if spec.takes == "codes"])
    def test_codes__are_within(self, name):
        plan = fd.Plan(columns={"x": entry_of(name)})
        mechanism, said = plan.columns["x"].mechanism, self.said(plan)[0]
        reports = mechanism.randomize(np.full(4_000, mechanism.middle), rng=fd.Rng.unsafe_seed(3))
        lengths = mechanism.distances_from(mechanism.middle)[np.asarray(reports)]
        assert np.sum(lengths <= 1.0002 * said) >= least(4_000)

    @pytest.mark.parametrize("name", JOINT)
    def test_groups__are_within(self, name):
        plan, hits = fd.Plan(groups=[JOINT[name]]), 0
        said, text = self.said(plan)
        table = pa.table({"a": ["x", "y"] * 5_000, "b": ["u"] * 9_000 + ["v", "w"] * 500})
        true = {"x": 0.5, "y": 0.5, "u": 0.9, "v": 0.05, "w": 0.05}
        joint = {("x", "u"): 0.45, ("y", "u"): 0.45, ("x", "v"): 0.05, ("y", "w"): 0.05}
        for seed in range(40):
            private = fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(seed))
            errors = []
            for part in fd.estimate_table(private, plan):
                for line in part.lines:
                    share = joint.get(line.value, 0.0) if isinstance(line.value, tuple) else true[line.value]
                    errors.append(abs(line.estimate - share))
            hits += np.array(errors) <= said / 100
        assert np.min(hits) >= least(40), text
