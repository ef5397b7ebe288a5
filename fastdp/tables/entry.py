"""What a plan says of one column: keep it, drop it, or randomize it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from fastdp import rounding, validation
from fastdp.columns.domain import Domain
from fastdp.columns.numeric import check_arrow
from fastdp.errors import FastDPError, ParameterError
from fastdp.privacy import Privacy
from fastdp.tables.policies import KEYS, Policies
from fastdp.tables.spec import MECHANISMS, STRUCTURED, Spec, check_keys, find, in_plain_words, unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

Action = Literal["keep", "drop", "randomize"]
_NO_PARAMETERS = (*KEYS, "mechanism")


@dataclass(frozen=True, slots=True)
class Entry:
    """One column of a plan; ``given`` is what the plan says of it, in the plan's own words.

    A mechanism for numbers hides the whole record when ``bounds`` alone are given: any two values within them are
    neighbours. With a ``unit`` its guarantee is metric: epsilon for values that are one unit apart, and in proportion
    more for values further apart.
    """

    column: str
    action: Action
    given: Mapping[str, Any]
    mechanism: Any = None
    unit: Any = None
    policies: Policies = field(default_factory=Policies)

    @classmethod
    def read(cls, column: str, value: Any) -> Entry:
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
        if action not in ("keep", "drop"):
            raise ParameterError(f"{owner}: {unknown('action', action, ('keep', 'drop'))}")
        check_keys(owner, given, ("action",))
        return cls(column, action, given)

    @property
    def is_metric(self) -> bool:
        """Whether the guarantee is per unit of distance."""
        return self.unit is not None

    @property
    def privacy(self) -> Privacy | None:
        """The guarantee of this column, for one record's value replaced by another; None where nothing is randomized.

        A metric guarantee is for values that are one unit of distance apart, and says so in its ``unit``.
        """
        if self.mechanism is None:
            return None
        protected = "record"
        if self.unit is not None:
            protected = f"distance 1 {self.unit}" if isinstance(self.unit, str) else f"distance {self.unit:g}"
        return replace(self.mechanism.privacy, unit=protected, neighbours="replace")

    @property
    def public_nulls(self) -> bool:
        """Whether nulls stay where they are, for all to see."""
        return self.policies.nulls == "public"

    @property
    def drops_rows(self) -> bool:
        """Whether rows with a null in this column are left out, for all to see."""
        return self.policies.nulls == "drop"

    @property
    def ways_out(self) -> str:
        """The keys by which a plan says what becomes of values that the mechanism does not take."""
        allowed = MECHANISMS[self.given["mechanism"]].all_keys
        return ", ".join(key for key in ("nulls", "nan", "out_of_domain") if key in allowed)

    def randomize(self, values: pa.Array, rng: Rng) -> pa.Array:
        """Reports of the values, with nulls, NaN and undeclared categories as the plan says.

        Every row takes one slot of each stream, also rows that are dropped afterwards.
        """
        if self.policies.change_values:
            check_arrow(f"column {self.column!r}", values, "public")  # before anything reads them
            values = self.policies.settle(values, rng.child("out of domain"))
        return self.mechanism.randomize(values, rng=rng, nulls=self.policies.for_mechanism)


def _read_mechanism(owner: str, column: str, given: dict[str, Any]) -> Entry:
    spec = find(owner, given["mechanism"])
    check_keys(owner, given, spec.all_keys)
    parameters = {key: value for key, value in given.items() if key not in _NO_PARAMETERS}
    for key, value in parameters.items():
        if key not in STRUCTURED and not isinstance(value, bool | int | float | str):
            raise ParameterError(f"{owner}: {key} must be one number or word for all records")
    unit = None
    if spec.takes == "numbers":
        unit = _read_unit(owner, spec, given)
        parameters.pop("unit", None)
        parameters["sensitivity"] = unit if unit is not None else _width(owner, spec, given["bounds"])
    for needed in spec.declared:
        if needed not in given:
            raise ParameterError(f"{owner}: {given['mechanism']} needs {needed}; they are declared, never inferred")
    if "bounds" in parameters:
        parameters["bounds"] = validation.bounds(owner, parameters["bounds"], integers=spec.whole)
    mechanism = build(owner, spec, given["mechanism"], parameters)
    if spec.takes == "codes":
        unit = mechanism.unit
    policies = Policies.read(
        owner,
        given,
        domain=_domain(owner, spec, mechanism),
        bounds=getattr(mechanism, "bounds", None),
        truths=spec.takes == "truths",
    )
    return Entry(column, "randomize", given, mechanism, unit, policies)


def build(owner: str, spec: Spec, name: str, parameters: Mapping[str, Any]) -> Any:
    """The mechanism; what is wrong with its parameters is said in the plan's name."""
    try:
        return spec.build(**parameters)
    except FastDPError as error:
        raise ParameterError(f"{owner}: {error}") from None
    except TypeError:  # a key without which the mechanism cannot be made
        raise ParameterError(f"{owner}: {name} needs {' and '.join(spec.keys[:1])}") from None


def _domain(owner: str, spec: Spec, mechanism: Any) -> Domain | None:
    """What can occur in a column of categories or codes."""
    if spec.takes == "categories":
        domain: Domain = mechanism.domain
        return domain
    if spec.takes != "codes":
        return None
    return Domain.read(owner, math.prod(mechanism.shape) if "shape" in spec.keys else len(mechanism.distance))


def _read_unit(owner: str, spec: Spec, given: Mapping[str, Any]) -> Any:
    """The distance that epsilon is for, or None where bounds alone are given."""
    if "unit" not in given:
        if "bounds" not in given:
            raise ParameterError(
                f"{owner}: give bounds to hide the whole record, or unit for a guarantee per distance (d-privacy)"
            )
        return None
    check = validation.positive_integer if spec.whole else validation.positive
    return check(owner, "unit", given["unit"])


def _width(owner: str, spec: Spec, bounds: Any) -> Any:
    """The most that a record's value can move: the width of the bounds, rounded up."""
    low, high = validation.bounds(owner, bounds, integers=spec.whole)
    return high - low if spec.whole else rounding.float_up(Fraction(high) - Fraction(low))
