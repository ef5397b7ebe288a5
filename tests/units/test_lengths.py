"""Lengths and rates as people write them."""

from __future__ import annotations

import math

import pytest

from fastdp.errors import ParameterError
from fastdp.units.lengths import parse_length, parse_number, parse_rate


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("ln(2)/100m", math.log(2) / 100),
        ("ln(2) / 0.5 km", math.log(2) / 500),
        ("2/km", 0.002),
        ("1.5/(2*3mi)", 1.5 / (6 * 1609.344)),
        ("3*ln(2)/ft", 3 * math.log(2) / 0.3048),
        ("1e-2/m", 0.01),
    ],
)
def test_rate__is_per_metre(text, value):
    assert parse_rate("geo", "epsilon", text) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize(("text", "value"), [("250m", 250.0), (".5km", 500.0), (" 1 mi ", 1609.344), ("km/4", 250.0)])
def test_length__is_in_metres(text, value):
    assert parse_length("geo", "cell", text) == value


@pytest.mark.parametrize(("text", "value"), [("ln(8)", math.log(8)), ("1", 1.0), ("3km/2km", 1.5)])
def test_number__has_no_unit(text, value):
    assert parse_number("geo", "epsilon", text) == value


@pytest.mark.parametrize(
    "text",
    ["", "m/", "ln(2)", "250m", "ln 2/m", "ln(2m)/m", "ln(0)/m", "ln(1)/m", "-1/m", "1/0/m", "1e999/m", "1/m/m", "2/yd",
     "1//m", "1/m)", "((1/m)", "(" * 30 + "1" + ")" * 30 + "/m", "1/m; import os", "nan/m", "9" * 500 + "/m", None, 3],
)  # fmt: skip
def test_rate__refuses_all_else(text):
    with pytest.raises(ParameterError, match="geo: epsilon must be an epsilon per length"):
        parse_rate("geo", "epsilon", text)


@pytest.mark.parametrize("text", ["250", "1/m", "0m", "m*m"])
def test_length__refuses_all_else(text):
    with pytest.raises(ParameterError, match="geo: cell must be a length"):
        parse_length("geo", "cell", text)


@pytest.mark.parametrize("words", ["ln(2)/200m", "ln(2) / 0.2 km"])
def test_mechanisms_of_places__take_rates_in_words(words):
    import fastdp as fd

    expected = math.log(2) / 0.2
    assert fd.PlanarLaplace(epsilon=words, unit="km").epsilon == pytest.approx(expected)
    assert fd.GlobeLaplace(epsilon=words, unit="km").epsilon == pytest.approx(expected)
    assert fd.GridLaplace(epsilon=words, shape=(5, 5), cell=0.1, unit="km").epsilon == pytest.approx(expected)
    assert fd.PlanarLaplace(epsilon=words, unit="m").epsilon == pytest.approx(expected / 1000)
    with pytest.raises(fd.ParameterError, match="epsilon must be an epsilon per length"):
        fd.PlanarLaplace(epsilon="ln(2)", unit="km")
    with pytest.raises(fd.ParameterError, match="unit must be one of"):
        fd.GridLaplace(epsilon=words, shape=(5, 5))
