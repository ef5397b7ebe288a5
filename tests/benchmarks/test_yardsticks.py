"""A run on a noisy machine is not stored, and says why."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import click
import pytest

from benchmarks import run as running
from benchmarks.measuring import yardsticks
from benchmarks.measuring.yardsticks import Pair, Watch, objections, refusal, summary
from benchmarks.run import NoisyError, store
from tests.benchmarks.runs import job, noise, run


@pytest.mark.parametrize(
    ("levels", "reason"),
    [
        ({"compute": 0.2}, "compute reference against itself spreads"),
        ({"memory": 0.6}, "memory reference against itself spreads"),
        ({"drift": 0.3}, "compute reference over the run drifts"),
        ({"waiting": 0.3}, "waited 30.0 % longer"),
        ({"gain": 1.1}, "two threads of pure work gain 1.10"),
    ],
)
def test_objections__name_what_is_too_noisy(levels, reason):
    (said,) = objections(noise(**levels))
    assert reason in said
    assert reason in refusal([said])
    assert "again" in refusal([said])


def test_objections__a_quiet_machine_has_none():
    assert objections(noise()) == []


def test_drift__spoils_no_ratio():
    """A machine that becomes slower under both turns of a round leaves their ratio alone."""
    found = noise(compute=0.0, memory=0.0, drift=0.1)
    assert found["drift"]["compute"] == pytest.approx(0.125)
    assert found["spread"] == {"compute": 0.0, "memory": 0.0}
    assert objections(found) == []


@pytest.fixture
def results(tmp_path, monkeypatch):
    folder = tmp_path / "bench_results"
    monkeypatch.setattr(running, "RESULTS", folder)
    return folder


def test_store__refuses_a_noisy_run(results):
    noisy = run(job("laplace", 1.0), noise=noise(gain=1.0))
    with pytest.raises(NoisyError, match="too noisy.*second core"):
        store(noisy)
    assert not results.exists()


def test_store__keeps_a_quiet_one(results):
    path = store(run(job("laplace", 1.0)))
    assert path.parent == results
    assert path.name == "20260101T000000Z-abc1234.json"
    assert json.loads(path.read_text())["refused"] == []


def test_store__elsewhere_stamps_the_reasons(results, tmp_path):
    noisy = run(job("laplace", 1.0), noise=noise(gain=1.0))
    path = store(noisy, tmp_path / "look.json")
    assert "second core" in json.loads(path.read_text())["refused"][0]
    with pytest.raises(click.UsageError, match="outside bench_results"):
        store(noisy, results / "look.json")


def test_watch__sees_every_round_and_sums_up(monkeypatch):
    """On little work: how long it takes does not matter here."""
    monkeypatch.setattr(yardsticks, "PRODUCTS", 1)
    monkeypatch.setitem(yardsticks.WORK, "memory", lambda: yardsticks.memory(1000))
    watch = Watch()
    watch.look(3)
    watch.look(2)
    found = watch.facts()
    assert {len(times["cpu"]) for times in found["reference"].values()} == {5}
    assert set(found["spread"]) == {"compute", "memory"}
    assert found == found | summary(found)
    json.dumps(found)


def meet(monkeypatch, patience: float) -> None:
    """Make each piece of work end when two of them are under way."""
    barrier = threading.Barrier(2)
    monkeypatch.setitem(yardsticks.WORK, "compute", lambda: lambda: barrier.wait(patience))


def test_pair__does_both_pieces_at_once(monkeypatch):
    meet(monkeypatch, 600)
    Pair("compute")()


def test_pair__one_after_the_other_would_be_seen(monkeypatch):
    """The mutant: a pool that has no thread to spare never has two pieces under way."""

    class Serial(ThreadPoolExecutor):
        def submit(self, task):
            done = super().submit(task)
            done.exception()
            return done

    monkeypatch.setattr(yardsticks, "ThreadPoolExecutor", Serial)
    meet(monkeypatch, 0.1)
    with pytest.raises(threading.BrokenBarrierError):
        Pair("compute")()
