"""Public classes and functions document each of their parameters, so that an editor shows help for it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import pytest

import fastdp as fd
from fastdp import attacks, channels, estimators, locations, measures
from fastdp.audits import audit

RESULTS = {
    "Attack", "Bounds", "EpsilonAudit", "Estimate", "HeatMap", "MapErrors", "Observed", "OneRun", "PrivacyCurve",
    "Privic", "Survey", "TrajectoryReports", "Witness",
}  # fmt: skip
"""Made by fastdp and only read by callers: their fields are documented one by one."""


def public() -> Iterator[tuple[str, Callable[..., object]]]:
    """Every class and function of the public rooms that callers call, once."""
    seen: set[int] = set()
    for room in (fd, attacks, audit, channels, measures, locations, estimators):
        for name in room.__all__:
            found = getattr(room, name)
            is_error = inspect.isclass(found) and issubclass(found, BaseException)
            if callable(found) and not is_error and name not in RESULTS and id(found) not in seen:
                seen.add(id(found))
                yield f"{room.__name__}.{name}", found


def parameters(found: Callable[..., object]) -> set[str]:
    return {name for name in inspect.signature(found).parameters if not name.startswith("_")}


def documented(text: str | None) -> set[str]:
    """The names in the section of parameters of a docstring."""
    lines = inspect.cleandoc(text or "").splitlines()
    names: set[str] = set()
    start = next(
        (i + 2 for i, line in enumerate(lines[:-1]) if line == "Parameters" and set(lines[i + 1]) == {"-"}), None
    )
    for line in lines[start:] if start is not None else []:
        heading = re.fullmatch(r"(\w+(?:, \w+)*)(?: : .+)?", line)
        if heading:
            names |= set(heading[1].split(", "))
    return names


CALLABLES = dict(public())


@pytest.mark.parametrize("name", CALLABLES)
def test_docstring__describes_every_parameter(name):
    missing = parameters(CALLABLES[name]) - documented(CALLABLES[name].__doc__)

    assert not missing, f"{name}: {', '.join(sorted(missing))}"


def test_documented__reads_names_and_nothing_else():
    """A section that lacks a parameter, or has none at all, is found out."""
    text = "Do it.\n\nParameters\n----------\na, b\n    Both numbers.\nc : float\n    Text.\n\n>>> x\n"

    assert documented(text) == {"a", "b", "c"}
    assert documented("Do it with ``a``.") == documented(None) == set()
    assert len(CALLABLES) > 70
