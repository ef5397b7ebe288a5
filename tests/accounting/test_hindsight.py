"""The curve of a ledger: that of its releases composed, from what the ledger stored of them alone."""

from __future__ import annotations

import pytest

import fastdp as fd
from fastdp.accounting.ledger import Ledger

RELEASES = [
    (fd.Laplace(epsilon=0.3, sensitivity=1.0), 3),
    (fd.Geometric(epsilon=0.2), 1),
    (fd.Gaussian(epsilon=0.5, delta=1e-8, sensitivity=2.0), 2),
    (fd.DiscreteGaussian(epsilon=0.4, delta=1e-9, sensitivity=1), 1),
]


@pytest.fixture
def ledger(tmp_path):
    made = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, delta=1e-6)
    for mechanism, times in RELEASES:
        made.spend(mechanism, times=times)
    return made


def test_curve__is_that_of_the_mechanisms(ledger):
    expected = fd.compose(RELEASES).epsilon(delta=1e-6)
    found = ledger.curve(fd.Mechanism.from_dict).epsilon(delta=1e-6)
    assert found == expected


def test_curve__without_mechanisms_is_that_of_the_guarantees(ledger):
    """Never below the mechanisms' own, never above the sums."""
    stated = ledger.curve().epsilon(delta=1e-6)
    assert stated.upper >= ledger.curve(fd.Mechanism.from_dict).epsilon(delta=1e-6).lower
    assert stated.upper <= ledger.spent.amount / 1e9


def test_curve__of_records_of_a_person_is_of_the_group(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, unit="person")
    ledger.spend(fd.Laplace(epsilon=0.1, sensitivity=1.0), records=5)
    assert ledger.curve(fd.Mechanism.from_dict).epsilon(delta=0).upper == pytest.approx(0.5, rel=1e-9)


def test_curve__of_labels_needs_their_number_alone(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=9.0, unit="report")
    krr = fd.KRR(epsilon=0.4, domain=["a", "b", "c"])
    ledger.spend(krr, times=20)
    assert ledger.curve(fd.Mechanism.from_dict).epsilon(delta=1e-6) == fd.compose([(krr, 20)]).epsilon(delta=1e-6)


def test_curve__of_nothing_is_refused(tmp_path):
    with pytest.raises(fd.ParameterError, match="nothing was released yet"):
        Ledger.create(tmp_path / "a.ledger", epsilon=1.0).curve()


def test_spend__of_a_curve_names_the_way_out(ledger):
    with pytest.raises(fd.ParameterError, match=r"as_privacy\(delta"):
        ledger.spend(fd.compose(RELEASES))
    before = ledger.spent
    ledger.spend(fd.compose(RELEASES[:2]).as_privacy(delta=1e-9))
    assert before.within(ledger.spent)
    assert before != ledger.spent
