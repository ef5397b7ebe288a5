"""Columns of reports: their codes, and what the inputs of a mechanism's channel stand for."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastdp.columns.categories import flat_codes
from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError
from fastdp.fairness.encoding import OWNER, Codes, encode
from fastdp.mechanisms.local.frequencies import CategoryReports
from fastdp.mechanisms.local.randomized_response import RandomizedResponse


def encode_reports(name: str, column: Any, mechanism: Any) -> Codes:
    """The codes of reports, over the whole domain that the mechanism declares."""
    if not isinstance(mechanism, CategoryReports):
        raise ParameterError(
            f"{OWNER}: the mechanism of {name} must report values of its own domain, as KRR and RandomizedResponse do"
        )
    values = domain_values(mechanism)
    if values == (False, True):
        seen = encode(name, column).exact()
        if not set(seen.values) <= {0, 1}:
            raise ParameterError(f"{OWNER}: the reports of {name} must be truth values")
        return Codes(np.array([int(value) for value in seen.values], np.uint8)[seen.codes], (0, 1))
    domain = Domain.read(OWNER, list(values))
    return Codes(flat_codes(f"{OWNER}: {name}", column, domain).astype(np.uint16), values)


def domain_values(mechanism: CategoryReports) -> tuple[Any, ...]:
    """What the inputs of a mechanism's channel stand for."""
    names = mechanism.value_names()
    if names is not None:
        return tuple(names)
    return (False, True) if isinstance(mechanism, RandomizedResponse) else tuple(range(mechanism.channel().shape[0]))
