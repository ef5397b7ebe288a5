"""Audits prove what is true, catch what leaks, and never prove more than there is."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import fastdp as fd
from fastdp.audits.cells import Bins
from fastdp.audits.epsilon import claim
from fastdp.audits.events import choose_events, prove
from tests.audits import mutants

LAPLACE = fd.Laplace(epsilon=1.0, sensitivity=1.0)


def audit(mechanism, a, b, **more):
    rng = fd.Rng.unsafe_seed(more.pop("seed", 7)) if isinstance(mechanism, fd.Mechanism) else None
    return fd.audit.epsilon(mechanism, a, b, rng=rng, **more)


@pytest.mark.parametrize(("draws", "least"), [(10**6, 0.97), (10**7, 0.993)])
def test_laplace__is_proven_to_a_few_thousandths(draws, least):
    found = audit(LAPLACE, 0.0, 1.0, draws=draws)
    assert least <= found.epsilon < 1
    assert found.claimed == LAPLACE.privacy.epsilon
    assert found.verdict.startswith("not refuted")


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "least"), [(10**8, 0.998), (10**9, 0.999)])
def test_laplace__is_proven_to_a_thousandth(draws, least):
    assert least <= fd.audit.epsilon(LAPLACE, 0.0, 1.0, draws=draws).epsilon < 1


@pytest.mark.slow
@pytest.mark.parametrize(("draws", "least"), [(10**8, 0.88), (10**9, 0.95)])
def test_gaussian__is_proven_at_its_delta(draws, least):
    mechanism = fd.Gaussian(epsilon=1.0, delta=1e-5, sensitivity=1.0)
    assert least <= fd.audit.epsilon(mechanism, 0.0, 1.0, draws=draws, delta=1e-5).epsilon < 1


def test_gaussian__is_proven_at_its_delta_by_few_draws():
    mechanism = fd.Gaussian(epsilon=1.0, delta=1e-3, sensitivity=1.0)
    found = audit(mechanism, 0.0, 1.0, draws=4 * 10**6, delta=1e-3)
    assert 0.9 < found.epsilon < 1
    assert dict(found.curve)[1e-3] == found.epsilon


def test_curve__stays_below_the_exact_one():
    """Oracle: for Laplace noise of epsilon 1, delta(e) = 1 - exp((e - 1) / 2)."""
    found = audit(LAPLACE, 0.0, 1.0, draws=10**6)
    assert [delta for delta, _ in found.curve] == sorted(delta for delta, _ in found.curve)
    for delta, proven in found.curve:
        assert proven <= max(0.0, 1 + 2 * math.log1p(-delta))
    assert dict(found.curve)[0.1] > 0.7


CAUGHT = [
    (mutants.numpy_laplace, 0.0, 1.0, 10**6, 1.0, 8.0),
    (mutants.uniform_noise, 10.0, 11.0, 10**6, 1.0, 8.0),
    (mutants.one_sided_geometric, 0, 1, 50_000, 1.0, 6.0),
    (mutants.ordered_subset, 0, 1, 200_000, 1.0, 1.2),
    (mutants.sparse_vector(4), (0.0,) * 7 + (1.0,), (1.0,) * 7 + (0.0,), 10**6, 1.0, 1.1),
    (mutants.sparse_vector(5), (0.0, 1.0), (1.0, 0.0), 200_000, 1.0, 5.0),
    (mutants.sparse_vector(6), (0.0,) * 4 + (1.0,) * 4, (1.0,) * 4 + (0.0,) * 4, 200_000, 1.0, 1.5),
]


@pytest.mark.parametrize(
    ("mechanism", "a", "b", "draws", "claimed", "least"), CAUGHT, ids=[case[0].__name__ for case in CAUGHT]
)
def test_leaks__are_caught(mechanism, a, b, draws, claimed, least):
    found = audit(mechanism, a, b, draws=draws, claimed=claimed, training=50_000)
    assert found.is_refuted
    assert found.verdict == "refuted"
    assert found.epsilon > least


@pytest.mark.parametrize("variant", [1, 2])
def test_sparse_vectors__that_are_private_are_not_refuted(variant):
    a, b = (0.0,) * 4 + (1.0,) * 4, (1.0,) * 4 + (0.0,) * 4
    found = audit(mutants.sparse_vector(variant), a, b, draws=200_000, claimed=1.0, training=50_000)
    assert 0.2 < found.epsilon < 1


def test_thresholds__alone_do_not_see_the_digits():
    """Why cells have digits: the same draws, without them, prove less than is claimed."""
    found = audit(mutants.numpy_laplace, 0.0, 1.0, draws=10**6, cells=Bins(-20.0, 0.01, 4096))
    assert 0.95 < found.epsilon < 1
    assert "binary digits" in audit(mutants.numpy_laplace, 0.0, 1.0, draws=10**5).witness.event


@pytest.mark.slow
def test_scale__one_percent_too_small_is_caught():
    found = audit(fd.Laplace(epsilon=1 / 0.99, sensitivity=1.0), 0.0, 1.0, draws=10**8, claimed=1.0)
    assert found.is_refuted


@pytest.mark.slow
@pytest.mark.parametrize("library", ["diffprivlib", "mkl_random", "pydp", "multi_freq_ldpy"])
def test_other_libraries__are_caught(library):
    module = pytest.importorskip(library)
    if library == "mkl_random":
        found = audit(lambda x, n: x + module.laplace(size=n), 0.0, 1.0, draws=2 * 10**6, claimed=1.0)
    elif library == "diffprivlib":
        from diffprivlib.mechanisms import Laplace

        noisy = Laplace(epsilon=1.0, sensitivity=1.0)
        draw = lambda x, n: np.array([noisy.randomise(x) for _ in range(n)])  # noqa: E731
        found = audit(draw, 0.0, 1.0, draws=200_000, claimed=1.0, training=20_000)
    elif library == "multi_freq_ldpy":  # the subset is reported in the order in which it was drawn
        from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client

        draw = lambda x, n: np.array([SS_Client(x, 10, 1.0)[0] for _ in range(n)])  # noqa: E731
        found = audit(draw, 0, 1, draws=20_000, claimed=1.0, training=5_000)
    else:
        from pydp.ml.mechanisms.geometric import Geometric

        noisy = Geometric()
        noisy.set_epsilon(1.0).set_sensitivity(1).set_probability(1 - math.exp(-1.0))
        draw = lambda x, n: np.array([noisy.randomise(x) for _ in range(n)])  # noqa: E731
        found = audit(draw, 0, 1, draws=20_000, claimed=1.0, training=5_000)
    assert found.is_refuted


def null_share(runs: int, alpha: float) -> float:
    """The share of audits of correct mechanisms that prove more than there is."""
    above = 0
    for run in range(runs):
        if run % 2:
            mechanism, pair, true = fd.RandomizedResponse(epsilon=1.0), (False, True), 1.0
        else:
            mechanism, pair, true = fd.Geometric(epsilon=0.5), (0, 1), 0.5
        found = audit(mechanism, *pair, draws=3000, training=2000, level=1 - alpha, seed=run)
        above += found.epsilon > true
    return above / runs


def test_null__few_audits_prove_too_much():
    assert null_share(120, 0.05) <= 0.05


@pytest.mark.slow
def test_null__at_most_one_in_twenty_of_a_thousand():
    assert null_share(1000, 0.05) <= 0.05


def test_null__is_needed():
    """A mutant that chooses events by the draws that it then counts proves too much."""
    above = 0
    for seed in range(40):
        source = np.random.default_rng(seed)
        a, b = (source.multinomial(3000, np.full(200, 1 / 200)) for _ in range(2))
        halves = [(a // 2, b // 2), (a - a // 2, b - b // 2)]
        family = choose_events(halves, ordered=False, n=3000, alpha=0.05, delta=0.0)
        above += max(proof.epsilon(0.0) for proof in prove(family, a, b, 3000, 0.05)) > 0
    assert above / 40 > 0.2


def test_both_directions__are_looked_at():
    """Output 0 is impossible for a: only the second direction sees a ratio without end."""

    def draw(value, count):
        return mutants.SOURCE.integers(1 - value, 4, count)

    found = audit(draw, 0, 1, draws=10**5, training=10**4)
    assert found.witness.likelier == "b"
    assert found.epsilon > 7


@pytest.mark.parametrize(
    ("mechanism", "a", "b"),
    [(fd.KRR(epsilon=1.0, domain=["x", "y", "z"]), "x", "y"), (fd.GridGeometric(epsilon=1.0, shape=(2, 2)), 0, 1)],
)
def test_exact__is_stated_where_there_is_a_channel(mechanism, a, b):
    found = audit(mechanism, a, b, draws=10**5)
    assert found.exact - 0.1 < found.epsilon < found.exact + 1e-9


def test_claim__grows_with_the_distance():
    assert claim(LAPLACE, 0.0, 3.0, 0.0) == pytest.approx(3.0, abs=1e-5)
    assert claim(LAPLACE, 0.0, 0.5, 0.0) == LAPLACE.privacy.epsilon
    assert claim(fd.Gaussian(rho=0.5, sensitivity=1.0), 0.0, 1.0, 0.0) is None
    assert claim(fd.Gaussian(rho=0.5, sensitivity=1.0), 0.0, 1.0, 1e-5) == pytest.approx(4.37, abs=0.05)


def test_claim__is_by_distance_where_the_guarantee_is():
    """Far inputs of a metric mechanism are not refuted by what near ones cost."""
    grid = fd.GridGeometric(epsilon=1.0, shape=(1, 4))
    assert claim(grid, 0, 3, 0.0) == pytest.approx(3.0, abs=1e-6)
    planar = fd.PlanarLaplace(epsilon=1.0, unit="km")
    assert claim(planar, (0.0, 0.0), (3.0, 4.0), 0.0) == planar.epsilon_at(5.0)
    globe = fd.GlobeLaplace(epsilon=1.0, unit="km")
    assert 5 * 1.0 < claim(globe, (48.0, 2.0), (48.045, 2.0), 0.0) < 5.1
    assert not audit(grid, 0, 3, draws=10**5).is_refuted
    assert not audit(planar, (0.0, 0.0), (3.0, 4.0), draws=10**5).is_refuted


def test_result__says_what_is_proven():
    found = audit(LAPLACE, 0.0, 1.0, draws=10**5)
    assert json.loads(json.dumps(found.to_dict()))["verdict"] == found.verdict
    assert "drawn with a fixed seed" in str(found)
    assert len(str(found).splitlines()) <= 20
    assert found.table().column_names == ["delta", "epsilon"]
    assert "<pre>" in found._repr_html_()
    low, high = found.witness.limits
    assert math.log(low / high) == pytest.approx(found.epsilon, rel=1e-12)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"draws": 0}, "draws"), ({"draws": 10**11}, "10\\*\\*10"), ({"delta": 1.0}, "delta"),
        ({"level": 1.0}, "level"), ({"claimed": -1.0}, "claimed"), ({"training": 0}, "training"),
    ],
)  # fmt: skip
def test_parameters__are_checked_first(change, said):
    def never(value, count):
        pytest.fail("drawn")

    with pytest.raises(fd.ParameterError, match=said):
        fd.audit.epsilon(never, 0, 1, **change)


def test_callables__must_return_one_output_per_draw():
    with pytest.raises(fd.ParameterError, match="one output for each"):
        fd.audit.epsilon(lambda value, count: np.zeros(3), 0, 1, draws=100)
    with pytest.raises(fd.ParameterError, match="different types"):
        fd.audit.epsilon(lambda value, count: np.full(count, value), 0, "one", draws=100)
    with pytest.raises(fd.ParameterError, match="rng"):
        fd.audit.epsilon(mutants.numpy_laplace, 0, 1, rng=fd.Rng.unsafe_seed(1))
    with pytest.raises(fd.ParameterError, match="callable"):
        fd.audit.epsilon(3, 0, 1)
