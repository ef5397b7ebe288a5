"""Groups of several categories: one randomized code for all of them, or a protocol for several attributes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastdp.columns.categories import codes_result_type, flat_codes
from fastdp.columns.domain import LARGEST, Domain
from fastdp.errors import FastDPError, ParameterError
from fastdp.plans.part import RECORDS
from fastdp.plans.policies import Policies, decode, decoded_type, label_codes
from fastdp.plans.spec import MECHANISMS
from fastdp.privacy import Privacy
from fastdp.validation import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

KEYS = ("epsilon", "domains", "nulls", "null_label", "out_of_domain")


@dataclass(frozen=True, slots=True)
class Categories:
    """What groups of categories share: their domains, and the policies of each column."""

    columns: tuple[str, ...]
    domains: tuple[Domain, ...]
    policies: tuple[Policies, ...]
    mechanism: Any

    reports_values: ClassVar[bool]
    """Whether reports are values of the columns again, one in each."""
    not_estimable: ClassVar[str] = "no estimator is known for the group"

    @property
    def nulls(self) -> Policies:
        """The policy on nulls is that of all columns."""
        return self.policies[0]

    @property
    def privacy(self) -> Privacy:
        """The guarantee for all columns of the group together."""
        return Privacy(epsilon=self.mechanism.privacy.epsilon, unit="record", neighbours="replace")

    @property
    def fillers(self) -> tuple[Any, ...]:
        """A declared value of each column, which stands where there is none."""
        return tuple(0 if domain.labels is None else domain.labels[0] for domain in self.domains)

    def settle(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """Declared categories by the policies of each column; nulls that they leave stay."""
        return [
            _named(name, policies.settle, column, rng.child(f"out of domain {name}"))
            for name, policies, column in zip(self.columns, self.policies, values, strict=True)
        ]

    def _settled_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        """The types that `settle` gives, each of which must hold the values of its column's domain."""
        settled = []
        for name, domain, policies, kind in zip(self.columns, self.domains, self.policies, kinds, strict=True):
            settled.append(_named(name, policies.settled_type, kind))
            _named(name, codes_result_type, "group", settled[-1], domain)
        return settled


class Joint(Categories):
    """One code for the values of all columns together, randomized with one epsilon, and taken apart again.

    The combinations of all domains are the domain of a k-RR: what two columns have to do with each other survives.
    """

    __slots__ = ()
    reports_values = True

    @property
    def not_estimable(self) -> str:  # type: ignore[override]  # it names a number
        """Why there is no estimate from the reports."""
        return f"{self.mechanism.domain.size:,} combinations are too many to count; estimate parts of the group"

    def result_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        """Those of the columns, without dictionaries or runs."""
        return [decoded_type(kind) for kind in self._settled_types(kinds)]

    @classmethod
    def read(cls, owner: str, columns: tuple[str, ...], given: Mapping[str, Any]) -> Joint:
        from fastdp.mechanisms.local.krr import KRR

        domains, policies = _read_columns(owner, columns, given)
        size = math.prod(domain.size for domain in domains)
        if size > LARGEST:
            raise ParameterError(f"{owner}: the domains have {size:,} combinations, above 2**32 - 1; split the group")
        return cls(columns, domains, policies, _made(owner, KRR, epsilon=given.get("epsilon"), domain=size))

    @property
    def expected_error(self) -> str:
        """Where 95 % of the errors lie, of a combination's share."""
        from fastdp.plans.expected_error import share_error, worst_variance

        stated = share_error(worst_variance(self.mechanism, RECORDS))
        return f"{stated} on shares of each of {self.mechanism.domain.size:,} combinations of {RECORDS:,}"

    def randomize(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """The columns of the reported combinations."""
        joint = np.zeros(len(values[0]), np.int64)
        for name, domain, column in zip(self.columns, self.domains, values, strict=True):
            joint = joint * domain.size + _named(name, flat_codes, "group", column, domain)
        rest, parts = self.mechanism.randomize(joint, rng=rng), []
        for name, domain, column in zip(self.columns[::-1], self.domains[::-1], values[::-1], strict=True):
            rest, codes = np.divmod(rest, domain.size)
            parts.append(_named(name, label_codes, codes, domain, decode(column).type))
        return parts[::-1]


class Several(Categories):
    """Several attributes by one of three protocols: split epsilon, sample one, or sample one and fake the others."""

    __slots__ = ()
    reports_values = False

    def result_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        """Those of the protocol's reports, for each attribute."""
        types = self.mechanism.result_types(dict(zip(self.columns, self._settled_types(kinds), strict=True)))
        return [types[name] for name in self.columns]

    @classmethod
    def read(cls, owner: str, columns: tuple[str, ...], given: Mapping[str, Any]) -> Several:
        from fastdp.mechanisms.local import attributes

        protocols = {
            "split": attributes.SplitBudget, "sample": attributes.SampleOne, "sample_and_fake": attributes.SampleAndFake
        }  # fmt: skip
        domains, policies = _read_columns(owner, columns, given)
        protocol = _read_protocol(owner, given.get("protocol", "krr"))
        mechanism = _made(
            owner,
            protocols[given["mechanism"]],
            epsilon=given.get("epsilon"),
            domains=dict(zip(columns, domains, strict=True)),
            protocol=protocol,
        )
        return cls(columns, domains, policies, mechanism)

    @property
    def expected_error(self) -> str:
        """Where 95 % of the errors lie, of a value's share of any size: that of the attribute with the widest."""
        from fastdp.plans.expected_error import share_error

        widest = max(
            self._variance(mechanism, share)
            for mechanism in self.mechanism.mechanisms.values()
            for share in np.linspace(0, 1, 41).tolist()
        )
        return f"{share_error(widest)} on shares of {RECORDS:,}"

    def _variance(self, mechanism: Any, share: float) -> float:
        """The variance of a value's estimated share, by its noise and by whose report is about this attribute."""
        from fastdp.mechanisms.local.attributes import SampleAndFake, SampleOne

        d = len(self.columns)
        if isinstance(self.mechanism, SampleOne):
            asked = max(1, RECORDS // d)
            return float(mechanism.variance(asked, share)) + (1 - 1 / d) * share * (1 - share) / asked
        if isinstance(self.mechanism, SampleAndFake):
            reported = share / d + (d - 1) / (d * mechanism.domain.size)
            variance = float(mechanism.variance(RECORDS, reported)) + reported * (1 - reported) / RECORDS
            return float(d * d * variance)
        return float(mechanism.variance(RECORDS, share))

    def randomize(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """A column of reports per attribute."""
        for name, domain, column in zip(self.columns, self.domains, values, strict=True):
            _named(name, flat_codes, "group", column, domain)
        reports = self.mechanism.randomize(dict(zip(self.columns, values, strict=True)), rng=rng)
        return [reports[name] for name in self.columns]


def _read_columns(
    owner: str, columns: tuple[str, ...], given: Mapping[str, Any]
) -> tuple[tuple[Domain, ...], tuple[Policies, ...]]:
    """The domain of each column, and what becomes of values outside it."""
    declared = given.get("domains")
    if len(columns) < 2:
        raise ParameterError(f"{owner}: a group is of two or more columns")
    if not isinstance(declared, Mapping):
        raise ParameterError(f"{owner}: give domains, the values of each column; they are declared, never inferred")
    for name in declared:
        if name not in columns:
            raise ParameterError(f"{owner}: domains: {unknown('column', name, columns)}")
    domains, policies = [], []
    for name in columns:
        if name not in declared:
            raise ParameterError(f"{owner}: domains lack column {name!r}; they are declared, never inferred")
        place = f"{owner}, column {name!r}"
        domains.append(Domain.read(place, declared[name]))
        policies.append(Policies.read(place, given, domain=domains[-1]))
    return tuple(domains), tuple(policies)


def _read_protocol(owner: str, name: Any) -> Any:
    names = tuple(key for key, spec in MECHANISMS.items() if spec.takes == "categories")
    if not isinstance(name, str) or name not in names:
        raise ParameterError(f"{owner}: {unknown('protocol', name, names)}")
    return name


def _made(owner: str, kind: Any, **parameters: Any) -> Any:
    if parameters["epsilon"] is None:
        raise ParameterError(f"{owner}: give epsilon")
    try:
        return kind(**parameters)
    except FastDPError as error:
        raise ParameterError(f"{owner}: {error}") from None


def _named(name: str, work: Any, *arguments: Any) -> Any:
    """The result; an error says which column it is about."""
    try:
        return work(*arguments)
    except FastDPError as error:
        raise type(error)(f"column {name!r}: {error}") from None
