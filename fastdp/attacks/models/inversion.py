"""Model inversion: what the confidences of a classifier tell of the records of each class."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack
from fastdp.attacks.models.updates import correlation
from fastdp.errors import ParameterError
from fastdp.typing import Matrix, Numbers

OWNER = "attacks.invert_model"
DEFENCE = (
    "noise on gradients hides single records; what a whole class looks like is what a model learns, so do not release "
    "a model whose classes are single persons"
)


def invert_model(
    confidence: Callable[[np.ndarray], np.ndarray],
    rows: Matrix,
    labels: Numbers,
    *,
    bounds: tuple[float, float],
    steps: int = 60,
) -> Attack:
    """Reconstruct what each class looks like: climb its confidence from the middle of the bounds.

    The gradient is taken by differences, so that confidences are all that is needed. The success is the share of
    classes whose reconstruction correlates more with the mean record of its class than with that of any other, all
    taken beside the mean of all records. [Fredrikson, Jha, Ristenpart 2015]

    Parameters
    ----------
    confidence
        Takes rows and returns the probability of each class, one column per class in the order of sorted labels:
        ``predict_proba`` of an estimator.
    rows, labels
        Records of all classes, by which the attack is judged; it does not see them.
    bounds
        The least and the largest value of a coordinate.
    steps
        Steps of the climb.

    >>> from fastdp import Rng
    >>> means = np.eye(3)
    >>> def confidence(x):
    ...     scores = np.exp(x @ means.T)
    ...     return scores / scores.sum(axis=1, keepdims=True)
    >>> invert_model(confidence, np.repeat(means, 4, axis=0), np.repeat([0, 1, 2], 4), bounds=(0, 1)).success
    1.0
    """
    x, y = validation.floats(OWNER, "rows", rows), np.asarray(labels)
    low, high = validation.bounds(OWNER, bounds, integers=False)
    steps = validation.positive_integer(OWNER, "steps", steps)
    if x.ndim != 2 or y.shape != (len(x),) or not x.size:
        raise ParameterError(f"{OWNER}: rows must be a table of numbers, with one label for each row")
    classes = np.unique(y)
    if classes.size < 2:
        raise ParameterError(f"{OWNER}: labels must hold at least two classes")
    typical = np.array([x[y == label].mean(axis=0) for label in classes]) - x.mean(axis=0)
    right, alike = 0.0, []
    for number in range(classes.size):
        found = _climb(confidence, number, classes.size, x.shape[1], (low, high), steps)
        near = np.array([correlation(found, one) for one in typical])
        alike.append(near[number])
        best = np.flatnonzero(near == near.max())
        right += float(number in best) / best.size
    return Attack(
        "invert model", "classes recognised", right / classes.size, None, 1 / classes.size, classes.size,
        "no closed form", DEFENCE, {"mean_correlation": float(np.mean(alike))},
    )  # fmt: skip


def _climb(
    confidence: Callable[[np.ndarray], np.ndarray],
    number: int,
    classes: int,
    width: int,
    bounds: tuple[float, float],
    steps: int,
) -> np.ndarray:
    """From the middle of the bounds along the normalised slope of the log-confidence, with shrinking steps."""
    low, high = bounds
    start = np.full(width, (low + high) / 2)
    place, reach = start.copy(), (high - low) / 2
    probe = 1e-3 * (high - low)
    for step in range(steps):
        around = np.concatenate([place + probe * np.eye(width), place - probe * np.eye(width)])
        given = np.asarray(confidence(around), np.float64)
        if given.shape != (2 * width, classes):
            raise ParameterError(f"{OWNER}: confidence must return a row for each row, with {classes} columns")
        logs = np.log(np.maximum(given[:, number], 1e-300))
        slope = logs[:width] - logs[width:]
        size = float(np.linalg.norm(slope))
        if size == 0:
            break
        place = np.clip(place + reach / (1 + step) * slope / size, low, high)
    return np.asarray(place - start)
