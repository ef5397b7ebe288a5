"""Plan: what becomes of every column of a table."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fastdp.errors import ParameterError, SchemaError
from fastdp.tables.entry import Entry
from fastdp.tables.spec import check_keys, unknown
from fastdp.tables.total import RecordPrivacy, compose


@dataclass(frozen=True, slots=True)
class Plan:
    """One entry per column: ``"keep"``, ``"drop"``, or a mechanism with its parameters, all checked here.

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
    """

    columns: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or not all(isinstance(name, str) for name in self.columns):
            raise ParameterError("Plan: columns must map the name of each column to what becomes of it")
        if not self.columns:
            raise ParameterError("Plan: names no column")
        entries = {
            name: value if isinstance(value, Entry) else Entry.read(name, value) for name, value in self.columns.items()
        }
        object.__setattr__(self, "columns", MappingProxyType(entries))
        _ = self.privacy  # a plan without a total is refused here, not after the work

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """The plan of a TOML file: a table ``[columns.NAME]`` per column."""
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
        check_keys("Plan", content, ("columns",))
        return cls(content.get("columns", {}))

    @property
    def privacy(self) -> RecordPrivacy:
        """The guarantee of one record: its columns composed and rounded up, metric ones apart."""
        known = [(entry, entry.privacy) for entry in self.columns.values()]
        record = compose(privacy for entry, privacy in known if privacy is not None and not entry.is_metric)
        metric = {entry.column: privacy for entry, privacy in known if privacy is not None and entry.is_metric}
        return RecordPrivacy(record, metric)

    @property
    def randomized(self) -> tuple[Entry, ...]:
        """The entries that have a mechanism."""
        return tuple(entry for entry in self.columns.values() if entry.action == "randomize")

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse columns that are named twice, not in the plan, or in the plan only."""
        names = list(names)
        for name in names:
            if names.count(name) > 1:
                raise SchemaError(f"sanitize: column {name!r} appears more than once; rename one")
            if name not in self.columns:
                raise SchemaError(
                    f'sanitize: column {name!r} is not in the plan; add it with action = "keep", "drop" or a mechanism'
                )
        for name in self.columns:
            if name not in names:
                raise SchemaError(
                    f"sanitize: the table lacks a column of the plan: {unknown('column', name, tuple(names))}"
                )

    def to_dict(self) -> dict[str, Any]:
        """The plan in its own words, as its TOML would be read."""
        return {"columns": {name: dict(entry.given) for name, entry in self.columns.items()}}

    def __reduce__(self) -> Any:
        return Plan, ({name: dict(entry.given) for name, entry in self.columns.items()},)
