"""Public classes and functions document each of their parameters, so that an editor shows help for it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator

import fastdp as fd
from fastdp import attacks, channels, estimators, locations, measures
from fastdp.audits import audit

RESULTS = {
    "Attack", "Bounds", "Comparison", "EpsilonAudit", "Estimate", "HeatMap", "MapErrors", "Membership", "Observed",
    "OneRun", "PrivacyCurve", "Privic", "Recommendation", "Survey", "TrajectoryReports", "Witness",
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


def test_docstrings__describe_every_parameter():
    missing = {name: parameters(found) - documented(found.__doc__) for name, found in CALLABLES.items()}

    assert {name: sorted(names) for name, names in missing.items() if names} == {}


PLUMBING = {
    "check_names", "distances_from", "grids", "guess", "iterate", "prepare", "reserve", "result_type", "result_types",
    "row", "steps_apart",
}  # fmt: skip
"""Methods that other rooms call and users hardly ever do: their one parameter is in the first line."""
OTHER_ROOMS = ("fastdp.accounting", "fastdp.fairness")
"""Rooms whose methods are documented in a style of their own."""


def methods() -> Iterator[tuple[str, type, str]]:
    """Every public method with parameters of the public classes, but for those of guarantees' accounts."""
    for room in (fd, channels, measures, locations, estimators):
        for name in room.__all__:
            found = getattr(room, name)
            if inspect.isclass(found) and not issubclass(found, BaseException):
                for method, function in inspect.getmembers(found, callable):
                    home = getattr(function, "__module__", None) or ""
                    ours = home.startswith("fastdp.") and not home.startswith(OTHER_ROOMS)
                    if not method.startswith("_") and ours and method not in PLUMBING and not inspect.isclass(function):
                        yield f"{room.__name__}.{name}.{method}", found, method


def test_methods__describe_every_parameter():
    """In their own docstring, or in that of the class that first has them."""
    missing = {name: undocumented(owner, method) for name, owner, method in methods()}

    assert len(missing) > 300
    assert {name: sorted(names) for name, names in missing.items() if names} == {}


def undocumented(owner: type, method: str) -> set[str]:
    function = inspect.getattr_static(owner, method)
    function = getattr(function, "__func__", function)
    known: set[str] = set()
    for kind in owner.__mro__:
        known |= documented(getattr(vars(kind).get(method), "__doc__", None))
    return parameters(function) - {"self", "cls"} - known


def test_documented__reads_names_and_nothing_else():
    """A section that lacks a parameter, or has none at all, is found out."""
    text = "Do it.\n\nParameters\n----------\na, b\n    Both numbers.\nc : float\n    Text.\n\n>>> x\n"

    assert documented(text) == {"a", "b", "c"}
    assert documented("Do it with ``a``.") == documented(None) == set()
    assert len(CALLABLES) > 70
