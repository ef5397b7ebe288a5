"""The contract of all mechanisms, and what tells parameters that were given from those that follow from them.

Draws nothing and imports no generator, so that estimators and plans may ask a mechanism what it is.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError
from fastdp.mechanisms.annotations import gives_reports
from fastdp.validation import PerRecord

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.channels import Channel
    from fastdp.columns.numeric import Nulls
    from fastdp.losses import Loss
    from fastdp.privacy import Privacy
    from fastdp.random.rng import Rng
    from fastdp.typing import Column

LARGEST_REPR = 100
"""Numbers of an array, or labels, that a repr writes out; with more it is abbreviated, and does not evaluate back."""


class Mechanism(ABC):
    """A randomized algorithm with a stated guarantee: a frozen dataclass whose parameters are checked when it is made.

    Two mechanisms with equal parameters are equal. ``dataclasses.replace`` gives one with other parameters; those that
    were computed from the old ones are computed anew.
    """

    __slots__ = ()
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, dataclasses.Field[Any]]]

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, rounded up."""

    def losses(self) -> Sequence[Loss]:
        """The privacy losses of one release about one unit: one for each independent part, from the sampler's integers.

        Each is that of a pair of distributions which dominates the release on all neighbouring data sets, the unit and
        the neighbours being those of `privacy`. Unless a mechanism knows a tighter pair, it is that of every release
        with its epsilon and delta.
        """
        from fastdp.laws.loss_atoms import statement  # exact arithmetic, which a description does without

        stated = self.privacy
        if stated.epsilon is None:
            raise ParameterError(
                f"{type(self).__name__}: losses follow from an epsilon, and only rho is stated; compose `privacy`"
            )
        return (statement(stated.epsilon, stated.delta),)

    def to_dict(self) -> dict[str, Any]:
        """The name of the mechanism and its parameters, as JSON and TOML have them.

        >>> import fastdp as fd
        >>> fd.KRR(epsilon=1.0, domain=["a", "b"]).to_dict()
        {'type': 'KRR', 'epsilon': 1.0, 'domain': ['a', 'b']}
        """
        owner = type(self).__name__
        return {"type": owner} | {name: _to_plain(owner, name, value) for name, value in given_fields(self)}

    @staticmethod
    def from_dict(given: Mapping[str, Any]) -> Mechanism:
        """The mechanism that `to_dict` described.

        Parameters
        ----------
        given
            The name of a mechanism as ``type``, and its parameters.

        >>> import fastdp as fd
        >>> fd.Mechanism.from_dict({"type": "Laplace", "epsilon": 1.0, "sensitivity": 2.0})
        Laplace(epsilon=1.0, sensitivity=2.0)
        """
        from fastdp.mechanisms.registry import load

        if not _is_mechanism(given):
            raise ParameterError("Mechanism.from_dict: give a dict with the name of a mechanism and its parameters")
        parameters = {name: _from_plain(value) for name, value in given.items() if name != "type"}
        kind: Any = load("Mechanism.from_dict", given["type"])
        try:
            made: Mechanism = kind(**parameters)
        except TypeError:
            known = ", ".join(field.name for field in dataclasses.fields(kind) if field.init)
            raise ParameterError(
                f"Mechanism.from_dict: {kind.__name__} lacks a parameter, or has one that it does not take; its "
                f"parameters are {known}"
            ) from None
        return made

    def _repr_html_(self) -> str:
        from fastdp.display.html import to_html

        rows = [[name, _to_code(value)] for name, value in given_fields(self)]
        return to_html(type(self).__name__, [*rows, ["privacy", str(self.privacy)]])

    def __repr__(self) -> str:
        """The call that makes this mechanism; long lists of labels and arrays are abbreviated."""
        parameters = ", ".join(f"{name}={_to_code(value)}" for name, value in given_fields(self))
        return f"{type(self).__name__}({parameters})"


class ColumnMechanism(Mechanism):
    """A mechanism with one report per value of a column."""

    __slots__ = ()

    @gives_reports
    @abstractmethod
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per value, in the caller's own kind of container.

        Parameters
        ----------
        values
            The true values: a column of any container, or one value.
        rng
            Where randomness comes from; by default the process's own stream, keyed by the operating system.
        nulls
            ``"error"`` refuses nulls, ``"public"`` leaves them where they are.
        """

    @abstractmethod
    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The arrow type of reports of values of this type; refused if the mechanism does not take such values."""

    @property
    def counts_outputs(self) -> bool:
        """Whether it has a channel whose outputs its reports can be counted as."""
        return False

    @property
    def has_text(self) -> bool:
        """Whether its values are labels that are text."""
        return False

    @property
    def reports_values(self) -> bool:
        """Whether its reports are values again: labels of labels, codes of codes."""
        return False

    def value_names(self) -> Sequence[Any] | np.ndarray | None:
        """What the inputs of the channel stand for, in order; None where they are numbered from 0."""
        return None

    def bin_edges(self) -> np.ndarray | None:
        """The edges of the bins that the channel's inputs are; None where they are none."""
        return None


class FiniteMechanism(ColumnMechanism):
    """A mechanism on a column of finitely many values, or bins, with a channel."""

    __slots__ = ()

    @property
    def counts_outputs(self) -> bool:
        """Whether it has a channel whose outputs its reports can be counted as."""
        return True

    @abstractmethod
    def channel(self) -> Channel:
        """The probabilities of reports given values."""

    @abstractmethod
    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports are each output of the channel, in one pass; counts of batches add up.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        """


class PointMechanism(Mechanism):
    """A mechanism that moves points, of two columns; ``unit`` is that of its distances."""

    __slots__ = ()
    unit: str

    @abstractmethod
    def randomize(self, x: Column, y: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One point per point, as two columns in the caller's own kinds of container.

        Parameters
        ----------
        x, y
            The coordinates, in columns of their own or in one container of both, given as ``x``.
        rng, nulls
            As in `ColumnMechanism.randomize`.
        """

    @abstractmethod
    def randomize_latlon(
        self, latitude: Column, longitude: Column | None = None, *, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """One latitude and one longitude per point, in the caller's own kinds of container.

        Parameters
        ----------
        latitude, longitude
            Degrees, in columns of their own or in one container of both, given as ``latitude``.
        rng, nulls
            As in `ColumnMechanism.randomize`.
        """

    @abstractmethod
    def epsilon_at(self, distance: float) -> float:
        """The cost of a report between two points at most ``distance`` units apart.

        Parameters
        ----------
        distance
            A distance, in the mechanism's unit.
        """

    @abstractmethod
    def radius(self, level: float) -> float:
        """The distance that a report is within, with probability ``level``.

        Parameters
        ----------
        level
            The probability that a report is within the radius, between 0 and 1.
        """

    @property
    def public_point(self) -> tuple[float, float]:
        """A point that is declared, or that everybody knows."""
        return 0.0, 0.0

    def result_types(self, arrow_types: Sequence[pa.DataType]) -> list[pa.DataType]:
        """The arrow types of the moved coordinates: those of the coordinates, or float64 for integers."""
        from fastdp.columns.numeric import numeric_result_type

        return [numeric_result_type(type(self).__name__, kind, "float") for kind in arrow_types]


class _DerivedFloat(float):
    """A float that was computed from other parameters."""

    __slots__ = ()


class _DerivedInteger(int):
    """An integer that was computed from other parameters."""

    __slots__ = ()


class _DerivedRecords(PerRecord):
    """Values per record that were computed from other parameters."""

    __slots__ = ()


def derived(value: Any) -> Any:
    """Mark a parameter as computed from others: `given` reads it as None, so that `replace` computes it anew."""
    if isinstance(value, PerRecord):
        return _DerivedRecords(value.values)
    return _DerivedInteger(value) if isinstance(value, int) else _DerivedFloat(value)


def given(value: Any) -> Any:
    """The parameter, or None if it was computed from others."""
    return None if isinstance(value, _DerivedFloat | _DerivedInteger | _DerivedRecords) else value


def set_fields(mechanism: Mechanism, **values: Any) -> None:
    """Give a frozen mechanism its validated and derived values, once, while it is made."""
    for name, value in values.items():
        object.__setattr__(mechanism, name, value)


def given_fields(mechanism: Mechanism) -> list[tuple[str, Any]]:
    """The parameters that are not computed from others and differ from their defaults, by name."""
    pairs = [(field, getattr(mechanism, field.name)) for field in dataclasses.fields(mechanism) if field.init]
    return [(field.name, value) for field, value in pairs if given(value) is not None and not _is_default(field, value)]


def _is_default(field: dataclasses.Field[Any], value: Any) -> bool:
    return field.default is value or (isinstance(value, bool | int | float | str) and field.default == value)


def _is_mechanism(value: Any) -> bool:
    return isinstance(value, Mapping) and isinstance(value.get("type"), str)


def _open(value: Any) -> Any:
    """What stands behind a parameter's own types: numbers, labels, tuples and lists."""
    if isinstance(value, Domain):
        return value.size if value.labels is None else list(value.labels)
    if isinstance(value, PerRecord):
        return value.values.tolist()
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _to_plain(owner: str, name: str, value: Any) -> Any:
    if isinstance(value, Mechanism):
        return value.to_dict()
    if isinstance(value, type):
        return value.__name__
    value = _open(value)
    if isinstance(value, Mapping):
        return {key: _to_plain(owner, name, item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_plain(owner, name, item) for item in value]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise ParameterError(f"{owner}: {name} is a {type(value).__name__}, which has no form in words and numbers")


def _from_plain(value: Any) -> Any:
    return Mechanism.from_dict(value) if _is_mechanism(value) else value


def _to_code(value: Any) -> str:
    if isinstance(value, PerRecord | np.ndarray) and len(_flat(value)) > LARGEST_REPR:
        return f"<{len(_flat(value))} numbers>"
    if isinstance(value, type):
        return value.__name__
    value = _open(value)
    if isinstance(value, list | tuple) and len(value) > LARGEST_REPR:
        return f"<{len(value)} values>"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_to_code(item)}" for key, item in value.items()) + "}"
    return repr(value)


def _flat(value: PerRecord | np.ndarray) -> np.ndarray:
    return np.ravel(value.values if isinstance(value, PerRecord) else value)
