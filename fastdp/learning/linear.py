"""LinearRegression: a regressor of scikit-learn, from noisy sufficient statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from fastdp import validation
from fastdp.learning.features import EDGE, Bounds, UnitBall
from fastdp.learning.gradient_sum import GradientSum
from fastdp.learning.logistic import read_budget
from fastdp.learning.noisy_descent import CHUNK, make_sum, total_privacy
from fastdp.learning.scikit import BaseEstimator, RegressorMixin, check_is_fitted, validate_data
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng
from fastdp.typing import Matrix, Numbers

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger


class LinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression with (epsilon, delta)-DP, or pure epsilon-DP where delta is 0; for adding or removing a row.

    Releases the sums of x x^T and x y once, exact on an integer grid, and solves the normal equations with a ridge that
    outweighs the noise where the noisy matrix has no eigenvalue above it. Features and targets are scaled by what
    is declared, never by the data. ``privacy_`` is what the fit guarantees. [Wang 2018]

    Parameters
    ----------
    epsilon, delta, bounds, radius, intercept_scale, unsafe_seed
        As in `LogisticRegression`.
    target_bounds
        The interval (low, high) of the targets; values beyond are clamped.

    >>> import fastdp as fd, numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, (5000, 1))
    >>> model = LinearRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-2, 2), unsafe_seed=1)
    >>> bool(abs(model.fit(X, 1.5 * X[:, 0]).coef_[0] - 1.5) < 0.1)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        radius: float | None = None,
        target_bounds: Sequence[float] | None = None,
        intercept_scale: float = 1.0,
        unsafe_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.target_bounds = target_bounds
        self.intercept_scale = intercept_scale
        self.unsafe_seed = unsafe_seed

    def fit(self, X: Matrix, y: Numbers, *, ledger: Ledger | None = None) -> Self:
        """Fit to rows and targets; with a ledger, the whole fit is paid for before the data are used."""
        owner = "LinearRegression"
        budget = read_budget(owner, self.epsilon, self.delta)
        low, high = validation.bounds(f"{owner}, targets", self.target_bounds, integers=False)
        given, truths = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        ball = UnitBall.read(owner, given.shape[1], self.bounds, self.radius, self.intercept_scale)
        rng = Rng() if self.unsafe_seed is None else Rng.unsafe_seed(self.unsafe_seed)
        if ledger is not None:
            ledger.spend(Privacy(epsilon=budget.epsilon, delta=budget.delta), name="linear regression")
        rows = ball.rows(given)
        half = (high - low) / 2
        targets = np.clip((truths - (low + high) / 2) / half, -1, 1) * EDGE
        width = rows.shape[1]
        upper = np.triu_indices(width)
        # off-diagonal products stand for two entries: with sqrt(2) the vector has the norm of the matrix, |x|**2 <= 1
        weight = np.where(upper[0] == upper[1], 1.0, math.sqrt(2) * EDGE)
        size = upper[0].size + width
        sums = make_sum(budget, math.sqrt(2), 1, 1.0, size, rng, 1.0)
        self.privacy_ = total_privacy([(sums, 1)], budget.delta)
        chunk = max(1, CHUNK // size)
        for first in range(0, len(rows), chunk):
            x, t = rows[first : first + chunk], targets[first : first + chunk]
            sums.add(np.hstack([x[:, upper[0]] * x[:, upper[1]] * weight, x * t[:, None]]))
        noisy = np.asarray(sums.release())
        matrix = np.zeros((width, width))
        matrix[upper] = noisy[: upper[0].size] / weight
        matrix = matrix + matrix.T - np.diag(np.diag(matrix))
        weights = _solve(matrix, noisy[upper[0].size :], _noise(sums))
        coef, intercept = ball.coefficients(weights[None])
        self.coef_, self.intercept_ = coef[0] * half / EDGE, float(intercept[0]) * half / EDGE + (low + high) / 2
        return self

    def predict(self, X: Matrix) -> np.ndarray:
        """The expected target of each row."""
        check_is_fitted(self)
        given = validate_data(self, X, dtype=np.float64, reset=False)
        return np.asarray(given @ self.coef_ + self.intercept_)


def _noise(sums: GradientSum) -> float:
    """The standard deviation of the noise of one statistic."""
    return math.sqrt(float(sums.mechanism.variance)) * sums.clip / sums.steps


def _solve(matrix: np.ndarray, right: np.ndarray, sigma: float) -> np.ndarray:
    """The normal equations, with a ridge where the smallest eigenvalue is within the noise of a symmetric matrix."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    ridge = max(0.0, 2 * sigma * math.sqrt(len(matrix)) - smallest)
    return np.asarray(np.linalg.solve(matrix + ridge * np.eye(len(matrix)), right))
