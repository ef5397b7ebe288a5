"""Old keywords lead to the new ones, with a warning."""

from __future__ import annotations

import inspect

import pytest

import fastdp as fd
from fastdp.renamed import renamed
from fastdp.tables.estimating.results import ColumnEstimate


@renamed(confidence="level", iterations="max_iterations")
def job(*, level=0.9, max_iterations=1):
    """Do it."""
    return level, max_iterations


def test_old_keywords__mean_the_new_ones_and_warn():
    with pytest.warns(DeprecationWarning, match="job: the keyword 'confidence' is called 'level' now") as seen:
        assert job(confidence=0.5, max_iterations=3) == (0.5, 3)
    assert seen[0].filename == __file__


def test_new_keywords__do_not_warn():
    assert job(level=0.5) == (0.5, 1)
    assert job.__doc__ == "Do it."
    assert list(inspect.signature(job).parameters) == ["level", "max_iterations"]


def test_both_at_once__are_refused():
    with pytest.raises(TypeError, match="both 'level' and its old name 'confidence'"):
        job(level=0.5, confidence=0.5)


@pytest.mark.parametrize(
    ("function", "old", "new"),
    [
        (fd.estimate_table, "confidence", "level"),
        (fd.locations.heat_map, "iterations", "max_iterations"),
        (fd.locations.survey, "iterations", "max_iterations"),
    ],
)
def test_functions_on_tables_and_maps__take_old_keywords_with_a_warning(function, old, new):
    assert new in inspect.signature(function).parameters
    with (
        pytest.warns(DeprecationWarning, match=f"'{old}' is called '{new}'"),
        pytest.raises(TypeError, match="missing"),
    ):
        function(**{old: 1})


def test_radius__takes_a_level():
    for mechanism in (fd.PlanarLaplace(epsilon=1.0, unit="km"), fd.GlobeLaplace(epsilon=1.0, unit="km")):
        with pytest.warns(DeprecationWarning, match="radius: the keyword 'confidence'"):
            old = mechanism.radius(confidence=0.95)
        assert old == mechanism.radius(level=0.95) == mechanism.radius(0.95)


def test_confidence__is_the_old_name_of_an_estimates_level():
    """It is read for one version, with a warning."""
    found = ColumnEstimate("x", "krr", "shares", 10, 0.95, "by hand", ())
    with pytest.warns(DeprecationWarning, match="ColumnEstimate: the field 'confidence' is called 'level'"):
        assert found.confidence == found.level == 0.95


def test_anonymize__calls_progress_with_the_total_and_takes_the_old_form_with_a_warning():
    table, quasi = {"age": [31, 34, 38, 52, 55, 59]}, {"age": fd.Hierarchy.intervals(10, 50)}
    seen: list[object] = []
    fd.anonymize(table, quasi, k=3, progress=lambda *both: seen.append(both))
    assert seen == [(4, 4)]
    with pytest.warns(DeprecationWarning, match="anonymize: progress is called with two numbers"):
        fd.anonymize(table, quasi, k=3, progress=seen.append)
    assert seen == [(4, 4), 4]
