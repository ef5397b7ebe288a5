"""Several attributes of each person: split the budget, sample one attribute, or sample one and fake the others."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import NumericColumn
from fastdp.engine.uniform import UniformCodes
from fastdp.errors import ParameterError
from fastdp.laws.coins import LARGEST_EPSILON, resolvable_epsilon
from fastdp.laws.loss_atoms import mix
from fastdp.losses import AtomicLoss, Loss
from fastdp.mechanisms.annotations import Parameter, computed, frozen
from fastdp.mechanisms.base import Mechanism, set_fields
from fastdp.mechanisms.local.asked import (
    Asked,
    TableCounts,
    draw_attributes,
    one_attribute_cost,
    read_attributes,
    read_checked,
    report_some,
    with_fakes,
    without_nulls,
)
from fastdp.mechanisms.local.frequencies import (
    FrequencyEstimate,
    FrequencyProtocol,
    Score,
)
from fastdp.mechanisms.local.krr import KRR
from fastdp.mechanisms.registry import find_protocol
from fastdp.privacy import Privacy, compose
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column, Table

if TYPE_CHECKING:
    import pyarrow as pa


Protocols = str | Callable[..., FrequencyProtocol]
"""A local protocol: its class or anything that makes one, the name of its class, or its plan word."""
DeclaredDomains = Parameter[Mapping[str, int | Sequence[str] | Sequence[int] | Domain], dict[str, Domain]]
"""The domain of each attribute, by name."""


class Attributes(Mechanism):
    """What the three mechanisms share: a protocol for each attribute, and tables in and out.

    A table is a pyarrow Table or RecordBatch, a pandas or polars DataFrame, or a dict of columns; the same kind comes
    back, with one column of reports per attribute. Anything else with an arrow stream gives a pyarrow Table. Columns
    that are not declared are refused: nothing is passed through but the index of a DataFrame.
    """

    __slots__ = ()
    epsilon: float
    domains: DeclaredDomains
    protocol: Protocols
    mechanisms: dict[str, Any]

    def _set_up(self, epsilon: float, share: Callable[[float, dict[str, Domain]], float]) -> None:
        """Check the parameters, and make a mechanism for each attribute with its share of epsilon."""
        owner = type(self).__name__
        if not isinstance(self.domains, Mapping) or len(self.domains) < 2:
            raise ParameterError(f"{owner}: domains must be a dict of two or more attributes and their domains")
        epsilon = resolvable_epsilon(owner, epsilon)
        if not all(isinstance(name, str) for name in self.domains):
            raise ParameterError(f"{owner}: names of attributes must be strings")
        domains = {name: Domain.read(owner, domain) for name, domain in self.domains.items()}
        named, build = find_protocol(owner, self.protocol)
        set_fields(self, protocol=named)
        each = share(epsilon, domains)
        try:
            mechanisms = {name: build(epsilon=each, domain=domain) for name, domain in domains.items()}
        except TypeError:
            raise ParameterError(f"{owner}: protocol must take epsilon and domain, such as fastdp.KRR") from None
        if not all(isinstance(mechanism, FrequencyProtocol) for mechanism in mechanisms.values()):
            raise ParameterError(f"{owner}: protocol must be a local protocol, such as fastdp.KRR")
        set_fields(self, epsilon=epsilon, domains=domains, mechanisms=mechanisms)

    @property
    def _count(self) -> int:
        return len(self.mechanisms)

    def randomize(self, table: Table, *, rng: Rng | None = None) -> Any:
        """One column of reports per attribute, in the caller's own kind of table.

        Parameters
        ----------
        table
            The table, with a column per attribute.
        rng
            Where randomness comes from; by default the process's own stream, keyed by the operating system.
        """
        owner = type(self).__name__
        rng = resolve(owner, rng)
        columns, rebuild = read_attributes(owner, table, list(self.mechanisms))
        read = {name: read_checked(owner, columns[name], domain) for name, domain in self.domains.items()}
        return rebuild(self._randomize(columns, read, rng))

    def result_types(self, arrow_types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
        """The arrow types of the reports of each attribute, for columns of these types."""
        return {name: mechanism.result_type(arrow_types[name]) for name, mechanism in self.mechanisms.items()}

    @abstractmethod
    def _randomize(self, columns: dict[str, Any], read: dict[str, NumericColumn], rng: Rng) -> dict[str, Any]:
        """Reports of columns; all their codes are read, and so checked, whether or not they are drawn."""

    def aggregate(self, table: Column) -> TableCounts:
        """Support counts of each attribute, in one pass; those of batches add up.

        Parameters
        ----------
        table
            The table, with a column per attribute.
        """
        columns, _ = read_attributes(type(self).__name__, table, list(self.mechanisms))
        counts = {}
        for name, mechanism in self.mechanisms.items():
            counts[name] = mechanism.aggregate(without_nulls(columns[name]))
        return TableCounts(counts)

    def estimate(self, reports: Column) -> dict[str, FrequencyEstimate]:
        """Unbiased frequencies of each attribute's values, with standard errors, from reports or their counts.

        Parameters
        ----------
        reports
            The reports, or what `aggregate` made of them, added up over batches.
        """
        counts = reports if isinstance(reports, TableCounts) else self.aggregate(reports)
        return {name: self._estimate(self.mechanisms[name], counts, name) for name in counts}

    @abstractmethod
    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate: ...


@frozen()
class SplitBudget(Attributes):
    """Report every attribute, each with an equal share of epsilon (SPL).

    epsilon-local DP for a person's whole record. ``domains`` maps attributes to their domains; ``protocol`` is the
    local protocol of each: KRR, UnaryEncoding and so on, or its word in plans, such as "sue".

    Parameters
    ----------
    epsilon
        The privacy of a whole record.
    domains
        The domain of each attribute, by name.
    protocol
        A local protocol: its class, the name of the class, or a plan word such as "oue".

    >>> import fastdp as fd
    >>> mechanism = fd.SplitBudget(epsilon=2.0, domains={"city": 10, "age": 5})
    >>> reports = mechanism.randomize({"city": [1, 2, 3], "age": [4, 4, 0]})
    >>> sorted(reports)
    ['age', 'city']
    """

    epsilon: float
    domains: DeclaredDomains
    protocol: Protocols = KRR
    mechanisms: dict[str, Any] = computed()

    def __post_init__(self) -> None:
        self._set_up(self.epsilon, lambda epsilon, domains: epsilon / len(domains))

    @property
    def privacy(self) -> Privacy:
        """The sum of what the attributes cost, rounded up."""
        return compose((mechanism.privacy for mechanism in self.mechanisms.values()), owner="SplitBudget")

    def losses(self) -> tuple[Loss, ...]:
        """The privacy losses of all attributes, each reported independently."""
        return tuple(loss for mechanism in self.mechanisms.values() for loss in mechanism.losses())

    def _randomize(self, columns: dict[str, Any], read: dict[str, NumericColumn], rng: Rng) -> dict[str, Any]:
        return {
            name: mechanism.randomize(read[name], rng=rng.child(f"attribute {name}"))
            for name, mechanism in self.mechanisms.items()
        }

    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate:
        estimate: FrequencyEstimate = mechanism.estimate(counts[name])
        return estimate


@frozen()
class SampleOne(Attributes):
    """Report one attribute, drawn uniformly, with all of epsilon; the others are null (SMP).

    epsilon-local DP for a person's whole record. Reports are arrow arrays, or the caller's series: null where another
    attribute was drawn, which says nothing of the values. The estimates are of those who were asked, and so of all.

    Parameters
    ----------
    epsilon, domains, protocol
        As in `SplitBudget`.

    >>> import fastdp as fd
    >>> mechanism = fd.SampleOne(epsilon=2.0, domains={"city": 10, "age": 5})
    >>> reports = mechanism.randomize({"city": [1, 2, 3], "age": [4, 4, 0]})
    >>> reports["city"].null_count + reports["age"].null_count
    3
    """

    epsilon: float
    domains: DeclaredDomains
    protocol: Protocols = KRR
    mechanisms: dict[str, Any] = computed()

    def __post_init__(self) -> None:
        self._set_up(self.epsilon, lambda epsilon, _domains: epsilon)

    @property
    def privacy(self) -> Privacy:
        """The most that one attribute costs: only one is reported."""
        worst = max(mechanism.privacy.epsilon for mechanism in self.mechanisms.values())
        return Privacy(epsilon=worst, unit="record", neighbours="replace")

    def result_types(self, arrow_types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
        """The arrow types of the reports of each attribute; views, whose rows cannot be picked, become strings."""
        import pyarrow as pa

        types = Attributes.result_types(self, arrow_types)
        return {name: pa.string() if pa.types.is_string_view(kind) else kind for name, kind in types.items()}

    def losses(self) -> Sequence[Loss]:
        """The attributes' privacy losses, each with its chance to be drawn, where each is one of atoms."""
        each = [loss for mechanism in self.mechanisms.values() for loss in mechanism.losses()]
        atoms = [loss for loss in each if isinstance(loss, AtomicLoss)]
        return (mix(atoms),) if len(atoms) == len(each) == self._count else Attributes.losses(self)

    def _randomize(self, columns: dict[str, Any], read: dict[str, NumericColumn], rng: Rng) -> dict[str, Any]:
        size = next(iter(read.values())).size
        chosen = draw_attributes(rng, size, self._count)
        reports = {}
        for number, (name, mechanism) in enumerate(self.mechanisms.items()):
            stream = rng.child(f"attribute {name}")
            reports[name] = report_some(mechanism, read[name], columns[name], Asked(chosen, number), stream)
        return reports

    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate:
        """The protocol's own, of those who were asked; that they are not all adds the variance of a sample."""
        own, n = mechanism.estimate(counts[name]), sum(count.n for count in counts.values())
        inside = np.clip(own.frequencies, 0, 1)
        errors = np.sqrt(own.std_error**2 + inside * (1 - inside) * (1 / own.n - 1 / n))
        return FrequencyEstimate(own.frequencies, errors, own.n, own.score, own.rates)


@frozen()
class SampleAndFake(Attributes):
    """Report one attribute truly, drawn uniformly and kept secret, and fake values of all the others (RS+FD).

    Every report goes through the protocol, of a true value or of a uniform one. What is guaranteed depends on how much
    of a record may change. ``unit="record"`` (the default) keeps epsilon for a whole record, and the protocol gets just
    epsilon: all attributes of a report may point to the truth at once, so hiding which one was drawn does not help.
    ``unit="attribute"`` keeps epsilon when one attribute of a record changes; then it does help, and KRR, the only
    protocol for it, gets a larger epsilon: ln(d (e**epsilon - 1) + 1) if all d domains are equally large, else less.
    [Arcolezi, Couchot, Al Bouna, Xiao 2021, who use the larger epsilon always]

    Parameters
    ----------
    epsilon, domains, protocol
        As in `SplitBudget`.
    unit
        How much of a record may change: "record" for all of it, or "attribute" for one attribute.

    >>> import fastdp as fd
    >>> mechanism = fd.SampleAndFake(epsilon=1.0, domains={"city": 10, "age": 5}, unit="attribute")
    >>> round(mechanism.mechanisms["city"].epsilon, 4)
    1.4128
    """

    epsilon: float
    domains: DeclaredDomains
    protocol: Protocols = KRR
    unit: str = "record"
    mechanisms: dict[str, Any] = computed()

    def __post_init__(self) -> None:
        validation.one_of("SampleAndFake", "unit", self.unit, ("record", "attribute"))
        self._set_up(self.epsilon, self._share)

    def _share(self, epsilon: float, domains: dict[str, Domain]) -> float:
        """The epsilon of each attribute: the largest with which a changed attribute costs at most ``epsilon``."""
        if self.unit == "record":
            return epsilon
        if self.protocol is not KRR:
            raise ParameterError('SampleAndFake: unit="attribute" is for the protocol KRR; other reports tell more')
        sizes = [domain.size for domain in domains.values()]
        low, high = epsilon, float(LARGEST_EPSILON)
        for _ in range(100):
            middle = (low + high) / 2
            others = math.fsum(k / (math.exp(middle) + k - 1) for k in sizes)
            gains = (math.expm1(middle) * k / (math.exp(middle) + k - 1) for k in sizes)
            within = math.log1p(max(gains) / others) <= epsilon * (1 - 2.0**-45)
            low, high = (middle, high) if within else (low, middle)
        return low

    @property
    def privacy(self) -> Privacy:
        """From what the attributes' mechanisms cost; for one attribute, through its chance to be drawn."""
        if self.unit == "record":
            worst = max(mechanism.privacy.epsilon for mechanism in self.mechanisms.values())
        else:
            mechanisms = self.mechanisms.values()
            worst = one_attribute_cost([(mechanism.keep, mechanism.domain.size) for mechanism in mechanisms])
        return Privacy(epsilon=worst, unit=self.unit, neighbours="replace")

    def _randomize(self, columns: dict[str, Any], read: dict[str, NumericColumn], rng: Rng) -> dict[str, Any]:
        size = next(iter(read.values())).size
        chosen = draw_attributes(rng, size, self._count)
        reports = {}
        for number, (name, mechanism) in enumerate(self.mechanisms.items()):
            fakes = UniformCodes.draw(rng.child(f"fakes {name}"), size, mechanism.domain.size)
            mixed = with_fakes(read[name], Asked(chosen, number), fakes)
            reports[name] = mechanism.randomize(mixed, rng=rng.child(f"attribute {name}"))
        return reports

    def _estimate(self, mechanism: Any, counts: TableCounts, name: str) -> FrequencyEstimate:
        """Take out what fakes add: a report is of the truth or of a uniform value, so the frequencies are a mixture."""
        mixed, count = mechanism.estimate(counts[name]), self._count
        inside = np.clip(mixed.frequencies, 0, 1)
        frequencies = count * mixed.frequencies - (count - 1) / mechanism.domain.size
        errors = count * np.sqrt(mixed.std_error**2 + inside * (1 - inside) / mixed.n)
        return FrequencyEstimate(frequencies, errors, mixed.n, _unmixed(mixed.score, count, mechanism.domain.size))


def _unmixed(score: Score | None, count: int, size: int) -> Score | None:
    """The variance as a function of f, from that of the mixture (f + fakes) / count, fakes = (count - 1) / size."""
    if score is None:
        return None
    (constant, linear, sampled), fakes = score, (count - 1) / size
    return Score(
        count**2 * constant + count * linear * fakes + sampled * fakes * (count - fakes),
        count * linear + sampled * (count - 2 * fakes - 1),
        sampled,
    )
