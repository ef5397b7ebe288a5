"""Mechanisms as functions of SQL: a value and constant parameters. They draw anew whenever they are evaluated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its name, the arrow types of what it takes, and the mechanism that its parameters make."""

    name: str
    value: str
    parameters: tuple[str, ...]
    make: Callable[..., ColumnMechanism]

    def types(self) -> list[pa.DataType]:
        """The arrow types of the value and the parameters."""
        import pyarrow as pa

        known = {"float": pa.float64(), "integer": pa.int64(), "boolean": pa.bool_(), "text": pa.string()}
        return [known[self.value], *(known[name.partition(":")[2]] for name in self.parameters)]

    def __call__(self, values: pa.Array, *parameters: Any) -> Any:
        """One report per value, nulls where they are."""
        import pyarrow as pa

        chosen = tuple(
            _constant(self.name, name.partition(":")[0], given)
            for name, given in zip(self.parameters, parameters, strict=True)
        )
        if not len(values):
            return pa.array([], self.types()[0])
        (value, *_) = self.types()
        reports = _made(self, chosen).randomize(values, nulls="public")
        return reports if reports.type == value else reports.cast(value)


@functools.lru_cache(maxsize=256)
def _made(function: Function, parameters: tuple[Any, ...]) -> ColumnMechanism:
    return function.make(*parameters)


def _constant(owner: str, name: str, given: Any) -> Any:
    """The value that a parameter has in all rows."""
    if not len(given):
        return None
    first = given[0]
    if given.null_count or any(one != first for one in given.unique()):
        raise ParameterError(f"{owner}: {name} must be one constant: a column of parameters would tell its values")
    return first.as_py()


def _laplace(epsilon: float, sensitivity: float) -> ColumnMechanism:
    from fastdp.mechanisms.central.laplace import Laplace

    return Laplace(epsilon=epsilon, sensitivity=sensitivity)


def _geometric(epsilon: float, sensitivity: int) -> ColumnMechanism:
    from fastdp.mechanisms.central.geometric import Geometric

    return Geometric(epsilon=epsilon, sensitivity=sensitivity)


def _gaussian(epsilon: float, delta: float, sensitivity: float) -> ColumnMechanism:
    from fastdp.mechanisms.central.gaussian import Gaussian

    return Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)


def _randomized_response(epsilon: float) -> ColumnMechanism:
    from fastdp.mechanisms.local.randomized_response import RandomizedResponse

    return RandomizedResponse(epsilon=epsilon)


def _krr(epsilon: float, domain: str) -> ColumnMechanism:
    from fastdp.mechanisms.local.krr import KRR

    return KRR(epsilon=epsilon, domain=[label.strip() for label in domain.split(",")])


FUNCTIONS = (
    Function("fastdp_laplace", "float", ("epsilon:float", "sensitivity:float"), _laplace),
    Function("fastdp_gaussian", "float", ("epsilon:float", "delta:float", "sensitivity:float"), _gaussian),
    Function("fastdp_geometric", "integer", ("epsilon:float", "sensitivity:integer"), _geometric),
    Function("fastdp_randomized_response", "boolean", ("epsilon:float",), _randomized_response),
    Function("fastdp_krr", "text", ("epsilon:float", "domain:text"), _krr),
)
"""What is registered; the domain of k-RR is its labels, separated by commas."""
