"""Values to 16 digits, computed apart with mpmath: every one lies inside its bracket, and mutants leave some out."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.accounting import inversion
from fastdp.accounting.building import build, geometric_atoms
from fastdp.accounting.compose import Release, parallel
from fastdp.accounting.directions import Direction
from fastdp.losses import AtomicLoss, ConcentratedLoss, GaussianLoss, GeometricLoss, LaplaceLoss, SampledGaussianLoss


def release(loss, count=1):
    return Release(((loss, count),), "add/remove", "record", math.inf)


def rr(epsilon):
    return geometric_atoms(GeometricLoss(rate=epsilon, steps=1))


def krr(epsilon, k):
    w = math.exp(epsilon)
    p = np.array([w, k - 2, 1]) / (w + k - 1)
    return AtomicLoss(losses=np.array([epsilon, 0.0, -epsilon]), p=p, q=p[::-1].copy())


def discrete_gaussian(sigma):
    z = np.arange(-int(16 * sigma) - 2, int(16 * sigma) + 3)
    p = np.exp(-(z**2) / (2 * sigma**2))
    p /= p.sum()
    losses = (2 * z + 1) / (2 * sigma**2)
    return AtomicLoss(losses=losses, p=p, q=p * np.exp(-losses))


EPSILONS = [
    (GaussianLoss(mu=1.0), 1, 1e-6, 4.886554117462212),
    (GaussianLoss(mu=1.0), 1, 1e-15, 8.165579695504254),
    (GaussianLoss(mu=0.5), 1, 1e-10, 3.099430330243196),
    (GaussianLoss(mu=0.001), 1, 1e-6, 0.002718219088813995),
    (GaussianLoss(mu=1.0), 4, 1e-5, 9.9972561464343),
    (GaussianLoss(mu=5.0), 1, 1e-12, 47.04923217270176),
    (GaussianLoss(mu=8.0), 1, 1e-10, 82.15594945928361),
    (GaussianLoss(mu=0.1), 1, 1e-30, 1.109707933957282),
    (rr(0.1), 100, 1e-6, 4.774567588107986),
    (rr(0.031622776601683794), 1000, 1e-6, 4.874667862396942),
    (rr(1.0), 30, 1e-9, 29.99998793750107),
    (rr(0.01), 10000, 1e-10, 6.545440427706309),
]
DELTAS = [
    (GaussianLoss(mu=1.0), 1, 0.0, 0.3829249225480262),
    (GaussianLoss(mu=1.0), 1, 1e-4, 0.3828940690118291),
    (GaussianLoss(mu=0.3), 1, 1.0, 5.488749644612939e-5),
    (GaussianLoss(mu=6.0), 1, 30.0, 0.01610211824321708),
    (GaussianLoss(mu=3.0), 1, 10.0, 0.01858951431585781),
    (rr(0.1), 10, 0.5, 0.009929626917388853),
    (rr(0.1), 100, 2.0, 0.02014017842819153),
    (rr(0.05), 1000, 4.0, 0.016339614391204),
    (rr(0.05), 1000, 10.0, 2.854476714754187e-9),
    (rr(1.0), 20, 15.0, 0.04608428551146347),
    (rr(0.01), 10000, 4.0, 4.698253009862045e-5),
    (rr(0.001), 100000, 1.0, 0.000109795458407108),
    (rr(3.0), 5, 14.5, 0.3086063114336003),
    (GeometricLoss(rate=0.3, steps=2), 10, 2.0, 0.2438597401039614),
    (GeometricLoss(rate=0.2, steps=3), 20, 4.0, 0.2280609162702297),
    (krr(1.0, 4), 10, 6.0, 0.04585945342625928),
    (krr(0.5, 100), 50, 3.0, 4.761678427874854e-6),
    (krr(2.0, 10), 8, 9.0, 0.156942402607275),
    (discrete_gaussian(1.0), 5, 5.0, 0.07636745436781496),
    (discrete_gaussian(3.0), 4, 2.0, 0.0006426387489527615),
    (discrete_gaussian(0.5), 2, 8.0, 0.01158796404163648),
    (LaplaceLoss(epsilon=1.0), 1, 0.5, 0.2211992169285951),
    (LaplaceLoss(epsilon=1.0), 2, 1.0, 0.2418366753592082),
    (LaplaceLoss(epsilon=0.5), 3, 0.7, 0.1151775392329561),
    (LaplaceLoss(epsilon=0.3), 5, 0.9, 0.02685018879203217),
    (LaplaceLoss(epsilon=2.0), 4, 5.0, 0.3428119501878278),
    (LaplaceLoss(epsilon=0.1), 6, 0.3, 0.0150038839745452),
]


@pytest.mark.parametrize(("loss", "count", "delta", "exact"), EPSILONS)
def test_epsilon__is_inside_its_bracket(loss, count, delta, exact):
    found = fd.compose([release(loss, count)]).epsilon(delta=delta)
    assert found.lower <= exact * (1 + 2e-15)
    assert found.upper >= exact * (1 - 2e-15)
    assert found.upper - found.lower <= 2e-11 * exact


@pytest.mark.parametrize(("loss", "count", "epsilon", "exact"), DELTAS)
def test_delta__is_inside_its_bracket(loss, count, epsilon, exact):
    found = fd.compose([release(loss, count)]).delta(epsilon=epsilon)
    assert found.lower <= exact * (1 + 2e-15)
    assert found.upper >= exact * (1 - 2e-15)


def test_gaussian__far_out_is_an_upper_bound():
    """The exact value, 1.37e-536, is below the smallest float64: the bracket is from 0 to a tiny number above it."""
    found = fd.compose([release(GaussianLoss(mu=1.0))]).delta(epsilon=50.0)
    assert found.lower == 0
    assert 0 < found.upper < 1e-290


def inverted(loss, count, epsilon):
    """The bracket of the inversion, also where there is a closed form."""
    factors = build([(loss, count)])
    theta, _ = inversion.choose_tilt(factors, epsilon=epsilon)
    return inversion.Inversion(factors, theta, 0.004 / math.sqrt(theta * (theta + 1))).bounds(epsilon)


def misses():
    """How many values the inversion leaves out of its bracket."""
    found = [(exact, inverted(loss, count, epsilon)) for loss, count, epsilon, exact in DELTAS if epsilon > 0]
    return sum(not low <= exact * (1 + 1e-13) or not high >= exact * (1 - 1e-13) for exact, (low, high) in found)


def test_inversion__holds_every_value():
    assert misses() == 0


def test_inversion__is_found_out_with_a_smaller_constant(monkeypatch):
    monkeypatch.setattr(inversion, "SMOOTHING_CONSTANT", 2.0)
    assert misses() > 3


def test_inversion__is_found_out_without_its_lower_end(monkeypatch):
    """Smoothing forgotten: the smoothed curve as if it were the curve."""
    monkeypatch.setattr(inversion, "SMOOTHING_CONSTANT", 0.0)
    assert misses() > 8


def short_misses():
    """Five losses of 3 near their top, 15, at a tilt of 10 and a period of 5 / 10."""
    exact = 0.3086063114336003
    low, high = inversion.Inversion(build([(rr(3.0), 5)]), 10.0, 4e-4, 1e-12, -31.0).bounds(14.5)
    return not low <= exact * (1 + 1e-12) or not high >= exact * (1 - 1e-12)


def test_inversion__is_found_out_without_its_alias_term(monkeypatch):
    """A period too short makes copies of the curve that count, and the term takes them off the lower end."""
    assert not short_misses()
    monkeypatch.setattr(inversion.Inversion, "_alias", lambda *_: 0.0)
    assert short_misses()


def test_rare_losses__are_sharp_all_the_same():
    """Twenty reports of which all must agree: delta is p^20 (1 - e^-0.5), about 1e-52."""
    loss = krr(1.0, 1000)
    found = fd.compose([release(loss, 20), release(LaplaceLoss(epsilon=1e-9))]).delta(epsilon=19.5)
    exact = float(loss.p[0]) ** 20 * -math.expm1(-0.5)
    assert found.lower <= exact * (1 + 1e-8)
    assert exact * (1 - 1e-8) <= found.upper <= found.lower * (1 + 1e-3)


def test_inversion__is_found_out_without_rounding(monkeypatch):
    """A million losses at a tilt of 0.2: what products round is more than the rest of the slack."""
    factors = build([(rr(1e-3), 10**6)])
    exact = fd.compose([release(rr(1e-3), 10**6)]).delta(epsilon=3.0)

    def slack():
        return inversion.Inversion(factors, 3.0, 1e-3, 1e-15)._fields["slack"]

    whole = slack()
    monkeypatch.setattr(inversion, "ROUNDING", 0)
    assert slack() < whole / 10
    assert whole < exact.lower


def test_inversion__is_found_out_with_the_wrong_direction():
    """The curve of a record that is added is no bound for one that is removed."""
    sample = fd.sampled(fd.Privacy(epsilon=2.0), rate=0.1)
    swapped = Direction(build([(sample.losses[0][0], 50)], reverse=True)).solver(epsilon=1.5)(1.5)
    assert swapped.upper < 0.2446201273117201


@pytest.mark.parametrize("factor", [0.1, 0.5, 2.0])
def test_inversion__holds_at_any_tilt(factor):
    """A wrong tilt widens brackets and never breaks them."""
    widths = []
    for loss, count, epsilon, exact in DELTAS[-6:]:
        factors = build([(loss, count)])
        theta, _ = inversion.choose_tilt(factors, epsilon=epsilon)
        theta *= factor
        low, high = inversion.Inversion(factors, theta, 0.004 / math.sqrt(theta * (theta + 1))).bounds(epsilon)
        assert low <= exact * (1 + 1e-13)
        assert high >= exact * (1 - 1e-13)
        widths.append((high - low) / exact)
    assert factor != 0.1 or max(widths) > 1e-4


def test_inversion__is_found_out_with_smoothing_forgotten_in_the_moment(monkeypatch):
    """The nodes carry the smoothing, the moment at the tilt must too."""
    original = inversion.Inversion.bounds

    def forgetful(self, epsilon):
        kept = self._fields["moment"]
        self._fields["moment"] = kept - self._fields["smoothing"] * self.theta * (self.theta + 1) / 2
        found = original(self, epsilon)
        self._fields["moment"] = kept
        return found

    monkeypatch.setattr(inversion.Inversion, "bounds", forgetful)
    assert misses() > 3


SAMPLED = [
    (1 / math.sqrt(1000), 1000, (7.326657, 7.326738), (5.530559, 5.530583)),
    (0.01, 10_000, (6.907353, 6.907405), (6.207464, 6.207497)),
    (0.001, 10**6, (6.694247, 6.694289), (6.614593, 6.614633)),
]


@pytest.mark.parametrize(("rate", "count", "remove", "add"), SAMPLED)
def test_sampled_gaussians__agree_with_two_other_accountants(rate, count, remove, add):
    """Brackets by other methods overlap with ours, in both directions apart."""
    for reverse, (low, high) in ((False, remove), (True, add)):
        factors = build([(SampledGaussianLoss(mu=1.0, rate=rate), count)], reverse=reverse)
        direction = Direction(factors, width=1e-5 if count < 10**6 else 2e-4)
        found = fd.PrivacyCurve([[direction]], "add/remove", "record").epsilon(delta=1e-6)
        assert found.lower <= high
        assert low <= found.upper
        assert found.upper - found.lower < (3e-5 if count < 10**6 else 4e-4) * found.upper
    whole = fd.compose([release(SampledGaussianLoss(mu=1.0, rate=rate), count)]).epsilon(delta=1e-6)
    assert whole.upper >= remove[0]


def test_sampled_gaussians__of_a_smaller_sigma():
    for reverse, (low, high) in ((False, (3.706096, 3.706248)), (True, (2.198899, 2.198907))):
        direction = Direction(build([(SampledGaussianLoss(mu=1 / 0.8, rate=0.01), 1000)], reverse=reverse))
        found = fd.PrivacyCurve([[direction]], "add/remove", "record").epsilon(delta=1e-6)
        assert found.lower <= high
        assert low <= found.upper


DIFFERENT = [
    (100, (4.4840305, 4.4840417), (1.9491460, 1.9491463)),
    (1000, (3.7109947, 3.7110048), (2.4912241, 2.4912248)),
]


@pytest.mark.parametrize(("count", "remove", "add"), DIFFERENT)
def test_different_sampled_gaussians__agree_with_other_brackets(count, remove, add):
    rng = np.random.default_rng(1)
    sigmas, rates = 0.8 + rng.random(count) * 0.6, (0.5 + rng.random(count)) * 0.5 / math.sqrt(count)
    losses = [(SampledGaussianLoss(mu=1 / sigma, rate=rate), 1) for sigma, rate in zip(sigmas, rates, strict=True)]
    for reverse, (low, high) in ((False, remove), (True, add)):
        direction = Direction(build(losses, reverse=reverse), width=1e-5)
        found = fd.PrivacyCurve([[direction]], "add/remove", "record").epsilon(delta=1e-6)
        assert found.lower <= high
        assert low <= found.upper
        assert found.upper - found.lower < 2e-5 * found.upper


@pytest.mark.parametrize(("reverse", "exact"), [(False, 0.2446201273117201), (True, 0.1899211889552062)])
def test_sampled_rr__is_exact_in_both_directions(reverse, exact):
    sample = fd.sampled(fd.Privacy(epsilon=2.0), rate=0.1)
    low, high = Direction(build([(sample.losses[0][0], 50)], reverse=reverse)).solver(epsilon=1.5)(1.5)
    assert low <= exact * (1 + 2e-15)
    assert high >= exact * (1 - 2e-15)
    assert high - low < 1e-11
    assert fd.compose([(sample, 50)]).delta(epsilon=1.5).upper >= 0.2446201273117201 * (1 - 1e-15)


def test_statements__compose_by_kairouz_oh_viswanath():
    found = fd.compose([(fd.Privacy(epsilon=0.1, delta=1e-8), 100)]).delta(epsilon=2.0)
    assert found.lower <= 0.02014115828752807 <= found.upper
    assert found.upper - found.lower < 1e-11


RHOS = [
    (0.1, 1e-6, 2.141938928385474),
    (0.5, 1e-5, 4.728386984943314),
    (2.0, 1e-10, 14.87067800681375),
    (1e-4, 1e-9, 0.07436279311413624),
    (10.0, 1e-12, 42.17984979426101),
]


@pytest.mark.parametrize(("rho", "delta", "exact"), RHOS)
def test_rho__costs_no_less_than_its_best_conversion(rho, delta, exact):
    found = fd.compose([release(ConcentratedLoss(rho=rho))]).epsilon(delta=delta)
    assert found.lower < exact * (1 + 1e-12) <= found.upper * (1 + 2e-12) < exact * 1.001


def test_thousand_laplace__are_sharp_at_any_delta():
    rng = np.random.default_rng(1)
    parts = [release(LaplaceLoss(epsilon=e)) for e in (0.5 + rng.random(1000)) / math.sqrt(1000)]
    total = fd.compose(parts)
    found = total.epsilon(delta=1e-6)
    assert found.lower <= 5.0818210
    assert found.upper >= 5.0818166
    for delta in (1e-2, 1e-15, 1e-100):
        found = total.epsilon(delta=delta)
        assert 0 < found.upper - found.lower < 2e-6 * found.upper


def test_mixed_relations_and_units__are_refused():
    with pytest.raises(fd.ParameterError, match="for_replacement"):
        fd.compose([fd.Privacy(epsilon=1.0), fd.Privacy(epsilon=1.0, neighbours="replace")])
    with pytest.raises(fd.ParameterError, match="units 'person' and 'record'"):
        fd.compose([fd.Privacy(epsilon=1.0), fd.Privacy(epsilon=1.0, unit="person")])
    with pytest.raises(fd.ParameterError, match="account of their own"):
        fd.compose([fd.Privacy(epsilon=1.0), fd.MetricPrivacy(epsilon=1.0)])


def test_parallel__costs_its_costliest_part():
    parts = parallel({"north": fd.Privacy(epsilon=0.3), "south": [fd.Privacy(epsilon=0.2), fd.Privacy(epsilon=0.2)]})
    assert fd.compose([parts, fd.Privacy(epsilon=0.5)]).epsilon(delta=0).upper == pytest.approx(0.9)


def test_tiny_losses__cost_nothing_and_never_less():
    assert fd.compose([release(SampledGaussianLoss(mu=0.01, rate=1e-6), 10)]).epsilon(delta=1e-5).upper == 0.0
