"""Several attributes of each person: split the budget, sample one attribute, or sample one and fake the others."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.columns.categories import out_of_domain, read_codes
from fastdp.columns.containers import unwrap, unwrap_table
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import read_block
from fastdp.errors import ParameterError, SchemaError
from fastdp.mechanisms.additive import set_fields
from fastdp.mechanisms.frequencies import (
    Counts,
    FrequencyEstimate,
    FrequencyProtocol,
)
from fastdp.mechanisms.krr import KRR
from fastdp.noise.odds import LARGEST_EPSILON, resolvable_epsilon
from fastdp.noise.uniform import uniform_codes
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve

Protocol = Callable[..., FrequencyProtocol]
_CODES = np.dtype(np.int64)


class TableCounts(dict[str, Counts]):
    """Support counts by attribute; those of batches and machines add up."""

    def __add__(self, other: TableCounts) -> TableCounts:
        if not isinstance(other, TableCounts) or list(other) != list(self):
            raise ParameterError("TableCounts: only counts of the same attributes add up")
        return TableCounts({name: self[name] + other[name] for name in self})


class Attributes(ABC):
    """What the three ways share: a protocol for each attribute, and tables in and out.

    A table is a pyarrow Table or RecordBatch, a pandas or polars DataFrame, or a dict of columns; the same kind comes
    back, with one column of reports per attribute. Anything else with an arrow stream gives a pyarrow Table. Columns
    that are not declared are refused: nothing is passed through but the index of a DataFrame.
    """

    __slots__ = ()
    epsilon: float
    domains: Any
    mechanisms: dict[str, Any]

    def _set_up(self, epsilon: float, share: Callable[[float, dict[str, Domain]], float], protocol: Protocol) -> None:
        """Check the parameters, and make a mechanism for each attribute with its share of epsilon."""
        owner = type(self).__name__
        if not isinstance(self.domains, Mapping) or len(self.domains) < 2:
            raise ParameterError(f"{owner}: domains must be a dict of two or more attributes and their domains")
        epsilon = resolvable_epsilon(owner, epsilon)
        if not all(isinstance(name, str) for name in self.domains):
            raise ParameterError(f"{owner}: names of attributes must be strings")
        domains = {name: Domain.read(owner, domain) for name, domain in self.domains.items()}
        each = share(epsilon, domains)
        try:
            mechanisms = {name: protocol(epsilon=each, domain=domain) for name, domain in domains.items()}
        except TypeError:
            raise ParameterError(f"{owner}: protocol must take epsilon and domain, such as fastdp.KRR") from None
        if not all(isinstance(mechanism, FrequencyProtocol) for mechanism in mechanisms.values()):
            raise ParameterError(f"{owner}: protocol must be a local protocol, such as fastdp.KRR")
        set_fields(self, epsilon=epsilon, domains=domains, mechanisms=mechanisms)

    @property
    def _count(self) -> int:
        return len(self.mechanisms)

    def randomize(self, table: Any, *, rng: Rng | None = None) -> Any:
        """One column of reports per attribute, in the caller's own kind of table."""
        owner = type(self).__name__
        rng = resolve(owner, rng)
        columns, rebuild = _read_table(owner, table, list(self.mechanisms))
        codes = {name: _all_codes(owner, columns[name], domain) for name, domain in self.domains.items()}
        return rebuild(self._randomize(columns, codes, rng))

    @abstractmethod
    def _randomize(self, columns: dict[str, Any], codes: dict[str, np.ndarray], rng: Rng) -> dict[str, Any]:
        """Reports of columns whose codes have all been found to be in their domains, whether or not they are drawn."""

    def aggregate(self, table: Any) -> TableCounts:
        """Support counts of each attribute, in one pass; those of batches add up."""
        columns, _ = _read_table(type(self).__name__, table, list(self.mechanisms))
        counts = {}
        for name, mechanism in self.mechanisms.items():
            counts[name] = mechanism.aggregate(_without_nulls(columns[name]))
        return TableCounts(counts)

    def estimate(self, reports: Any) -> dict[str, FrequencyEstimate]:
        """Unbiased frequencies of each attribute's values, with standard errors, from reports or their counts."""
        counts = reports if isinstance(reports, TableCounts) else self.aggregate(reports)
        return {name: self._estimate(self.mechanisms[name], counts, name) for name in counts}

    @abstractmethod
    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitBudget(Attributes):
    """Report every attribute, each with an equal share of epsilon (SPL).

    epsilon-local DP for a person's whole record. ``domains`` maps attributes to their domains; ``protocol`` is the
    local protocol of each: KRR, UnaryEncoding and so on.

    >>> import fastdp as fd
    >>> mechanism = fd.SplitBudget(epsilon=2.0, domains={"city": 10, "age": 5})
    >>> reports = mechanism.randomize({"city": [1, 2, 3], "age": [4, 4, 0]})
    >>> sorted(reports)
    ['age', 'city']
    """

    epsilon: Any
    domains: Any
    protocol: Any = KRR
    mechanisms: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._set_up(self.epsilon, lambda epsilon, domains: epsilon / len(domains), self.protocol)

    @property
    def privacy(self) -> Privacy:
        """The sum of what the attributes cost, rounded up."""
        total = math.fsum(mechanism.privacy.epsilon for mechanism in self.mechanisms.values())
        return Privacy(epsilon=min(rounding.up(total, ulps=1), self.epsilon), unit="record", neighbours="replace")

    def _randomize(self, columns: dict[str, Any], codes: dict[str, np.ndarray], rng: Rng) -> dict[str, Any]:
        return {
            name: mechanism.randomize(columns[name], rng=rng.child(f"attribute {name}"))
            for name, mechanism in self.mechanisms.items()
        }

    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate:
        estimate: FrequencyEstimate = mechanism.estimate(counts[name])
        return estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleOne(Attributes):
    """Report one attribute, drawn uniformly, with all of epsilon; the others are null (SMP).

    epsilon-local DP for a person's whole record. Reports are arrow arrays, or the caller's series: null where another
    attribute was drawn, which says nothing of the values. The estimates are of those who were asked, and so of all.

    >>> import fastdp as fd
    >>> mechanism = fd.SampleOne(epsilon=2.0, domains={"city": 10, "age": 5})
    >>> reports = mechanism.randomize({"city": [1, 2, 3], "age": [4, 4, 0]})
    >>> reports["city"].null_count + reports["age"].null_count
    3
    """

    epsilon: Any
    domains: Any
    protocol: Any = KRR
    mechanisms: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._set_up(self.epsilon, lambda epsilon, _domains: epsilon, self.protocol)

    @property
    def privacy(self) -> Privacy:
        """The most that one attribute costs: only one is reported."""
        worst = max(mechanism.privacy.epsilon for mechanism in self.mechanisms.values())
        return Privacy(epsilon=worst, unit="record", neighbours="replace")

    def _randomize(self, columns: dict[str, Any], codes: dict[str, np.ndarray], rng: Rng) -> dict[str, Any]:
        import pyarrow as pa

        size = next(iter(codes.values())).size
        chosen = uniform_codes(rng.child("attribute that is sampled"), size, self._count)
        reports = {}
        for number, (name, mechanism) in enumerate(self.mechanisms.items()):
            asked = np.flatnonzero(chosen == number)
            labels, part = mechanism.domain.labels, codes[name][asked]
            if labels is None or _is_arrow(columns[name]):
                values = _dress(part, mechanism.domain, columns[name])
                values = values if isinstance(values, pa.Array) else pa.array(values)
            else:  # an object array has no type where nobody is asked
                values = pa.array(labels).take(pa.array(part))
            answers = mechanism.randomize(values, rng=rng.child(f"attribute {name}"))
            places = np.full(size, -1)
            places[asked] = np.arange(asked.size)
            reports[name] = answers.take(pa.array(places, mask=places < 0))
        return reports

    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate:
        """The protocol's own, of those who were asked; that they are not all adds the variance of a sample."""
        own, n = mechanism.estimate(counts[name]), sum(count.n for count in counts.values())
        inside = np.clip(own.frequencies, 0, 1)
        errors = np.sqrt(own.std_error**2 + inside * (1 - inside) * (1 / own.n - 1 / n))
        return FrequencyEstimate(own.frequencies, errors, own.n)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleAndFake(Attributes):
    """Report one attribute truly, drawn uniformly and kept secret, and fake values of all the others (RS+FD).

    Every report goes through the protocol, of a true value or of a uniform one. What is guaranteed depends on how much
    of a record may change. ``unit="record"`` (the default) keeps epsilon for a whole record, and the protocol gets just
    epsilon: all attributes of a report may point to the truth at once, so hiding which one was drawn does not help.
    ``unit="attribute"`` keeps epsilon when one attribute of a record changes; then it does help, and KRR, the only
    protocol for it, gets a larger epsilon: ln(d (e**epsilon - 1) + 1) if all d domains are equally large, else less.
    [Arcolezi, Couchot, Al Bouna, Xiao 2021, who use the larger epsilon always]

    >>> import fastdp as fd
    >>> mechanism = fd.SampleAndFake(epsilon=1.0, domains={"city": 10, "age": 5}, unit="attribute")
    >>> round(mechanism.mechanisms["city"].epsilon, 4)
    1.4128
    """

    epsilon: Any
    domains: Any
    protocol: Any = KRR
    unit: str = "record"
    mechanisms: dict[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        validation.one_of("SampleAndFake", "unit", self.unit, ("record", "attribute"))
        if self.unit == "attribute" and self.protocol is not KRR:
            raise ParameterError('SampleAndFake: unit="attribute" is for the protocol KRR; other reports tell more')
        self._set_up(self.epsilon, self._share, self.protocol)

    def _share(self, epsilon: float, domains: dict[str, Domain]) -> float:
        """The epsilon of each attribute: the largest with which a changed attribute costs at most ``epsilon``."""
        if self.unit == "record":
            return epsilon
        sizes = [domain.size for domain in domains.values()]
        low, high = epsilon, float(LARGEST_EPSILON)
        for _ in range(100):
            middle = (low + high) / 2
            each = [(math.exp(middle) / (math.exp(middle) + k - 1), 1 / (math.exp(middle) + k - 1)) for k in sizes]
            within = one_attribute_cost(each, sizes) <= epsilon * (1 - 2.0**-45)
            low, high = (middle, high) if within else (low, middle)
        return low

    @property
    def privacy(self) -> Privacy:
        """From what the attributes' mechanisms cost; for one attribute, through its chance to be drawn."""
        if self.unit == "record":
            worst = max(mechanism.privacy.epsilon for mechanism in self.mechanisms.values())
        else:
            each = [(mechanism.p, mechanism.q) for mechanism in self.mechanisms.values()]
            worst = one_attribute_cost(each, [domain.size for domain in self.domains.values()])
        return Privacy(epsilon=worst, unit=self.unit, neighbours="replace")

    def _randomize(self, columns: dict[str, Any], codes: dict[str, np.ndarray], rng: Rng) -> dict[str, Any]:
        size = next(iter(codes.values())).size
        chosen = uniform_codes(rng.child("attribute that is sampled"), size, self._count)
        reports = {}
        for number, (name, mechanism) in enumerate(self.mechanisms.items()):
            fakes = uniform_codes(rng.child(f"fakes {name}"), size, mechanism.domain.size)
            values = _dress(np.where(chosen == number, codes[name], fakes), mechanism.domain, columns[name])
            reports[name] = mechanism.randomize(values, rng=rng.child(f"attribute {name}"))
        return reports

    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate:
        """Take out what fakes add: a report is of the truth or of a uniform value, so the frequencies are a mixture."""
        mixed, count = mechanism.estimate(counts[name]), self._count
        inside = np.clip(mixed.frequencies, 0, 1)
        frequencies = count * mixed.frequencies - (count - 1) / mechanism.domain.size
        errors = count * np.sqrt(mixed.std_error**2 + inside * (1 - inside) / mixed.n)
        return FrequencyEstimate(frequencies, errors, mixed.n)


def one_attribute_cost(each: list[tuple[float, float]], sizes: list[int]) -> float:
    """What a report of one true and otherwise uniform attributes costs when one attribute changes, rounded up.

    A report's probability is proportional to the sum over the attributes of k P(its value | the true one): k p where it
    is the truth, k q elsewhere. The change of attribute j moves its term from k p to k q; the others hide it least
    where they are all k q.
    """
    low = [k * q for (_, q), k in zip(each, sizes, strict=True)]
    costs = []
    for (p, _), k, own in zip(each, sizes, low, strict=True):
        costs.append(math.log1p((k * p - own) / math.fsum(low)))
    return rounding.up(max(costs), ulps=16)


def _read_table(owner: str, table: Any, names: list[str]) -> tuple[dict[str, Any], Callable[[dict[str, Any]], Any]]:
    """The declared columns, all of one length, and how columns become the caller's kind of table again."""
    opened = unwrap_table(owner, table)
    if opened is None:
        raise SchemaError(f"{owner}: cannot read a {type(table).__name__}; pass a table or a dict of columns")
    found, rebuild = opened
    columns = dict(found)
    if len(columns) != len(found):
        raise SchemaError(f"{owner}: the table has two columns of one name")
    if set(columns) != set(names):
        missing, more = sorted(set(names) - set(columns)), sorted(map(str, set(columns) - set(names)))
        raise SchemaError(f"{owner}: the table must have the declared columns; missing: {missing}, undeclared: {more}")
    unwrapped = {name: unwrap(owner, columns[name]) for name in names}
    plain = {name: values for name, (values, _) in unwrapped.items()}
    if not all(hasattr(values, "__len__") for values in plain.values()):
        raise SchemaError(f"{owner}: the columns must be arrays or lists")
    if len({len(values) for values in plain.values()}) > 1:
        raise SchemaError(f"{owner}: the columns have different lengths")

    def rewrap(reports: dict[str, Any]) -> Any:
        wrappers = {name: wrapper for name, (_, wrapper) in unwrapped.items() if wrapper is not None}
        return rebuild({name: wrappers[name](r) if name in wrappers else r for name, r in reports.items()})

    return plain, rewrap


def _all_codes(owner: str, column: Any, domain: Domain) -> np.ndarray:
    """The codes of a whole column, all of them in the domain: what is not drawn is checked too."""
    read = read_codes(owner, column, domain)
    pieces = [read_block(owner, piece, 0, piece.size, read.result_dtype) for piece in read.pieces]
    if any(piece.size and (piece.min() < 0 or piece.max() >= domain.size) for piece in pieces):
        raise out_of_domain(owner)
    return np.concatenate([piece.astype(_CODES) for piece in pieces] or [np.zeros(0, _CODES)])


def _is_arrow(column: Any) -> bool:
    if "pyarrow" not in sys.modules:
        return False
    import pyarrow as pa

    return isinstance(column, pa.Array | pa.ChunkedArray)


def _without_nulls(column: Any) -> Any:
    return column.drop_null() if _is_arrow(column) else column


def _dress(codes: np.ndarray, domain: Domain, like: Any) -> Any:
    """Codes as values of the domain, of the type that the column has: arrow for arrow, else numpy."""
    import pyarrow as pa

    labels = None if domain.labels is None else pa.array(domain.labels)
    if _is_arrow(like):
        encoded = pa.types.is_dictionary(like.type)
        if encoded and labels is not None:
            return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), labels)
        kind = like.type.value_type if encoded or pa.types.is_run_end_encoded(like.type) else like.type
        return (pa.array(codes) if labels is None else labels.take(pa.array(codes))).cast(kind)
    if labels is not None:
        return labels.take(pa.array(codes)).to_numpy(zero_copy_only=False)
    return codes.astype(like.dtype.newbyteorder("=")) if isinstance(like, np.ndarray) else codes
