"""The declared values of a category: codes 0 .. k-1, or labels in a public order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fastdp import validation
from fastdp.errors import ParameterError

LARGEST = (1 << 32) - 1


@dataclass(frozen=True, slots=True)
class Domain:
    """``size`` values; their labels, or None where values are the codes 0 .. size - 1."""

    size: int
    labels: tuple[Any, ...] | None = None

    @classmethod
    def read(cls, owner: str, value: Any) -> Domain:
        """From a number of codes, or from labels; a domain is declared, never inferred from data.

        >>> Domain.read("KRR", ["cold", "flu", "none"])
        Domain(size=3, labels=('cold', 'flu', 'none'))
        """
        if isinstance(value, Domain):
            return value
        if validation.is_number(value):
            size = validation.positive_integer(owner, "domain", value)
            labels = None
        elif isinstance(value, str | bytes | dict | set | frozenset) or not hasattr(value, "__len__"):
            raise ParameterError(f"{owner}: domain must be a number of codes or a list of labels, in a public order")
        else:
            labels = tuple(item.item() if hasattr(item, "item") else item for item in value)
            size = len(labels)
            if not all(isinstance(label, str) for label in labels) and not all(type(v) is int for v in labels):
                raise ParameterError(f"{owner}: labels of the domain must be all strings or all integers")
            if len(set(labels)) != size:
                raise ParameterError(f"{owner}: labels of the domain must be different from each other")
        if not 2 <= size <= LARGEST:
            raise ParameterError(f"{owner}: domain must have 2 to 2**32 - 1 values, got {size}")
        return cls(size, labels)
