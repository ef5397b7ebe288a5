"""``fastdp bench``: a table, a verdict, an exit code."""

from __future__ import annotations

import json
import shutil

import pytest
from click.testing import CliRunner

from benchmarks import bench as benching
from benchmarks.jobs.registry import TOPICS
from benchmarks.measuring import limits, machine, yardsticks
from fastdp.cli import bench as command
from fastdp.cli import main
from tests.benchmarks.runs import MACHINE, job, noise, run


def call(*arguments):
    return CliRunner().invoke(main, ["bench", *arguments], env={"COLUMNS": "160"})


@pytest.fixture
def measured(monkeypatch, tmp_path):
    """The run that will be measured, and the folder of stored ones."""
    found = {"now": run(job("laplace-float64", 1e-5, numpy=4e-5), machine=machine.facts())}
    monkeypatch.setattr(benching, "measure", lambda *_, **__: found["now"])
    monkeypatch.setattr(benching, "RESULTS", tmp_path)

    def keep(seconds, name="20260101T0-0000000", **more):
        path = tmp_path / f"{name}.json"
        stored = run(job("laplace-float64", seconds), commit="0000000", **{"machine": machine.facts(), **more})
        path.write_text(json.dumps(stored))
        return path

    found["keep"] = keep
    return found


def test_bench__shows_speed_share_of_the_limit_and_rival(measured):
    done = call()
    assert done.exit_code == 0
    for expected in ("laplace-float64", "100 M", "4.00 (", "numpy", "% keystream", "aes-256-ctr", "Noise in a ratio"):
        assert expected in done.output
    assert "No verdict" in done.output


@pytest.mark.parametrize(("seconds", "code", "said"), [(5e-6, 1, "1 slower"), (1e-5, 0, "0 slower and 0 faster")])
def test_bench__exits_with_1_on_a_regression_beyond_the_noise(measured, seconds, code, said):
    measured["keep"](seconds)
    done = call()
    assert done.exit_code == code
    assert said in done.output
    assert ("of its speed at 0000000" in done.output) == (code == 1)


def test_bench__a_noisy_machine_is_said_to_be(measured):
    measured["now"]["noise"] = noise(gain=1.0)
    assert "The machine is busy" in call().output


def test_bench__json_has_every_number_and_the_verdict(measured):
    measured["keep"](5e-6)
    done = call("--json", "-q")
    assert done.exit_code == 1
    found = json.loads(done.stdout)
    assert found["regressed"] is True
    assert found["changes"][0]["verdict"] == "slower"
    assert found["result"]["jobs"][0]["entries"][0]["cpu"]


def test_compare__takes_the_file_in_place_of_the_newest(measured):
    measured["keep"](5e-6, "20260102T0-0000000")
    same = measured["keep"](1e-5, "elsewhere")
    assert call().exit_code == 1
    assert call("--compare", str(same)).exit_code == 0


def test_compare__refuses_another_machine_and_other_files(measured, tmp_path):
    done = call("--compare", str(measured["keep"](1e-5, machine=MACHINE)))
    assert done.exit_code == 2
    assert "another machine" in done.output
    broken = tmp_path / "broken.json"
    broken.write_text("{}")
    done = call("--compare", str(broken))
    assert done.exit_code == 3
    assert "not a run" in done.output


def test_bench__an_unknown_topic_names_the_known_ones():
    done = call("everything")
    assert done.exit_code == 2
    assert ", ".join([*TOPICS, "limits", "scaling", "calls"]) in " ".join(done.output.split())


def test_bench__outside_a_checkout_says_the_way_out(monkeypatch, tmp_path):
    monkeypatch.setattr(command.fastdp, "__file__", str(tmp_path / "lib" / "fastdp" / "__init__.py"))
    monkeypatch.chdir(tmp_path)
    done = call()
    assert done.exit_code == 5
    assert "checkout" in done.output
    assert "[bench]" in done.output


def test_find_suite__takes_the_checkout_it_is_run_in_if_the_version_is_its_own(monkeypatch, tmp_path):
    monkeypatch.setattr(command.fastdp, "__file__", str(tmp_path / "lib" / "fastdp" / "__init__.py"))
    for folder in ("benchmarks", "fastdp", "deep/er"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "benchmarks" / "bench.py").touch()
    monkeypatch.chdir(tmp_path / "deep" / "er")
    with pytest.raises(command.MissingSuiteError):
        command.find_suite()
    version = tmp_path / "fastdp" / "_version.py"
    version.write_text('__version__ = "0.0.0"\n')
    with pytest.raises(command.MissingSuiteError):
        command.find_suite()
    shutil.copy(machine.ROOT / "fastdp" / "_version.py", version)
    assert command.find_suite() == tmp_path


def test_limits_topic__is_measured_for_real(monkeypatch):
    """The whole way, on little work."""
    monkeypatch.setattr(limits, "LARGE", limits.LARGE // 100)
    monkeypatch.setattr(limits, "REPEATS", 20)
    monkeypatch.setattr(yardsticks, "PRODUCTS", 1)
    monkeypatch.setitem(yardsticks.WORK, "memory", lambda: yardsticks.memory(1000))
    done = call("limits", "--json", "-q")
    assert done.exit_code == 0
    found = json.loads(done.stdout)["result"]
    assert {row["name"] for row in found["limits"]} >= {"copy", "read", "aes-256-ctr", "chacha20"}
    assert found["noise"]["gain"] or found["machine"]["cores"] == 1


def test_dry_run__names_jobs_and_who_does_them():
    done = call("noise", "--dry-run")
    assert done.exit_code == 0
    assert "laplace-float64: fastdp, " in done.output
    assert "numpy" in done.output
    assert "krr" not in done.output
    found = json.loads(call("scaling", "-n", "--json").output)
    assert found == {"jobs": {}, "others": ["scaling"]}
    quick, full = (json.loads(call(size, "-n", "--json").output)["jobs"] for size in ("--quick", "--full"))
    assert set(quick) < set(full)
