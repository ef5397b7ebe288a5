"""White-box attacks on single federated updates: whose update it is, and the record that its gradient holds."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack, phi
from fastdp.errors import ParameterError
from fastdp.learning.federated import FederatedSum
from fastdp.typing import Matrix

if TYPE_CHECKING:
    from fastdp import Rng

Release = FederatedSum | Callable[[np.ndarray], np.ndarray]
"""A federated sum, whose single messages are seen, or a callable that turns an update into what is seen of it."""

LOCAL = "noise for each message by itself (local=True), or secure aggregation and the noise of all clients together"
LIKE = 0.9
"""The correlation from which on a record counts as recovered."""


def see_update(release: Release | None, update: np.ndarray, rng: Rng | None) -> np.ndarray:
    """What an attacker sees of one client's update."""
    if release is None:
        return update
    if isinstance(release, FederatedSum):
        return release.decode(release.message(update, rng=rng))
    return np.asarray(release(update), np.float64)


def distinguish_updates(updates: Matrix, *, release: Release | None = None, rng: Rng | None = None) -> Attack:
    """Tell which of two known updates a client sent, from what is seen of its message: the nearer one.

    Each update is set against the next one. Against Gaussian noise no test does better.

    Parameters
    ----------
    updates
        Updates that clients could send, one row each.
    release
        What is seen: None for the update itself; a federated sum for one of its messages; or a callable that takes an
        update and returns what is seen of it.
    rng
        The stream of a federated sum's noise; the process's own by default.

    >>> import fastdp as fd
    >>> rows = np.random.default_rng(1).standard_normal((200, 8)) / 4
    >>> sums = fd.learning.DiscreteGaussianSum(clients=1, clip=1.0, dimension=8, noise_multiplier=4.0, local=True)
    >>> distinguish_updates(rows).success, distinguish_updates(rows, release=sums).success < 0.65
    (1.0, True)
    """
    owner = "attacks.distinguish_updates"
    rows = validation.floats(owner, "updates", updates)
    if rows.ndim != 2 or len(rows) < 2 or not np.isfinite(rows).all():
        raise ParameterError(f"{owner}: updates must be at least two rows of finite numbers")
    others = np.roll(rows, -1, axis=0)
    seen = np.array([see_update(release, row, rng) for row in rows])
    if seen.shape != rows.shape:
        raise ParameterError(f"{owner}: the release must return as many numbers as an update has")
    own, other = (np.linalg.norm(seen - known, axis=1) for known in (rows, others))
    success = float(((own < other) + (own == other) / 2).mean())
    expected = None
    distances = np.linalg.norm(rows - others, axis=1)
    if release is None:
        expected = float(np.where(distances > 0, 1.0, 0.5).mean())
    elif isinstance(release, FederatedSum) and (np.linalg.norm(rows, axis=1) <= release.clip).all():
        spread = release.std_error / math.sqrt(release.clients)
        expected = float(np.mean([phi(distance / (2 * spread)) for distance in distances]))
    return Attack(
        "distinguish updates", "updates told apart", success, expected, 0.5, len(rows), "Phi(distance / (2 s))", LOCAL,
    )  # fmt: skip


def invert_gradients(
    inputs: Matrix,
    residuals: Matrix,
    *,
    release: Release | None = None,
    rng: Rng | None = None,
) -> Attack:
    """Read a client's record out of the gradient of a linear layer with a bias: their quotient is the input itself.

    The gradient of such a layer for one record x is r xᵀ for its weights and r for its biases, where r is what comes
    back from the loss. So x is known to whoever sees the gradient of one record, however deep the model is behind the
    layer. The success is the share of records that are recovered: that correlate with what is found by 0.9 and more.
    [Phong et al. 2018; Zhu, Liu, Han 2019]

    Parameters
    ----------
    inputs
        The records, one row each: what the attack is judged by.
    residuals
        What comes back from the loss at the layer, one row for each record.
    release
        What is seen of the flattened gradient of weights and biases: None for itself; a federated sum for one of its
        messages; or a callable.
    rng
        The stream of a federated sum's noise; the process's own by default.

    >>> source = np.random.default_rng(1)
    >>> x, r = source.standard_normal((50, 64)), source.standard_normal((50, 10))
    >>> invert_gradients(x, r).success
    1.0
    """
    owner = "attacks.invert_gradients"
    x, r = (validation.floats(owner, name, rows) for name, rows in (("inputs", inputs), ("residuals", residuals)))
    if x.ndim != 2 or r.ndim != 2 or len(x) != len(r) or not x.size or x.shape[1] < 2 or not r.size:
        raise ParameterError(f"{owner}: inputs and residuals must have one row for each record")
    correlations = np.empty(len(x))
    for i in range(len(x)):
        gradient = np.concatenate([np.outer(r[i], x[i]).ravel(), r[i]])
        seen = see_update(release, gradient, rng)
        if seen.shape != gradient.shape:
            raise ParameterError(f"{owner}: the release must return as many numbers as the gradient has")
        weights, biases = seen[: r.shape[1] * x.shape[1]].reshape(r.shape[1], x.shape[1]), seen[-r.shape[1] :]
        correlations[i] = correlation(biases @ weights, x[i])
    expected = 1.0 if release is None else None
    return Attack(
        "invert gradients", "records recovered", float((correlations >= LIKE).mean()), expected, 0.0, len(x),
        "every record whose gradient is not zero", LOCAL, {"mean_correlation": float(correlations.mean())},
    )  # fmt: skip


def correlation(found: np.ndarray, truth: np.ndarray) -> float:
    """The correlation of two vectors; 0 where one of them is constant."""
    a, b = found - found.mean(), truth - truth.mean()
    scale = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / scale if scale > 0 else 0.0
