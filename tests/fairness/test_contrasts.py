"""Intervals of the largest gap and the smallest ratio: they cover, and the percentile bootstrap does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from fastdp.fairness.contrasts import gap_of, koopman, ratio_of
from tests.fairness.coverage import GROUPS, contrast_cell, small_cell

WIDTHS = {
    ("gap", "six equal"): 0.211, ("gap", "six near"): 0.227, ("gap", "six apart"): 0.258,
    ("gap", "uneven sizes"): 0.373, ("gap", "rare"): 0.0553,
    ("ratio", "six equal"): 0.515, ("ratio", "six near"): 0.512, ("ratio", "six apart"): 0.301,
    ("ratio", "uneven sizes"): 0.515, ("ratio", "rare"): 0.891,
}  # fmt: skip
"""Mean widths of the intervals as measured in 2,000 runs, so that a wider one is noticed."""


@pytest.mark.parametrize("setting", GROUPS)
@pytest.mark.parametrize("make", [gap_of, ratio_of], ids=["gap", "ratio"])
def test_intervals__cover(make, setting):
    """At least 95 % less three Monte-Carlo errors of 200 runs."""
    assert contrast_cell(make, setting, 200)["covered"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 200)


@pytest.mark.slow
@pytest.mark.parametrize("setting", GROUPS)
@pytest.mark.parametrize("make", [gap_of, ratio_of], ids=["gap", "ratio"])
def test_intervals__cover_in_many_runs_with_the_stated_width(make, setting):
    found = contrast_cell(make, setting, 4000)
    assert found["covered"] >= 0.95 - 3 * np.sqrt(0.95 * 0.05 / 4000)
    assert found["width"] == pytest.approx(WIDTHS["gap" if make is gap_of else "ratio", setting], rel=0.02)


def test_percentile_bootstrap__does_not_cover():
    """The mutant that other tools offer: never, where six groups are equal."""
    source, sizes = np.random.default_rng(4), np.full(6, 200)
    covered = 0
    for _ in range(60):
        shares = source.binomial(sizes, 0.3) / sizes
        drawn = source.binomial(sizes, shares, (400, 6)) / sizes
        low = np.quantile(drawn.max(axis=1) - drawn.min(axis=1), 0.025)
        covered += low <= 0
    assert covered == 0


def test_koopman__is_as_published():
    """36 of 40 over 16 of 80: (2.94, 7.15). [Koopman 1984]"""
    low, high = koopman(np.array([36.0, 16.0]), np.array([40.0, 80.0]), 0.95)
    assert (low[0, 1], high[0, 1]) == (pytest.approx(2.94, abs=0.005), pytest.approx(7.15, abs=0.005))
    assert (low[1, 0], high[1, 0]) == pytest.approx((1 / high[0, 1], 1 / low[0, 1]))


@pytest.mark.parametrize("make", [gap_of, ratio_of], ids=["gap", "ratio"])
def test_intervals__of_small_groups_cover_nearly(make):
    """Ten and ten people, exactly: score intervals are approximations, whose worst cells docs/fairness.md states."""
    assert small_cell(make, 10, 10, 0.05, 15)["covered"] >= 0.90


def test_koopman__of_nobody_in_a_group_is_not_certain():
    """None of ten against ten of ten: the upper end was 2e-35, where two numbers cancelled."""
    low, high = koopman(np.array([0.0, 10.0]), np.array([10.0, 10.0]), 0.95)
    assert (low[0, 1], high[0, 1]) == (0, pytest.approx(0.27753, abs=1e-5))
    assert (low[1, 0], high[1, 0]) == (pytest.approx(1 / 0.27753, abs=1e-3), np.inf)
    assert koopman(np.array([0.0, 900.0]), np.array([1e6, 1e6]), 0.95)[1][0, 1] == pytest.approx(3.8415 / 900, rel=0.01)


@pytest.mark.parametrize(
    ("x", "m", "y", "n"), [(3, 20, 9, 25), (0, 15, 4, 30), (0, 10, 9, 10), (12, 12, 5, 9), (200, 1000, 150, 900)]
)
def test_koopman__ends_where_the_score_test_does(x, m, y, n):
    """With the restricted likelihood maximised numerically."""

    def statistic(ratio):
        def loss(p):
            return -(stats.binom.logpmf(x, m, min(ratio * p, 1)) + stats.binom.logpmf(y, n, p))

        p = optimize.minimize_scalar(
            loss, bounds=(1e-12, min(1, 1 / ratio) - 1e-12), options={"xatol": 1e-12}, method="bounded"
        ).x
        q = ratio * p
        return (x - m * q) ** 2 / (m * q * (1 - q)) + (y - n * p) ** 2 / (n * p * (1 - p))

    low, high = koopman(np.array([x, y], float), np.array([m, n], float), 0.95)
    for end in (low[0, 1], high[0, 1]):
        assert end == 0 or statistic(end) == pytest.approx(stats.chi2.ppf(0.95, 1), rel=1e-3)


def test_undefined__groups_widen_and_do_not_decide():
    groups = (("a",), ("b",), ("c",))
    known = gap_of("tpr", groups[:2], np.array([50.0, 40.0]), np.array([100.0, 100.0]), 0.95)
    found = gap_of("tpr", groups, np.array([50.0, 40.0, 0.0]), np.array([100.0, 100.0, 0.0]), 0.95)
    assert found.value == known.value
    assert found.undefined == (("c",),)
    assert found.high > 0.55 > known.high
    ratio = ratio_of("tpr", groups, np.array([50.0, 40.0, 0.0]), np.array([100.0, 100.0, 0.0]), 0.95)
    assert (ratio.low, ratio.value) == (0, 0.8)
