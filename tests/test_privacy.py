"""The guarantee as a value."""

from __future__ import annotations

import math

import pytest

import fastdp as fd


def test_group__multiplies():
    assert fd.Privacy(epsilon=0.5).group(3).epsilon == pytest.approx(1.5)
    assert fd.Privacy(rho=0.5).group(3).rho == pytest.approx(4.5)
    grouped = fd.Privacy(epsilon=0.5, delta=1e-6).group(3)
    assert grouped.delta == pytest.approx(3 * math.exp(1.0) * 1e-6)
    assert fd.Privacy(epsilon=0.1).group(1) == fd.Privacy(epsilon=0.1)


def test_for_replacement__is_twice_add_remove():
    doubled = fd.Privacy(epsilon=0.7).for_replacement()
    assert doubled.epsilon == pytest.approx(1.4)
    assert doubled.neighbours == "replace"
    assert doubled.for_replacement() is doubled


@pytest.mark.parametrize("rho", [0.01, 0.1, 1.0, 5.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
def test_epsilon_at__lies_between_the_truth_and_the_simple_bound(rho, delta):
    """At most rho + 2 sqrt(rho ln(1/delta)), at least what the Gaussian mechanism of that rho really has."""
    epsilon = fd.Privacy(rho=rho).epsilon_at(delta)
    assert epsilon < rho + 2 * math.sqrt(rho * math.log(1 / delta))
    sigma = 1 / math.sqrt(2 * rho)
    low = 0.5 * math.erfc((epsilon * sigma - 0.5 / sigma) / math.sqrt(2))
    high = 0.5 * math.erfc((epsilon * sigma + 0.5 / sigma) / math.sqrt(2))
    assert low - math.exp(epsilon) * high <= delta


def test_conversions__refuse_what_cannot_be():
    with pytest.raises(fd.ParameterError, match="delta"):
        fd.Privacy(epsilon=1.0, delta=1e-6).epsilon_at(1e-9)
    with pytest.raises(fd.ParameterError, match="rho"):
        fd.Privacy(epsilon=1.0, delta=1e-6).as_zcdp()
    assert fd.Privacy(epsilon=1.0).as_zcdp().rho == pytest.approx(0.5)
    assert fd.Privacy(epsilon=1.0).epsilon_at(1e-6) == 1.0


@pytest.mark.parametrize("bad", [{}, {"epsilon": 0}, {"epsilon": math.inf}, {"rho": -1}, {"epsilon": 1, "delta": 1.0},
                                 {"epsilon": 1, "neighbours": "both"}])  # fmt: skip
def test_privacy__refuses_bad_numbers(bad):
    with pytest.raises(fd.ParameterError, match="Privacy"):
        fd.Privacy(**bad)


def test_privacy__reads_well():
    assert repr(fd.Privacy(epsilon=1.0, delta=1e-6)) == (
        "Privacy(epsilon=1.0, delta=1e-06, unit='record', neighbours='add/remove')"
    )
