"""Suppressing proxies: leaving out columns until the attribute can no longer be guessed from the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.columns.containers import unwrap
from fastdp.errors import ParameterError
from fastdp.fairness.encoding import OWNER, encode
from fastdp.fairness.proxies import LEVEL, Proxies, halves, proxies


@dataclass(frozen=True, slots=True)
class Suppression:
    """The columns that are kept and those that are left out, in order, with the guesses before and after.

    Columns were chosen on half of the rows; ``before`` and ``after`` are measured on the other half, so that their
    intervals hold. ``after`` is None if no column is left.
    """

    kept: tuple[str, ...]
    removed: tuple[str, ...]
    before: Proxies
    after: Proxies | None

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "kept": list(self.kept), "removed": list(self.removed), "before": self.before.together.to_dict(),
            "after": None if self.after is None else self.after.together.to_dict(),
        }  # fmt: skip


def suppress_proxies(
    columns: Mapping[str, Any],
    attribute: Any,
    *,
    most: float,
    name: str = "attribute",
    level: float = LEVEL,
    seed: int = 0,
) -> Suppression:
    """Leave out the best proxies, one by one, until all others together guess the attribute at most that well.

    ``most`` is a mean share of right guesses over groups, above that of chance: 0.55 of two groups, say.

    >>> import numpy as np
    >>> sex = np.tile([0, 1], 500)
    >>> found = suppress_proxies({"height": 165 + 13 * sex, "shoe": np.arange(1000) // 500}, sex, most=0.6)
    >>> found.kept, found.removed
    (('shoe',), ('height',))
    """
    most = validation.probability(OWNER, "most", most)
    groups = encode(name, attribute).exact()
    present = np.unique(groups.codes).size
    if most <= 1 / max(present, 1):
        raise ParameterError(f"{OWNER}: most must be above chance, which is 1 in {present}")
    choosing = halves(groups, seed)
    first, second = ({column: take(values, rows) for column, values in columns.items()} for rows in _both(choosing))
    one, two = (take(attribute, rows) for rows in _both(choosing))
    kept = list(columns)
    found: Proxies | None = proxies(first, one, name=name, level=level, seed=seed)
    while kept and found is not None and found.together.accuracy > most:
        kept.remove(found.columns[0].name)
        found = proxies({key: first[key] for key in kept}, one, name=name, level=level, seed=seed) if kept else None
    before = proxies(second, two, name=name, level=level, seed=seed + 1)
    after = proxies({key: second[key] for key in kept}, two, name=name, level=level, seed=seed + 1) if kept else None
    return Suppression(tuple(kept), tuple(column for column in columns if column not in kept), before, after)


def _both(choosing: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.flatnonzero(choosing), np.flatnonzero(~choosing)


def take(values: Any, rows: np.ndarray) -> Any:
    """Some rows of a column of any container, or of an array or a data frame."""
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    if isinstance(values, np.ndarray) or hasattr(values, "tocsr"):
        return values[rows]
    plain, _ = unwrap(OWNER, values)
    if hasattr(plain, "take") and not isinstance(plain, np.ndarray):
        return plain.take(rows)
    return np.asarray(plain)[rows]
