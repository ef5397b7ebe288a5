"""What a plan states for values by their distance is what the law costs, from a thousandth of a unit to ten units."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest

import fastdp as fd
from fastdp.plans.explain import explain, explain_total
from fastdp.plans.guarantee import describe_guarantee
from fastdp.plans.spec import MECHANISMS
from tests.mechanisms.metric.test_grid import realised_channel
from tests.reference.metric import line, plane
from tests.statements.exact import (
    DIGITS,
    Exact,
    gaussian_delta,
    globe_loss,
    grid_of,
    laplace_loss,
    planar_loss,
    rate_of,
    real,
    steps_apart,
    understates,
)

UNITS = [0.001, 0.0099, 0.1, 0.25, 0.5, 0.999, 1.0, 1.001, 1.5, 2.0, 3.3, 5.0, 7.001, 10.0]
COLUMNS = {
    "laplace": {"mechanism": "laplace", "epsilon": 1.0, "unit": 2},
    "laplace, uneven": {"mechanism": "laplace", "epsilon": 0.3, "unit": 0.7, "bounds": [-3, 11]},
    "laplace, coarse": {"mechanism": "laplace", "epsilon": 3.0, "unit": 5, "granularity": 0.25},
    "laplace, fold": {"mechanism": "laplace", "epsilon": 1.0, "unit": 2, "bounds": [0, 50], "boundary": "fold"},
    "laplace, resample": {"mechanism": "laplace", "epsilon": 1.0, "unit": 2, "bounds": [0, 50], "boundary": "resample"},
    "laplace, resample, coarse": {
        "mechanism": "laplace", "epsilon": 4.0, "unit": 2, "bounds": [0, 21], "boundary": "resample", "granularity": 0.5
    },
    "laplace, resample, narrow": {
        "mechanism": "laplace", "epsilon": 1.0, "unit": 5, "bounds": [0, 2], "boundary": "resample"
    },
    "geometric": {"mechanism": "geometric", "epsilon": 1.0, "unit": 5},
    "geometric, bounds": {"mechanism": "geometric", "epsilon": 0.5, "unit": 100, "bounds": [0, 1000]},
    "geometric, fold": {"mechanism": "geometric", "epsilon": 2.0, "unit": 7, "bounds": [0, 90], "boundary": "fold"},
    "geometric, resample": {
        "mechanism": "geometric", "epsilon": 1.0, "unit": 5, "bounds": [0, 120], "boundary": "resample"
    },
    "geometric, resample, narrow": {
        "mechanism": "geometric", "epsilon": 0.2, "unit": 9, "bounds": [0, 3], "boundary": "resample"
    },
    "gaussian": {"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-6, "unit": 5},
    "gaussian, rho": {"mechanism": "gaussian", "rho": 0.3, "unit": 0.3, "bounds": [0, 100]},
    "gaussian, coarse": {"mechanism": "gaussian", "epsilon": 2.0, "delta": 1e-3, "unit": 3, "granularity": 0.25},
    "discrete gaussian": {"mechanism": "discrete_gaussian", "rho": 0.1, "unit": 2},
    "discrete gaussian, delta": {
        "mechanism": "discrete_gaussian", "epsilon": 1.0, "delta": 1e-5, "unit": 10, "bounds": [0, 200]
    },
    "staircase": {"mechanism": "staircase", "epsilon": 1.0, "unit": 2},
    "staircase, coarse": {"mechanism": "staircase", "epsilon": 3.0, "unit": 3, "granularity": 0.25, "gamma": 0.4},
    "grid geometric": {"mechanism": "grid_geometric", "epsilon": 0.9, "shape": [3, 4], "cell": 1.1, "unit": "km"},
    "grid laplace": {"mechanism": "grid_laplace", "epsilon": 0.9, "shape": [3, 4], "cell": 1.1, "unit": "km"},
    "exponential": {"mechanism": "exponential_metric", "epsilon": 0.5, "distance": line(12).tolist()},
    "blahut-arimoto": {
        "mechanism": "blahut_arimoto", "beta": 0.3, "prior": [1, 2, 3, 4], "distance": line(4).tolist()
    },
    "optimal": {"mechanism": "optimal", "epsilon": 0.5, "prior": [1, 2, 3, 4], "distance": line(4).tolist()},
}  # fmt: skip
GROUPS = {
    "plane": {"columns": ["x", "y"], "mechanism": "planar_laplace", "epsilon": 0.7, "unit": "km"},
    "plane, coarse": {
        "columns": ["x", "y"], "mechanism": "planar_laplace", "epsilon": 2.0, "unit": "km", "granularity": 0.25
    },
    "around an origin": {
        "columns": ["lat", "lon"], "mechanism": "planar_laplace", "epsilon": "ln(2)/500m", "origin": [48.0, 2.0]
    },
    "globe": {"columns": ["lat", "lon"], "mechanism": "planar_laplace", "epsilon": "ln(2)/500m"},
}  # fmt: skip
PLANS = {name: fd.Plan(columns={"x": given}) for name, given in COLUMNS.items()} | {
    name: fd.Plan(groups=[given]) for name, given in GROUPS.items()
}
each_plan = pytest.mark.parametrize("name", PLANS)


def part_of(plan: fd.Plan) -> Any:
    return (*plan.columns.values(), *plan.groups)[0]


def loss(plan: fd.Plan, distance: Fraction, epsilon: float | None) -> Exact | None:
    """What two values up to a distance apart can cost; None where no two values are that near."""
    part = part_of(plan)
    mechanism, name = part.mechanism, part.given["mechanism"]
    with mpmath.workdps(DIGITS):
        if name == "planar_laplace":
            return Exact((planar_loss if isinstance(mechanism, fd.PlanarLaplace) else globe_loss)(mechanism, distance))
        if MECHANISMS[name].takes == "codes":
            return finite_loss(mechanism, float(distance))
        steps = steps_apart(distance, grid_of(mechanism))
        if steps == 0:
            return None
        if name in {"laplace", "geometric"}:
            return Exact(laplace_loss(mechanism, steps))
        if name == "staircase":
            return Exact(real(rate_of(mechanism)) * falls(mechanism._law.steps, mechanism._law.tread, steps))
        delta = gaussian_delta(epsilon, real(rate_of(mechanism)), steps) if epsilon is not None else None
        return Exact(rho=real(rate_of(mechanism) * steps**2), delta=delta)


def falls(length: int, tread: int, steps: int) -> int:
    """How many heights apart two outcomes can be that are ``steps`` apart: each outcome around every edge is tried."""

    def height(z: int) -> int:
        return abs(z) // length + (abs(z) % length >= tread)

    edges = [k * length + tread for k in range(3)] + [-k * length - tread for k in range(3)] + [length, -length, 0]
    starts = {edge + off - far for edge in edges for off in (-1, 0, 1) for far in (0, steps)}
    return max(abs(height(z) - height(z + steps)) for z in starts)


def finite_loss(mechanism: Any, distance: float) -> Exact | None:
    """Over all pairs of values up to a distance apart, from the integers."""
    if hasattr(mechanism, "distance"):
        shares, apart = mechanism._shares, mechanism.distance
    else:
        shares, apart = realised_channel(mechanism), plane(*mechanism.shape) * mechanism.cell
    pairs = [(x, y) for x, y in zip(*np.nonzero((apart <= distance) & (apart > 0)), strict=True)]
    logs = {
        x: [mpmath.log(share) if share else None for share in shares[x]] for x in {x for pair in pairs for x in pair}
    }
    ratios = [
        abs(a - b) for x, y in pairs for a, b in zip(logs[x], logs[y], strict=True) if a is not None and b is not None
    ]
    return Exact(max(ratios)) if ratios else None


@each_plan
@pytest.mark.parametrize("units", UNITS)
def test_metric_guarantee__covers_the_exact_loss_at_every_distance(name, units):
    """Of ``plan.privacy``, of the receipt and of the printed words; beyond one unit no delta is stated."""
    plan = PLANS[name]
    (stated,) = plan.privacy.metric.values()
    distance = Fraction(units) * Fraction(stated.distance)
    at = stated.at(float(distance))
    found = loss(plan, Fraction(float(distance)), at.epsilon if at.delta else None)
    if found is None:
        return
    assert not understates(at, found)
    for claim in (claim_of_receipt(plan, float(distance)), *claims_of_words(plan, float(distance))):
        if found.epsilon is not None:
            assert claim["epsilon"] >= found.epsilon
        else:
            assert claim["rho"] >= found.rho


@each_plan
def test_metric_guarantee__is_what_one_unit_costs(name):
    """Understated by 1e-9 of itself it is caught at one distance or another, where it is not a bound alone."""
    plan = PLANS[name]
    (stated,) = plan.privacy.metric.values()
    if name == "grid laplace" or name in GROUPS:  # bounds that the law stays below
        return
    key = "epsilon" if not (stated.delta or stated.epsilon is None) else "rho"
    mutant = replace(stated, **{key: getattr(stated, key) * (1 - 1e-9)})
    if name.startswith("laplace, resample"):  # all steps of a unit at the price of the dearest, the first
        mechanism = part_of(plan).mechanism
        with mpmath.workdps(DIGITS):
            assert mutant.epsilon < laplace_loss(mechanism, 1) * steps_apart(stated.distance, mechanism.granularity)
        return
    distances = [float(Fraction(units) * Fraction(stated.distance)) for units in UNITS] + [1.0, 1.1, 2.0]
    found = [(mutant.at(d), loss(plan, Fraction(d), None)) for d in distances]
    assert any(exact is not None and understates(at, Exact(exact.epsilon, exact.rho)) for at, exact in found)


@pytest.mark.parametrize("name", GROUPS)
def test_points__state_no_more_than_was_asked_at_the_distance_that_epsilon_is_for(name):
    (stated,) = PLANS[name].privacy.metric.values()
    asked = {"plane": 0.7, "plane, coarse": 2.0}.get(name, mpmath.log(2))
    assert stated.epsilon <= asked
    assert stated.epsilon >= asked * (1 - 1e-3)


@pytest.mark.parametrize("name", COLUMNS)
def test_metric_guarantee__is_no_more_than_was_asked(name):
    """At one unit, and at least 1 - 1e-6 of it where the law needs all of it."""
    (stated,) = PLANS[name].privacy.metric.values()
    given = COLUMNS[name]
    for key in ("epsilon", "delta", "rho"):
        if key in given:
            assert getattr(stated, key) <= given[key]
            assert getattr(stated, key) >= given[key] * (1 - 1e-6) or name in {"exponential", "optimal"}
    assert stated.neighbours == "replace"


def test_every_mechanism_that_takes_a_unit__is_tested():
    takes = {name for name, spec in MECHANISMS.items() if "unit" in spec.all_keys}
    assert takes == {given["mechanism"] for given in COLUMNS.values()}


def claim_of_receipt(plan: fd.Plan, distance: float) -> dict[str, Any]:
    """What the receipt says of a distance, by its own words."""
    (said,) = describe_guarantee(plan)["metric"].values()
    return claim(said["kind"], said, said["distance"], said.get("rounding", 0.0), distance)


def claim(kind: str, said: dict[str, Any], unit: float, rounding: float, distance: float) -> dict[str, Any]:
    with mpmath.workdps(DIGITS):
        units = (mpmath.mpf(distance) + rounding) / unit
        if kind.startswith("by started distance: a whole epsilon for every started unit"):
            return {"epsilon": said["epsilon"] * mpmath.ceil(mpmath.mpf(distance) / unit)}
        if kind.startswith("d-privacy: epsilon grows in proportion to the distance"):
            return {"epsilon": said["epsilon"] * units}
        assert kind.startswith("zCDP by distance: rho grows with the square of the distance")
        return {"rho": said["rho"] * (units**2 if distance > unit else 1)}


def claims_of_words(plan: fd.Plan, distance: float) -> list[dict[str, Any]]:
    """What ``plan check`` prints, in its table and below it, read back."""
    ((name, _),) = plan.privacy.metric.items()
    (said,) = describe_guarantee(plan)["metric"].values()
    (total,) = explain_total(plan)
    (shown,) = explain(plan)
    assert total == f"{name}: {shown.guarantee} ({said['kind']}), not in the sum"
    numbers = {key: float(value) for key, value in re.findall(r"(epsilon|rho|delta) ([-+.e0-9]+)", shown.guarantee)}
    assert all(Fraction(number) >= Fraction(said[key]) for key, number in numbers.items())
    rounding = re.search(r"rounding adds ([-+.e0-9]+) to", shown.guarantee)
    unit = float(re.search(r"distance ([-+.e0-9]+)", shown.guarantee)[1])
    phrases = {"per started": "by started distance", "per distance": "d-privacy", "up to distance": "zCDP"}
    (phrase,) = (phrase for phrase in phrases if phrase in shown.guarantee)
    assert said["kind"].startswith(phrases[phrase])
    return [claim(said["kind"], numbers, unit, float(rounding[1]) if rounding else 0.0, distance)]


def test_claims__of_other_kinds_would_be_caught():
    """The statements that plans used to make of these columns: in proportion, whatever the law."""
    for name in ("staircase", "gaussian", "discrete gaussian"):
        (stated,) = PLANS[name].privacy.metric.values()
        proportional = []
        for units in UNITS:
            found = loss(PLANS[name], Fraction(units) * Fraction(stated.distance), None)
            if found is not None:
                key = "epsilon" if found.epsilon is not None else "rho"
                proportional.append(getattr(stated, key) * units * (1 + 1e-3) + 1e-3 < getattr(found, key))
        assert any(proportional)
    asked = fd.Geometric(epsilon=1.0, sensitivity=5, bounds=(0, 120), boundary="resample")
    with mpmath.workdps(DIGITS):
        assert laplace_loss(asked, 1) > 1.15 * asked.privacy.epsilon / 5
