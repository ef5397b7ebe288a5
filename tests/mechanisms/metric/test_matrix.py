"""Reports through any stochastic matrix: as the matrix says, exactly, at the cost that its integers have."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import fastdp as fd
from fastdp.channels import KRRChannel
from tests.mechanisms.report_checks import key_of, seeded
from tests.reference.metric import draw

LECTURE = [[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]]
WIDE = [[0.1, 0.0, 0.2, 0.7, 0.0], [0.3, 0.0, 0.3, 0.4, 0.0], [0.6, 0.0, 0.1, 0.3, 0.0]]
GOLDEN = [3, 2, 0, 2, 0, 0, 3, 3, 0, 3, 0, 3]


@pytest.mark.parametrize("matrix", [LECTURE, WIDE, KRRChannel(3, 0.5, 0.25)], ids=["lecture", "wide", "channel"])
@pytest.mark.parametrize("value", [0, 1, 2])
def test_reports__follow_the_matrix(matrix, value):
    row = (matrix.dense() if isinstance(matrix, KRRChannel) else np.array(matrix))[value]
    reports = fd.MatrixMechanism(matrix).randomize(np.full(200_000, value), rng=fd.Rng.unsafe_seed(3))
    seen, possible = np.bincount(reports, minlength=row.size), row > 0
    assert not seen[~possible].any()
    assert chisquare(seen[possible], row[possible] * reports.size).pvalue > 1e-3
    other = np.array([0.26, 0.25, 0.49]) if row.size == 3 else np.array([0.11, 0.2, 0.69])
    mutant = np.bincount(np.random.default_rng(1).choice(3, 200_000, p=other), minlength=3)
    assert chisquare(mutant, row[possible] * 200_000).pvalue < 1e-3


def test_reports__stay_the_same_for_a_seed():
    reports = fd.MatrixMechanism(WIDE).randomize(np.arange(12) % 3, rng=fd.Rng.unsafe_seed(42))
    assert reports.tolist() == GOLDEN


@pytest.mark.parametrize("matrix", [LECTURE, WIDE], ids=["lecture", "wide"])
def test_reports__agree_with_plain_python(matrix):
    """Bit for bit; a share more for the first report gives others."""
    mechanism, rng, values = fd.MatrixMechanism(matrix), seeded(generator="chacha20"), np.arange(2000) % 3
    key, names = tuple(int(word) for word in key_of(rng)), mechanism._kept
    expected = [names[draw(key, i, mechanism._shares[value])] for i, value in enumerate(values)]
    assert mechanism.randomize(values, rng=seeded(generator="chacha20")).tolist() == expected
    moved = [[row[0] + (1 << 124), row[1] - (1 << 124), *row[2:]] for row in mechanism._shares]
    assert expected != [names[draw(key, i, moved[value])] for i, value in enumerate(values)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "matrix", [LECTURE, WIDE, np.full((3, 300), 1 / 300)], ids=["lecture", "wide", "three hundred"]
)
def test_reports__follow_the_matrix_over_1e7_draws(matrix):
    """1e7 draws of one row; another row, or one part in a thousand moved, is rejected."""
    row, count = np.array(matrix)[0], 10_000_000
    reports = fd.MatrixMechanism(matrix).randomize(np.zeros(count, np.int32), rng=fd.Rng.unsafe_seed(5))
    possible = row > 0
    seen = np.bincount(reports, minlength=row.size)[possible]
    assert chisquare(seen, row[possible] * count).pvalue > 1e-3
    moved = row[possible].copy()
    moved[:2] += (1e-3, -1e-3)
    assert chisquare(seen, moved * count).pvalue < 1e-3


def test_integers__are_exact():
    """Each row sums to 2**128, and is within 2**-56 of what was given."""
    for shares, row in zip(fd.MatrixMechanism(LECTURE)._shares, LECTURE, strict=True):
        assert sum(shares) == 1 << 128
        assert all(
            abs(Fraction(s, 1 << 128) - Fraction(p)) < Fraction(1, 1 << 56) for s, p in zip(shares, row, strict=True)
        )


def test_privacy__is_that_of_the_integers():
    """The largest ratio in a column, from exact fractions."""
    mechanism = fd.MatrixMechanism(WIDE)
    worst = max(Fraction(max(column), min(column)) for column in zip(*mechanism._shares, strict=True))
    assert math.exp(mechanism.privacy.epsilon) >= float(worst) * (1 - 1e-14)
    assert mechanism.privacy.epsilon == pytest.approx(math.log(6), rel=1e-12)
    assert mechanism.privacy.epsilon >= mechanism.channel().epsilon()


def test_privacy__of_zeros_is_finite():
    """The truth for certain costs what one in 2**56 reports that are not it hide."""
    assert 38 < fd.MatrixMechanism(np.eye(2)).privacy.epsilon < 40
    assert fd.MatrixMechanism(np.full((2, 2), 0.5)).privacy.epsilon < 1e-300


def test_normalize__divides_rows_that_nearly_sum_to_one():
    thirds = [[0.333, 0.333, 0.333], [0.5, 0.25, 0.25]]
    with pytest.raises(fd.ParameterError, match="each row must sum to 1"):
        fd.MatrixMechanism(thirds)
    mechanism = fd.MatrixMechanism(thirds, normalize=True)
    assert mechanism.channel().row(0) == pytest.approx([1 / 3] * 3)
    with pytest.raises(fd.ParameterError, match="within 0.01"):
        fd.MatrixMechanism([[0.5, 0.4], [0.5, 0.5]], normalize=True)


@pytest.mark.parametrize(
    "matrix",
    [[], [[1.0]], [[0.5, -0.5], [0.5, 0.5]], [["a", "b"]], [[np.nan, 1], [0, 1]], 3, np.ones((1 << 20, 2))],
)
def test_matrix__is_checked(matrix):
    with pytest.raises(fd.ParameterError):
        fd.MatrixMechanism(matrix)


def test_values__are_checked():
    mechanism = fd.MatrixMechanism(np.full((2, 300), 1 / 300))
    with pytest.raises(fd.DomainError, match="outside its declared domain"):
        mechanism.randomize([0, 2])
    with pytest.raises(fd.SchemaError, match="int8 cannot hold 300 reports"):
        mechanism.randomize(pa.array([0, 1], pa.int8()))
    with pytest.raises(fd.ParameterError, match="normalize"):
        fd.MatrixMechanism(LECTURE, normalize=1)


def test_estimates__take_plain_matrices():
    """The same as with a channel, from arrays and from lists, and from the mechanism's own reports."""
    counts, channel = np.array([50.0, 30.0, 20.0]), fd.Channel.from_matrix(LECTURE)
    for matrix in (LECTURE, np.array(LECTURE)):
        assert (fd.ibu(matrix, counts).distribution == fd.ibu(channel, counts).distribution).all()
        assert (fd.ibu([(matrix, counts)]).distribution == fd.ibu([(channel, counts)]).distribution).all()
        assert (fd.invert(matrix, counts) == fd.invert(channel, counts)).all()
        found = fd.estimate(matrix, counts, progress=False)
        assert (found.distribution == fd.estimate(channel, counts, progress=False).distribution).all()
    mechanism = fd.MatrixMechanism(LECTURE)
    reports = mechanism.randomize(np.repeat([0, 1, 2], [6000, 3000, 1000]), rng=fd.Rng.unsafe_seed(1))
    assert fd.estimate(mechanism, reports).distribution == pytest.approx([0.6, 0.3, 0.1], abs=0.06)


def test_estimates__refuse_what_is_no_matrix():
    for call in (fd.ibu, fd.invert, fd.estimate):
        with pytest.raises(fd.ParameterError):
            call([[0.5, 0.4], [0.5, 0.5]], [1, 2])
        with pytest.raises(fd.ParameterError):
            call("matrix", [1, 2])
