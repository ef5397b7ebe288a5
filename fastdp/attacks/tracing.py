"""Tracing: whether a person is in the data behind released means. [Homer et al. 2008; Dwork et al. 2015]"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, add_noise, phi, standard_deviation
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism
from fastdp.typing import Matrix, Numbers

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.tracing"
DEFENCE = "one budget for all means: noise of standard deviation sqrt(d) / n and more"


def tracing(
    members: Matrix,
    outsiders: Matrix,
    *,
    release: ColumnMechanism | Callable[[np.ndarray], np.ndarray] | None = None,
    frequencies: Numbers | None = None,
    rng: Rng | None = None,
) -> Attack:
    """Tell members from outsiders by how far the released means lean towards them.

    The success is the share of pairs of a member and an outsider that are told apart, the area under the curve.

    Parameters
    ----------
    members
        Rows of bits of the people in the data.
    outsiders
        Rows of bits of people who are not.
    release
        What is published: None for exact means; a mechanism that adds noise to each mean; or a callable that takes the
        members' rows and returns the means.
    frequencies
        The means of the population; those of the outsiders by default.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> source = np.random.default_rng(1)
    >>> people = source.random((60, 3000)) < 0.5
    >>> tracing(people[:30], people[30:], frequencies=np.full(3000, 0.5)).success > 0.99
    True
    """
    inside, outside = (
        validation.floats(OWNER, name, rows) for name, rows in (("members", members), ("outsiders", outsiders))
    )
    if inside.ndim != 2 or outside.ndim != 2 or inside.shape[1] != outside.shape[1] or not inside.size:
        raise ParameterError(f"{OWNER}: members and outsiders must be rows of the same attributes")
    base = outside.mean(axis=0) if frequencies is None else validation.floats(OWNER, "frequencies", frequencies)
    if base.shape != inside.shape[1:]:
        raise ParameterError(f"{OWNER}: frequencies must be one number per attribute")
    n, d = inside.shape
    if release is None or isinstance(release, ColumnMechanism):
        means = add_noise(release, inside.mean(axis=0), rng)
        spread = 0.0 if release is None else standard_deviation(release)
    else:
        means, spread = np.asarray(release(inside), float), None
    lean = means - base
    scores = [(rows - base) @ lean for rows in (inside, outside)]
    success = _area(scores[0], scores[1])
    expected = None
    if spread is not None and frequencies is not None:
        variance = float((base * (1 - base)).mean())
        expected = phi(math.sqrt(d * variance) / n / math.sqrt(variance / n + spread**2) / math.sqrt(2))
    trials = min(len(inside), len(outside))
    return Attack(
        "tracing", "pairs told apart", success, expected, 0.5, trials, "Phi(d' / sqrt 2), d' = sqrt(d v) / (n "
        "sqrt(v / n + s^2))", DEFENCE, {"people": n, "attributes": d},
    )  # fmt: skip


def _area(first: np.ndarray, second: np.ndarray) -> float:
    """The share of pairs in which the first is larger; a tie counts half."""
    ordered = np.sort(second)
    below = np.searchsorted(ordered, first, side="left") + np.searchsorted(ordered, first, side="right")
    return float(below.sum()) / (2 * first.size * second.size)
