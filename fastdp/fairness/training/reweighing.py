"""Reweighing: weights of rows under which label and group are independent."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fastdp.errors import ParameterError
from fastdp.fairness.encoding import OWNER, encode
from fastdp.fairness.tally import tally
from fastdp.typing import Column


def reweigh(*, y_true: Column, sensitive: Mapping[str, Column]) -> np.ndarray:
    """One weight per row, P(group) P(label) / P(group, label): give it to a model as ``sample_weight``.

    With these weights every group has the base rate of all, and the sizes of groups and labels stay as they are.
    Several attributes count by their combinations. [Kamiran, Calders 2012]

    >>> reweigh(y_true=[1, 1, 1, 0], sensitive={"sex": ["f", "f", "m", "m"]}).tolist()
    [0.75, 0.75, 1.5, 0.5]
    """
    if not isinstance(sensitive, Mapping) or not sensitive:
        raise ParameterError(f"{OWNER}: sensitive must be a dict of columns by name, such as {{'sex': column}}")
    columns = [encode(name, column).exact() for name, column in sensitive.items()]
    labels = encode("y_true", y_true).exact()
    counts = tally([*columns, labels]).counts
    flat = counts.reshape(-1, counts.shape[-1]).astype(float)
    due = np.outer(flat.sum(axis=1), flat.sum(axis=0)) / max(flat.sum(), 1.0)
    weights = np.divide(due, flat, out=np.ones_like(flat), where=flat > 0)
    shape = [max(len(column.values), 1) for column in columns]
    group = np.ravel_multi_index([column.codes.astype(np.int64) for column in columns], shape)
    return np.asarray(weights[group, labels.codes])
