"""Training with a constraint: a fair randomized classifier from any estimator that takes weights of rows.

The constraint gets a price, the estimator is trained on labels and weights that include it, and prices are adapted
until no group is too far off. What comes back is the best mixture of the models that were trained on the way.
[Agarwal, Beygelzimer, Dudik, Langford, Wallach 2018]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import optional, validation
from fastdp.errors import DomainError, ParameterError
from fastdp.fairness.encoding import OWNER, encode
from fastdp.typing import Column

CONSTRAINTS = {
    "independence": (None,), "equal_opportunity": (1,), "predictive_equality": (0,), "separation": (0, 1),
}  # fmt: skip
"""The labels within which each constraint asks for equal selection rates; None for all rows together."""
EXTRA = "fairness"
TINY = 1e-9
PATIENCE = 12
"""Models in a row that make the mixture no better, before the search ends."""


@dataclass(frozen=True, slots=True)
class FairClassifier:
    """A mixture of models: each person's decision is that of one of them, drawn by their ``weights``.

    ``error`` and ``violation``, the largest distance of a group's rate from that of all, are those of the training
    rows, in expectation over the draw. They tell nothing of other rows: measure those with `fastdp.fairness.table`.
    """

    models: tuple[Any, ...]
    weights: np.ndarray
    constraint: str
    tolerance: float
    error: float
    violation: float
    iterations: int

    def chances(self, features: Any) -> np.ndarray:
        """The probability of a positive decision for each row."""
        return np.asarray(
            sum(weight * _predict(model, features) for weight, model in zip(self.weights, self.models, strict=True))
        )

    def decide(self, features: Any, *, seed: int) -> np.ndarray:
        """Decisions 0 and 1, by a draw for each row: keep the seed secret, and do not use it twice for one person."""
        chances = self.chances(features)
        return (np.random.default_rng(seed).random(chances.size) < chances).astype(np.uint8)


@dataclass(frozen=True, slots=True)
class _Constant:
    """A model that decides alike about all: what is left where all labels are one."""

    value: int

    def predict(self, features: Any) -> np.ndarray:
        return np.full(features.shape[0] if hasattr(features, "shape") else len(features), self.value)


def _predict(model: Any, features: Any) -> np.ndarray:
    return np.asarray(model.predict(features), float)


@dataclass(frozen=True, slots=True)
class _Problem:
    """Labels, and the rows of each event and group: rates [event and group] less those of the event, per decision."""

    labels: np.ndarray
    rows: np.ndarray
    """Coefficients [constraint, row] of decisions, one constraint for each event and group."""

    def error(self, decisions: np.ndarray) -> float:
        return float(np.mean(decisions * (1 - self.labels) + (1 - decisions) * self.labels))

    def moments(self, decisions: np.ndarray) -> np.ndarray:
        """How far each group's rate is above that of all, and below."""
        found = self.rows @ decisions
        return np.concatenate([found, -found])

    def costs(self, prices: np.ndarray) -> np.ndarray:
        """What a positive decision about each row costs, at these prices."""
        net = prices[: len(self.rows)] - prices[len(self.rows) :]
        return np.asarray((1 - 2 * self.labels) / self.labels.size + net @ self.rows)


def _problem(labels: np.ndarray, groups: np.ndarray, constraint: str) -> _Problem:
    rows = []
    for event in CONSTRAINTS[constraint]:
        inside = np.ones(labels.size, bool) if event is None else labels == event
        for group in np.unique(groups):
            here = inside & (groups == group)
            if here.any():  # a group without such labels has no rate, and nothing is asked of it
                rows.append(here / here.sum() - inside / inside.sum())
    return _Problem(labels.astype(float), np.array(rows).reshape(-1, labels.size))


def train(
    estimator: Any,
    features: Any,
    y_true: Column,
    sensitive: Mapping[str, Column],
    *,
    constraint: str = "separation",
    tolerance: float = 0.01,
    max_iterations: int = 60,
) -> FairClassifier:
    """Train an estimator under a constraint, by a reduction to weighted classification.

    ``estimator`` has scikit-learn's ``fit(features, labels, sample_weight=)`` and ``predict``; it is cloned, never
    changed. Every group's rate is within ``tolerance`` of that of all rows, on the training rows and in expectation,
    so two groups are at most twice as far apart. ``constraint`` is "independence", "equal_opportunity",
    "predictive_equality" or "separation".

    The attribute is needed for training alone: the models decide without it, unless it is among the features.
    """
    clone = optional.load(f"{OWNER}: train", "sklearn.base", extra=EXTRA).clone
    if constraint not in CONSTRAINTS:
        raise ParameterError(f"{OWNER}: {validation.unknown('constraint', constraint, tuple(CONSTRAINTS))}")
    tolerance = validation.probability(OWNER, "tolerance", tolerance)
    max_iterations = validation.positive_integer(OWNER, "max_iterations", max_iterations)
    labels, groups = read_labels(y_true), read_groups(sensitive)
    if labels.size != groups.size or labels.size == 0:
        raise ParameterError(f"{OWNER}: y_true and sensitive must have one length, and rows")
    problem = _problem(labels, groups, constraint)

    def respond(prices: np.ndarray) -> Any:
        costs = problem.costs(prices)
        wanted = (costs < 0).astype(np.int64)
        if wanted.min() == wanted.max():
            return _Constant(int(wanted[0]))
        return clone(estimator).fit(features, wanted, sample_weight=np.abs(costs) * labels.size)

    return _search(problem, respond, features, constraint, tolerance, max_iterations)


def _search(
    problem: _Problem, respond: Any, features: Any, constraint: str, tolerance: float, most: int
) -> FairClassifier:
    """Subgradient steps of the prices, in turn with the prices at which the best mixture so far is the best.

    Deciding alike about all meets every constraint, and is where it starts. It ends when a number of models in a row
    have made the mixture no better.
    """
    sides = 2 * len(problem.rows)
    models: list[Any] = [_Constant(0), _Constant(1)]
    decisions = [np.full(problem.labels.size, float(model.value)) for model in models]
    steps, patience = np.zeros(sides), 0
    weights, best, dual = _mix(problem, decisions, tolerance)
    for turn in range(most):
        follows_dual = turn % 2 == 1
        model = respond(dual if follows_dual else steps)
        found = _predict(model, features)
        models.append(model)
        decisions.append(found)
        weights, cost, dual = _mix(problem, decisions, tolerance)
        patience = 0 if cost < best - 0.1 / problem.labels.size else patience + 1
        best = min(best, cost)
        if patience == PATIENCE:
            break
        if not follows_dual:
            steps = np.maximum(steps + (problem.moments(found) - tolerance) / np.sqrt(turn + 1), 0)
    mixture = np.asarray(sum(w * d for w, d in zip(weights, decisions, strict=True)))
    kept = np.flatnonzero(weights > TINY)
    violation = float(problem.moments(mixture).max(initial=0.0))
    return FairClassifier(
        tuple(models[i] for i in kept), weights[kept] / weights[kept].sum(), constraint, tolerance,
        problem.error(mixture), violation, len(models) - 2,
    )  # fmt: skip


def _mix(problem: _Problem, decisions: list[np.ndarray], tolerance: float) -> tuple[np.ndarray, float, np.ndarray]:
    """The best weights of the models so far, what the mixture costs, and the prices at which that is so."""
    linprog = optional.load(f"{OWNER}: train", "scipy.optimize", extra=EXTRA).linprog
    errors = np.array([problem.error(one) for one in decisions])
    moments = np.stack([problem.moments(one) for one in decisions], axis=1)
    size, sides = len(decisions), len(moments)
    found = linprog(
        errors, A_ub=moments, b_ub=np.full(sides, tolerance), A_eq=np.ones((1, size)), b_eq=[1.0], method="highs"
    )
    return np.clip(found.x[:size], 0, 1), float(found.fun), np.maximum(-found.ineqlin.marginals, 0)


def read_labels(y_true: Column) -> np.ndarray:
    """Labels 0 and 1."""
    codes = encode("y_true", y_true).exact()
    values = np.array([value if value in (0, 1) else -1 for value in codes.values], np.int64)
    labels: np.ndarray = values[codes.codes]
    if (labels < 0).any():
        raise DomainError(f"{OWNER}: y_true must hold 0 and 1, or truth values")
    return labels


def read_groups(sensitive: Mapping[str, Column]) -> np.ndarray:
    """A number for each combination of the attributes' values."""
    if not isinstance(sensitive, Mapping) or not sensitive:
        raise ParameterError(f"{OWNER}: sensitive must be a dict of columns by name, such as {{'sex': column}}")
    found = np.zeros(1, np.int64)
    for name, column in sensitive.items():
        codes = encode(name, column).exact()
        if found.size not in (1, codes.codes.size):
            raise ParameterError(f"{OWNER}: the sensitive columns have different lengths")
        found = found * max(len(codes.values), 1) + codes.codes
    return found
