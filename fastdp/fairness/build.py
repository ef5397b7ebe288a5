"""From columns to the table of counts, in one pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.fairness.encoding import OWNER, Codes, encode
from fastdp.fairness.sanitized.reports import encode_reports
from fastdp.fairness.sanitized.tables import SanitizedTable
from fastdp.fairness.scores import ScoreTable, encode_scores
from fastdp.fairness.tables import FairnessTable
from fastdp.fairness.tally import read_weights, tally
from fastdp.typing import Column


def table(
    *,
    y_true: Column,
    y_pred: Column,
    sensitive: Mapping[str, Column],
    given: Column | None = None,
    score: Column | None = None,
    weights: Column | None = None,
    positive: Any = None,
    mechanisms: Mapping[str, Any] | None = None,
    truth: str = "sample",
) -> Any:
    """Count labels and decisions by sensitive attributes, for every group criterion of fairness.

    One pass over columns of numpy, pyarrow, pandas, polars or lists. Several attributes are counted in all their
    combinations; ``by`` gives the table of some of them. Labels and decisions are 0 and 1, or truth values, or any
    classes of which ``positive`` names the positive one. Nulls are refused.

    Parameters
    ----------
    y_true, y_pred
        The true labels and the decisions.
    sensitive
        Attributes that fairness is asked between, by name.
    given
        A column within whose values decisions are compared too: conditional statistical parity.
    score
        What decisions were made from: for calibration, ROC curves and thresholds. More than 1,024 different scores are
        put into bins of equal width, a power of two.
    weights
        How much each row counts, such as the inverse of its sampling rate.
    positive
        The class that counts as positive.
    mechanisms
        The mechanism of each column that is sanitized, by the attribute's name, ``"y_true"`` or ``"y_pred"``. The
        result is then a :class:`SanitizedTable`, whose rates and gaps are those of the truth.
    truth
        With mechanisms: ``"sample"`` for the rates of the population, ``"fixed"`` for those of these very people.

    >>> import fastdp as fd
    >>> f = table(y_true=[1, 0, 1, 0], y_pred=[1, 0, 1, 1], sensitive={"sex": ["f", "f", "m", "m"]})
    >>> f.rates("selection")["f"], f.gap("fpr").value
    (0.5, 1.0)
    """
    if not isinstance(sensitive, Mapping) or not sensitive:
        raise ParameterError(f"{OWNER}: sensitive must be a dict of columns by name, such as {{'sex': column}}")
    mechanisms = dict(mechanisms or {})
    found = count(y_true, y_pred, sensitive, given, score, weights, positive, mechanisms)
    if positive is not None and positive not in found.classes and not set(found.classes) <= {0, 1}:
        raise ParameterError(f"{OWNER}: positive must be one of the labels or decisions")
    return SanitizedTable(found, mechanisms, truth) if mechanisms else found


def count(
    y_true: Column,
    y_pred: Column,
    sensitive: Mapping[str, Column],
    given: Column | None,
    score: Column | None,
    weights: Column | None,
    positive: Any,
    mechanisms: Mapping[str, Any],
) -> FairnessTable:
    """The table of counts of these rows, of reports where a column has a mechanism; batches of rows add up."""
    columns = {**sensitive, "given": given, "y_true": y_true, "y_pred": y_pred}
    _check_names(columns, mechanisms, given)
    codes = {
        name: _encode(name, column, mechanisms.get(name)) for name, column in columns.items() if column is not None
    }
    codes.setdefault("given", Codes(np.zeros(codes["y_true"].codes.size, np.uint8), (None,)))
    read = read_weights(weights)
    declared = [axis for axis, name in enumerate(columns) if name in mechanisms]
    counts = tally([codes[name] for name in columns], read).seen(declared)
    if not counts.counts.any():
        raise ParameterError(f"{OWNER}: there are no rows")
    found = FairnessTable(tuple(sensitive), counts, positive)
    if score is None:
        return found
    attributes, labels = [codes[name] for name in sensitive], codes["y_true"].exact()
    return FairnessTable(
        tuple(sensitive),
        counts,
        found.positive,
        _score_table(attributes, labels, score, found, read, set(mechanisms)),
    )


def _check_names(columns: Mapping[str, Any], mechanisms: Mapping[str, Any], given: Any) -> None:
    unknown = [name for name in mechanisms if name not in columns or (name == "given" and given is None)]
    if unknown or len(columns) < 4:
        said = validation.unknown("column of mechanisms", unknown[0], tuple(columns)) if unknown else (
            "an attribute must not be called given, y_true or y_pred"
        )  # fmt: skip
        raise ParameterError(f"{OWNER}: {said}")


def _encode(name: str, column: Any, mechanism: Any) -> Codes:
    return encode(name, column) if mechanism is None else encode_reports(name, column, mechanism)


def _score_table(
    attributes: list[Codes], labels: Codes, score: Column, found: FairnessTable, weights: np.ndarray | None,
    sanitized: set[str],
) -> ScoreTable:  # fmt: skip
    if found.positive is None:
        raise ParameterError(f"{OWNER}: scores are of one class; choose it with positive=")
    if "y_true" in sanitized and len(labels.values) != 2:
        raise ParameterError(f"{OWNER}: with scores, sanitized labels must be of two classes")
    scores, width = encode_scores(score)
    declared = [axis for axis, name in enumerate((*found.attributes, "y_true")) if name in sanitized]
    truth = np.array([value == found.positive for value in labels.values], np.uint8)
    return ScoreTable(tally([*attributes, Codes(truth[labels.codes], (0, 1)), scores], weights).seen(declared), width)
