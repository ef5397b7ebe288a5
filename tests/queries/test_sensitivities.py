"""The sensitivity of the standard queries, against all neighbouring data sets of a small world."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import fastdp as fd

LOW, HIGH = -1.0, 3.0
VALUES = (-1.0, 0.0, 1.0, 3.0)
QUERIES = {
    "count": len,
    "sum": sum,
    "mean": np.mean,
    "variance": np.var,
    "min": min,
    "max": max,
    "median": lambda values: float(np.quantile(values, 0.5, method="inverted_cdf")),
}


def _largest_change(query, n, neighbours):
    """Over all data sets of n records, and all with one record removed, or with another value."""
    worst = 0.0
    for values in itertools.product(VALUES, repeat=n):
        answer = query(values)
        others = [values[1:]] if neighbours == "add/remove" else [(other, *values[1:]) for other in VALUES]
        worst = max([worst, *(abs(answer - query(other)) for other in others)])
    return worst


@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("n", [2, 3, 5])
def test_sensitivity__is_the_largest_change(name, n, neighbours):
    bounds = None if name == "count" else (LOW, HIGH)
    stated = fd.sensitivity(name, bounds, n=n, neighbours=neighbours)
    seen = _largest_change(QUERIES[name], n, neighbours)
    assert seen <= stated * (1 + 1e-12)
    assert seen == pytest.approx(stated)


@pytest.mark.parametrize("norm", [1, 2])
@pytest.mark.parametrize("neighbours", ["add/remove", "replace"])
def test_histogram__in_both_norms(norm, neighbours):
    changes = [(1, 0)] if neighbours == "add/remove" else [(1, -1)]
    expected = max(np.linalg.norm(change, norm) for change in changes)
    assert fd.sensitivity("histogram", neighbours=neighbours, norm=norm) == pytest.approx(expected)
    assert fd.sensitivity("histogram", neighbours=neighbours, norm=norm) ** 2 >= expected**2


def test_persons_with_several_records():
    assert fd.sensitivity("count", contributions=7) == 7
    assert fd.sensitivity("sum", (0, 10), contributions=3) == 30
    assert fd.sensitivity("mean", (0, 10), n=2, contributions=3) == 10


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("total",), "query must be one of"),
        (("sum",), "needs bounds"),
        (("sum", (3, 1)), "low < high"),
        (("sum", (0, math.inf)), "finite"),
        (("count", (0, 1)), "has no bounds"),
        (("mean", (0, 1)), "needs n"),
    ],
)
def test_what_is_wrong_is_refused(arguments, message):
    with pytest.raises(fd.ParameterError, match=message):
        fd.sensitivity(*arguments)


def test_options_are_checked():
    for options in ({"norm": 3}, {"neighbours": "both"}, {"contributions": 0}):
        with pytest.raises(fd.ParameterError):
            fd.sensitivity("histogram", **options)
    with pytest.raises(fd.ParameterError, match="contributions=1 alone"):
        fd.sensitivity("variance", (0, 1), n=5, contributions=2)
