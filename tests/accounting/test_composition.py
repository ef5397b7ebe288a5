"""What compositions take and refuse, their groups, samples and pictures, and where floats would overflow."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import fastdp as fd
from fastdp.losses import GaussianLoss, GeometricLoss, LaplaceLoss, SampledGaussianLoss
from tests.accounting.test_oracles import release


def test_delta_near_one__is_a_bracket():
    """20 Laplace losses of 2 at epsilon 0, where the saddle point is at a tilt near 0."""
    low, high = fd.compose([release(LaplaceLoss(epsilon=2.0), 20)]).delta(epsilon=0.0)
    assert 0.99956085 < low <= high < 0.99956087
    for count in (10**3, 10**6):
        low, high = fd.compose([release(LaplaceLoss(epsilon=2.0), count)]).delta(epsilon=0.0)
        assert low <= high <= 1
        assert high > 0.999


def test_delta_zero__has_proven_ends():
    """The largest loss is the lower end; the sum of guarantees, rounded up, the upper one."""
    found = fd.compose([fd.sampled(fd.Privacy(epsilon=40.0), rate=1e-10)]).epsilon(delta=0)
    exact = 40 + math.log(1e-10 + (1 - 1e-10) * math.exp(-40))
    assert found.lower <= exact <= found.upper <= found.lower * (1 + 1e-12)
    assert fd.compose([release(GaussianLoss(mu=1.0))]).epsilon(delta=0) == (math.inf, math.inf)


def test_units_record_and_report__have_a_common_total():
    report = fd.KRR(epsilon=1.0, domain=4)
    total = fd.compose([report, fd.Privacy(epsilon=0.5, neighbours="replace")])
    assert total.unit == "record"
    assert total.epsilon(delta=0).upper == pytest.approx(1.5)


def test_curves__compose_again():
    part = fd.compose([(fd.Privacy(epsilon=0.1), 40)])
    both = fd.parallel({"north": fd.Privacy(epsilon=0.3), "south": fd.Privacy(epsilon=0.2)})
    total = fd.compose([(part, 2), fd.Privacy(epsilon=0.1), fd.compose([both])])
    plain = fd.compose([(fd.Privacy(epsilon=0.1), 81), fd.Privacy(epsilon=0.3)])
    assert total.epsilon(delta=1e-6).upper == pytest.approx(plain.epsilon(delta=1e-6).upper, rel=1e-9)


@pytest.mark.parametrize("size", [2, 3, 10])
def test_groups__cost_no_less_than_the_worst_case(size):
    """A Gaussian of mu is one of size * mu for a group, which lies within the group's bracket."""
    curve = fd.compose([release(GaussianLoss(mu=0.2))]).group(size)
    exact = fd.compose([release(GaussianLoss(mu=0.2 * size))])
    for delta in (1e-3, 1e-8):
        found = curve.epsilon(delta=delta)
        assert found.lower <= exact.epsilon(delta=delta).lower <= found.upper
    for epsilon in (0.0, 0.5, 800.0):
        found = curve.delta(epsilon=epsilon)
        assert found.lower <= exact.delta(epsilon=epsilon).upper
        assert exact.delta(epsilon=epsilon).lower <= found.upper


def test_groups__have_all_that_curves_have():
    group = fd.compose([fd.Privacy(epsilon=0.5, unit="person")]).group(3)
    assert group.as_privacy() == fd.Privacy(epsilon=1.5, unit="person")
    assert (group.unit, group.neighbours) == ("person", "add/remove")
    never = fd.compose([fd.Privacy(epsilon=0.5, delta=1e-3)]).group(3)
    assert never.epsilon(delta=1e-6).upper == math.inf
    with pytest.raises(fd.ParameterError, match="larger delta"):
        never.as_privacy(delta=1e-6)
    with pytest.raises(fd.ParameterError, match="epsilon must be"):
        group.delta(epsilon=math.inf)


def test_sampled_laplace__takes_cells_not_millions_of_atoms():
    sample = fd.sampled(fd.Laplace(epsilon=1.0, sensitivity=1.0), rate=0.01)
    assert sample.losses[0][0].above.losses.size < 5000
    found = fd.compose([(sample, 100)]).epsilon(delta=1e-6)
    ideal = fd.compose([(fd.sampled(LaplaceLoss(epsilon=1.0), rate=0.01), 100)]).epsilon(delta=1e-6)
    assert found.upper - found.lower < 3e-6 * found.upper
    assert found.upper == pytest.approx(ideal.upper, rel=1e-5)


@pytest.mark.parametrize("loss", [GaussianLoss(mu=1.0), LaplaceLoss(epsilon=1.0), GeometricLoss(rate=0.3, steps=1)])
def test_fixed_size__has_the_curve_of_the_mixture_both_ways(loss):
    """For epsilon >= 0 that of a Poisson sample where a record is removed; and no less composed."""
    from fastdp.accounting.compose import Release

    local = Release(((loss, 1),), "replace", "record", math.inf)
    fixed = fd.sampled(local, rate=0.2, scheme="fixed size")
    poisson = fd.sampled(release(loss), rate=0.2)
    for epsilon in (0.0, 0.1):
        found, wanted = (fd.compose([one], width=1e-3).delta(epsilon=epsilon) for one in (fixed, poisson))
        assert found.lower <= wanted.upper
        assert wanted.lower <= found.upper
        assert found.upper - found.lower < 1e-3
    composed = fd.compose([(fixed, 40)], width=1e-3).epsilon(delta=1e-5)
    assert composed.upper >= fd.compose([(poisson, 40)], width=1e-3).epsilon(delta=1e-5).lower


def test_renyi__composes_by_its_orders():
    """Orders of a Gaussian of rho 1/2: no less than its curve, no more than zCDP of that rho but for the chords."""
    orders = {1 + i / 4: (1 + i / 4) / 2 for i in range(1, 200)}
    found = fd.compose([fd.RenyiPrivacy(orders)]).epsilon(delta=1e-6)
    zcdp = fd.compose([fd.Privacy(rho=0.5)]).epsilon(delta=1e-6)
    assert found.lower == 0
    assert 4.886554 < found.upper < zcdp.upper * 1.001
    with pytest.raises(fd.ParameterError, match="orders"):
        fd.RenyiPrivacy({0.5: 1.0})


def test_privacies__add_up():
    one, two = fd.Privacy(epsilon=0.5, delta=1e-9), fd.Privacy(epsilon=0.25, delta=1e-9)
    assert one + two == fd.Privacy(epsilon=0.75, delta=2e-9)
    with pytest.raises(fd.ParameterError, match="for_replacement"):
        one + fd.Privacy(epsilon=1.0, neighbours="replace")
    with pytest.raises(fd.ParameterError, match="units"):
        one + fd.Privacy(epsilon=1.0, unit="person")
    with pytest.raises(TypeError):
        one + 1.0
    assert fd.Privacy(epsilon=1.0).curve().epsilon(delta=0).upper == 1.0


def test_many_coins__are_summed_exactly():
    found = fd.compose([(fd.RandomizedResponse(epsilon=0.001), 10**6)]).epsilon(delta=1e-6)
    assert found.upper - found.lower < 1e-12 * found.upper
    assert found.upper == pytest.approx(4.88654, abs=1e-5)


def test_few_samples_of_a_small_rate__fall_back_to_cells():
    found = fd.compose([release(SampledGaussianLoss(mu=1.0, rate=0.01), 2)], width=1e-3).epsilon(delta=1e-4)
    once = fd.compose([release(SampledGaussianLoss(mu=1.0, rate=0.01))]).epsilon(delta=1e-4)
    assert once.upper < found.lower <= found.upper < 1.01 * found.lower


def test_atoms__of_equal_margins_are_not_equal():
    """Two losses are merged where their atoms are the same, never because the rest is."""
    one, two = (fd.KRR(epsilon=epsilon, domain=5).losses()[0] for epsilon in (0.5, 1.0))
    one, two = (replace(loss, margin=0.0) for loss in (one, two))
    assert one != two
    found = fd.compose([release(one), release(two)]).epsilon(delta=0)
    assert found.lower == pytest.approx(1.5, abs=1e-6)


def test_widths__are_checked():
    with pytest.raises(fd.ParameterError, match="width"):
        fd.compose([fd.Privacy(epsilon=1.0)], width=0.0)


def test_plot__draws_both_ends():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    curve = fd.compose([(fd.Privacy(epsilon=0.1), 20)])
    for one in (curve, curve.group(2)):
        figure = one.plot(points=8)
        axes = figure.axes[0]
        x, y = axes.lines[0].get_data()
        assert len(x) == 9
        assert y[3] == one.delta(epsilon=float(x[3])).upper
        assert axes.get_yscale() == "log"
        pyplot.close(figure)


def test_plans__have_one_total():
    columns = {
        "income": {"mechanism": "gaussian", "rho": 0.1, "bounds": [0, 10]},
        "height": {"mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-7, "bounds": [0, 10]},
        "smokes": {"mechanism": "krr", "epsilon": 1.0, "domain": ["no", "yes"]},
    }
    plan = fd.Plan(columns=columns)
    record = plan.privacy.record
    assert record.delta == pytest.approx(2e-7)
    assert record.epsilon == plan.curve().epsilon(delta=record.delta).upper
    assert plan.curve().epsilon(delta=1e-5).upper < record.epsilon
    assert fd.compose([plan]).neighbours == "replace"


def test_plans__compose_below_their_sum():
    from fastdp.plans.explain import as_data, explain_total

    answer = {"mechanism": "krr", "epsilon": 0.2, "domain": ["no", "yes"]}
    plan = fd.Plan(columns={f"question {i}": answer for i in range(30)})
    assert plan.privacy.record.epsilon == pytest.approx(6.0)
    composed = as_data(plan)["composed"]
    exact = fd.compose([(fd.KRR(epsilon=0.2, domain=2), 30)]).epsilon(delta=1e-6)
    assert exact.lower <= composed["epsilon"] <= exact.upper * (1 + 1e-9) < 5.5
    assert any("composed" in line for line in explain_total(plan))


def test_rounded_sums__are_never_below():
    from fractions import Fraction

    from fastdp.accounting.compose import _sum_up

    rng = np.random.default_rng(5)
    for _ in range(200):
        values = rng.random(20).tolist()
        exact = sum(map(Fraction, values))
        assert exact <= Fraction(_sum_up(values)) <= exact * (1 + Fraction(1, 2**51))
