"""Named figures of the lectures and of real tables."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

import fastdp as fd
from fastdp.anonymity.risk import expected_uniques, individual_risk
from tests.anonymity.data import INPATIENT, SAARLAND, SIX, adult, hierarchy, needs_data

RAW_AGES = [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35]


def inpatient():
    return fd.anonymity.classes(INPATIENT, ["zip", "age", "nationality"], ["condition"])


class TestInpatient:
    def test_raw__is_unique(self):
        raw = fd.anonymity.classes({"age": RAW_AGES, "zip": list(range(12))}, ["age", "zip"])
        assert (raw.count, raw.k, raw.unique) == (12, 1, 12)

    def test_4_anonymous__has_three_classes_of_four(self):
        found = inpatient()
        assert (found.count, found.k, found.discernibility) == (3, 4, 48)
        assert found.average_size / found.k == 1

    def test_a_class_of_one_value(self):
        found = inpatient()
        assert (found.l(), found.homogeneous, found.alpha) == (1, 4, 1.0)

    def test_entropy__of_each_class(self):
        rows = {"class": [0] * 4 + [1] * 4 + [2] * 4, "s": INPATIENT["condition"]}
        for part, expected in enumerate([2, 2.828427, 1]):
            chosen = {name: column[4 * part : 4 * part + 4] for name, column in rows.items()}
            assert fd.anonymity.classes(chosen, ["class"], ["s"]).l("entropy") == pytest.approx(expected, abs=1e-6)

    def test_closeness_and_likeness(self):
        found = inpatient()
        assert found.t() == pytest.approx(7 / 12)
        assert found.beta == pytest.approx(1.4)
        assert found.diversity().enhanced_beta == pytest.approx(math.log(4))
        assert found.delta == math.inf
        assert found.diversity().finite_delta == pytest.approx(0.875469, abs=1e-6)


def test_saarland():
    found = fd.anonymity.classes(SAARLAND, ["age", "gender", "zip", "smoker"], ["disease"])
    sizes, counts = found.sizes
    assert dict(zip(sizes.tolist(), counts.tolist(), strict=True)) == {2: 3, 3: 1}
    assert (found.k, found.l()) == (2, 2)
    assert found.t() == pytest.approx(7 / 9)
    assert found.beta == pytest.approx(3.5)
    assert found.l("entropy") == pytest.approx(1.889882, abs=1e-6)


def test_composition__of_two_2_anonymous_tables_is_unique():
    """Ages and weights: each table is 2-anonymous, and 40 and 100 is Don alone."""
    ages, weights = [30, 30, 40, 40, 50, 50], [60, 90, 90, 100, 60, 100]
    assert fd.anonymity.classes({"age": ages}, ["age"]).k == 2
    assert fd.anonymity.classes({"weight": weights}, ["weight"]).k == 2
    both = fd.anonymity.classes({"age": ages, "weight": weights}, ["age", "weight"])
    assert (both.k, both.unique) == (1, 6)


@pytest.mark.parametrize(("counts", "l", "expected"), [((9, 1), 2, 9.0), ((5, 3, 2), 3, 2.5)])
def test_recursive__is_by_the_definition(counts, l, expected):
    secrets = [s for s, count in enumerate(counts) for _ in range(count)]
    found = fd.anonymity.classes({"q": [0] * len(secrets), "s": secrets}, ["q"], ["s"])
    assert found.recursive(l) == expected
    assert found.l("recursive", c=expected) < l <= found.l("recursive", c=expected + 0.01)


def test_sarkar__entropy_and_closeness():
    """A 6-anonymous table of two classes: values 2,2,1,1 and 3,2,1 have these entropies."""
    secrets = [list("aabbcd"), list("aaabbc")]
    table = {"q": [0] * 6 + [1] * 6, "s": secrets[0] + secrets[1]}
    found = fd.anonymity.classes(table, ["q"], ["s"])
    assert (found.k, found.l(), found.alpha) == (6, 3, 0.5)
    assert found.l("entropy") == pytest.approx(2.749459, abs=1e-6)
    expected = math.exp(-sum(c / 6 * math.log(c / 6) for c in Counter(secrets[0]).values()))
    assert expected == pytest.approx(3.779763, abs=1e-6)


def test_expected_uniques():
    assert expected_uniques(1000, 1000) == pytest.approx(368.0635, abs=1e-4)
    counts = np.random.default_rng(1).multinomial(1000, np.full(1000, 1 / 1000), 2000)
    assert (counts == 1).sum(axis=1).mean() == pytest.approx(expected_uniques(1000, 1000), abs=1.2)


@pytest.mark.parametrize("p", [0.01, 0.1, 0.45, 0.55, 0.9])
@pytest.mark.parametrize("f", [1, 2, 3, 10, 60, 399, 400, 900])
def test_individual_risk__is_the_mean_of_the_negative_binomial(f, p):
    """E[1 / F] for F - f failures before the f-th success, summed term by term."""
    from scipy.stats import nbinom

    most = int(nbinom.isf(1e-13, f, p)) + 10
    failures = np.arange(most)
    expected = float((nbinom.pmf(failures, f, p) / (failures + f)).sum())
    assert individual_risk(f, p) == pytest.approx(expected, rel=1e-6)


def test_individual_risk__of_a_unique_record():
    assert individual_risk(1, 0.1) == pytest.approx(0.255843, abs=1e-6)


@needs_data
class TestAdult:
    def test_three_columns(self):
        found = fd.anonymity.classes(adult(), ["sex", "age", "race"])
        assert (found.count, found.unique, found.discernibility) == (528, 62, 8_659_004)
        assert found.rows_below(5) == found.below(5).sum() == 425

    def test_five_columns(self):
        found = fd.anonymity.classes(adult(), ["sex", "age", "race", "marital-status", "education"])
        assert (found.count, found.unique, found.discernibility) == (6_072, 3_187, 1_074_930)
        assert found.rows_below(5) == 7_528

    @pytest.mark.parametrize(
        ("loss", "levels", "value", "suppressed", "classes"),
        [
            ("ncp", (3, 2, 0, 1, 0, 1), 0.2334964, 1_366, 201),
            ("discernibility", (0, 3, 2, 1, 1, 2), 10_541_769, 121, 180),
        ],
    )
    def test_optimum__of_1080_nodes(self, loss, levels, value, suppressed, classes):
        chosen = adult().select([*SIX, "salary-class"])
        made = fd.anonymize(chosen, {q: hierarchy(q) for q in SIX}, k=10, loss=loss, sensitive="salary-class")
        assert tuple(made.levels[q] for q in SIX) == levels
        assert made.loss == pytest.approx(value, rel=1e-6)
        assert (made.suppressed, made.classes.count, made.classes.k) == (suppressed, classes, 10)
        lattice = made.certificate.nodes
        assert (lattice["size"], lattice["qualifying"], lattice["proven"]) == (1080, 504, True)
        if loss == "ncp":
            other = next(node for node in made.nodes if node.levels == (3, 1, 1, 1, 0, 1))
            assert other.loss == pytest.approx(0.2673881, rel=1e-6)
            assert other.suppressed == 1_099
