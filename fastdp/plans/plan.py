"""Plan: what becomes of every column of a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from fastdp import rounding
from fastdp.display.html import to_html
from fastdp.errors import ParameterError, SchemaError
from fastdp.plans.column_entry import ColumnEntry
from fastdp.plans.column_group import Group
from fastdp.plans.documents.named_files import with_files
from fastdp.plans.documents.text import read_text
from fastdp.plans.part import PlanPart
from fastdp.plans.spec import check_keys
from fastdp.plans.total import RecordPrivacy
from fastdp.privacy import MetricPrivacy, Privacy, compose
from fastdp.validation import unknown

if TYPE_CHECKING:
    from fastdp.accounting.curve import PrivacyCurve
    from fastdp.losses import Loss


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """One entry per column: ``"keep"``, ``"drop"``, or a mechanism with its parameters, all checked here.

    ``groups`` are columns that go through one mechanism together: points of the plane or of the globe, and categories
    that are encoded jointly. A column is in one group or has an entry of its own.

    Noise on a record is a local release. With ``bounds`` alone the record's whole value is hidden, at the cost of noise
    as wide as the bounds; with ``unit`` the guarantee is by distance: for values up to one unit apart, and more beyond,
    in proportion (d-privacy) or as the mechanism's law has it, which ``privacy.metric`` says. A plan that gives neither
    is refused, and so is a table with a column that its plan does not name.

    Parameters
    ----------
    columns
        What becomes of each column, by name: "keep", "drop", or a table with a mechanism and its parameters.
    groups
        Tables with several columns and one mechanism for them together.
    ledger
        The path of the ledger that releases by this plan are paid from.

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
    ledger: str | Path | None = None
    """The ledger that releases by this plan are paid from; where it lies is no part of what the plan says."""
    privacy: RecordPrivacy = field(init=False, repr=False)
    """The guarantee of one record: its columns composed and rounded up, metric ones apart."""
    path: Path | None = field(default=None, init=False, repr=False)
    """The file that it was loaded from, which no output may replace."""
    parts: tuple[PlanPart, ...] = field(init=False, repr=False)
    """Every column that has an entry of its own, then every group."""
    names: tuple[str, ...] = field(init=False, repr=False)
    """Every column of the plan."""

    def __post_init__(self) -> None:
        entries = _read_entries(with_files(self.columns, Path()))
        if not isinstance(self.groups, list | tuple):
            raise ParameterError("Plan: groups must be a list of tables with columns and a mechanism")
        if self.ledger is not None and (not isinstance(self.ledger, str | Path) or not str(self.ledger)):
            raise ParameterError("Plan: ledger must be the path of a ledger")
        if not self.columns and not self.groups:
            raise ParameterError("Plan: names no column")
        groups = tuple(
            value if isinstance(value, Group) else Group.read(number, value)
            for number, value in enumerate(self.groups, 1)
        )
        _check_apart(entries, groups)
        object.__setattr__(self, "columns", MappingProxyType(entries))
        object.__setattr__(self, "groups", groups)
        object.__setattr__(self, "parts", (*entries.values(), *groups))
        object.__setattr__(self, "names", (*entries, *chain.from_iterable(group.columns for group in groups)))
        object.__setattr__(self, "privacy", _compose(self.parts))  # without a total it is refused here, before the work

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Read a plan from a TOML file: a table ``[columns.NAME]`` per column, and ``[[groups]]``.

        Parameters
        ----------
        path
            The path of the file, UTF-8 text.
        """
        plan = cls._of(parse(read_text("Plan", path)), Path(path).parent)
        if plan.ledger is not None:
            object.__setattr__(plan, "ledger", Path(path).parent / plan.ledger)
        object.__setattr__(plan, "path", Path(path))
        return plan

    @classmethod
    def loads(cls, text: str) -> Plan:
        """The plan of a TOML text.

        Parameters
        ----------
        text
            The text of a TOML file.
        """
        if not isinstance(text, str):
            raise ParameterError(f"Plan: loads takes the text of a TOML file, got {type(text).__name__}")
        return cls._of(parse(text), Path())

    @classmethod
    def _of(cls, content: Mapping[str, Any], folder: Path) -> Plan:
        """The plan of a parsed file; other files that it names lie relative to the folder."""
        return cls.from_dict({**content, "columns": with_files(content.get("columns", {}), folder)})

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Plan:
        """The plan of a dict, as `to_dict` makes it.

        Parameters
        ----------
        content
            A dict with columns, and groups and a ledger if there are any.

        >>> Plan.from_dict({"columns": {"city": "keep"}}).to_dict()
        {'columns': {'city': {'action': 'keep'}}}
        """
        if not isinstance(content, Mapping):
            raise ParameterError(f"Plan: from_dict takes a dict, got {type(content).__name__}")
        check_keys("Plan", content, TABLES)
        return cls(content.get("columns", {}), content.get("groups", ()), content.get("ledger"))

    def save(self, path: str | Path) -> None:
        """Write the plan as TOML; a file that is a plan already is updated, and keeps its comments.

        Entries that say the same stay as they are written, with the files that they name. A plan that was loaded is
        written to a new name with the comments of the file that it came from.

        Parameters
        ----------
        path
            The path of the file.
        """
        from fastdp.plans.documents.writing import write

        try:
            target = Path(path)
        except TypeError:
            raise ParameterError(f"Plan: save takes the path of a TOML file, got {type(path).__name__}") from None
        write(self, target)

    @property
    def randomized(self) -> tuple[ColumnEntry, ...]:
        """The entries that have a mechanism."""
        return tuple(entry for entry in self.columns.values() if entry.action == "randomize")

    @property
    def dropping(self) -> tuple[str, ...]:
        """The columns whose nulls take their rows out."""
        return (*[name for part in self.parts if part.nulls == "drop" for name in part.columns],)

    def losses(self) -> tuple[tuple[Loss, int], ...]:
        """The privacy losses of one record, with how often each occurs: those of all columns that hide whole values."""
        from fastdp.accounting.compose import read_release

        hidden = [part for part in self.parts if _is_hidden(part)]
        return tuple(
            item for part in hidden for mechanism in part.mechanisms for item in read_release(mechanism).losses
        )

    def curve(self) -> PrivacyCurve:
        """The privacy curve of one record: a plan is fixed beforehand, so that its columns compose tightly.

        >>> answers = {"mechanism": "krr", "epsilon": 0.5, "domain": ["no", "yes"]}
        >>> plan = Plan(columns={f"question {i}": answers for i in range(20)})
        >>> round(plan.curve().epsilon(delta=1e-6).upper, 4)
        9.9868
        """
        from fastdp.accounting.compose import compose as compose_curves

        return compose_curves([self])

    def check_names(self, names: Iterable[str], *, owner: str = "sanitize") -> None:
        """Refuse columns that are named twice, not in the plan, or in the plan only."""
        names, planned = list(names), set(self.names)
        seen: set[str] = set()
        for name in names:
            if name in seen:
                raise SchemaError(f"{owner}: column {name!r} appears more than once; rename one")
            seen.add(name)
            if name not in planned:
                raise SchemaError(
                    f'{owner}: column {name!r} is not in the plan; add it with action = "keep", "drop" or a mechanism'
                )
        for name in self.names:
            if name not in seen:
                raise SchemaError(
                    f"{owner}: the table lacks a column of the plan: {unknown('column', name, tuple(names))}"
                )

    def __repr__(self) -> str:
        kept = sum(part.mechanism is None for part in self.parts)
        return f"Plan({len(self.names)} columns, {len(self.parts) - kept} randomized; {self.privacy})"

    def _repr_html_(self) -> str:
        rows = [
            [part.name, part.action if part.mechanism is None else repr(part.mechanism), str(part.privacy or "")]
            for part in self.parts
        ]
        return to_html(f"Plan: {self.privacy}", rows, head=["column", "what becomes of it", "guarantee"])

    def to_dict(self) -> dict[str, Any]:
        """The plan in its own words, as its TOML would be read."""
        plain: dict[str, Any] = {"columns": {name: deepcopy(entry.given) for name, entry in self.columns.items()}}
        return plain | ({"groups": [deepcopy(group.given) for group in self.groups]} if self.groups else {})

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, in whatever order they name columns."""
        return isinstance(other, Plan) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash(frozenset(self.names))

    def __reduce__(self) -> Any:
        plain = self.to_dict()
        return Plan, (plain["columns"], plain.get("groups", ()), self.ledger)


TABLES = ("columns", "groups", "ledger")
"""What a file may say beside its columns."""


def parse(text: str) -> dict[str, Any]:
    """A TOML text as dicts."""
    import tomllib

    try:
        content = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, or an integer with thousands of digits
        raise ParameterError(f"Plan: not valid TOML: {error}") from None
    except RecursionError:
        raise ParameterError("Plan: values are nested too deeply") from None
    return content


def _read_entries(columns: Any) -> dict[str, ColumnEntry]:
    """The entry of each column, by its name."""
    entries = {}
    for name, value in columns.items() if isinstance(columns, Mapping) else [(None, columns)]:
        if not isinstance(name, str):
            raise ParameterError("Plan: columns must map the name of each column to what becomes of it")
        entries[name] = value if isinstance(value, ColumnEntry) else ColumnEntry.read(name, value)
    return entries


def _is_hidden(part: PlanPart) -> bool:
    """Whether whole values of its columns are hidden."""
    return part.privacy is not None and not isinstance(part.privacy, MetricPrivacy)


def _compose(parts: Iterable[PlanPart]) -> RecordPrivacy:
    """Sums of the columns' guarantees, metric ones apart."""
    metric: dict[str, MetricPrivacy] = {}
    hidden: list[PlanPart] = []
    guarantees: list[Privacy] = []
    for part in parts:
        if isinstance(part.privacy, MetricPrivacy):
            metric[part.name] = part.privacy
        elif part.privacy is not None:
            hidden.append(part)
            guarantees.append(part.privacy)
    has_sum = None not in [one.epsilon for one in guarantees] or not any(one.delta for one in guarantees)
    if has_sum:
        return RecordPrivacy(compose(guarantees, owner="Plan") if guarantees else None, metric)
    return RecordPrivacy(_total(hidden, guarantees), metric)


def _total(parts: Sequence[PlanPart], guarantees: Sequence[Privacy]) -> Privacy:
    """The common total of columns with rho and columns with epsilon and delta: at twice the sum of their deltas."""
    from fastdp.accounting.compose import Release, compose_read, read_release

    delta = 2 * rounding.sum_up([one.delta for one in guarantees])
    if delta >= 1:
        raise ParameterError(
            "Plan: twice the deltas of all columns is 1 or more, which guarantees nothing; give smaller ones"
        )
    drawn = [mechanism for part in parts for mechanism in part.mechanisms]
    releases = [Release(read_release(mechanism).losses, "replace", "record", math.inf) for mechanism in drawn]
    return compose_read([tuple(releases)]).as_privacy(delta=delta)


def _check_apart(entries: Mapping[str, ColumnEntry], groups: Sequence[Group]) -> None:
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
