"""What a plan says of one column: keep it, drop it, or randomize it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import check_arrow
from fastdp.errors import FastDPError, ParameterError, SchemaError
from fastdp.plans.number_keys import read_boundary, read_ticks, read_unit, width
from fastdp.plans.part import RECORDS, PlanPart
from fastdp.plans.policies import KEYS, Policies, decode
from fastdp.plans.public.generalize import KEYS as COARSENING
from fastdp.plans.public.generalize import Generalized
from fastdp.plans.public.pseudonym import KEYS as NAMING
from fastdp.plans.public.pseudonym import Pseudonym
from fastdp.plans.spec import MECHANISMS, STRUCTURED, Spec, check_keys, find, in_plain_words
from fastdp.plans.values.items import Items, check_single, item_type
from fastdp.plans.values.null_share import KEYS as NULLNESS
from fastdp.plans.values.null_share import NullShare, hidden
from fastdp.privacy import MetricPrivacy, Privacy
from fastdp.units.ticks import Ticks
from fastdp.validation import unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

OPEN_TEXT = (
    ". List the labels or name a file of them (domain_file). Open text has no such list: drop it, hash it into buckets "
    "(domain = 1024 with olh), or collect it with fastdp.FrequentStrings"
)
TRIES, TOLERANCE = 100, 1e-7
_NO_PARAMETERS = (*KEYS, *NULLNESS, "mechanism", "domain_file", "domain_column")
REWRITES: Mapping[str, Any] = {"generalize": (Generalized, COARSENING), "pseudonym": (Pseudonym, NAMING)}
"""Actions that release something else of a public column, and their keys."""
ACTIONS = ("keep", "drop", *REWRITES)


@dataclass(frozen=True, slots=True)
class ColumnEntry(PlanPart):
    """One column of a plan.

    A mechanism for numbers hides the whole record when ``bounds`` alone are given: any two values within them are
    neighbours. With a ``unit`` its guarantee is metric: for values up to one unit apart, and more for values farther
    apart, as the mechanism's law has it (see `MetricPrivacy`).
    """

    policies: Policies = field(default_factory=Policies)
    ticks: Ticks | None = None
    """How dates, times, durations and decimals are whole numbers of a step; None for plain numbers and categories."""

    rewriting: Generalized | Pseudonym | None = None
    null_report: NullShare | None = None

    @classmethod
    def read(cls, column: str, value: object) -> ColumnEntry:
        """From ``"keep"``, ``"drop"``, or a table with ``action`` or ``mechanism``."""
        owner = f"Plan: column {column!r}"
        if isinstance(value, str):
            value = {"action": value}
        if not isinstance(value, Mapping):
            raise ParameterError(f'{owner}: give "keep", "drop" or a table with a mechanism')
        given = in_plain_words(value)
        if "mechanism" in given and "action" in given:
            raise ParameterError(f"{owner}: give an action or a mechanism, not both")
        if "mechanism" in given:
            return _read_mechanism(owner, column, given)
        if "action" not in given:
            raise ParameterError(f'{owner}: say action = "keep", action = "drop" or mechanism = ...')
        action = given["action"]
        if action not in ACTIONS:
            raise ParameterError(f"{owner}: {unknown('action', action, (*ACTIONS,))}")
        if action in REWRITES:
            kind, keys = REWRITES[action]
            check_keys(owner, given, keys)
            return cls((column,), action, given, None, None, "error", rewriting=kind.read(owner, given))
        check_keys(owner, given, ("action",))
        return cls((column,), action, given, None, None, "error")

    @property
    def rewrite(self) -> Generalized | Pseudonym | None:
        return self.rewriting

    @property
    def null_share(self) -> NullShare | None:
        return self.null_report

    @property
    def mechanisms(self) -> tuple[Any, ...]:
        count = 1 if self.policies.items is None else self.policies.items.count
        drawn = () if self.mechanism is None else (self.mechanism,) * count
        return drawn if self.null_share is None else (self.null_share.response, *drawn)

    @property
    def title(self) -> str:
        return f"column {self.name!r}"

    @property
    def spec(self) -> Spec:
        """What plans say of its mechanism."""
        return MECHANISMS[self.given["mechanism"]]

    @property
    def ways_out(self) -> str:
        return ", ".join(key for key in ("nulls", "nan", "out_of_domain") if key in self.spec.all_keys)

    @property
    def labelled(self) -> tuple[str, ...]:
        return () if self.policies.items else self._text_columns

    @property
    def reported_labels(self) -> tuple[str, ...]:
        if self.mechanism is None or not self.mechanism.reports_values:
            return ()
        is_list = self.policies.items is not None and self.policies.items.length is not None
        return () if is_list else self._text_columns

    @property
    def _text_columns(self) -> tuple[str, ...]:
        return self.columns if self.mechanism is not None and self.mechanism.has_text else ()

    @property
    def keeps_nulls(self) -> bool:
        return self.nulls == "public" or self.null_share is not None

    @property
    def not_estimable(self) -> str:
        if self.action == "keep":
            return "it is kept as it is; read it directly"
        if self.rewrite is not None:
            return f"it is public ({self.rewrite.words}); read it directly"
        if self.action == "drop":
            return "it is dropped, so that no reports exist"
        return f"no estimator is known for {type(self.mechanism).__name__}; read its values as they are"

    @property
    def expected_error(self) -> str:
        return self.error_for(RECORDS)

    def error_for(self, records: int) -> str:
        from fastdp.plans.expected_error import expected_error, half_width

        if self.ticks is not None:
            return f"±{self.ticks.words(half_width(self.mechanism))} on each value"
        return expected_error(self.mechanism, self.spec.takes, records)

    def text_types(self) -> dict[str, pa.DataType]:
        if self.mechanism is None:
            return {}
        if self.policies.items:
            raise SchemaError(f"{self.title}: text files have no lists; leave out items")
        if self.ticks is not None:
            return {self.name: self.ticks.text_type(self.title)}
        return {self.name: _text_type(self.spec, labelled=bool(self.labelled))}

    def agrees_with(self, other: PlanPart | None) -> bool:
        if not isinstance(other, ColumnEntry):
            return False
        mine, theirs = ((one.action, one.mechanism, one.ticks, one.null_share) for one in (self, other))
        return mine == theirs

    def stream(self, rng: Rng) -> Rng:
        return rng.child(self.name)

    def result_types(self, kinds: list[pa.DataType]) -> list[pa.DataType]:
        import pyarrow as pa

        (kind,) = kinds
        items = self.policies.items
        if items is not None:
            kind = item_type(self.title, kind)
        if not pa.types.is_primitive(kind):
            check_single(type(self.mechanism).__name__, self.name, kind)
        if items is None and self.ticks is None:
            return [self.mechanism.result_type(self.policies.settled_type(kind))]
        made = self._report_type(kind)
        return [made if items is None else items.released_type(made)]

    def _report_type(self, kind: pa.DataType) -> pa.DataType:
        """The type of one report of a value of this type."""
        if self.ticks is None:
            return self.mechanism.result_type(self.policies.settled_type(kind))
        reach = self.mechanism.reach if self.mechanism.boundary == "open" else None
        return self.ticks.result_type(type(self.mechanism).__name__, kind, self.mechanism.bounds, reach)

    def randomize(self, values: list[pa.Array], rng: Rng) -> list[pa.Array]:
        """Reports of the values, with nulls, NaN and undeclared categories as the plan says.

        Every row takes one slot of each stream, also rows that are dropped afterwards.
        """
        (column,) = values
        items = self.policies.items
        if items is not None:
            check_arrow(self.title, column, "public")
            column = items.pick(column, rng.child("item"))
        own = column.type
        changes, owner = self.policies.change_values, type(self.mechanism).__name__
        if changes or self.ticks is not None:
            check_arrow(self.title, column, "public")  # before anything reads them
        if self.ticks is not None:
            column = self.ticks.read(owner, column)
        absent = None if self.null_report is None else self.null_report.draw(decode(column), rng)
        if changes:
            column = self.policies.settle(column, rng.child("out of domain"))
        reports = self.mechanism.randomize(column, rng=rng, nulls=self.policies.for_mechanism)
        if self.ticks is not None:
            reports = self.ticks.write(owner, reports, self._report_type(own))
        if absent is not None and self.null_report is not None:
            reports = self.null_report.hide(reports, absent)
        return [reports if items is None else items.release(reports)]


def _read_mechanism(owner: str, column: str, given: dict[str, Any]) -> ColumnEntry:
    spec = find(owner, given["mechanism"])
    check_keys(owner, given, spec.all_keys)
    parameters = {key: value for key, value in given.items() if key not in _NO_PARAMETERS}
    for key, value in parameters.items():
        if key not in STRUCTURED and not isinstance(value, bool | int | float | str):
            raise ParameterError(f"{owner}: {key} must be one number or word for all records")
    unit, ticks = None, None
    if spec.takes == "numbers":
        ticks = read_ticks(owner, spec, given)
        if "bounds" in given:
            given["boundary"] = parameters["boundary"] = read_boundary(owner, given, ticks)
        if ticks is not None and "bounds" in given:
            parameters["bounds"] = [ticks.of(owner, "bounds", bound) for bound in given["bounds"]]
        unit = read_unit(owner, spec, given, ticks)
        for key in ("unit", "step"):
            parameters.pop(key, None)
    for needed in spec.declared:
        if needed not in given:
            way = OPEN_TEXT if needed == "domain" else ""
            raise ParameterError(
                f"{owner}: {given['mechanism']} needs {needed}; they are declared, never inferred{way}"
            )
    if "bounds" in parameters:
        parameters["bounds"] = validation.bounds(owner, parameters["bounds"], integers=spec.whole)
    if spec.takes == "numbers":
        parameters["sensitivity"] = unit if unit is not None else width(*parameters["bounds"])
    share = None if given.keys().isdisjoint(NULLNESS) else NullShare.read(owner, given)
    if share is not None:
        parameters["epsilon"] = share.left
    items = Items.read(owner, given) if "items" in given else None
    if items is not None and items.length is not None:
        parameters["epsilon"] = items.part_of(owner, parameters["epsilon"])
    mechanism = build(owner, spec, given["mechanism"], parameters)
    if unit is not None and parameters.get("boundary") == "resample":
        mechanism = _calibrate_by_distance(owner, spec, given["mechanism"], parameters, mechanism)
    if spec.takes == "codes":
        unit = mechanism.unit
    policies = Policies.read(
        owner,
        given,
        domain=_domain(owner, spec, mechanism),
        bounds=parameters.get("bounds"),
        truths=spec.takes == "truths",
        ticks=ticks,
    )
    privacy = _guarantee(mechanism, unit)
    if ticks is not None and isinstance(privacy, MetricPrivacy):
        privacy = ticks.by_distance(privacy)
    if items is not None and items.length is not None:
        privacy = items.privacy(privacy)
    if share is not None:
        policies = hidden(owner, policies, parameters["bounds"], whole=spec.whole)
        privacy = share.privacy(privacy)
    return ColumnEntry(
        (column,), "randomize", given, mechanism, privacy, policies.nulls, policies, ticks, null_report=share
    )


def _guarantee(mechanism: Any, unit: Any) -> Privacy:
    """The guarantee for one record's value replaced by another, whatever it is or by distance."""
    if unit is None:
        stated: Privacy = mechanism.privacy
        if (stated.unit, stated.neighbours) == ("record", "replace"):
            return stated
        return replace(stated, unit="record", neighbours="replace")
    if isinstance(unit, str):
        return MetricPrivacy(epsilon=mechanism.privacy.epsilon, unit=f"distance 1 {unit}", neighbours="replace")
    by_distance: MetricPrivacy = mechanism.privacy_by_distance
    return by_distance


def _text_type(spec: Spec, *, labelled: bool) -> pa.DataType:
    import pyarrow as pa

    if spec.takes == "categories":
        return pa.string() if labelled else pa.int64()
    if spec.takes == "truths":
        return pa.bool_()
    return pa.int64() if spec.whole or spec.takes == "codes" else pa.float64()


def build(owner: str, spec: Spec, name: str, parameters: Mapping[str, Any]) -> Any:
    """The mechanism; errors of its parameters name the plan."""
    try:
        return spec.build(**parameters)
    except FastDPError as error:
        raise ParameterError(f"{owner}: {error}") from None
    except TypeError:  # a key without which the mechanism cannot be made
        raise ParameterError(f"{owner}: {name} needs {' and '.join(spec.keys[:1])}") from None


def _calibrate_by_distance(owner: str, spec: Spec, name: str, parameters: dict[str, Any], mechanism: Any) -> Any:
    """The mechanism whose epsilon per unit is what was asked for at every distance, not at one unit alone.

    Draws that are repeated until they are inside cost more per step between values that are near one another.
    """
    asked = validation.positive(owner, "epsilon", parameters["epsilon"])
    epsilon = asked
    for _ in range(TRIES):
        stated = mechanism.privacy_by_distance.epsilon
        if asked * (1 - TOLERANCE) <= stated <= asked:
            break
        epsilon *= asked / stated * (1 - TOLERANCE / 4)
        mechanism = build(owner, spec, name, parameters | {"epsilon": epsilon})
    return mechanism


def _domain(owner: str, spec: Spec, mechanism: Any) -> Domain | None:
    """What can occur in a column of categories or codes."""
    if spec.takes == "categories":
        domain: Domain = mechanism.domain
        return domain
    if spec.takes != "codes":
        return None
    return Domain.read(owner, math.prod(mechanism.shape) if "shape" in spec.keys else len(mechanism.distance))
