"""What a plan says of one column: keep it, drop it, or randomize it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from fastdp import rounding, validation
from fastdp.errors import FastDPError, ParameterError
from fastdp.privacy import Privacy
from fastdp.tables.spec import Spec, check_keys, find, unknown

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

Action = Literal["keep", "drop", "randomize"]
_POLICIES = ("nulls", "nan", "out_of_domain", "unit", "mechanism")


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
    unit: float | None = None
    policies: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, column: str, value: Any) -> Entry:
        """From ``"keep"``, ``"drop"``, or a table with ``action`` or ``mechanism``."""
        owner = f"Plan: column {column!r}"
        if isinstance(value, str):
            value = {"action": value}
        if not isinstance(value, Mapping):
            raise ParameterError(f'{owner}: give "keep", "drop" or a table with a mechanism')
        given = {key: list(item) if isinstance(item, tuple | list) else item for key, item in value.items()}
        if "mechanism" in given and "action" in given:
            raise ParameterError(f"{owner}: give an action or a mechanism, not both")
        if "mechanism" in given:
            return _read_mechanism(owner, column, given)
        if "action" not in given:
            raise ParameterError(f'{owner}: say action = "keep", action = "drop" or mechanism = ...')
        action = given["action"]
        if action not in {"keep", "drop"}:
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
        protected = "record" if self.unit is None else f"distance {self.unit:g}"
        return replace(self.mechanism.privacy, unit=protected, neighbours="replace")

    @property
    def public_nulls(self) -> bool:
        """Whether nulls stay where they are, for all to see."""
        return self.policies.get("nulls") == "public"

    def randomize(self, values: pa.Array, rng: Rng) -> pa.Array:
        """Reports of the values, with NaN and undeclared categories as the plan says."""
        if "nan" in self.policies:
            values = _lower_nan(values, self.mechanism.bounds[0])
        if "out_of_domain" in self.policies:
            values = _rename_others(values, self.mechanism.domain.labels, self.policies["out_of_domain"])
        return self.mechanism.randomize(values, rng=rng, nulls=self.policies.get("nulls", "error"))


def _read_mechanism(owner: str, column: str, given: dict[str, Any]) -> Entry:
    spec = find(owner, given["mechanism"])
    check_keys(owner, given, spec.all_keys)
    parameters = {key: value for key, value in given.items() if key not in _POLICIES}
    for key, value in parameters.items():
        if key not in {"bounds", "domain"} and not isinstance(value, bool | int | float | str):
            raise ParameterError(f"{owner}: {key} must be one number or word for all records")
    unit = None
    if spec.takes == "numbers":
        unit = _read_unit(owner, spec, given)
        parameters["sensitivity"] = unit if unit is not None else _width(owner, spec, given["bounds"])
    for needed in {"bounded": ("bounds",), "categories": ("domain",)}.get(spec.takes, ()):
        if needed not in given:
            raise ParameterError(f"{owner}: {given['mechanism']} needs {needed}; they are declared, never inferred")
    if "bounds" in parameters:
        parameters["bounds"] = validation.bounds(owner, parameters["bounds"], integers=spec.whole)
    try:
        mechanism = spec.build(**parameters)
    except FastDPError as error:
        raise ParameterError(f"{owner}: {error}") from None
    except TypeError:  # a key without which the mechanism cannot be made
        raise ParameterError(f"{owner}: {given['mechanism']} needs {' and '.join(spec.keys[:1])}") from None
    policies = _read_policies(owner, given, mechanism)
    return Entry(column, "randomize", given, mechanism, unit, policies)


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


def _read_policies(owner: str, given: Mapping[str, Any], mechanism: Any) -> dict[str, Any]:
    policies: dict[str, Any] = {}
    if "nulls" in given:
        policies["nulls"] = validation.one_of(owner, "nulls", given["nulls"], ("error", "public"))
    if "nan" in given and validation.one_of(owner, "nan", given["nan"], ("error", "lower")) == "lower":
        if mechanism.bounds is None:
            raise ParameterError(f'{owner}: nan = "lower" counts NaN as the lower bound; give bounds')
        policies["nan"] = "lower"
    if "out_of_domain" in given:
        label = given["out_of_domain"]
        if type(label) not in (str, int) or label not in (mechanism.domain.labels or ()):
            raise ParameterError(f"{owner}: out_of_domain must be a label of the domain, which others are counted as")
        policies["out_of_domain"] = label
    return policies


def _lower_nan(values: pa.Array, low: float) -> pa.Array:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_floating(values.type):
        return values
    return pc.if_else(pc.is_nan(values), pa.scalar(low, values.type), values)


def _rename_others(values: pa.Array, labels: tuple[Any, ...], other: Any) -> pa.Array:
    """Values beyond the labels as one of them; nulls stay."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if pa.types.is_string_view(values.type):
        values = values.cast(pa.large_string())
    known = pc.is_in(values, pa.array(labels, values.type))
    return pc.if_else(pc.or_(known, values.is_null()), values, pa.scalar(other, values.type))
