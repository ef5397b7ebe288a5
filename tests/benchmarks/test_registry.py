"""One registry for checks and clock: nothing is timed that was not checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from benchmarks import run as running
from benchmarks.jobs.job import CheckError, size_of
from benchmarks.jobs.registry import ENTRIES, JOBS, TOPICS, Entry, entries, entry
from benchmarks.rivals.libraries import LIBRARIES, QUICK, Library
from benchmarks.rivals.ways import Way

SIZE = 20_000


def test_jobs__have_names_of_their_own_and_a_rival():
    names = [job.name for job in JOBS]
    assert len(set(names)) == len(names)
    assert set(TOPICS) == {
        "noise", "local", "keystream", "locations", "estimation", "files", "fairness", "audits", "learning",
        "anonymity", "releases",
    }  # fmt: skip
    assert set(QUICK) <= set(LIBRARIES)
    for job in JOBS:
        libraries = {found.library.name for found in entries(job=job.name)}
        assert "fastdp" in libraries
        assert libraries - {"fastdp", "memcpy"}, f"{job.name} names no rival"


def test_quick_sizes__are_never_nothing():
    assert all(found.size(quick=True) >= 1 for found in ENTRIES)


@pytest.mark.parametrize("name", ["k-small", "k-unique", "models", "lattice", "mondrian"])
@pytest.mark.parametrize("library", ["fastdp", "duckdb"])
def test_anonymity__gives_what_numpy_counts(name, library):
    for one in entries(job=name):
        if one.library.name == library:
            assert one.check(one.setup(SIZE), SIZE) == 1


@pytest.mark.parametrize("name", ["planar-laplace", "grid-laplace", "grid-geometric", "exponential-metric-200"])
@pytest.mark.parametrize("library", ["fastdp", "numpy", "scipy"])
def test_locations__follow_their_law(name, library):
    found = [one for one in entries(job=name) if one.library.name == library]
    for one in found:
        assert one.check(one.setup(SIZE), SIZE) > 1e-4


@pytest.mark.parametrize("name", ["dp-sgd-step", "banded-noise"])
@pytest.mark.parametrize("library", ["fastdp", "numpy"])
def test_learning__follows_its_law(name, library):
    found = entry(name, library)
    size = 160_000
    assert found.check(found.setup(size), size) > 1e-4
    wrong = found.setup(size)() * 1.1  # a mutant: a tenth more noise
    assert found.job.judge(found.job, wrong, found.job.values(size)) < 1e-4


@pytest.mark.parametrize("name", ["planar-laplace", "grid-geometric", "exponential-metric-200", "laplace-float64"])
def test_checks__see_noise_that_is_a_tenth_too_small(name):
    """The mutant: fastdp at another epsilon, held to the law of the job."""
    good = entry(name, "fastdp")
    mechanism = good.job.mechanism()
    wrong = type(mechanism)(**(_settings(mechanism) | {"epsilon": mechanism.epsilon * 1.1}))
    call = replace(good.job, mechanism=lambda: wrong)
    with pytest.raises(CheckError, match="does not follow its law"):
        good.check(good.way.make(call, good.job.values(200_000)), 200_000)


def _settings(mechanism):
    names = [name for name in mechanism.__dataclass_fields__ if not name.startswith("_") and name != "scale"]
    return {name: getattr(mechanism, name) for name in names}


@pytest.mark.parametrize("name", ["sanitize-parquet", "sanitize-csv"])
def test_files__are_judged_from_what_was_written(name):
    ours, copy = entry(name, "fastdp"), entry(name, "pyarrow")
    assert ours.check(ours.setup(SIZE), SIZE) > 1e-4
    assert copy.check(copy.setup(SIZE), SIZE) == 1.0
    with pytest.raises(CheckError):
        ours.check(copy.setup(SIZE), SIZE)


@pytest.mark.parametrize("name", ["fairness-table", "fairness-intersections", "fairness-bootstraps"])
def test_fairness__counts_are_compared_one_by_one(name):
    """By every library that is here; a table that misses a row is found out."""
    for found in entries(job=name):
        if found.library.missing is None:
            size = 2_000 if found.library.name == "fairlearn" else SIZE
            assert found.check(found.setup(size), size) == 1.0
    ours = entry(name, "fastdp")
    if name != "fairness-bootstraps":
        short = ours.way.make(ours.job, tuple(column[1:] for column in ours.job.values(SIZE)))
        with pytest.raises(CheckError):
            ours.check(short, SIZE)


@pytest.mark.parametrize(
    "name", ["ibu-product-60", "ibu-hadamard-1000", "ibu-cohorts-1000", "ibu-dense-300-to-gap", "ibu-line-1000-to-gap"]
)
def test_estimation__agrees_with_products_by_hand(name):
    for found in entries(job=name):
        if found.library.name in {"fastdp", "numpy"}:
            assert found.check(found.setup(2), 2) == 1.0


def test_run__does_not_time_what_fails_its_check(monkeypatch):
    """A rival that does not work is left out with its reason; a broken fastdp stops the run."""
    job = replace(entry("laplace-float64", "fastdp").job, size=SIZE)
    still, broken = Library("still", "adds nothing", {}), Library("broken", "cannot", {})

    def fail(_job, _values):
        raise ValueError

    chosen = [
        Entry(job, LIBRARIES["fastdp"], entry("laplace-float64", "fastdp").way),
        Entry(job, still, Way(lambda _job, values: lambda: np.array(values))),
        Entry(job, broken, Way(fail)),
    ]
    with running.shown(Console(quiet=True)) as progress:
        passed, failed = running.check_all(chosen, quick=False, progress=progress)
        monkeypatch.setattr(running, "entries", lambda **_: chosen)
        timed = running.time_job(job, passed, quick=False, progress=progress)
    assert list(passed) == ["laplace-float64-fastdp"]
    assert len(failed) == 2
    assert "does not follow its law" in failed[0]
    assert "does not work here, ValueError" in failed[1]
    assert [found["library"] for found in timed["entries"]] == ["fastdp"]
    assert timed["moved"] == [8.0 * SIZE, 8.0 * SIZE, 1.0]
    assert timed["quick"]["size"] == SIZE // 10
    assert len(timed["quick"]["cpu"]) == len(timed["entries"][0]["cpu"]) == running.ROUNDS


def test_size_of__counts_arrays_tuples_and_lists():
    assert size_of((np.zeros(3), np.zeros(2, np.uint8))) == 26
    assert size_of([1.0, 2.0]) == 16
