"""Compose releases that are fixed beforehand: mechanisms, guarantees, samples, parts of a partition."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.accounting.curve import WIDTH, Direction, PrivacyCurve
from fastdp.accounting.factors import build
from fastdp.accounting.ledger.costs import Lossy, Private
from fastdp.errors import ParameterError
from fastdp.losses import AtomicLoss, ConcentratedLoss, Loss
from fastdp.privacy import MetricPrivacy, Neighbours, Privacy

MOST_CHOICES = 256
Item = tuple[Loss, int]


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

    ``parts`` are mechanisms, `Privacy` values, plans, receipts, results of `sampled` and `parallel`, and pairs
    ``(part, times)``. ``width`` is the relative width of the bracket of epsilon that is aimed at.

    Parameters
    ----------
    parts
        Mechanisms, guarantees, plans, receipts and other releases, or pairs (part, times).
    width
        The relative width of the bracket of epsilon that is aimed at.

    >>> import fastdp as fd
    >>> total = compose([(fd.Privacy(epsilon=0.1), 50), fd.Privacy(epsilon=0.5)])
    >>> round(total.epsilon(delta=0).upper, 9)
    5.5
    """
    if isinstance(parts, str | Mapping) or not isinstance(parts, Iterable):
        raise ParameterError("compose: give a list of mechanisms, guarantees or pairs (mechanism, times)")
    read = [read_part(part) for part in parts]
    if not read:
        raise ParameterError("compose: give at least one release")
    fixed = [release for one in read if not isinstance(one, Parallel) for release in one]
    choices = [one.parts for one in read if isinstance(one, Parallel)]
    if math.prod(len(one) for one in choices) > MOST_CHOICES:
        raise ParameterError("compose: too many partitions at once; compose the parts of one partition first")
    every = [[*fixed, *itertools.chain(*chosen)] for chosen in itertools.product(*choices)]
    neighbours, unit = _agree([release for releases in every for release in releases])
    directions = [[one] for releases in every for one in _directions(releases, width)]
    pure = max(
        rounding.sum_up(release.pure for release in releases) if _is_pure(releases) else math.inf for releases in every
    )
    return PrivacyCurve(directions, neighbours, unit, pure)


def _is_pure(releases: list[Release]) -> bool:
    return all(math.isfinite(release.pure) for release in releases)


def parallel(parts: Mapping[str, Any]) -> Parallel:
    """Releases on the parts of a partition by a public key, a record in one part only: the costliest part counts."""
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
    times = 1
    if isinstance(given, tuple):
        if len(given) != 2:
            raise ParameterError("compose: a tuple must be a pair (mechanism, times)")
        given, times = given[0], validation.positive_integer("compose", "times", given[1])
    if isinstance(given, Parallel):
        return Parallel(tuple(tuple(_repeat(one, times) for one in part) for part in given.parts))
    if isinstance(given, Release):
        return (_repeat(given, times),)
    return (_repeat(read_release(given), times),)


def _repeat(release: Release, times: int) -> Release:
    items = tuple((loss, count * times) for loss, count in release.losses)
    pure = rounding.float_up(Fraction(release.pure) * times) if math.isfinite(release.pure) else math.inf
    return Release(items, release.neighbours, release.unit, pure, release.metric)


def read_release(given: Any) -> Release:
    """The release of a mechanism, plan, receipt or guarantee."""
    privacy = given if isinstance(given, Privacy) else given.privacy if isinstance(given, Private) else None
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
    if not isinstance(given, Lossy):
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


def randomized_response(epsilon: float, delta: float = 0.0) -> AtomicLoss:
    """The pair of distributions that dominates every (epsilon, delta) guarantee."""
    rest, less = 1 - delta, math.exp(-epsilon)
    p = np.array([rest / (1 + less), rest * less / (1 + less)])
    return AtomicLoss(losses=np.array([epsilon, -epsilon]), p=p, q=p[::-1].copy(), p_infinite=delta, q_infinite=delta)


def _agree(releases: list[Release]) -> tuple[Neighbours, str]:
    """The relation and unit of all releases; refused where they differ."""
    relations = {release.neighbours for release in releases}
    if len(relations) > 1:
        raise ParameterError(
            "compose: some guarantees are for neighbours 'add/remove', others for 'replace'; convert the former by "
            "privacy.for_replacement()"
        )
    if len({release.metric for release in releases}) > 1:
        raise ParameterError("compose: guarantees by distance have an account of their own; compose them apart")
    units = sorted({release.unit for release in releases})
    if len(units) > 1:
        names = " and ".join(map(repr, units))
        raise ParameterError(f"compose: guarantees for units {names} have no common total; state them for one unit")
    return releases[0].neighbours, units[0]


def _directions(releases: list[Release], width: float) -> list[Direction]:
    """The curves of both orders of the two data sets."""
    items = [item for release in releases for item in release.losses]
    rho = math.fsum(loss.rho * count for loss, count in items if isinstance(loss, ConcentratedLoss)) * (1 + 4e-16)
    far = math.fsum(loss.distance * count for loss, count in items if isinstance(loss, ConcentratedLoss))
    plain = _merge([(loss, count) for loss, count in items if not isinstance(loss, ConcentratedLoss)])
    directions = []
    for reverse in (False, True):
        factors = build(plain, reverse=reverse)
        factors.distance += far
        directions.append(Direction(factors, rho, width))
        if not any(isinstance(loss, AtomicLoss) or hasattr(loss, "reverse") for loss, _ in plain):
            break
    return directions


def _merge(items: list[Item]) -> list[Item]:
    """Equal lists of atoms under one value, so that they are counted, not repeated."""
    known: dict[tuple[bytes, ...], AtomicLoss] = {}
    merged: list[Item] = []
    for loss, count in items:
        if isinstance(loss, AtomicLoss):
            scalars = np.array([loss.p_infinite, loss.q_infinite, loss.margin, loss.distance])
            key = tuple(one.tobytes() for one in (loss.losses, loss.p, loss.q, scalars))
            loss = known.setdefault(key, loss)  # noqa: PLW2901
        merged.append((loss, count))
    return merged
