"""A verdict is given on the same machine only, and beyond the noise only."""

from __future__ import annotations

import json

import pytest

from benchmarks.measuring.machine import facts, signature
from benchmarks.measuring.verdict import against_stored, compare, drift_of, own_times, regressed, stored
from tests.benchmarks.runs import MACHINE, job, noise, run


@pytest.mark.parametrize(
    ("seconds", "expected"), [(1.0, "same"), (1.04, "same"), (0.97, "same"), (1.2, "slower"), (0.8, "faster")]
)
def test_verdict__needs_more_than_the_noise(seconds, expected):
    (change,) = compare(run(job("laplace", seconds)), run(job("laplace", 1.0)))
    assert change.verdict == expected
    assert regressed([change]) == (expected == "slower")
    assert change.low < change.value < change.high


@pytest.mark.parametrize("noisy", ["now", "then"])
def test_verdict__a_drifting_run_on_either_side_widens_it(noisy):
    now, then = run(job("laplace", 1.2)), run(job("laplace", 1.0))
    {"now": now, "then": then}[noisy]["noise"] = noise(drift=0.3)
    assert compare(now, then)[0].verdict == "same"


def test_verdict__what_the_machine_itself_lost_is_not_held_against_a_job():
    """All is slower by half, the reference jobs too."""
    now, then = run(job("laplace", 1.5)), run(job("laplace", 1.0))
    for kind in ("compute", "memory"):
        now["noise"]["reference"][kind]["cpu"] = [1.5 * value for value in now["noise"]["reference"][kind]["cpu"]]
    assert compare(now, then)[0].verdict == "same"
    assert compare(run(job("laplace", 3.0), noise=now["noise"]), then)[0].verdict == "slower"


def test_verdict__compares_equal_inputs_only():
    assert compare(run(job("laplace", 1.0, size=100)), run(job("laplace", 1.0, size=1000))) == []
    full = job("laplace", 1.0, size=1000)
    full["quick"] = {"size": 100, "cpu": [0.1] * 7, "wall": [0.1] * 7}
    (change,) = compare(run(job("laplace", 0.2, size=100)), run(full))
    assert (change.size, change.verdict) == (100, "slower")
    assert set(own_times(run(full))) == {("laplace", 1000), ("laplace", 100)}


def test_against_stored__takes_the_newest_of_this_machine_that_has_the_job():
    other = MACHINE | {"features": ["avx2"]}
    runs = [
        run(job("laplace", 9.0), commit="elsewhere", machine=other),
        run(job("laplace", 9.0), commit="refused", refused=["too noisy"]),
        run(job("krr", 2.0), commit="newer"),
        run(job("laplace", 1.0), job("krr", 1.0), commit="older"),
    ]
    found = against_stored(run(job("laplace", 1.0), job("krr", 1.0), job("new", 1.0)), runs)
    assert [(change.job, change.since, change.verdict) for change in found] == [
        ("laplace", "older", "same"),
        ("krr", "newer", "faster"),
    ]


def test_first_format__can_still_be_compared_with():
    old = run(job("laplace", 1.0), format=1, noise={"reference": "memcpy", "spread": 0.1})
    assert drift_of(old) == 0.1
    assert drift_of(run(noise=None, format=1)) == 0.05
    assert compare(run(job("laplace", 1.08)), old)[0].verdict == "same"
    assert compare(run(job("laplace", 1.5)), old)[0].verdict == "slower"


def test_stored__is_read_newest_first(tmp_path):
    for name in ("20260101T000000Z-a", "20260301T000000Z-c", "20260201T000000Z-b", "accuracy"):
        (tmp_path / f"{name}.json").write_text(json.dumps({"commit": name[-1]}))
    assert [found["commit"] for found in stored(tmp_path)] == ["c", "b", "a"]


def test_signature__is_the_cpu_and_what_is_compiled_for_it():
    same = signature(MACHINE)
    assert same == signature(MACHINE | {"os": "Linux 7", "libc": "another"})
    assert len(same) == 12
    others = [
        MACHINE | change
        for change in (
            {"cpu": "B"},
            {"cores": 4},
            {"target": "znver3"},
            {"features": ["avx2"]},
            {"architecture": "arm"},
        )
    ]
    assert len({same, *(signature(other) for other in others)}) == 6
    assert signature(facts()) == signature(facts())
