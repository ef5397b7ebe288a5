"""What each way to train fairly achieves: one estimator trained in each of them, measured on held-out rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import optional, validation
from fastdp.errors import ParameterError
from fastdp.fairness.build import table
from fastdp.fairness.encoding import OWNER
from fastdp.fairness.tables import LEVEL, FairnessTable
from fastdp.fairness.training.reductions import CONSTRAINTS, EXTRA, read_groups, read_labels, train
from fastdp.fairness.training.reweighing import reweigh
from fastdp.fairness.training.suppression import suppress_proxies, take
from fastdp.typing import Column

PLAIN, REWEIGHED, SUPPRESSED = "plain", "reweighed", "without proxies"
SHOWN = ("selection", "tpr", "fpr")


@dataclass(frozen=True, slots=True)
class Trained:
    """One way to train: the model, and the table of its decisions about held-out rows."""

    method: str
    model: Any
    table: FairnessTable
    columns: tuple[Any, ...]

    def accuracy(self, level: float = LEVEL) -> tuple[float, float, float]:
        """The share of right decisions about all held-out rows, with Wilson's interval."""
        from fastdp.fairness.rates import rate_interval

        cells = self.table.cells.sum(axis=0).astype(float)
        right, n = np.array([cells[0, 0] + cells[1, 1]]), np.array([cells.sum()])
        low, high = rate_interval(right, n, level, "wilson")
        return float(right[0] / n[0]), float(low[0]), float(high[0])


@dataclass(frozen=True, slots=True)
class Comparison:
    """All ways to train, each with its accuracy and its gaps on rows that it has not seen."""

    trained: tuple[Trained, ...]
    level: float

    def __getitem__(self, method: str) -> Trained:
        for one in self.trained:
            if one.method == method:
                return one
        raise ParameterError(f"{OWNER}: {validation.unknown('method', method, tuple(t.method for t in self.trained))}")

    def to_dict(self) -> dict[str, Any]:
        """Accuracies and gaps with their intervals, as JSON has them."""
        return {
            "level": self.level,
            "methods": [
                {
                    "method": one.method,
                    "accuracy": dict(zip(("value", "low", "high"), one.accuracy(self.level), strict=True)),
                    "gaps": [one.table.gap(rate, level=self.level).to_dict() for rate in SHOWN],
                }
                for one in self.trained
            ],
        }

    def __str__(self) -> str:
        lines = [f"{'':<20}{'accuracy':>10}" + "".join(f"{'gap of ' + rate:>26}" for rate in SHOWN)]
        for one in self.trained:
            gaps = [one.table.gap(rate, level=self.level) for rate in SHOWN]
            said = "".join(f"{f'{gap.value:.3f} [{gap.low:.3f}, {gap.high:.3f}]':>26}" for gap in gaps)
            lines.append(f"{one.method:<20}{one.accuracy(self.level)[0]:>10.3f}{said}")
        return "\n".join(lines)


def compare(
    estimator: Any,
    features: Any,
    y_true: Column,
    sensitive: Mapping[str, Column],
    *,
    methods: Sequence[str] = (PLAIN, REWEIGHED, "independence", "separation"),
    held_out: float = 0.5,
    tolerance: float = 0.01,
    most: float | None = None,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """Train an estimator plainly, on reweighed rows, without proxies and under constraints; measure on held-out rows.

    ``methods`` are ``"plain"``, ``"reweighed"``, ``"without proxies"`` (with ``most``, see `suppress_proxies`), and the
    constraints of `train`. Rows are held out at random, by ``seed``, and so are the draws of randomized classifiers.
    """
    clone = optional.load(f"{OWNER}: compare", "sklearn.base", extra=EXTRA).clone
    known = (PLAIN, REWEIGHED, SUPPRESSED, *CONSTRAINTS)
    for method in methods:
        if method not in known:
            raise ParameterError(f"{OWNER}: {validation.unknown('method', method, known)}")
    if SUPPRESSED in methods and most is None:
        raise ParameterError(f"{OWNER}: {SUPPRESSED!r} needs most=, how well the attribute may still be guessed")
    labels, groups = read_labels(y_true), read_groups(sensitive)
    held = np.random.default_rng(seed).random(labels.size) < validation.probability(OWNER, "held_out", held_out)
    rows, others = np.flatnonzero(~held), np.flatnonzero(held)
    fitted = {name: take(column, rows) for name, column in sensitive.items()}
    unseen = {name: take(column, others) for name, column in sensitive.items()}
    inside, outside = take(features, rows), take(features, others)

    def measure(method: str, model: Any, decisions: np.ndarray, columns: tuple[Any, ...] = ()) -> Trained:
        found = table(y_true=labels[others], y_pred=decisions, sensitive=unseen)
        return Trained(method, model, found, columns)

    found = []
    for method in methods:
        if method in (PLAIN, REWEIGHED):
            weights = reweigh(y_true=labels[rows], sensitive=fitted) if method == REWEIGHED else None
            more = {} if weights is None else {"sample_weight": weights}
            model = clone(estimator).fit(inside, labels[rows], **more)
            found.append(measure(method, model, _decisions(model.predict(outside))))
        elif method == SUPPRESSED:
            assert most is not None
            kept = suppress_proxies(_columns(inside), groups[rows], most=most, level=level, seed=seed).kept
            model = clone(estimator).fit(_select(inside, kept), labels[rows]) if kept else None
            decided = (
                _decisions(model.predict(_select(outside, kept)))
                if model is not None
                else np.full(others.size, int(labels[rows].mean() > 0.5), np.uint8)
            )
            found.append(measure(method, model, decided, kept))
        else:
            fair = train(estimator, inside, labels[rows], fitted, constraint=method, tolerance=tolerance)
            found.append(measure(method, fair, fair.decide(outside, seed=seed)))
    return Comparison(tuple(found), validation.level(OWNER, level))


def _decisions(predicted: Any) -> np.ndarray:
    return np.asarray(predicted).astype(np.uint8)


def _columns(features: Any) -> dict[str, Any]:
    """The columns of a data frame by their names, or of an array by their numbers."""
    if hasattr(features, "columns"):
        return {str(name): features[name] for name in features.columns}
    array = np.asarray(features)
    return {str(place): array[:, place] for place in range(array.shape[1])}


def _select(features: Any, names: Sequence[str]) -> Any:
    if hasattr(features, "columns"):
        return features[[name for name in features.columns if str(name) in names]]
    return np.asarray(features)[:, [int(name) for name in names]]
