"""A consumer of fastdp as type checkers see it; ``tests.typing.check`` runs mypy and pyright on it.

Each line with ``# error:`` must be an error to both, and no other line may be one to either. Nothing here is called.
"""

from __future__ import annotations

from typing import assert_type

import numpy as np
import pyarrow as pa

import fastdp as fd


def use_names() -> None:
    """Public names are found, and others are not."""
    assert_type(fd.__version__, str)
    fd.channels.KRRChannel(2, 0.75, 0.25)
    fd.measures.total_variation([1.0, 0.0], [0.5, 0.5])
    fd.Laplce(epsilon=1.0, sensitivity=1.0)  # error: no such mechanism
    print(fd.mechanism)  # error: no such module
    fd.measures.total_variatoin([1.0], [1.0])  # error: no such measure


def use_estimators(channel: fd.Channel, counts: np.ndarray) -> None:
    """Estimates have a type, and confidence levels are numbers."""
    found = fd.estimate(channel, counts)
    assert_type(found, fd.Estimate)
    assert_type(found.distribution, np.ndarray)
    assert_type(found.gap, float)
    found.interval(0.95)
    found.interval("0.95")  # error: a level is a number
    print(found.distributoin)  # error: no such field
    fd.estimate(channel, counts, max_iterations=2.5)  # error: a number of iterations is whole
    fd.estimate(channel, counts, regularise="cv")  # error: no such keyword


def use_privacy(privacy: fd.Privacy) -> None:
    """Guarantees are plain data."""
    assert_type(privacy.epsilon, float | None)
    assert_type(privacy.delta, float)
    privacy.epsilon = 1.0  # error: frozen


def use_rng() -> None:
    """Randomness is an object, never a seed."""
    rng = fd.Rng.unsafe_seed(1)
    assert_type(rng.child("ages"), fd.Rng)
    fd.Rng.unsafe_seed("1")  # error: a seed is an integer


def use_errors() -> None:
    """Errors are one tree."""
    root: type[fd.FastDPError] = fd.ParameterError
    print(root)
    fd.set_threads("two")  # error: a number of threads is an integer


def use_mechanisms(rng: fd.Rng) -> None:
    """Parameters have types, also those that are normalised, and columns come back as what they were."""
    values = np.zeros(2)
    laplace = fd.Laplace(epsilon=[0.5, 1.0], sensitivity=1.0, bounds=(0, 10))
    assert_type(laplace.randomize(values, rng=rng), np.ndarray)
    assert_type(laplace.randomize(1.5), float)
    assert_type(laplace.randomize(pa.array([1.5])), pa.Array)
    assert_type(laplace.granularity, float)
    krr = fd.KRR(epsilon=1.0, domain=["cold", "flu"])
    assert_type(krr.domain.size, int)
    assert_type(krr.randomize(values), np.ndarray)
    assert_type(fd.UnaryEncoding(epsilon=1.0, domain=3).randomize(values), np.ndarray)
    assert_type(fd.GridGeometric(epsilon=1.0, shape=(2, 3)).shape, tuple[int, int])
    fd.Laplace(epsilon="1", sensitivity=1.0)  # error: epsilon is a number, or one per record
    fd.KRR(epsilon=1.0)  # error: a domain is declared
    fd.KRR(epsilon=1.0, domain=2.5)  # error: a number of codes, or labels
    fd.KRR(epsilon=1.0, domian=3)  # error: no such parameter
    laplace.randomize(values, rng=7)  # error: a seed is no stream
    laplace.randomize(values, nulls="keep")  # error: no such policy
    krr.epsilon = 2.0  # error: frozen
