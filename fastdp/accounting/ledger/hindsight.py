"""The privacy curve of a ledger's releases, as if all of them had been fixed beforehand; it decides nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from fastdp import rounding
from fastdp.accounting.compose import Parallel, Release, compose, read_part
from fastdp.accounting.curve import PrivacyCurve
from fastdp.accounting.ledger.costs import ATTO
from fastdp.accounting.ledger.entries import Entry
from fastdp.accounting.ledger.events import read_mechanisms, read_numbers
from fastdp.accounting.ledger.filters import Total
from fastdp.errors import FastDPError, ParameterError
from fastdp.privacy import Privacy

Make = Callable[[dict[str, Any]], Any]
"""A mechanism from its description, such as ``fd.Mechanism.from_dict``."""
SLACK = 1 + 1e-9
MOST_SHOWN = 200
"""Releases up to which they are composed for a page or a screen; `Ledger.curve` always does."""


class Budget(Protocol):
    """What the words need of a ledger."""

    @property
    def limit(self) -> Total: ...

    def entries(self) -> Sequence[Entry]: ...

    def curve(self, make: Make | None = None) -> PrivacyCurve: ...


def describe_hindsight(ledger: Budget, make: Make) -> str:
    """What was spent, if all had been fixed beforehand: at the limit's delta, or at a millionth.

    Empty for a ledger without releases, or with too many for a quick answer.
    """
    if not 0 < sum(entry.kind == "spend" for entry in ledger.entries()) <= MOST_SHOWN:
        return ""
    delta = ledger.limit.delta / ATTO or 1e-6
    try:
        epsilon = ledger.curve(make).epsilon(delta=delta).upper
    except ParameterError:  # guarantees by distance alone
        return ""
    shown = f"epsilon {rounding.digits_up(epsilon, 4)} at delta {delta:g}" if math.isfinite(epsilon) else "no epsilon"
    return f"if all releases had been fixed beforehand: {shown}; it decides nothing"


def curve_in_hindsight(entries: Iterable[Entry], unit: str, make: Make | None = None) -> PrivacyCurve:
    """Compose what every spend paid for; without ``make``, the worst that each stated guarantee allows."""
    releases = [
        release for entry in entries if entry.kind == "spend" for release in _releases(entry.body["event"], unit, make)
    ]
    if not releases:
        raise ParameterError("ledger: nothing was released yet, so there is no curve")
    return compose(releases)


def _releases(event: Mapping[str, Any], unit: str, make: Make | None) -> list[Release]:
    stated = read_numbers(event)
    if stated is None:  # guarantees by distance alone
        return []
    privacy, times = Privacy(**stated), int(event["times"])
    found = None if make is None or event["records"] not in (None, 1) else _rebuild(event, privacy, make)
    parts = [privacy] if found is None else found
    return [replace(release, unit=unit) for part in parts for release in _read((part, times))]


def _read(part: Any) -> Iterable[Release]:
    read = read_part(part)
    assert not isinstance(read, Parallel)
    return read


def _rebuild(event: Mapping[str, Any], privacy: Privacy, make: Make) -> list[Any] | None:
    """The mechanisms of a release; None where they cannot be had, or are not those of the stated guarantee."""
    descriptions = read_mechanisms(event)
    try:
        made = [make(description) for description in descriptions]
    except (FastDPError, KeyError, TypeError):  # of another version or package
        return None
    guarantees = [mechanism.privacy for mechanism in made]
    if not made or any(not isinstance(one, Privacy) or one.neighbours != privacy.neighbours for one in guarantees):
        return None
    if privacy.epsilon is not None and all(one.epsilon is not None for one in guarantees):
        whole = sum(one.epsilon for one in guarantees)
        return made if whole <= privacy.epsilon * SLACK else None
    return made
