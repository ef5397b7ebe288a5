"""Unawareness and proxies: how well the other columns tell an attribute that decisions may not use.

Each column, and all of them together, guess the attribute of rows that they were not fitted on. A guess weighs groups
equally, so that a small group counts as much as a large one: chance alone is right in one of as many cases as there are
groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.binomial import normal_quantile, score_interval
from fastdp.columns.containers import unwrap
from fastdp.errors import DomainError, ParameterError
from fastdp.fairness.encoding import OWNER, Codes, as_floats, encode
from fastdp.fairness.independence import g_test
from fastdp.fairness.rates import divide

LEVEL = 0.95
MOST_CODES = 64
"""Values of a column that are told apart; numbers of more are put into as many bins of equal size."""
TOGETHER = "all together"


@dataclass(frozen=True, slots=True)
class Proxy:
    """How well a column tells the attribute.

    ``accuracy`` is the mean share of right guesses over groups, on held-out rows, with its interval; ``chance`` is that
    of guessing blindly. ``association`` is Cramér's V, corrected for bias, and ``p_value`` that of the G test.
    """

    name: str
    accuracy: float
    low: float
    high: float
    chance: float
    association: float
    p_value: float

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "column": self.name, "accuracy": self.accuracy, "low": self.low, "high": self.high, "chance": self.chance,
            "association": None if np.isnan(self.association) else self.association,
            "p_value": None if np.isnan(self.p_value) else self.p_value,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Proxies:
    """The columns, the best proxy first, and all of them ``together``, by naive Bayes."""

    attribute: str
    columns: tuple[Proxy, ...]
    together: Proxy
    level: float

    def __getitem__(self, name: str) -> Proxy:
        for proxy in self.columns:
            if proxy.name == name:
                return proxy
        raise ParameterError(f"{OWNER}: {validation.unknown('column', name, tuple(p.name for p in self.columns))}")

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "attribute": self.attribute, "level": self.level, "together": self.together.to_dict(),
            "columns": [proxy.to_dict() for proxy in self.columns],
        }  # fmt: skip

    def __str__(self) -> str:
        lines = [f"{self.attribute} is guessed, where chance is {self.together.chance:.3f}:"]
        shown = (self.together, *self.columns[:18])
        return "\n".join([*lines, *(f"  {p.name:<24}{p.accuracy:.3f} [{p.low:.3f}, {p.high:.3f}]" for p in shown)])


def proxies(
    columns: Mapping[str, Any], attribute: Any, *, name: str = "attribute", level: float = LEVEL, seed: int = 0
) -> Proxies:
    """Measure how well other columns predict a sensitive attribute: why leaving it out does not make decisions blind.

    Half of the rows, drawn with ``seed``, are fitted on, and the others are guessed. Columns are of any container;
    numbers are put into bins of equal size.

    >>> import numpy as np
    >>> sex = np.tile([0, 1], 500)
    >>> found = proxies({"height": 165 + 13 * sex + np.arange(1000) % 10, "shoe": np.arange(1000) // 500}, sex)
    >>> found["height"].accuracy, found["shoe"].accuracy < 0.6
    (1.0, True)
    """
    level = validation.level(OWNER, level)
    groups = encode(name, attribute).exact()
    groups = _seen(groups)
    if len(groups.values) < 2:
        raise ParameterError(f"{OWNER}: {name} has one value only; there is nothing to guess")
    if not isinstance(columns, Mapping) or not columns:
        raise ParameterError(f"{OWNER}: columns must be a dict of columns by name")
    codes = {column: encode_feature(column, values, groups.codes.size) for column, values in columns.items()}
    fitted = halves(groups, seed)
    features = [codes[column].codes for column in codes]
    logs = [_log_shares(one, groups, fitted) for one in codes.values()]
    found = [
        _measure(column, [feature], [log], groups, fitted, level)
        for column, feature, log in zip(codes, features, logs, strict=True)
    ]
    together = _measure(TOGETHER, features, logs, groups, fitted, level)
    return Proxies(name, tuple(sorted(found, key=lambda proxy: -proxy.accuracy)), together, level)


def _seen(codes: Codes) -> Codes:
    """Without values that no row has."""
    present, places = np.unique(codes.codes, return_inverse=True)
    return Codes(places.astype(np.int64), tuple(codes.values[i] for i in present))


def encode_feature(name: str, values: Any, rows: int) -> Codes:
    """The codes of a column: its values if they are few, else bins of equal size of numbers, or the commonest texts."""
    plain, _ = unwrap(OWNER, values)
    array = np.asarray(plain) if not hasattr(plain, "type") else None
    is_number = (array is not None and array.dtype.kind in "iuf") or _is_arrow_number(plain)
    if is_number:
        numbers = as_floats(name, values)
        if np.isnan(numbers).any():
            raise DomainError(f"{OWNER}: {name} holds nulls or NaN; drop those rows, or give them a value of their own")
        distinct = np.unique(numbers)
        if distinct.size > MOST_CODES:
            distinct = np.unique(np.quantile(numbers, np.arange(MOST_CODES) / MOST_CODES))
        found = Codes(np.maximum(np.searchsorted(distinct, numbers, "right") - 1, 0), tuple(distinct.tolist()))
    else:
        found = _seen(encode(name, values).exact())
        if len(found.values) > MOST_CODES:
            common = np.argsort(-np.bincount(found.codes), kind="stable")[: MOST_CODES - 1]
            places = np.full(len(found.values), MOST_CODES - 1)
            places[common] = np.arange(MOST_CODES - 1)
            found = Codes(places[found.codes], tuple(range(MOST_CODES)))
    if found.codes.size != rows:
        raise ParameterError(f"{OWNER}: {name} has {found.codes.size:,} rows, the attribute {rows:,}")
    return found


def _is_arrow_number(plain: Any) -> bool:
    import pyarrow as pa

    kind = getattr(plain, "type", None)
    return isinstance(kind, pa.DataType) and (pa.types.is_integer(kind) or pa.types.is_floating(kind))


def halves(groups: Codes, seed: int) -> np.ndarray:
    """Which rows are fitted on: half of each group."""
    fitted = np.zeros(groups.codes.size, bool)
    source = np.random.default_rng(seed)
    for code in range(len(groups.values)):
        rows = np.flatnonzero(groups.codes == code)
        if rows.size < 2:
            raise ParameterError(f"{OWNER}: a group has one row only; proxies are fitted on half of each group")
        fitted[source.permutation(rows)[: rows.size // 2]] = True
    return fitted


def _log_shares(feature: Codes, groups: Codes, fitted: np.ndarray) -> np.ndarray:
    """The logarithm of the share of each value [group, value] among the fitted rows, with one half added."""
    size = len(feature.values)
    counts = np.bincount(groups.codes[fitted] * size + feature.codes[fitted], minlength=len(groups.values) * size)
    smooth = counts.reshape(-1, size) + 0.5
    return np.asarray(np.log(smooth / smooth.sum(axis=1, keepdims=True)))


def _measure(
    name: str,
    features: Sequence[np.ndarray],
    logs: Sequence[np.ndarray],
    groups: Codes,
    fitted: np.ndarray,
    level: float,
) -> Proxy:
    """Guesses of the rows that were not fitted on."""
    truth = groups.codes[~fitted]
    scores: np.ndarray = np.zeros((len(groups.values), truth.size))
    for feature, log in zip(features, logs, strict=True):
        scores += log[:, feature[~fitted]]
    accuracy, low, high = balanced_accuracy(truth, np.argmax(scores, axis=0), len(groups.values), level)
    association, p_value = np.nan, np.nan
    if len(features) == 1:
        counts = np.zeros((len(groups.values), logs[0].shape[1]))
        np.add.at(counts, (groups.codes, features[0]), 1)
        association, p_value = cramers_v(counts), g_test(counts[None]).p_value
    return Proxy(name, accuracy, low, high, 1 / len(groups.values), association, p_value)


def balanced_accuracy(truth: np.ndarray, guess: np.ndarray, groups: int, level: float) -> tuple[float, float, float]:
    """The mean over groups of the share of right guesses, and its interval.

    Wilson's intervals of the groups are put together as Newcombe does for differences. [Zou, Donner 2008]
    """
    sizes = np.bincount(truth, minlength=groups).astype(float)
    right = np.bincount(truth[truth == guess], minlength=groups).astype(float)
    shares = divide(right, sizes)
    low, high = score_interval(right, sizes, normal_quantile(level))
    mean = float(shares.mean())
    down, up = (float(np.sqrt(((end - shares) ** 2).sum()) / groups) for end in (low, high))
    return mean, max(0.0, mean - down), min(1.0, mean + up)


def cramers_v(counts: np.ndarray) -> float:
    """Cramér's V of a table of counts, corrected for bias. [Bergsma 2013]"""
    seen = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    r, c = seen.shape
    n = seen.sum()
    if min(r, c) < 2 or n < 2:
        return 0.0
    expected = np.outer(seen.sum(axis=1), seen.sum(axis=0)) / n
    phi = max(0.0, float(((seen - expected) ** 2 / expected).sum()) / n - (r - 1) * (c - 1) / (n - 1))
    rows, columns = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    return float(np.sqrt(min(1.0, phi / max(min(rows, columns) - 1, 1e-300))))
