"""Plan: what becomes of every column of a table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastdp.errors import ParameterError, SchemaError
from fastdp.tables.entry import Entry
from fastdp.tables.group import Group
from fastdp.tables.spec import check_keys, unknown
from fastdp.tables.total import RecordPrivacy, compose


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One entry per column: ``"keep"``, ``"drop"``, or a mechanism with its parameters, all checked here.

    ``groups`` are columns that go through one mechanism together: points of the plane or of the globe, and categories
    that are encoded jointly. A column is in one group or has an entry of its own.

    Noise on a record is a local release. With ``bounds`` alone the record's whole value is hidden, at the cost of noise
    as wide as the bounds; with ``unit`` the guarantee is epsilon per unit of distance (d-privacy). A plan that gives
    neither is refused, and so is a table with a column that its plan does not name.

    >>> plan = Plan(columns={
    ...     "name": "drop",
    ...     "region": "keep",
    ...     "disease": {"mechanism": "krr", "epsilon": 1.5, "domain": ["cold", "flu", "none"]},
    ...     "income": {"mechanism": "laplace", "epsilon": 1.0, "bounds": [0, 200_000]},
    ...     "age": {"mechanism": "geometric", "epsilon": 0.5, "bounds": [0, 120], "unit": 5},
    ... })
    >>> round(plan.privacy.record.epsilon, 6)
    2.5
    >>> plan.privacy.metric["age"].unit
    'distance 5'
    >>> home = {"columns": ["latitude", "longitude"], "mechanism": "planar_laplace", "epsilon": "ln(2)/500m"}
    >>> Plan(groups=[home]).privacy.metric["latitude, longitude"].unit
    'distance 500 m'
    """

    columns: Mapping[str, Any] = field(default_factory=dict)
    groups: Sequence[Any] = ()

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not all(isinstance(name, str) for name in self.columns):
            raise ParameterError("Plan: columns must map the name of each column to what becomes of it")
        if not isinstance(self.groups, list | tuple):
            raise ParameterError("Plan: groups must be a list of tables with columns and a mechanism")
        if not self.columns and not self.groups:
            raise ParameterError("Plan: names no column")
        entries = {
            name: value if isinstance(value, Entry) else Entry.read(name, value) for name, value in self.columns.items()
        }
        groups = tuple(
            value if isinstance(value, Group) else Group.read(number, value)
            for number, value in enumerate(self.groups, 1)
        )
        _check_apart(entries, groups)
        object.__setattr__(self, "columns", MappingProxyType(entries))
        object.__setattr__(self, "groups", groups)
        _ = self.privacy  # a plan without a total is refused here, not after the work

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """The plan of a TOML file: a table ``[columns.NAME]`` per column, and ``[[groups]]``."""
        try:
            text = Path(path).read_bytes().decode()
        except OSError as error:
            raise ParameterError(f"Plan: cannot read {str(path)!r}: {error.strerror}") from None
        except UnicodeDecodeError:
            raise ParameterError(f"Plan: {str(path)!r} is not UTF-8 text") from None
        return cls.loads(text)

    @classmethod
    def loads(cls, text: str) -> Plan:
        """The plan of a TOML text."""
        try:
            content = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ParameterError(f"Plan: not valid TOML: {error}") from None
        check_keys("Plan", content, ("columns", "groups"))
        return cls(content.get("columns", {}), content.get("groups", ()))

    @property
    def privacy(self) -> RecordPrivacy:
        """The guarantee of one record: its columns composed and rounded up, metric ones apart."""
        known = [(entry.column, entry, entry.privacy) for entry in self.columns.values()]
        known += [(group.name, group, group.privacy) for group in self.groups]
        record = compose(privacy for _, part, privacy in known if privacy is not None and not part.is_metric)
        metric = {name: privacy for name, part, privacy in known if privacy is not None and part.is_metric}
        return RecordPrivacy(record, metric)

    @property
    def randomized(self) -> tuple[Entry, ...]:
        """The entries that have a mechanism."""
        return tuple(entry for entry in self.columns.values() if entry.action == "randomize")

    @property
    def names(self) -> tuple[str, ...]:
        """Every column that the plan speaks of."""
        return (*self.columns, *(name for group in self.groups for name in group.columns))

    @property
    def dropping(self) -> tuple[str, ...]:
        """The columns whose nulls take their rows out."""
        alone = [entry.column for entry in self.columns.values() if entry.drops_rows]
        return (*alone, *(name for group in self.groups if group.drops_rows for name in group.columns))

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse columns that are named twice, not in the plan, or in the plan only."""
        names, planned = list(names), set(self.names)
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise SchemaError(f"sanitize: column {name!r} appears more than once; rename one")
            seen.add(name)
            if name not in planned:
                raise SchemaError(
                    f'sanitize: column {name!r} is not in the plan; add it with action = "keep", "drop" or a mechanism'
                )
        for name in self.names:
            if name not in seen:
                raise SchemaError(
                    f"sanitize: the table lacks a column of the plan: {unknown('column', name, tuple(names))}"
                )

    def to_dict(self) -> dict[str, Any]:
        """The plan in its own words, as its TOML would be read."""
        said: dict[str, Any] = {"columns": {name: deepcopy(entry.given) for name, entry in self.columns.items()}}
        return said | ({"groups": [deepcopy(group.given) for group in self.groups]} if self.groups else {})

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, in whatever order they name columns."""
        return isinstance(other, Plan) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.names))

    def __reduce__(self) -> Any:
        said = self.to_dict()
        return Plan, (said["columns"], said.get("groups", ()))


def _check_apart(entries: Mapping[str, Entry], groups: Sequence[Group]) -> None:
    """Refuse a column that two parts of the plan speak of, and a group with the name of another part."""
    owners = dict.fromkeys(entries, "its own entry")
    names = set(entries)
    for number, group in enumerate(groups, 1):
        for name in group.columns:
            if name in owners:
                raise ParameterError(
                    f"Plan: column {name!r} is in group {number} and in {owners[name]}; a column belongs to one of them"
                )
        if group.name in names:  # the total would hold one of them
            raise ParameterError(f"Plan: group {number} has the name of column {group.name!r}; rename that column")
        owners |= dict.fromkeys(group.columns, f"group {number}")
        names.add(group.name)
