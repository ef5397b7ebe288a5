"""Partition selection: the optimal probabilities, the guarantee by enumeration, and the rule at the threshold."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pyarrow as pa
import pytest

import fastdp as fd


def law(mechanism) -> dict[int, mpmath.mpf]:
    """The noise within plus and minus the threshold."""
    rate, k = mechanism._law.law.rate.exact, mechanism.threshold
    weights = {z: mpmath.exp(-mpmath.mpf(rate.numerator) * abs(z) / rate.denominator) for z in range(-k, k + 1)}
    total = sum(weights.values())
    return {z: weight / total for z, weight in weights.items()}


def outcomes(mechanism, count: int, *, least: int = 1) -> dict:
    """The released count, or None: kept if the noisy count exceeds the threshold by ``least`` or more.

    A key without persons is not in the data at all.
    """
    if not count:
        return {None: mpmath.mpf(1)}
    found: dict = {}
    for z, p in law(mechanism).items():
        outcome = count + z if count + z >= mechanism.threshold + least else None
        found[outcome] = found.get(outcome, 0) + p
    return found


def loss(one: dict, other: dict, epsilon: float) -> float:
    """The hockey-stick divergence at epsilon, in the worse direction."""
    factor = mpmath.exp(epsilon)
    keys = set(one) | set(other)
    return max(
        float(sum(max(p.get(key, 0) - factor * q.get(key, 0), 0) for key in keys))
        for p, q in ((one, other), (other, one))
    )


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5), (0.5, 1e-6), (3.0, 1e-3)])
def test_privacy__holds_for_every_count(epsilon, delta):
    """Counts one apart, from an empty key to beyond the threshold; keeping at the threshold itself is caught."""
    mechanism = fd.KeySelection(epsilon=epsilon, delta=delta)
    stated = mechanism.privacy
    assert stated.epsilon <= epsilon
    assert stated.delta <= delta
    pairs = [(n, n + 1) for n in range(2 * mechanism.threshold + 3)]
    with mpmath.workdps(40):
        right = [loss(*(outcomes(mechanism, n) for n in pair), stated.epsilon) for pair in pairs]
        wrong = [loss(*(outcomes(mechanism, n, least=0) for n in pair), stated.epsilon) for pair in pairs]
    assert stated.delta * (1 - 1e-9) <= max(right) <= stated.delta
    assert max(wrong) > delta


@pytest.mark.parametrize(("epsilon", "k", "delta"), [(1.0, 12, 2.83935533001191e-6), (0.5, 20, 1.11196712600941e-5)])
def test_threshold__is_the_smallest(epsilon, k, delta):
    """Published values of the largest noise's probability: with a delta just above it that threshold is found."""
    assert fd.KeySelection(epsilon=epsilon, delta=delta * (1 + 1e-7)).threshold == k
    assert fd.KeySelection(epsilon=epsilon, delta=delta * (1 - 1e-7)).threshold == k + 1
    stated = fd.KeySelection(epsilon=epsilon, delta=delta * (1 + 1e-7)).privacy.delta
    assert delta <= stated <= delta * (1 + 1e-7)


def test_keep_probability__is_the_optimum():
    """The recursion of the largest probabilities that epsilon and delta allow, at the mechanism's own delta."""
    mechanism = fd.KeySelection(epsilon=1.0, delta=1e-5)
    stated = mechanism.privacy
    optimal = 0.0
    for count in range(2 * mechanism.threshold + 4):
        assert mechanism.keep_probability(count) == pytest.approx(optimal, rel=1e-6, abs=1e-15)
        assert mechanism.keep_probability(count) == pytest.approx(
            float(sum(p for key, p in outcomes(mechanism, count).items() if key is not None)), rel=1e-6
        )
        grown = math.exp(stated.epsilon) * optimal + stated.delta
        optimal = min(grown, 1 - math.exp(-stated.epsilon) * (1 - optimal - stated.delta), 1.0)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 2.0])
def test_select__keeps_as_often_as_it_says(epsilon):
    mechanism = fd.KeySelection(epsilon=epsilon, delta=1e-3)
    counts = np.repeat(np.arange(2 * mechanism.threshold + 3), 4000)
    found = mechanism.select(counts, rng=fd.Rng.unsafe_seed(3))
    seen = np.bincount(counts[found.indices], minlength=counts.max() + 1)
    for count in range(counts.max() + 1):
        p = mechanism.keep_probability(count)
        assert abs(seen[count] - 4000 * p) <= 4.5 * math.sqrt(4000 * p * (1 - p)) + 1e-9
    assert seen[0] == 0
    assert (found.counts > mechanism.threshold).all()
    assert (abs(found.counts - counts[found.indices]) <= mechanism.threshold).all()


def test_max_groups__share_the_budget():
    mechanism = fd.KeySelection(epsilon=1.0, delta=1e-6, max_groups=4)
    one = fd.KeySelection(epsilon=0.25, delta=-math.expm1(math.log1p(-1e-6) / 4))
    assert mechanism.threshold == one.threshold
    assert mechanism.privacy.epsilon == pytest.approx(4 * one.privacy.epsilon, rel=1e-9)
    assert mechanism.privacy.delta == pytest.approx(-math.expm1(4 * math.log1p(-one.privacy.delta)), rel=1e-9)


def test_select__is_the_same_in_every_container():
    counts = np.arange(300_000) % 40
    mechanism = fd.KeySelection(epsilon=1.0, delta=1e-6)
    whole = mechanism.select(counts, rng=fd.Rng.unsafe_seed(1))
    for given in (
        counts.astype(np.uint8),
        pa.array(counts),
        pa.chunked_array([counts[:9], counts[9:]]),
        counts.tolist(),
    ):
        found = mechanism.select(given, rng=fd.Rng.unsafe_seed(1))
        np.testing.assert_array_equal(found.indices, whole.indices)
        np.testing.assert_array_equal(found.counts, whole.counts)
    assert mechanism.select([]).indices.size == 0


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({"epsilon": -1}, "epsilon must be"), ({"delta": 0}, "delta must be"), ({"delta": 1.0}, "delta must be"),
        ({"max_groups": 0}, "max_groups must be"), ({"max_groups": 2.5}, "max_groups must be"),
    ],
)  # fmt: skip
def test_parameters__are_checked(parameters, rule):
    with pytest.raises(fd.ParameterError, match=rule):
        fd.KeySelection(**{"epsilon": 1.0, "delta": 1e-6, **parameters})


def test_counts__are_checked():
    mechanism = fd.KeySelection(epsilon=1.0, delta=1e-6)
    with pytest.raises(fd.DomainError, match="counts must be integers from 0"):
        mechanism.select([3, -1])
    with pytest.raises(fd.SchemaError):
        mechanism.select([3.5])
