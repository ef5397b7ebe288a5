"""Do the intervals of tables cover, and is what reports do not tell called so?"""

from __future__ import annotations

import json
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.stats import binom

import fastdp as fd
from fastdp.channels import Channel
from fastdp.cli import main
from fastdp.cli.terminal.charts import UNDETERMINED
from fastdp.estimators import estimate
from fastdp.tables.estimating.bounded_noise import BoundedNoise
from fastdp.tables.estimating.distributions import QUARTILES, Cells, cells_of_steps
from fastdp.tables.estimating.results import Range

SHAPES = {
    "uniform": lambda source, n: source.integers(0, 111, n),
    "Poisson": lambda source, n: np.minimum(source.poisson(3, n), 20),
    "normal": lambda source, n: np.clip(source.normal(1000, 5000, n), -20_000, 19_999),
}
CASES = {
    "ages": ("uniform", {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 110]}),
    "children": ("Poisson", {"mechanism": "geometric", "epsilon": 1.0, "bounds": [0, 20]}),
    "balances": ("normal", {"mechanism": "laplace", "epsilon": 1.0, "bounds": [-20_000, 20_000]}),
    "waves": ("normal", {"mechanism": "square_wave", "epsilon": 1.0, "bounds": [-20_000, 20_000], "bins": 8}),
    "pieces": ("normal", {"mechanism": "piecewise", "epsilon": 1.0, "bounds": [-20_000, 20_000]}),
}


def truth_of(line, kind: str, values: np.ndarray, *, whole: bool) -> float:
    """What a line estimates, of the values themselves."""
    if kind == "mean":
        return float(values.mean())
    if kind == "quartiles":
        return float(np.quantile(values, QUARTILES[line.value], method="inverted_cdf"))
    inside = (values >= line.value.start) & ((values <= line.value.end) if whole else (values < line.value.end))
    return float(inside.mean())


def hits_of(name: str, n: int, repetitions: int) -> dict[str, list[bool]]:
    """Whether each interval holds, by kind of estimate.

    The truth is that of a hundred times as many people, from whom those who report are drawn.
    """
    shape, entry = CASES[name]
    plan, source = fd.Plan(columns={"x": entry}), np.random.default_rng([n, len(name)])
    everybody = SHAPES[shape](source, 400_000)
    hits: dict[str, list[bool]] = {"mean": [], "distribution": [], "quartiles": []}
    for repetition in range(repetitions):
        table = pa.table({"x": source.choice(everybody, n)})
        found = fd.estimate_table(fd.sanitize(table, plan, rng=fd.Rng.unsafe_seed(repetition)), plan, bins=8)
        for part in found:
            for line in part.lines:
                true = truth_of(line, part.kind, everybody, whole=entry["mechanism"] == "geometric")
                hits[part.kind].append(line.low - 1e-9 <= true <= line.high + 1e-9)
    return hits


def test_every_interval__covers():
    """A cheap case here; the others, with more reports, are slow."""
    hits = hits_of("children", 2_000, 30)
    assert sum(hits["mean"]) >= binom.ppf(1e-4, 30, 0.95)
    for kind in ("distribution", "quartiles"):
        assert np.mean(hits[kind]) >= 0.92, kind


@pytest.mark.slow
@pytest.mark.parametrize("n", [500, 20_000])
@pytest.mark.parametrize("name", CASES)
def test_every_interval__covers_in_every_case(name, n):
    hits = hits_of(name, n, 100)
    assert sum(hits["mean"]) >= binom.ppf(1e-4, 100, 0.95)
    for kind in ("distribution", "quartiles"):
        assert np.mean(hits[kind]) >= 0.935, kind


def test_bootstrap_of_few_wide_bins__does_not_cover():
    """What was printed once: eight evenly filled bins, and percentiles of the estimate's own bootstrap."""
    mechanism = fd.Geometric(epsilon=1.0, sensitivity=20, bounds=(0, 20))
    steps, source = BoundedNoise.of(mechanism), np.random.default_rng(3)
    cells = cells_of_steps(steps, np.zeros(steps.edges.size - 1), 8)
    everybody = SHAPES["Poisson"](source, 400_000)
    shares = (cells.range_of == np.arange(8)[:, None]).astype(float)
    wide = Channel.from_matrix(shares / shares.sum(axis=1, keepdims=True) @ cells.channel.dense())
    true = shares @ (np.bincount(everybody, minlength=21) / everybody.size)
    hits = []
    for _ in range(12):
        chances = cells.channel.forward(np.bincount(source.choice(everybody, 20_000), minlength=21) / 20_000)
        counts = source.multinomial(20_000, chances / chances.sum())
        low, high = np.quantile(estimate(wide, counts)._get_spread().replicates, [0.025, 0.975], axis=0)
        hits.append((low <= true) & (true <= high))
    assert np.mean(hits) < 0.8


AGES = """
[columns.age]
mechanism = "geometric"
epsilon = 1.0
bounds = [0, 110]
"""


@cache
def private_ages():
    """Too few reports for eight ranges of ages, and enough for their mean."""
    ages = SHAPES["uniform"](np.random.default_rng(1), 2_000)
    return fd.sanitize(pa.table({"age": ages}), fd.Plan.loads(AGES), rng=fd.Rng.unsafe_seed(1))


@cache
def found_ages():
    return fd.estimate_table(private_ages(), fd.Plan.loads(AGES), bins=8)


class TestDetermined:
    def test_lines__are_undetermined_beyond_half_of_what_is_possible(self):
        found = found_ages()
        kinds = {part.kind: part.lines for part in found}
        for line in kinds["distribution"]:
            assert line.determined == (line.high - line.low <= 0.5)
        for line in kinds["quartiles"]:
            assert line.determined == (line.high - line.low <= 55)
        assert not all(line.determined for line in kinds["distribution"])
        assert kinds["mean"][0].determined
        assert kinds["mean"][0].high - kinds["mean"][0].low < 20

    def test_json_and_arrow__say_so(self):
        found = found_ages()
        lines = [line for part in found for line in part.lines]
        assert [line["determined"] for part in found.to_dict()["estimates"] for line in part["estimates"]] == [
            line.determined for line in lines
        ]
        assert found.to_arrow()["determined"].to_pylist() == [line.determined for line in lines]
        assert json.loads(json.dumps(found.to_dict()))

    def test_command__prints_it_instead_of_numbers(self, tmp_path):
        pq.write_table(private_ages(), tmp_path / "private.parquet")
        (tmp_path / "plan.toml").write_text(AGES)
        given = [str(tmp_path / "private.parquet"), "-p", str(tmp_path / "plan.toml"), "--bins", "8", "--chart"]
        shown = CliRunner().invoke(main, ["estimate", *given], env={"COLUMNS": "100"}).stdout.splitlines()
        for part in found_ages():
            for line in part.lines:
                (row,) = (text for text in shown if text.startswith(f"  {line.name} "))
                assert (UNDETERMINED in row) == (not line.determined)
                assert line.determined or row.removeprefix(f"  {line.name}").strip() == UNDETERMINED

    def test_enough_reports__determine(self):
        """The mutant that calls everything undetermined is caught here."""
        plan = fd.Plan(columns={"x": {"mechanism": "geometric", "epsilon": 8.0, "bounds": [0, 20]}})
        values = SHAPES["Poisson"](np.random.default_rng(2), 20_000)
        found = fd.estimate_table(fd.sanitize(pa.table({"x": values}), plan, rng=fd.Rng.unsafe_seed(1)), plan, bins=4)
        assert all(line.determined for part in found for line in part.lines)


def test_half_of_what_is_possible__is_the_limit():
    """Two values: twenty reports of each tell the shares to within half, one of each does not."""
    for n, expected in ((40, True), (2, False)):
        channel = Channel.from_matrix(np.array([[0.9, 0.1], [0.1, 0.9]]))
        cells = Cells(channel, np.array([n / 2, n / 2]), np.array([0.0, 1.0]), np.array([1.0, 2.0]),
                      [Range(0.0, 1.0), Range(1.0, 2.0)], np.array([0, 1]))  # fmt: skip
        shares, _ = cells.conclude("x", "test", 0.95)
        assert [line.determined for line in shares.lines] == [expected] * 2
