"""``fastdp estimate``, as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import fastdp as fd
from fastdp.cli import main
from fastdp.cli.terminal.charts import choose_lines
from fastdp.cli.terminal.screen import draw_bar, has_colour
from fastdp.plans.plan import Plan
from fastdp.tables.estimating.results import ColumnEstimate, Line
from fastdp.tables.sanitize import sanitize
from tests.patience import PATIENCE
from tests.tables.people import PLAN, people


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    sanitize(people(), Plan.loads(PLAN), tmp_path / "out.parquet", rng=fd.Rng.unsafe_seed(1))
    return tmp_path


def call(*arguments: str, columns: str = "80", **more):
    return CliRunner().invoke(main, ["estimate", *arguments], env={"COLUMNS": columns}, **more)


def test_table__is_on_stdout_and_the_rest_on_stderr(folder):
    done = call("out.parquet", "-p", "plan.toml")
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert lines[0] == "disease: shares from 5,000 reports (krr)"
    assert lines[1].split() == ["value", "estimate", "95", "%", "interval"]
    assert [line.split()[0] for line in lines[2:5]] == ["cold", "flu", "none"]
    assert "income: mean from 5,000 reports (laplace)" in lines
    assert "name: it is dropped" in done.stderr
    assert "region: it is kept as it is; read it directly" in done.stderr
    assert "\x1b" not in done.stdout


def test_quiet__is_the_data_alone_and_verbose_says_how(folder):
    quiet, verbose = call("out.parquet", "-q"), call("out.parquet", "-v")
    assert quiet.stdout == verbose.stdout == call("out.parquet").stdout
    assert quiet.stderr == ""
    assert "disease: shares by " in verbose.stderr
    assert "income: mean by mean of reports\n" in verbose.stderr
    assert call("out.parquet", "-q", "-v").exit_code == 2


def test_json__is_everything(folder):
    done = call("out.parquet", "-p", "plan.toml", "-c", "disease", "--json", "--confidence", "0.5")
    (found,) = json.loads(done.stdout)["estimates"]
    assert [share["value"] for share in found["estimates"]] == ["cold", "flu", "none"]
    wide = json.loads(call("out.parquet", "-c", "disease", "--json").stdout)["estimates"][0]
    for near, far in zip(found["estimates"], wide["estimates"], strict=True):
        assert near["estimate"] == far["estimate"]
        assert far["low"] < near["low"] < near["estimate"] < near["high"] < far["high"]


def test_bins__add_distributions(folder):
    done = call("out.parquet", "-c", "income", "--bins", "4", "--json", "-q")
    mean, distribution, quartiles = json.loads(done.stdout)["estimates"]
    assert [mean["kind"], quartiles["kind"]] == ["mean", "quartiles"]
    assert [line["value"] for line in quartiles["estimates"]] == ["lower quartile", "median", "upper quartile"]
    assert [line["value"] for line in distribution["estimates"]][:2] == [[0, 50_000], [50_000, 100_000]]


@pytest.mark.parametrize("name", ["e.parquet", "e.csv", "e.arrow"])
def test_output__holds_the_same(folder, name):
    done = call("out.parquet", "--bins", "4", "-o", name)
    assert (done.exit_code, done.stdout) == (0, "")
    assert f"written to {name}" in done.stderr
    table = {
        "e.parquet": pq.read_table,
        "e.csv": pyarrow.csv.read_csv,
        "e.arrow": lambda path: pa.ipc.open_file(path).read_all(),
    }[name](name)
    found = json.loads(call("out.parquet", "--bins", "4", "--json").stdout)["estimates"]
    lines = [line for column in found for line in column["estimates"]]
    assert np.allclose(table["estimate"].to_pylist(), [line["estimate"] for line in lines])
    assert table["column"].to_pylist()[0] == "disease"
    again = call("out.parquet", "-o", name)
    assert again.exit_code == 5
    assert "exists" in again.stderr
    assert call("out.parquet", "-o", name, "--force").exit_code == 0
    assert not list(folder.glob(".*"))


class TestCharts:
    """Bars that fit the window, pale to the end of the interval, coloured on a terminal only."""

    @pytest.mark.parametrize("columns", ["60", "80", "200"])
    def test_bars__fit_the_window(self, folder, columns):
        done = call("out.parquet", "-c", "disease", "-c", "age", "--bins", "6", "--chart", columns=columns)
        bars = [line for line in done.stdout.splitlines() if "█" in line]
        assert len(bars) == 9
        assert max(map(len, done.stdout.splitlines())) <= int(columns)
        assert "░" in done.stdout

    def test_bars__are_proportional(self):
        assert draw_bar(1.0, 1.0, 10, blocks=True) == "█" * 10
        assert draw_bar(0.25, 0.25, 10, blocks=True) == "██▌"
        assert draw_bar(-0.5, 0.1, 10, blocks=True) == "░"
        assert draw_bar(2.0, 3.0, 10, blocks=False) == "#" * 10

    def test_bars__are_plain_where_blocks_cannot_be_written(self, folder):
        done = CliRunner(charset="ascii").invoke(main, ["estimate", "out.parquet", "-c", "disease", "--chart"])
        assert done.exit_code == 0
        assert "##" in done.stdout

    def test_colour__is_for_terminals_without_no_color(self, monkeypatch):
        class Terminal:
            def isatty(self):
                return True

        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert has_colour(Terminal())
        monkeypatch.setenv("NO_COLOR", "1")
        assert not has_colour(Terminal())
        monkeypatch.delenv("NO_COLOR")
        monkeypatch.setenv("TERM", "dumb")
        assert not has_colour(Terminal())

    def test_many_values__show_the_largest(self, folder):
        plan = Plan(columns={"code": {"mechanism": "krr", "epsilon": 6.0, "domain": 100}})
        values = np.minimum(np.random.default_rng(2).geometric(0.1, 20_000) - 1, 99)
        sanitize(pa.table({"code": values}), plan, "codes.parquet", rng=fd.Rng.unsafe_seed(3))
        done = call("codes.parquet", "--top", "5", "--chart")
        rows = [line.split()[0] for line in done.stdout.splitlines()[2:7]]
        assert rows == ["0", "1", "2", "3", "4"]
        assert "and 95 more values" in done.stdout
        assert len(json.loads(call("codes.parquet", "--json").stdout)["estimates"][0]["estimates"]) == 100

    def test_ranges__are_all_shown_in_their_order(self):
        lines = tuple(Line((i, i + 1), 0.1 * (i % 2), 0.01, 0.0, 0.2) for i in range(30))
        estimate = ColumnEstimate("x", "laplace", "distribution", 9, 0.95, "", lines)
        assert choose_lines(estimate, 5) == (list(lines), 0)

    def test_labels__cannot_write_to_the_terminal(self, folder):
        plan = Plan(columns={"x": {"mechanism": "krr", "epsilon": 6.0, "domain": ["a", "\x1b[31mred"]}})
        sanitize(pa.table({"x": ["a"] * 500}), plan, "x.parquet")
        assert "\x1b" not in call("x.parquet", "--chart").stdout


class TestErrors:
    """One line each, with the exit codes of every command."""

    def check(self, code, *arguments, **more):
        done = call(*arguments, **more)
        assert done.exit_code == code
        assert done.stdout == ""
        assert done.stderr.count("\n") == 1
        assert done.stderr.startswith("fastdp: ")
        return done.stderr

    def test_columns(self, folder):
        assert "did you mean 'disease'" in self.check(2, "out.parquet", "-c", "diseas")
        assert "read it directly" in self.check(2, "out.parquet", "-c", "region")

    def test_contradicting_plan(self, folder):
        (folder / "other.toml").write_text(PLAN.replace("epsilon = 1.5", "epsilon = 1.6"))
        assert "receipt" in self.check(2, "out.parquet", "-p", "other.toml")

    def test_no_plan_at_all(self, folder):
        pq.write_table(pa.table({"x": [1]}), "bare.parquet")
        assert "-p PLAN" in self.check(2, "bare.parquet")

    def test_bad_input(self, folder):
        content = (folder / "out.parquet").read_bytes()
        (folder / "half.parquet").write_bytes(content[: len(content) // 2])
        self.check(3, "half.parquet", "-p", "plan.toml")

    @pytest.mark.parametrize(
        "arguments",
        [(), ("none.parquet",), ("out.parquet", "--bins", "1"), ("out.parquet", "--confidence", "1"),
         ("out.parquet", "-o", "e.txt"), ("out.parquet", "--json", "--chart"), ("out.parquet", "--nonsense")],
    )  # fmt: skip
    def test_usage(self, folder, arguments):
        self.check(2, *arguments)

    def test_missing_folder(self, folder):
        self.check(5, "out.parquet", "-o", "none/e.csv")


def test_standard_input__is_read(folder):
    sanitize(people(), Plan.loads(PLAN), folder / "out.csv", rng=fd.Rng.unsafe_seed(1))
    with (folder / "out.csv").open("rb") as file:
        done = subprocess.run(
            [sys.executable, "-c", "from fastdp.cli import main; main()", "estimate", "-", "-p", "plan.toml", "-q"],
            stdin=file, capture_output=True, text=True, timeout=PATIENCE, encoding="utf-8",
        )  # fmt: skip
    assert done.stdout == call("out.csv", "-q").stdout


def test_dry_run__reads_no_rows(folder, monkeypatch):
    monkeypatch.setattr("fastdp.tables.estimate._count", lambda *_: pytest.fail("rows were read"))
    done = call("out.parquet", "-n", "-o", "e.csv")
    assert done.exit_code == 0
    assert "disease: estimated from krr reports" in done.stdout.splitlines()
    assert "region: it is kept as it is; read it directly" in done.stdout.splitlines()
    assert not (folder / "e.csv").exists()
    said = json.loads(call("out.parquet", "--dry-run", "--json", "-c", "age").stdout)
    assert said == {"rows": 5000, "estimated": {"age": "geometric"}, "skipped": {}}
    assert call("out.parquet", "-n", "-c", "aje").exit_code == 2


def test_output__is_never_the_input(folder):
    before = (folder / "out.parquet").read_bytes()
    done = call("out.parquet", "-o", "./out.parquet", "--force")
    assert done.exit_code == 5
    assert "the output is the input" in done.stderr
    assert (folder / "out.parquet").read_bytes() == before
