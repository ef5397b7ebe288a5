"""Expected loss and the optimal remap, against loops over every remap."""

from __future__ import annotations

import numpy as np
import pytest

import fastdp as fd
from fastdp.channels import KRRChannel
from fastdp.measures import expected_loss, optimal_remap
from tests.measures import naive


@pytest.mark.parametrize("seed", range(40))
def test_remap__is_the_best_of_all_remaps(seed):
    """Brute force over every function from outputs to guesses; losses of any sign, as many guesses as one likes."""
    channel, prior = naive.random_case(seed, zeros=seed % 2 == 0)
    source = np.random.default_rng(seed + 1000)
    loss = source.normal(size=(source.integers(1, 5), prior.size))
    least = naive.least_loss(channel, prior, loss)
    remap = optimal_remap(channel, prior, loss)
    assert naive.loss_with_remap(channel, prior, loss, remap) == pytest.approx(least, abs=1e-14)
    assert expected_loss(channel, prior, loss, remap=remap) == pytest.approx(least, abs=1e-14)
    assert expected_loss(channel, prior, loss, remap="optimal") == pytest.approx(least, abs=1e-14)


MUTANTS = {
    "no prior": lambda channel, prior, loss: optimal_remap(channel, np.full(prior.size, 1 / prior.size), loss),
    "transposed loss": lambda channel, prior, loss: optimal_remap(channel, prior, loss.T),
    "most likely input": lambda channel, prior, loss: (channel * prior[:, None]).argmax(axis=0),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_remap__brute_force_catches(mutant):
    """Wrong remaps that are right in easy cases lose more than the best in at least one of the cases above."""
    excess = []
    for seed in range(40):
        channel, prior = naive.random_case(seed, inputs=4)
        loss = np.random.default_rng(seed + 1000).random((4, 4))
        remap = MUTANTS[mutant](channel, prior, loss)
        excess.append(expected_loss(channel, prior, loss, remap=remap) - naive.least_loss(channel, prior, loss))
    assert min(excess) > -1e-14
    assert max(excess) > 0.01


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("name", ["zero-one", "absolute", "squared"])
def test_names__are_functions_of_positions(name, seed):
    """Against loops, with positions that are neither equidistant nor sorted, and guesses of their own."""
    source = np.random.default_rng(seed)
    channel, prior = naive.random_case(seed, inputs=4, outputs=3)
    positions, guesses = source.choice(9, 4, replace=False) ** 1.5, source.choice(9, 3, replace=False) ** 1.5
    loss = [
        [{"zero-one": float(w != x), "absolute": abs(w - x), "squared": (w - x) ** 2}[name] for x in positions]
        for w in guesses
    ]
    places = {"positions": positions, "guesses": guesses}
    expected = naive.loss_with_remap(channel, prior, loss, [0, 1, 2])
    assert expected_loss(channel, prior, name, **places) == pytest.approx(expected, rel=1e-13)
    expected = naive.loss_with_remap(channel, prior, loss, [2, 0, 0])
    assert expected_loss(channel, prior, name, remap=[2, 0, 0], **places) == pytest.approx(expected, rel=1e-13)
    least = naive.least_loss(channel, prior, loss)
    assert expected_loss(channel, prior, name, remap="optimal", **places) == pytest.approx(least, rel=1e-13)
    remap = optimal_remap(channel, prior, name, **places)
    assert naive.loss_with_remap(channel, prior, loss, remap) == pytest.approx(least, rel=1e-13)


def test_points__are_at_euclidean_distance():
    """On a 3 x 4 grid, by name and by function, against the matrix of distances."""
    cells = np.array([(x, 1.1 * y) for x in range(3) for y in range(4)])
    channel, prior = naive.random_case(3, inputs=12, outputs=12)
    distance = np.array([[np.hypot(*(w - x)) for x in cells] for w in cells])
    for name, matrix in {"absolute": distance, "squared": distance**2, "zero-one": distance > 0}.items():
        for remap in (None, "optimal"):
            by_matrix = expected_loss(channel, prior, matrix.astype(float), remap=remap)
            assert expected_loss(channel, prior, name, remap=remap, positions=cells) == pytest.approx(by_matrix)
    manhattan = np.array([[np.abs(w - x).sum() for x in cells] for w in cells])
    by_function = expected_loss(channel, prior, lambda w, x: np.abs(w - x).sum(axis=2), positions=cells)
    assert by_function == pytest.approx(expected_loss(channel, prior, manhattan))


def test_function__sees_guess_first():
    """A loss that is not symmetric, once as a function and once as a matrix of guesses by truths."""
    channel, prior = naive.random_case(5, inputs=4, outputs=4)
    matrix = [[2.0 * max(w - x, 0) + max(x - w, 0) for x in range(4)] for w in range(4)]

    def loss(guess, truth):
        return 2.0 * np.maximum(guess - truth, 0) + np.maximum(truth - guess, 0)

    for remap in (None, "optimal", [3, 1, 1, 0]):
        of_function = expected_loss(channel, prior, loss, remap=remap)
        assert of_function == pytest.approx(expected_loss(channel, prior, matrix, remap=remap), rel=1e-14)
        assert of_function != pytest.approx(expected_loss(channel, prior, np.transpose(matrix), remap=remap), rel=1e-3)


@pytest.mark.parametrize("k", [2, 7, 30])
@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_krr__has_closed_forms(k, epsilon):
    """Uniform prior: zero-one loss 1 - p; absolute loss q times the mean distance, (k**2 - 1) / 3; squared likewise."""
    channel, prior = fd.KRR(epsilon=epsilon, domain=k).channel(), np.full(k, 1 / k)
    q = 1 / (np.exp(epsilon) + k - 1)
    assert expected_loss(channel, prior, "zero-one") == pytest.approx((k - 1) * q, rel=1e-5)
    assert expected_loss(channel, prior, "absolute") == pytest.approx(q * (k**2 - 1) / 3, rel=1e-5)
    assert expected_loss(channel, prior, "squared") == pytest.approx(q * k * (k**2 - 1) / 6, rel=1e-5)


def test_ends__of_what_a_channel_can_tell():
    """The identity loses nothing; a channel that says nothing loses what the best fixed guess does."""
    prior = np.array([0.2, 0.5, 0.3])
    nothing = np.ones((3, 1))
    for name, fixed in {"zero-one": 0.5, "absolute": 0.5, "squared": 0.5}.items():
        assert expected_loss(np.eye(3), prior, name) == 0
        assert expected_loss(np.eye(3), prior, name, remap="optimal") == 0
        assert expected_loss(nothing, prior, name, remap="optimal") == pytest.approx(fixed)
        assert optimal_remap(nothing, prior, name).tolist() == [1]
    assert optimal_remap(np.eye(3)[:, [2, 0, 1]], prior, "absolute").tolist() == [2, 0, 1]


def test_processing__never_helps():
    """Data processing: what is done to the output without knowing the input cannot lower the least loss."""
    gaps = []
    for seed in range(60):
        channel, prior = naive.random_case(seed, inputs=4, zeros=seed % 3 == 0)
        source = np.random.default_rng(seed + 1)
        after = source.dirichlet(np.ones(source.integers(1, 6)), channel.shape[1])
        loss = source.normal(size=(3, 4))
        before, later = (expected_loss(c, prior, loss, remap="optimal") for c in (channel, channel @ after))
        gaps.append(later - before)
    assert min(gaps) > -1e-14
    assert max(gaps) > 0.01


CHANNEL, PRIOR = np.array([[0.75, 0.25], [0.25, 0.75]]), np.array([0.5, 0.5])


@pytest.mark.parametrize(
    ("prior", "says"),
    [
        ([0.5, 0.6], "sum to 1"), ([0.5, 0.5 + 3e-9], "sum to 1"), ([1.5, -0.5], ">= 0"), ([np.nan, 1.0], "finite"),
        ([1.0], "2 entries"), ([[0.5, 0.5]], "1-dimensional"), ("half", "array of numbers"), ([], "not empty"),
        ([True, False], "array of numbers"), ([[0.5], [0.1, 0.4]], "array of numbers"), (None, "array of numbers"),
    ],
)  # fmt: skip
def test_prior__must_be_a_distribution(prior, says):
    for call in (expected_loss, optimal_remap):
        with pytest.raises(fd.ParameterError, match=f"{call.__name__}: prior must .*{says}"):
            call(CHANNEL, prior, "absolute")


def test_prior__may_be_off_by_rounding():
    assert expected_loss(CHANNEL, [0.5, 0.5 + 1e-10], "zero-one") == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"loss": "cubic"}, "loss must be one of 'zero-one', 'absolute', 'squared'"),
        ({"loss": np.zeros((2, 3))}, "a column per input, 2 of them, got 2 x 3"),
        ({"loss": np.zeros((3, 2))}, "2 outputs is a guess, but the loss has 3"),
        ({"loss": [[0, np.inf], [1, 0]]}, "loss must hold finite"),
        ({"loss": None}, "loss must be a 2-dimensional array"),
        ({"loss": lambda w, x: 0 if w == x else 1}, "numpy.vectorize"),
        ({"loss": lambda w, x: np.full(w.shape, np.nan)}, "finite numbers for all pairs"),
        ({"loss": lambda w, x: np.zeros(7)}, "finite numbers for all pairs"),
        ({"loss": CHANNEL, "positions": [0, 1]}, "not for a matrix"),
        ({"loss": "absolute", "positions": [0, 1, 2]}, "positions must have 2 entries"),
        ({"loss": "absolute", "positions": [0, np.nan]}, "positions must hold finite"),
        ({"loss": "absolute", "guesses": [0, 1, 2]}, "give guesses, one per output, or a remap"),
        ({"loss": "absolute", "guesses": [[0, 1], [1, 1]]}, "points of the same space"),
        ({"loss": "absolute", "remap": "best"}, "remap must be None, 'optimal' or"),
        ({"loss": "absolute", "remap": [0]}, "for each of 2 outputs, a guess from 0 to 1"),
        ({"loss": "absolute", "remap": [0, 2]}, "a guess from 0 to 1"),
        ({"loss": "absolute", "remap": [0, -1]}, "a guess from 0 to 1"),
        ({"loss": "absolute", "remap": [0.0, 1.0]}, "a guess from 0 to 1"),
    ],
)  # fmt: skip
def test_loss__refuses(options, says):
    with pytest.raises(fd.ParameterError, match=f"expected_loss: .*{says}"):
        expected_loss(CHANNEL, PRIOR, **options)


@pytest.mark.parametrize("channel", [[[0.5, 0.6]], [0.5, 0.5], "krr", [["a"]], None, np.zeros((0, 2))])
def test_channel__must_be_one(channel):
    with pytest.raises(fd.ParameterError, match="channel|Channel"):
        expected_loss(channel, [1.0], "absolute")


def test_output__without_a_meaning_needs_guesses():
    """Outputs that are not inputs have no position of their own."""
    channel = fd.UnaryEncoding(epsilon=1.0, domain=3).channel()
    prior = np.full(3, 1 / 3)
    with pytest.raises(fd.ParameterError, match="8 outputs is a guess, but the loss has 3 guesses"):
        expected_loss(channel, prior, "absolute")
    assert optimal_remap(channel, prior, "zero-one").shape == (8,)


def test_arguments__are_left_as_they_were():
    channel, prior, loss = CHANNEL.copy(), PRIOR.copy(), np.array([[0.0, 1.0], [2.0, 0.0]])
    kept = loss.copy()
    optimal_remap(channel, prior, loss)
    expected_loss(channel, prior, loss, remap="optimal")
    assert np.array_equal(channel, CHANNEL)
    assert np.array_equal(prior, PRIOR)
    assert np.array_equal(loss, kept)
    assert expected_loss(KRRChannel(2, 0.75, 0.25), PRIOR, loss) == pytest.approx(expected_loss(channel, prior, loss))
