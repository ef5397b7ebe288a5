"""The optimal remap of planar noise: what it loses, against brute force and the grid's own; containers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import fastdp as fd
from fastdp.measures import expected_loss


def seeded(seed: int = 5) -> fd.Rng:
    return fd.Rng.unsafe_seed(seed)


SOURCE = np.random.default_rng(2)
PLACES = SOURCE.uniform(-3, 3, (15, 2))
PRIOR = SOURCE.dirichlet(np.full(15, 0.5))


def made(loss: str = "absolute", epsilon: float = 0.8) -> fd.RemappedPoints:
    noise = fd.PlanarLaplace(epsilon=epsilon, unit="km")
    return noise.remap(PRIOR * 30, PLACES, loss)


@pytest.mark.parametrize("loss", ["absolute", "squared", "zero-one"])
@pytest.mark.parametrize("epsilon", [0.3, 0.8, 4.0])
def test_guess__is_the_best_by_brute_force(loss, epsilon):
    """For each report, no place has a lower expected loss under the posterior; the nearest place often has a higher."""
    mechanism = made(loss, epsilon)
    reports = np.random.default_rng(1).normal(0, 4, (300, 2))
    chosen = mechanism.guess(reports)
    worse = 0
    for z, guess in zip(reports, chosen, strict=True):
        posterior = [p * math.exp(-epsilon * math.dist(z, at)) for p, at in zip(PRIOR, PLACES, strict=True)]
        power = {"absolute": 1, "squared": 2, "zero-one": 0}[loss]
        losses = [
            sum(w * (math.dist(at, other) ** power if at is not other else 0.0)
                for w, other in zip(posterior, PLACES, strict=True))
            for at in PLACES
        ]  # fmt: skip
        if loss == "zero-one":
            losses = [sum(posterior) - w for w in posterior]
        assert losses[guess] == pytest.approx(min(losses), rel=1e-9)
        nearest = int(np.hypot(*(PLACES - z).T).argmin())
        worse += losses[nearest] > losses[guess] * 1.01
    assert worse > 5


def test_reports__lose_less_than_the_noise_and_as_much_as_the_bayes_risk():
    """The mean loss over draws is the risk of a fine grid's channel, optimally read; the cost is the noise's own."""
    mechanism = made()
    size = 200_000
    where = np.random.default_rng(3).choice(15, size, p=PRIOR)
    x, y = PLACES[where].T
    reports = np.stack(mechanism.randomize(x, y, rng=seeded()), axis=1)
    noisy = np.stack(mechanism.mechanism.randomize(x, y, rng=seeded()), axis=1)
    assert np.array_equal(reports, PLACES[mechanism.guess(noisy)])
    lost, plain = (np.hypot(*(given - PLACES[where]).T).mean() for given in (reports, noisy))
    assert lost < plain * 0.8
    assert plain == pytest.approx(2 / 0.8, rel=0.01)
    # The Bayes risk by quadrature over cells of 0.2 km around all places.
    axis = np.arange(-16, 16, 0.2) + 0.1
    cells = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)
    density = np.exp(-0.8 * np.hypot(*(PLACES[:, None] - cells).transpose(2, 0, 1)))
    distance = np.hypot(*(PLACES[:, None] - PLACES).transpose(2, 0, 1))
    risk = expected_loss(density / density.sum(axis=1, keepdims=True), PRIOR, distance, remap="optimal")
    assert lost == pytest.approx(risk, rel=0.01)
    assert mechanism.privacy == mechanism.mechanism.privacy


def test_latlon__works_on_the_plane_of_the_origin():
    """Places on the globe, across the date line: reports are places, and most people are put back where they were."""
    places = [(-17.0, 179.99), (-17.0, -179.9), (-17.1, 179.9)]
    noise = fd.PlanarLaplace(epsilon=2.0, unit="km", origin=(-17.0, 180.0))
    mechanism = fd.RemappedPoints(mechanism=noise, places=places, prior=[1, 1, 1])
    where = np.arange(3_000) % 3
    latitude, longitude = np.array(places)[where].T
    out = np.stack(mechanism.randomize(latitude, longitude, rng=seeded()), axis=1)
    assert {tuple(pair) for pair in out.tolist()} == set(places)
    assert (out == np.array(places)[where]).all(axis=1).mean() > 0.99


def test_containers__come_back_as_they_went_in():
    mechanism = made()
    x, y = PLACES[:4].T
    a, b = mechanism.randomize(x, y, rng=seeded())
    out = mechanism.randomize(x.tolist(), pa.chunked_array([y[:1], y[1:]]), rng=seeded())
    assert (out[0], out[1].to_pylist()) == (a.tolist(), b.tolist())
    frame = pd.DataFrame({"x": x, "y": y.astype(np.float32)})
    out = mechanism.randomize(frame, rng=seeded())
    assert list(out.dtypes) == [np.float64, np.float32]
    out = mechanism.randomize(pa.array([1.0, None]), pa.array([None, 1.0]), nulls="public")
    assert [side.is_null().to_pylist() for side in out] == [[False, True], [True, False]]
    assert mechanism.randomize([], []) == ([], [])
    for bad in (math.nan, math.inf):
        with pytest.raises(fd.DomainError):
            mechanism.randomize([bad], [1.0])


@pytest.mark.parametrize("given", [
    {"mechanism": None}, {"mechanism": fd.PlanarLaplace(epsilon=1.0, unit="km", region=((0, 1), (0, 1)))},
    {"places": [1, 2]}, {"places": []}, {"places": [(1, 2, 3)]}, {"places": [(1, math.nan)], "prior": [1]},
    {"places": "ab"}, {"prior": [1]}, {"prior": [0, 0]}, {"prior": [1, -1]}, {"loss": "cubic"}, {"loss": None},
])  # fmt: skip
def test_bad_parameters__are_refused(given):
    noise = fd.PlanarLaplace(epsilon=1.0, unit="km")
    with pytest.raises(fd.ParameterError, match="RemappedPoints"):
        fd.RemappedPoints(**{"mechanism": noise, "places": [(0, 0), (1, 1)], "prior": [1, 1]} | given)
