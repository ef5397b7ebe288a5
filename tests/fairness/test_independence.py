"""Tests of independence, against scipy and the classical formula."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from fastdp.fairness.independence import chi_square_tail, cochran_mantel_haenszel, g_test


@pytest.mark.parametrize("degrees", [1, 2, 3, 8, 31])
def test_tail__is_that_of_chi_square(degrees):
    for x in (0.0, 0.3, 4.0, 60.0, 900.0):
        assert chi_square_tail(x, degrees) == pytest.approx(stats.chi2.sf(x, degrees), rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_g_test__is_scipys(seed):
    table = np.random.default_rng(seed).integers(1, 40, (5, 3)).astype(float)
    due = stats.chi2_contingency(table, lambda_="log-likelihood", correction=False)
    found = g_test(table[None])
    assert (found.statistic, found.degrees, found.p_value) == pytest.approx((due.statistic, due.dof, due.pvalue))
    with_empty = np.insert(table, 2, 0, axis=0)
    assert g_test(with_empty[None]).p_value == pytest.approx(due.pvalue)


def test_mantel_haenszel__is_the_classical_statistic():
    strata = np.random.default_rng(3).integers(1, 30, (4, 2, 2)).astype(float)
    surplus, spread = 0.0, 0.0
    for (a, b), (c, d) in strata:
        n = a + b + c + d
        surplus += b - (a + b) * (b + d) / n
        spread += (a + b) * (c + d) * (a + c) * (b + d) / (n * n * (n - 1))
    found = cochran_mantel_haenszel(strata)
    assert found.statistic == pytest.approx(surplus**2 / spread)
    assert found.degrees == 1


def test_mantel_haenszel__rejects_as_often_as_it_should():
    """Five groups, three strata of different rates, 4,000 runs: within four standard errors of 5 %."""
    source = np.random.default_rng(5)
    sizes, rates = source.integers(30, 60, (3, 5)), np.array([0.2, 0.5, 0.7])[:, None]
    hits = [source.binomial(sizes, rates) for _ in range(4000)]
    p = [cochran_mantel_haenszel(np.stack([sizes - hit, hit], axis=2).astype(float)).p_value for hit in hits]
    assert abs(np.mean(np.array(p) < 0.05) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 4000)
