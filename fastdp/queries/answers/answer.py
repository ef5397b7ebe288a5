"""Answer: what was released, how far off it may be, and what it cost."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import optional, validation
from fastdp.display.html import LARGEST, to_html
from fastdp.privacy import Privacy
from fastdp.queries.answers.errors import Errors, UnknownErrors

if TYPE_CHECKING:
    import pyarrow as pa


class Tabular(ABC):
    """What has a table: one row per group."""

    __slots__ = ()

    @abstractmethod
    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """The table, with intervals at a level."""

    def to_pandas(self, level: float = 0.95) -> Any:
        """The table of `to_arrow` as a pandas frame; needs pandas.

        Parameters
        ----------
        level
            The level of confidence of the interval.
        """
        optional.load(f"{type(self).__name__}.to_pandas", "pandas", extra="pandas")
        return self.to_arrow(level).to_pandas()


@dataclass(frozen=True, slots=True, eq=False)
class Answer(Tabular):
    """One released number, or one per group, about data that were bounded as the release says.

    Parameters
    ----------
    name
        What it is called.
    values
        What was drawn, one per group.
    errors
        How far off they may be.
    privacy
        What this answer cost.
    keys
        The groups, column by column; None for a single number.
    rank_error
        For quantiles: by how many rows ranks are off at most, at a level.

    >>> import fastdp as fd
    >>> n = fd.release.count(range(1000), epsilon=1.0)
    >>> low, high = n.interval(0.95)
    >>> high - low, low <= n.value <= high
    (6, True)
    """

    name: str
    values: np.ndarray = field(repr=False)
    errors: Errors = field(repr=False)
    privacy: Privacy
    keys: pa.Table | None = field(default=None, repr=False)
    rank_error: Callable[[float], float] | None = field(default=None, repr=False)
    """For quantiles: by how many rows a rank is off at most, at a level."""

    @property
    def value(self) -> Any:
        """What was drawn: an int or a float, or an array with one per group."""
        return self.values if self.keys is not None else self.values[0].item()

    @property
    def std_error(self) -> Any:
        """The standard deviation of the noise."""
        found = self.errors.std_error
        return found if self.keys is not None else float(found[0])

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """An interval that holds the true value of the bounded data with probability ``level`` or more.

        Exact for the noise: tails of the discrete law, Fieller's set for ratios; of counts of selected keys also given
        that the key was selected.

        Parameters
        ----------
        level
            The level of confidence of the interval.
        """
        low, high = self.errors.interval(validation.level("Answer", level))
        if self.values.dtype.kind == "i":
            low, high = (np.rint(end).astype(np.int64) for end in (low, high))
        return (low, high) if self.keys is not None else (low[0].item(), high[0].item())

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """A table: the groups, ``value``, ``std_error``, ``low`` and ``high``; the last two null where unknown.

        Parameters
        ----------
        level
            The level of confidence of the interval.
        """
        import pyarrow as pa

        own = self.columns("value", level)
        return pa.table({**_key_columns(self.keys, own), **own})

    def columns(self, name: str, level: float) -> dict[str, Any]:
        """The answer's own columns, named after it.

        Parameters
        ----------
        name
            The name of the answer's own column; the others begin with it.
        level
            The level of confidence of the interval.
        """
        import pyarrow as pa

        prefix = "" if name == "value" else f"{name}_"
        if isinstance(self.errors, UnknownErrors):
            empty = pa.nulls(self.values.size, pa.float64())
            return {name: self.values, f"{prefix}std_error": empty, f"{prefix}low": empty, f"{prefix}high": empty}
        low, high = self.errors.interval(level)
        error = pa.array(self.errors.std_error, from_pandas=True)
        return {name: self.values, f"{prefix}std_error": error, f"{prefix}low": low, f"{prefix}high": high}

    def plot(self, *, level: float = 0.95, ax: Any = None) -> Any:
        """Values with their intervals, as a matplotlib picture; returns the axes.

        Parameters
        ----------
        level
            The level of confidence of the interval.
        ax
            The axes to draw on; new ones by default.
        """
        pyplot = optional.load("Answer.plot", "matplotlib.pyplot", extra="report")
        axes = ax or pyplot.subplots()[1]
        low, high = self.errors.interval(validation.level("Answer", level))
        places = np.arange(self.values.size)
        sides = np.stack([self.values - low, high - self.values]).clip(0)
        axes.errorbar(places, self.values, yerr=sides, fmt="o", capsize=3)
        axes.set_title(self.name)
        if self.keys is not None:
            rows = self.keys.to_pylist()
            axes.set_xticks(places, [", ".join(str(value) for value in row.values()) for row in rows], rotation=90)
        return axes

    def _repr_html_(self) -> str:
        return _html(f"{self.name}, {self.privacy}", self.to_arrow())

    def __repr__(self) -> str:
        shown = f"{self.values.size} groups" if self.keys is not None else repr(self.value)
        return f"Answer({self.name}: {shown}, {self.privacy})"


@dataclass(frozen=True, slots=True, eq=False)
class Answers(Tabular, Mapping[str, Answer]):
    """The answers of one query, by name; one row per group in canonical order.

    Parameters
    ----------
    name
        The name of the query.
    answers
        The answers by name.
    privacy
        What all of them cost together.
    """

    name: str
    answers: Mapping[str, Answer]
    privacy: Privacy

    def __getitem__(self, name: str) -> Answer:
        return self.answers[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.answers)

    def __len__(self) -> int:
        return len(self.answers)

    @property
    def keys_table(self) -> pa.Table | None:
        """The groups, None where there is one."""
        return next(iter(self.answers.values())).keys

    def to_arrow(self, level: float = 0.95) -> pa.Table:
        """One row per group: keys, then each answer with its standard error and interval.

        Parameters
        ----------
        level
            The level of confidence of the interval.
        """
        import pyarrow as pa

        own: dict[str, Any] = {}
        for name, answer in self.answers.items():
            own |= answer.columns(name, level)
        return pa.table({**_key_columns(self.keys_table, own), **own})

    def _repr_html_(self) -> str:
        return _html(f"{self.name}, {self.privacy}", self.to_arrow())

    def __repr__(self) -> str:
        return f"Answers({self.name}: {', '.join(self.answers)}; {self.privacy})"


def _key_columns(keys: pa.Table | None, taken: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of the groups; one that has an answer's name gets "key_" before its own."""
    if keys is None:
        return {}
    return {f"key_{name}" if name in taken else name: keys.column(name) for name in keys.column_names}


def _html(title: str, table: pa.Table) -> str:
    """A table of groups and answers; numbers to six digits, unknown ones empty."""
    rows = [
        ["" if cell is None else f"{cell:.6g}" if isinstance(cell, float) else str(cell) for cell in row.values()]
        for row in table.slice(0, LARGEST).to_pylist()
    ]
    return to_html(title, rows, head=table.column_names, total=table.num_rows)
