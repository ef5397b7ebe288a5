"""Compose releases that are fixed beforehand: mechanisms, guarantees, samples, parts of a partition."""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.accounting.building import Item, by_kind, gather
from fastdp.accounting.curve import PrivacyCurve
from fastdp.accounting.directions import WIDTH, Bounded, Direction
from fastdp.accounting.ledger.costs import Lossy
from fastdp.accounting.statements import RenyiPrivacy
from fastdp.errors import ParameterError
from fastdp.losses import (
    AtomicLoss,
    CellsLoss,
    ConcentratedLoss,
    GeometricLoss,
    Loss,
    RenyiLoss,
)
from fastdp.privacy import MetricPrivacy, Neighbours, Privacy

MOST_CHOICES = 256
SAME_UNITS = frozenset({"record", "report"})
"""Units with a common total: a report is what a record becomes."""


RELATION = ("neighbours", "metric", "unit")


@dataclass(frozen=True, slots=True)
class Release:
    """One release in a composition: its losses, how often, and the relation they are stated for."""

    losses: tuple[Item, ...]
    neighbours: Neighbours
    unit: str
    pure: float
    metric: bool = False


@dataclass(frozen=True, slots=True)
class Parallel:
    """Releases on disjoint parts of the data: a record is in one of them."""

    parts: tuple[tuple[Release, ...], ...]


def compose(parts: Iterable[Any], *, width: float = WIDTH) -> PrivacyCurve:
    """The privacy curve of releases about the same data, all fixed beforehand.

    Each of ``parts`` is a mechanism, a `Privacy`, a plan, a receipt, a curve, a result of `sampled`, `shuffled` or
    `parallel`, or a pair ``(part, times)``. All must be about the same unit and neighbours; losses are composed from
    the integers of the samplers, in both directions apart.

    Parameters
    ----------
    parts
        Mechanisms, guarantees, plans, receipts, curves and other releases, or pairs (part, times).
    width
        The relative width of the bracket of epsilon that is aimed at.

    >>> import fastdp as fd
    >>> total = compose([(fd.Privacy(epsilon=0.1), 50), fd.Privacy(epsilon=0.5)])
    >>> round(total.epsilon(delta=0).upper, 9)
    5.5
    """
    if isinstance(parts, str | Mapping) or not isinstance(parts, Iterable):
        raise ParameterError("compose: give a list of mechanisms, guarantees or pairs (mechanism, times)")
    width = validation.as_float(width)
    if not 1e-12 <= width <= 0.1:
        raise ParameterError(f"compose: width must be a number between 1e-12 and 0.1, got {width!r}")
    fixed: list[Release] = []
    choices: list[Parallel] = []
    plain: list[Loss] = []
    for part in parts:
        known = _KNOWN.get(id(part))
        if known is not None and known[0] is part:
            fixed += known[1]
        elif isinstance(part, Loss):
            plain.append(part)
        else:
            read = read_part(part)
            if isinstance(read, Parallel):
                choices.append(read)
            else:
                fixed += read
    if plain:
        fixed.append(Release(tuple([(loss, 1) for loss in plain]), "add/remove", "record", math.inf))
    if not fixed and not choices:
        raise ParameterError("compose: give at least one release")
    return _compose(fixed, choices, width)


def compose_read(read: Sequence[tuple[Release, ...] | Parallel], width: float = WIDTH) -> PrivacyCurve:
    """The privacy curve of parts that were read."""
    fixed = [release for one in read if not isinstance(one, Parallel) for release in one]
    return _compose(fixed, [one for one in read if isinstance(one, Parallel)], width)


def _compose(fixed: list[Release], choices: list[Parallel], width: float) -> PrivacyCurve:
    if math.prod(len(one.parts) for one in choices) > MOST_CHOICES:
        raise ParameterError("compose: too many partitions at once; compose the parts of one partition first")
    every = [[*fixed, *itertools.chain(*chosen)] for chosen in itertools.product(*(one.parts for one in choices))]
    neighbours, unit = _agree(every[0] if len(every) == 1 else [*itertools.chain(*every)])
    directions = [[one] for releases in every for one in _directions(releases, width)]
    pure = max(_sum_up([*map(operator.attrgetter("pure"), releases)]) for releases in every)
    return PrivacyCurve(directions, neighbours, unit, pure, tuple(map(tuple, every)))


def _sum_up(values: list[float]) -> float:
    """The sum, rounded up: `math.fsum` rounds the exact one to the nearest, and what is left has a sign."""
    total = math.fsum(values)
    if total == math.inf:
        return total
    return total if math.fsum([*values, -total]) <= 0 else math.nextafter(total, math.inf)


def parallel(parts: Mapping[str, Any]) -> Parallel:
    """Releases on the parts of a partition by a public key, a record in one part only: the costliest part counts.

    Parameters
    ----------
    parts
        The release of each part, or a list of releases, by the name of the part.

    >>> import fastdp as fd
    >>> years = {year: fd.Laplace(epsilon=0.5, sensitivity=1.0) for year in ("2025", "2026")}
    >>> round(fd.compose([fd.parallel(years)]).epsilon(delta=0).upper, 6)
    0.5
    """
    if not isinstance(parts, Mapping) or not parts:
        raise ParameterError("parallel: give a mapping from each part of the data to its release or releases")
    read = []
    for part in parts.values():
        releases = [read_part(one) for one in (part if isinstance(part, list) else [part])]
        if any(isinstance(one, Parallel) for one in releases):
            raise ParameterError("parallel: a part cannot be a partition itself; name its parts here")
        read.append(tuple(itertools.chain(*releases)))  # type: ignore[arg-type]
    return Parallel(tuple(read))


def read_part(given: Any) -> tuple[Release, ...] | Parallel:
    """The releases that a part of a composition stands for."""
    if isinstance(given, Loss):
        return (Release(((given, 1),), "add/remove", "record", math.inf),)
    times = 1
    if isinstance(given, tuple):
        if len(given) != 2:
            raise ParameterError("compose: a tuple must be a pair (mechanism, times)")
        given, times = given[0], validation.positive_integer("compose", "times", given[1])
    if isinstance(given, PrivacyCurve):
        given = Parallel(given.releases) if len(given.releases) > 1 else given.releases[0]
    if isinstance(given, Parallel):
        return Parallel(tuple(tuple(_repeat(one, times) for one in part) for part in given.parts))
    releases = given if isinstance(given, tuple) else (given if isinstance(given, Release) else _read(given),)
    return tuple(_repeat(one, times) for one in releases)


def _repeat(release: Release, times: int) -> Release:
    if times == 1:
        return release
    items = tuple((loss, count * times) for loss, count in release.losses)
    pure = rounding.float_up(Fraction(release.pure) * times) if math.isfinite(release.pure) else math.inf
    return Release(items, release.neighbours, release.unit, pure, release.metric)


_KNOWN: dict[int, tuple[Any, tuple[Release, ...]]] = {}
"""What was read of values that cannot change, by identity; an entry keeps its value alive, so that no other has its."""
MOST_KNOWN = 1 << 13


def _read(given: Any) -> Release:
    """`read_release`, remembered for what cannot change."""
    parameters = getattr(type(given), "__dataclass_params__", None)
    if parameters is None or not parameters.frozen:
        return read_release(given)
    known = _KNOWN.get(id(given))
    if known is None or known[0] is not given:
        if len(_KNOWN) >= MOST_KNOWN:
            _KNOWN.clear()
        known = _KNOWN[id(given)] = (given, (read_release(given),))
    return known[1][0]


def read_release(given: Any) -> Release:
    """The release of a mechanism, plan, receipt or guarantee."""
    if isinstance(given, Loss):
        return Release(((given, 1),), "add/remove", "record", math.inf)
    if isinstance(given, RenyiPrivacy):
        return Release(((given.loss, 1),), given.neighbours, given.unit, math.inf)
    privacy = given if isinstance(given, Privacy) else getattr(given, "privacy", None)
    whole = getattr(privacy, "record", privacy)
    if getattr(privacy, "metric", None):
        raise ParameterError(
            "compose: columns that are private by distance have no common total with epsilon; give them an account of "
            "their own"
        )
    if not isinstance(whole, Privacy):
        raise ParameterError(f"compose: give mechanisms, plans, receipts or Privacy values, got {type(given).__name__}")
    return Release(
        tuple(_items(_losses_of(given, whole))), whole.neighbours, whole.unit,
        math.inf if whole.epsilon is None or whole.delta else whole.epsilon, isinstance(whole, MetricPrivacy),
    )  # fmt: skip


def _losses_of(given: Any, privacy: Privacy) -> Any:
    """The losses a release gives, else those that its guarantee allows."""
    if isinstance(given, Privacy) or not isinstance(given, Lossy):
        return statement_losses(privacy)
    try:
        return given.losses() or statement_losses(privacy)
    except ParameterError:  # where rho alone is stated
        if privacy.rho is None:
            raise
        return statement_losses(privacy)


def _items(losses: Any) -> Iterable[Item]:
    for one in [losses] if isinstance(losses, Loss) else losses:
        yield one if isinstance(one, tuple) else (one, 1)


def statement_losses(privacy: Privacy) -> list[Loss]:
    """The worst loss that a guarantee allows: randomized response, with delta at infinity, or rho's moments.

    [Kairouz, Oh, Viswanath 2015]
    """
    if privacy.epsilon is None or (privacy.rho is not None and privacy.delta):
        return [ConcentratedLoss(rho=privacy.rho or 0.0, distance=2.0**-100)]
    return [randomized_response(privacy.epsilon, privacy.delta)]


def randomized_response(epsilon: float, delta: float = 0.0) -> Loss:
    """The pair of distributions that dominates every (epsilon, delta) guarantee."""
    if not delta:
        return GeometricLoss(rate=epsilon, steps=1)
    rest, less = 1 - delta, math.exp(-epsilon)
    p = np.array([rest / (1 + less), rest * less / (1 + less)])
    return AtomicLoss(losses=np.array([epsilon, -epsilon]), p=p, q=p[::-1].copy(), p_infinite=delta, q_infinite=delta)


def _agree(releases: list[Release]) -> tuple[Neighbours, str]:
    """The relation and unit of all releases; refused where they differ."""
    relations, metrics, units = (set(map(operator.attrgetter(name), releases)) for name in RELATION)
    if len(relations) > 1:
        raise ParameterError(
            "compose: some guarantees are for neighbours 'add/remove', others for 'replace'; convert the former by "
            "privacy.for_replacement()"
        )
    if len(metrics) > 1:
        raise ParameterError("compose: guarantees by distance have an account of their own; compose them apart")
    if len(units) > 1 and not SAME_UNITS.issuperset(units):
        names = " and ".join(map(repr, sorted(units)))
        raise ParameterError(f"compose: guarantees for units {names} have no common total; state them for one unit")
    return releases[0].neighbours, min(units)


def _directions(releases: list[Release], width: float) -> list[Direction]:
    """The curves of both orders of the two data sets; one, where both are the same."""
    items = [*itertools.chain.from_iterable(map(operator.attrgetter("losses"), releases))]
    groups, bounded = by_kind(items), None
    if not groups.keys().isdisjoint(BOUNDED):
        bounded = Bounded.of([item for item in items if isinstance(item[0], BOUNDED)])
        groups = {kind: group for kind, group in groups.items() if kind not in BOUNDED}
    has_cells = CellsLoss in groups
    parts = gather(groups)
    below = gather(groups, below=True).factors() if has_cells else None
    directions = [Direction(parts.factors(), bounded, width, below)]
    if not parts.is_symmetric:
        below = gather(groups, reverse=True, below=True).factors() if has_cells else None
        directions.append(Direction(gather(groups, reverse=True).factors(), bounded, width, below))
    return directions


BOUNDED = (ConcentratedLoss, RenyiLoss)
"""Losses of which moments alone are known."""
