"""Classes of rows with equal quasi-identifiers: how large they are, and what they tell about sensitive values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.anonymity.coding.codes import OWNER, Codes, Rows, sort_values
from fastdp.anonymity.coding.encoding import merge_rows
from fastdp.anonymity.coding.grouping import Grouping, Shares, class_sizes, group_values, number_rows, size_histogram
from fastdp.anonymity.coding.reading import check_names, open_table, read_rows
from fastdp.anonymity.diversity import Diversity
from fastdp.anonymity.findings import describe
from fastdp.anonymity.requirements import DISTANCES, MODELS, MOST_DEPTH
from fastdp.anonymity.risk import Risk, population_risk, sample_risk
from fastdp.errors import DomainError, ParameterError
from fastdp.kernels.classes.diversity import RECURSIVE
from fastdp.typing import TableSource

if TYPE_CHECKING:
    import pyarrow as pa


def classes(
    table: TableSource,
    quasi: Sequence[str] | str,
    sensitive: Sequence[str] | str = (),
    *,
    nulls: str = "error",
    input_format: str | None = None,
) -> Classes:
    """Count the classes of a table by its quasi-identifiers, for every model of anonymity.

    The table is anything that holds columns, or the path of a Parquet, Arrow or CSV file or of a folder. Files are
    streamed: memory grows with the number of distinct rows, not with the file. Results of parts add up with ``+``.

    Parameters
    ----------
    table
        A table, data frame, dict of columns, or a path.
    quasi
        Columns that an adversary may know of a person, such as postcode, birth date and sex.
    sensitive
        Columns that nobody should learn of a person.
    nulls
        What a missing value is: an error, a value of its own ("value"), or a reason to leave the row out ("drop").
    input_format
        The format of a file whose content and name do not tell.

    >>> c = classes({"age": [30, 30, 40, 40], "ill": ["flu", "flu", "flu", "HIV"]}, ["age"], ["ill"])
    >>> c.k, c.l(), c.unique, c.homogeneous
    (2, 1, 0, 2)
    """
    source = open_table(OWNER, table, input_format)
    names, secrets = check_names(OWNER, source, quasi, sensitive)
    rows = read_rows(OWNER, source, (*names, *secrets), nulls, guess=True)
    return Classes(quasi=names, sensitive=secrets, coded=rows, nulls=nulls)


@dataclass(frozen=True, kw_only=True)
class Classes:
    """The classes of a table: their sizes, the diversity within them, the risk of re-identification."""

    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    coded: Rows
    nulls: str = "error"

    def __add__(self, other: Classes) -> Classes:
        """The classes of the rows of both tables together."""
        if (self.quasi, self.sensitive, self.nulls) != (other.quasi, other.sensitive, other.nulls):
            raise ParameterError(f"{OWNER}: only classes by the same columns and the same rule for nulls add up")
        return replace(self, coded=merge_rows(self.coded, other.coded))

    def __repr__(self) -> str:
        return f"<Classes of {self.rows:,} rows by {', '.join(self.quasi)}: k = {self.k}>"

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return self.coded.count

    @property
    def dropped(self) -> int:
        """How many rows were left out because a value is missing."""
        return self.coded.dropped

    @cached_property
    def _histogram(self) -> tuple[np.ndarray, np.ndarray]:
        return size_histogram(class_sizes(self.coded.of(self.quasi), self.coded.weights))

    @property
    def sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Distinct class sizes, ascending, and how many classes have each: all that k and most risks depend on."""
        return self._histogram

    @property
    def count(self) -> int:
        """How many classes there are."""
        return int(self.sizes[1].sum())

    @property
    def k(self) -> int:
        """The size of the smallest class."""
        if "_histogram" not in self.__dict__ and "_diversities" in self.__dict__ and self._diversities:
            return next(iter(self._diversities.values())).k
        return int(self.sizes[0][0])

    @property
    def unique(self) -> int:
        """Rows that are alone in their class."""
        sizes, counts = self.sizes
        return int(counts[0]) if sizes[0] == 1 else 0

    @property
    def average_size(self) -> float:
        """Rows per class."""
        return self.rows / self.count

    @property
    def discernibility(self) -> int:
        """The sum of squared class sizes. [Bayardo, Agrawal 2005]"""
        sizes, counts = self.sizes
        return sum(int(size) ** 2 * int(count) for size, count in zip(sizes, counts, strict=True))

    def rows_below(self, k: int) -> int:
        """How many rows are in classes smaller than k."""
        k = validation.positive_integer(OWNER, "k", k)
        sizes, counts = self.sizes
        small = sizes < k
        return int((sizes[small] * counts[small]).sum())

    def below(self, k: int) -> np.ndarray:
        """Which rows are in classes smaller than k, as a mask; of tables in memory, whose rows have a place."""
        k = validation.positive_integer(OWNER, "k", k)
        if self.coded.weights is not None:
            raise ParameterError(f"{OWNER}: rows of a file or of merged classes have no place; pass a table in memory")
        ids, first = number_rows(self.coded.of(self.quasi))
        small = (np.bincount(ids, minlength=first.size) < k)[ids]
        if self.coded.kept is None:
            return np.asarray(small)
        mask = np.zeros(self.coded.kept.size, bool)
        mask[self.coded.kept] = small
        return mask

    @cached_property
    def _groupings(self) -> dict[str, tuple[Codes, Shares, Grouping]]:
        found = {}
        for name in self.sensitive:
            (column,) = self.coded.of([name])
            ranked, counts = sort_values(column, self.coded.weights)
            grouping = group_values(self.coded.of(self.quasi), ranked, self.coded.weights)
            found[name] = (ranked, Shares.of(counts), grouping)
        return found

    @cached_property
    def _diversities(self) -> dict[str, Diversity]:
        return {
            name: Diversity.of(name, grouping.fold(shares, 0), shares, ordered=has_order(column))
            for name, (column, shares, grouping) in self._groupings.items()
        }

    def diversity(self, sensitive: str | None = None) -> Diversity:
        """Every figure of one sensitive column; it need not be named where there is one."""
        if not self.sensitive:
            raise ParameterError(f"{OWNER}: no sensitive column was named; pass sensitive=['diagnosis'] to classes")
        if sensitive is None:
            if len(self.sensitive) > 1:
                raise ParameterError(f"{OWNER}: name one of the sensitive columns: {', '.join(self.sensitive)}")
            sensitive = self.sensitive[0]
        if sensitive not in self.sensitive:
            raise ParameterError(f"{OWNER}: {validation.unknown('sensitive column', sensitive, self.sensitive)}")
        return self._diversities[sensitive]

    def _worst(self, figure: str, sensitive: str | None, choose: Any) -> Any:
        if sensitive is not None or len(self.sensitive) < 2:
            return getattr(self.diversity(sensitive), figure)
        return choose(getattr(self.diversity(name), figure) for name in self.sensitive)

    def l(self, model: str = "distinct", *, c: float | None = None, sensitive: str | None = None) -> float:
        """The l-diversity of the table: of its least diverse class, and of its worst sensitive column.

        "distinct" counts values, "entropy" is e to the entropy, and "recursive" with ``c`` is the largest l with
        r_1 < c (r_l + ... + r_m) in every class. [Machanavajjhala and others 2007]
        """
        validation.one_of(OWNER, "model", model, MODELS)
        if (c is not None) != (model == "recursive"):
            raise ParameterError(f"{OWNER}: the recursive model, and no other, needs c")
        if model != "recursive":
            found = self._worst("distinct_l" if model == "distinct" else "entropy_l", sensitive, min)
            return int(found) if model == "distinct" else float(found)
        c = validation.positive(OWNER, "c", c)
        best = 0
        while best < MOST_DEPTH and self.recursive(best + 1, sensitive=sensitive) < c:
            best += 1
        return best

    def recursive(self, l: int, *, sensitive: str | None = None) -> float:
        """The c that recursive (c, l)-diversity must exceed: the largest r_1 / (r_l + ... + r_m) of any class."""
        l = validation.positive_integer(OWNER, "l", l)
        if l > MOST_DEPTH:
            raise ParameterError(f"{OWNER}: l of recursive diversity is at most {MOST_DEPTH}")
        names = self.sensitive if sensitive is None else (self.diversity(sensitive).sensitive,)
        if not names:
            self.diversity()
        parts = [self._groupings[name] for name in names]
        return max(float(grouping.fold(shares, l)[RECURSIVE]) for _, shares, grouping in parts)

    def t(self, distance: str = "equal", *, sensitive: str | None = None) -> float:
        """The t-closeness of the table: the distance of the class furthest from the whole. [Li, Li, Suresh 2007]

        "equal" puts all values at distance 1 (total variation), "ordered" by rank, for numbers, dates and truth values.
        """
        validation.one_of(OWNER, "distance", distance, DISTANCES)
        if distance == "equal":
            return float(self._worst("t_equal", sensitive, max))
        for name in self.sensitive if sensitive is None else (sensitive,):
            if self.diversity(name).t_ordered is None:
                raise ParameterError(f"{OWNER}: values of column {name!r} have no order; use t('equal')")
        return float(self._worst("t_ordered", sensitive, max))

    @property
    def alpha(self) -> float:
        """The largest share of one sensitive value in a class. [Wong, Li, Fu, Wang 2006]"""
        return float(self._worst("alpha", None, max))

    @property
    def beta(self) -> float:
        """Basic beta-likeness: the largest relative gain of a value's share. [Cao, Karras 2012]"""
        return float(self._worst("beta", None, max))

    @property
    def delta(self) -> float:
        """Delta-disclosure: the largest abs(ln(q / p)), infinite if a value is missing. [Brickell, Shmatikov 2008]"""
        return float(self._worst("delta", None, max))

    @property
    def homogeneous(self) -> int:
        """Rows whose class has a single value of a sensitive column, the column where they are most."""
        return int(self._worst("homogeneous", None, max))

    def risk(self, population: TableSource | None = None, *, sampling_rate: float | None = None) -> Risk:
        """Re-identification risks; with a ``population`` table of the same columns also those that need one.

        The population must contain the people of the data. Without one, ``sampling_rate`` says which share of it the
        data are, for the expected risk by a model.
        """
        alone = sample_risk(*self.sizes, sampling_rate)
        if population is None:
            return alone
        source = open_table(OWNER, population)
        names, _ = check_names(OWNER, source, self.quasi, ())
        people = read_rows(OWNER, source, names, self.nulls)
        ours = replace(self.coded, columns=self.coded.of(self.quasi))
        return population_risk(alone, *_count_both(ours, people))

    def figures(self) -> dict[str, Any]:
        """Everything there is to say, by name."""
        risk = self.risk()
        return {
            "rows": self.rows,
            "dropped": self.dropped,
            "quasi": list(self.quasi),
            "classes": self.count,
            "k": self.k,
            "unique": self.unique,
            "average_size": self.average_size,
            "discernibility": self.discernibility,
            "risk": risk.to_dict(),
            "sensitive": {name: self.diversity(name).to_dict() for name in self.sensitive},
        }

    def to_dict(self) -> dict[str, Any]:
        """The figures and the histogram of class sizes, as JSON has them."""
        sizes, counts = self.sizes
        return {**self.figures(), "sizes": {"size": sizes.tolist(), "classes": counts.tolist()}}

    def table(self) -> pa.Table:
        """The histogram of class sizes: size, classes, rows."""
        import pyarrow as pa

        sizes, counts = self.sizes
        return pa.table({"size": sizes, "classes": counts, "rows": sizes * counts})

    def __str__(self) -> str:
        return "\n".join(describe(self))

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(str(self))}</pre>"


def has_order(column: Codes) -> bool:
    """Whether the values of a column are numbers, dates or truth values, none of them missing."""
    import pyarrow as pa

    kind = column.kind
    return (
        bool(
            pa.types.is_integer(kind)
            or pa.types.is_floating(kind)
            or pa.types.is_temporal(kind)
            or pa.types.is_decimal(kind)
        )
        and not column.null
    )


def _count_both(ours: Rows, people: Rows) -> tuple[np.ndarray, np.ndarray]:
    """Records of the data and people of the population in every class of either."""
    import pyarrow as pa

    def marked(rows: Rows, mark: int) -> Rows:
        length = rows.columns[0].codes.size
        source = Codes("\0source", np.full(length, mark, np.uint8), 2, 0, pa.uint8())
        return replace(rows, columns=(*rows.columns, source))

    both = merge_rows(marked(ours, 0), marked(people, 1))
    sampled, population = group_values(both.columns[:-1], both.columns[-1], both.weights).pairs()
    missing = int((sampled > population).sum())
    if missing:
        raise DomainError(
            f"{OWNER}: {missing:,} classes have more records than people in the population; it must contain the data"
        )
    return sampled, population
