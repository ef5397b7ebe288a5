"""LogisticRegression: a classifier of scikit-learn, fitted with noise."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Self

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.laws.central.gaussian import check_reachable
from fastdp.learning.features import Bounds, UnitBall
from fastdp.learning.noisy_descent import (
    COUNT_SHARE,
    Budget,
    choose_steps,
    count_records,
    descend,
    make_sum,
    total_privacy,
)
from fastdp.learning.perturbation import Margins, objective_penalty, output_penalty, perturb_objective, perturb_output
from fastdp.learning.scikit import (
    BaseEstimator,
    ClassifierMixin,
    check_classification_targets,
    check_is_fitted,
    validate_data,
)
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng
from fastdp.typing import Column, Matrix

if TYPE_CHECKING:
    from fastdp.accounting.ledger import Ledger

METHODS = ("gradient descent", "objective perturbation", "output perturbation")


def read_budget(owner: str, epsilon: float | None, delta: float) -> Budget:
    """Epsilon, which has no default, and delta."""
    if epsilon is None:
        raise ParameterError(f"{owner}: epsilon has no default; give the epsilon of the whole fit")
    if not validation.is_number(delta) or not 0 <= delta < 1:
        raise ParameterError(f"{owner}: delta must be a number with 0 <= delta < 1, got {delta!r}")
    budget = Budget(validation.positive(owner, "epsilon", epsilon), float(delta))
    if budget.delta:
        check_reachable(owner, budget.epsilon, budget.delta)
    return budget


class LogisticRegression(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logistic regression with (epsilon, delta)-DP, or pure epsilon-DP where delta is 0; for adding or removing a row.

    ``method="gradient descent"`` (the default) takes noisy gradients of all rows, exact on an integer grid; the others
    perturb the objective (two classes, needs a delta) or the minimum. Features are scaled by what is declared, never
    by the data. The set of classes is taken as public: declare ``classes`` where it is not that of y.
    ``privacy_`` is what the fit guarantees. [Bassily, Smith, Thakurta 2014; Kifer, Smith, Thakurta 2012]

    Parameters
    ----------
    epsilon, delta
        The guarantee of the whole fit; epsilon has no default.
    bounds
        The interval (low, high) of the features, numbers or one per feature; values beyond are clamped.
    radius
        The largest norm of a row, after scaling by ``bounds``; rows beyond are scaled down.
    size
        The number of rows, where it is public; else a part of the budget counts them.
    method
        "gradient descent", "objective perturbation" or "output perturbation".
    steps
        Steps of gradient descent; chosen from epsilon and size where None.
    learning_rate
        The step size of gradient descent.
    regularization
        The penalty on the squared norm of the weights, as a sum over all rows; None chooses it.
    intercept_scale
        The constant column beside rows of norm 1.
    classes
        The labels, in order; None takes those of y.
    unsafe_seed
        A fixed seed, for tests alone: who knows it can remove the noise.

    >>> import fastdp as fd, numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, (2000, 2))
    >>> model = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), unsafe_seed=1).fit(X, X[:, 0] > 0)
    >>> bool(model.score(X, X[:, 0] > 0) > 0.9)
    True
    """

    def __init__(
        self,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        bounds: Bounds | None = None,
        radius: float | None = None,
        size: int | None = None,
        method: str = "gradient descent",
        steps: int | None = None,
        learning_rate: float = 8.0,
        regularization: float | None = None,
        intercept_scale: float = 0.3,
        classes: Column | None = None,
        unsafe_seed: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.bounds = bounds
        self.radius = radius
        self.size = size
        self.method = method
        self.steps = steps
        self.learning_rate = learning_rate
        self.regularization = regularization
        self.intercept_scale = intercept_scale
        self.classes = classes
        self.unsafe_seed = unsafe_seed

    def fit(self, X: Matrix, y: Column, *, ledger: Ledger | None = None) -> Self:
        """Fit to rows and labels; with a ledger, the whole fit is paid for before the data are used."""
        owner = "LogisticRegression"
        budget = read_budget(owner, self.epsilon, self.delta)
        validation.one_of(owner, "method", self.method, METHODS)
        given, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        ball = UnitBall.read(owner, given.shape[1], self.bounds, self.radius, self.intercept_scale)
        self.classes_, codes = self._encode(labels)
        rng = Rng() if self.unsafe_seed is None else Rng.unsafe_seed(self.unsafe_seed)
        if ledger is not None:
            ledger.spend(Privacy(epsilon=budget.epsilon, delta=budget.delta), name="logistic regression")
        rows = ball.rows(given)
        outputs = 1 if self.classes_.size == 2 else self.classes_.size
        if self.method == "gradient descent":
            weights = self._descend(rows, codes, outputs, budget, rng)
        else:
            weights = self._perturb(rows, codes, outputs, budget, rng)
        self.coef_, self.intercept_ = ball.coefficients(weights.reshape(outputs, -1))
        return self

    def _encode(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The classes, and the number of each row's; labels that were not declared count as the first class."""
        classes = np.unique(y) if self.classes is None else np.asarray(self.classes)
        if classes.size < 2:
            raise ParameterError("LogisticRegression: y has one class; give rows of at least two, or declare classes")
        order = np.argsort(classes)
        found = order[np.minimum(np.searchsorted(classes, y, sorter=order), classes.size - 1)]
        return classes, np.where(classes[found] == y, found, 0)

    def _descend(self, rows: np.ndarray, codes: np.ndarray, outputs: int, budget: Budget, rng: Rng) -> np.ndarray:
        parts, share = [], 1.0
        if self.size is None:
            size, counter = count_records(budget, len(rows), rng.child("count"))
            parts, share = [(counter, 1)], 1 - COUNT_SHARE
        else:
            size = validation.positive("LogisticRegression", "size", self.size)
        coordinates = outputs * rows.shape[1]
        steps = choose_steps(budget, size, coordinates) if self.steps is None else self.steps
        steps = validation.positive_integer("LogisticRegression", "steps", steps)
        clip = 1.0 if outputs == 1 else math.sqrt(2)
        gradients = make_sum(budget, clip, steps, size, coordinates, rng.child("gradients"), share)
        rate = validation.positive("LogisticRegression", "learning_rate", self.learning_rate)
        self.privacy_ = total_privacy([*parts, (gradients, steps)], budget.delta)
        self.n_iter_ = steps

        def gradient(weights: np.ndarray, chosen: slice) -> np.ndarray:
            x = rows[chosen]
            pulls = _pulls(x @ weights.reshape(outputs, -1).T, codes[chosen])
            return np.asarray(pulls[:, :, None] * x[:, None, :]).reshape(len(x), -1)

        penalty = (self.regularization or 0.0) / size
        return descend(gradient, len(rows), gradients, steps, rate, penalty)

    def _perturb(self, rows: np.ndarray, codes: np.ndarray, outputs: int, budget: Budget, rng: Rng) -> np.ndarray:
        if outputs != 1:
            raise ParameterError(
                f'LogisticRegression: {self.method} is for two classes; use method="gradient descent" for more'
            )
        is_objective = self.method == "objective perturbation"
        chosen = objective_penalty(budget) if is_objective else output_penalty(budget, rows.shape[1])
        chosen = chosen if self.regularization is None else self.regularization
        penalty = validation.positive("LogisticRegression", "regularization", chosen)
        perturb = perturb_objective if is_objective else perturb_output
        self.privacy_ = Privacy(epsilon=budget.epsilon, delta=budget.delta)
        self.n_iter_ = 1
        return perturb(Margins(rows, np.where(codes == 1, 1.0, -1.0)), budget, penalty, rng)

    def decision_function(self, X: Matrix) -> np.ndarray:
        """Scores: of the second class, or of each of more than two."""
        check_is_fitted(self)
        given = validate_data(self, X, dtype=np.float64, reset=False)
        scores = given @ self.coef_.T + self.intercept_
        return np.asarray(scores[:, 0] if scores.shape[1] == 1 else scores)

    def predict(self, X: Matrix) -> np.ndarray:
        """The most probable class of each row."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)])

    def predict_proba(self, X: Matrix) -> np.ndarray:
        """The probability of each class, one row per row."""
        scores = self.decision_function(X)
        return _probabilities(scores[:, None] if scores.ndim == 1 else scores)


def _probabilities(scores: np.ndarray) -> np.ndarray:
    if scores.shape[1] == 1:
        scores = np.hstack([np.zeros_like(scores), scores])
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _pulls(scores: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The derivative of the loss by the scores: probabilities less the truth, of norm at most 1, or sqrt(2)."""
    probabilities = _probabilities(scores)
    probabilities[np.arange(len(codes)), codes] -= 1
    return probabilities[:, 1:] if scores.shape[1] == 1 else probabilities
