"""The declared values of a category: codes 0 .. k-1, or labels in a public order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from fastdp import validation
from fastdp.errors import ParameterError

LARGEST = (1 << 32) - 1


@runtime_checkable
class _Listed(Protocol):
    """Any sequence, array or series."""

    def __len__(self) -> int: ...

    def __iter__(self) -> Iterator[Any]: ...


@dataclass(frozen=True, slots=True)
class Domain:
    """``size`` values; their labels, or None where values are the codes 0 .. size - 1."""

    size: int
    labels: tuple[Any, ...] | None = None

    @classmethod
    def read(cls, owner: str, value: object, *, most: int = LARGEST, hint: str = "") -> Domain:
        """From a number of codes, or from labels; a domain is declared, never inferred from data.

        With more than ``most`` values it is refused, with ``hint`` as the way out.

        >>> Domain.read("KRR", ["cold", "flu", "none"])
        Domain(size=3, labels=('cold', 'flu', 'none'))
        """
        read = value if isinstance(value, Domain) else cls._read(owner, value)
        if read.size > most:
            shown = f"2**{most.bit_length() - 1}" if most >= 1 << 20 and most & (most - 1) == 0 else str(most)
            raise ParameterError(f"{owner}: domain must have at most {shown} values, got {read.size}{hint}")
        return read

    @classmethod
    def _read(cls, owner: str, value: object) -> Domain:
        if validation.is_number(value):
            size = validation.positive_integer(owner, "domain", value)
            labels = None
        elif isinstance(value, str | bytes | dict | set | frozenset) or not isinstance(value, _Listed):
            raise ParameterError(f"{owner}: domain must be a number of codes or a list of labels, in a public order")
        else:
            labels = (*[item.item() if hasattr(item, "item") else item for item in value],)
            size, kinds = len(labels), set(map(type, labels))
            if kinds not in ({int}, {str}) and not all(issubclass(kind, str) for kind in kinds):
                raise ParameterError(f"{owner}: labels of the domain must be all strings or all integers")
            if len(set(labels)) != size:
                raise ParameterError(f"{owner}: labels of the domain must be different from each other")
        if not 2 <= size <= LARGEST:
            raise ParameterError(f"{owner}: domain must have 2 to 2**32 - 1 values, got {size}")
        return cls(size, labels)
