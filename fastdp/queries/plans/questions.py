"""What can be asked of a group: count, persons, sum, mean, variance, quantiles, distinct; as words or as values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from fastdp.errors import ParameterError
from fastdp.queries.quantiles import read_quantiles
from fastdp.validation import unknown

PLAIN = ("count", "persons")
OF_COLUMN = ("count", "sum", "mean", "variance", "distinct", "quantiles", "median", "min", "max")
QUANTILES = {"median": (0.5,), "min": (0.005,), "max": (0.995,)}
"""The smallest and the largest value depend on one person each; what is released is a quantile near the end."""
_CALL = re.compile(r"\s*([a-z]+)\s*(?:\(\s*([^,()]+?)\s*(?:,\s*([^()]*?)\s*)?\))?\s*")


@dataclass(frozen=True, slots=True)
class Question:
    """One answer that is wanted: its name, what it is, of which column, at which quantiles."""

    name: str
    kind: str
    column: str | None = None
    quantiles: tuple[Any, ...] = ()

    @classmethod
    def read(cls, owner: str, text: object, name: str | None = None) -> Question:
        """A question such as ``count``, ``mean(income)`` or ``quantiles(income, .25 .5 .75)``.

        >>> Question.read("release", "mean(income)")
        Question(name='mean_income', kind='mean', column='income', quantiles=())
        """
        found = _CALL.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise ParameterError(f"{owner}: an answer must read like count or mean(income), got {text!r}")
        kind, column, rest = found.groups()
        if column is None and kind in PLAIN:
            return cls(name or kind, kind)
        if kind not in OF_COLUMN:
            raise ParameterError(f"{owner}: {unknown('answer', kind, tuple(dict.fromkeys(PLAIN + OF_COLUMN)))}")
        if column is None:
            raise ParameterError(f"{owner}: {kind} must name its column: {kind}(income)")
        column = column.strip("\"'")
        called = name or f"{kind}_{column}"
        if kind == "quantiles" or kind in QUANTILES:
            try:
                given: Any = QUANTILES.get(kind) or [float(word) for word in (rest or "").replace(",", " ").split()]
            except ValueError:
                raise ParameterError(f"{owner}: quantiles are numbers: quantiles({column}, .25 .5 .75)") from None
            return cls(called, "quantiles", column, read_quantiles(owner, given))
        if rest:
            raise ParameterError(f"{owner}: {kind} takes one column, got {text!r}")
        return cls(called, kind, column)
