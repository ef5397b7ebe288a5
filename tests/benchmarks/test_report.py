"""What is generated is the same for the same numbers, and what is committed is what the numbers give."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from benchmarks import report
from benchmarks.measuring import scaling
from benchmarks.pages import plots, sections, svg, tables
from benchmarks.pages.svg import Line, line_chart
from benchmarks.pages.tables import BEGIN, END, readme_block, share_of_limit
from tests.benchmarks.runs import MACHINE, job, run

RUN = run(job("laplace-float64", 1e-5, numpy=4e-5), job("keystream", 2e-5, numpy=1e-5))


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A checkout of two stored runs and a README."""
    folder = tmp_path / "bench_results"
    folder.mkdir()
    older = run(job("laplace-float64", 2e-5, numpy=4e-5), commit="0000000")
    part = run(job("laplace-float64", 9e-5), complete=False, topic="noise", commit="fffffff")
    for name, found in (("20260101T0-0000000", older), ("20260102T0-abc1234", RUN), ("20260103T0-fffffff", part)):
        (folder / f"{name}.json").write_text(json.dumps(found))
    (tmp_path / "README.md").write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n")
    for name, path in (("ROOT", tmp_path), ("RESULTS", folder), ("LATEST", folder / "latest.md")):
        monkeypatch.setattr(report, name, path)
    monkeypatch.setattr(report, "README", tmp_path / "README.md")
    return folder


def call(*arguments):
    return CliRunner().invoke(report.main, list(arguments))


def test_report__writes_everything_and_then_has_nothing_to_do(results):
    assert call("--check").exit_code == 1
    assert call().exit_code == 0
    made = {path.name for path in results.iterdir() if path.suffix != ".json"}
    assert made == {"latest.md", "ratios.svg", "throughput.svg", "ibu.svg", "history.svg"}
    before = {path: path.read_bytes() for path in results.iterdir()}
    assert call("--check").exit_code == 0
    assert call().output == ""
    assert before == {path: path.read_bytes() for path in results.iterdir()}
    assert "abc1234" in (results / "latest.md").read_text()
    assert (results.parent / "README.md").read_text().startswith(f"before\n{BEGIN}\n| job")


@pytest.mark.parametrize("name", ["latest.md", "ratios.svg", "throughput.svg", "ibu.svg", "history.svg"])
def test_check__sees_one_changed_byte(results, name):
    call()
    path = results / name
    path.write_text(path.read_text().replace("1", "2", 1))
    done = call("--check")
    assert done.exit_code == 1
    assert f"{name} is not what the stored runs give" in done.output


def test_check__sees_a_changed_number(results):
    """The numbers of a stored run are not edited afterwards, either."""
    call()
    path = results / "20260102T0-abc1234.json"
    path.write_text(path.read_text().replace("4e-05", "5e-05"))
    assert call("--check").exit_code == 1


def test_report__without_a_complete_run_says_how_to_make_one(results):
    for path in results.glob("2026010[12]*"):
        path.unlink()
    done = call()
    assert done.exit_code == 1
    assert "python -m benchmarks.run" in done.output


def test_pictures__do_not_depend_on_the_process():
    """Neither the order of sets nor the time nor the language of the process shows in them."""
    code = (
        "import hashlib; from tests.benchmarks.test_report import RUN; from benchmarks.pages import plots, sections;"
        "text = ''.join(plots.all_plots(RUN, [RUN, RUN]).values()) + sections.latest(RUN, ['ratios']);"
        "print(hashlib.sha256(text.encode()).hexdigest())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, cwd=report.ROOT,
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("0", "77")
    }  # fmt: skip
    assert len(seen) == 1


def test_pictures__are_wellformed_and_show_what_they_should():
    made = plots.all_plots(RUN, [RUN, RUN])
    for text in made.values():
        ET.fromstring(text)
    assert "4.00 numpy" in made["ratios"]
    assert "0.500 numpy" in made["ratios"]
    assert "laplace-float64" in made["throughput"]
    assert "dense, numpy" in made["ibu"]


def test_pictures__are_left_out_where_the_run_has_nothing_for_them():
    bare = run(job("laplace-float64", 1.0), scaling=None)
    assert plots.all_plots(bare, [bare]) == {}
    moved = run(job("laplace-float64", 1.0), machine=MACHINE | {"cpu": "another"})
    assert "history" not in plots.all_plots(moved, [RUN, moved])


def test_names__cannot_break_out_of_a_picture():
    drawn = line_chart("<script>", "x", "y", [Line("a & 'b'", [(1.0, 1.0), (10.0, 5.0)])])
    ET.fromstring(drawn)
    assert "<script>" not in drawn


def test_share_of_limit__is_the_slowest_thing_that_must_be_done():
    found = job("laplace-float64", 1e-3, size=2_000_000)
    rates = {"read": 2e10, "copy": 1e10, "keystream": 8e9}
    share, name = share_of_limit(found, rates)
    assert name == "copying"
    assert share == pytest.approx(16e6 / 1e10 / 1e-3, rel=0.02)
    found["random"] = 64.0
    assert share_of_limit(found, rates)[1] == "keystream"
    assert share_of_limit(found, {}) is None


def test_latest__tells_limits_noise_and_files_by_both_clocks():
    files = job("sanitize-parquet", 2.0, topic="files", pyarrow=1.0)
    files["limit"] = "pyarrow"
    text = sections.latest(run(files), [])
    for expected in ("## What the machine can do", "AES-256-CTR", "keystream: aes-256-ctr.", "has quartiles apart by",
                     "50.0 % of pyarrow", "## From disk to disk", "fastdp × it, wall", "## Scaling"):  # fmt: skip
        assert expected in text


def test_latest__lists_the_jobs_furthest_from_their_limits_first():
    jobs = [job(f"job{i}", 1e-6 * (i + 1)) for i in range(12)]
    text = sections.latest(run(*jobs), []).split("### Furthest")[1].split("## Speed")[0]
    named = [line.split(" ")[1] for line in text.splitlines() if line.startswith("| job") and "limit" not in line]
    assert named == [f"job{i}" for i in range(11, 1, -1)]


def test_readme_block__stays_between_its_markers():
    block = readme_block(RUN)
    assert block.startswith(BEGIN)
    assert block.endswith(END)
    assert report.readme_text("no markers", RUN) == "no markers"


def test_committed_report__is_what_the_committed_runs_give():
    if not report.RESULTS.exists():
        pytest.skip("no stored runs here")
    for path, text in report.wanted(report.runs()).items():
        assert path.read_text() == text, f"{path.name}: run python -m benchmarks.report"


@pytest.mark.parametrize("module", [tables, svg, scaling])
def test_examples__are_true(module):
    """Those of the package are run where it is; the suite lies beside it."""
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed
