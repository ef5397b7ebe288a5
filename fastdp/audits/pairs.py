"""Pairs of inputs: which two to compare, and a search over many of them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

from fastdp import validation
from fastdp.audits.draws import Draw
from fastdp.audits.epsilon import epsilon
from fastdp.audits.result import EpsilonAudit
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism, FiniteMechanism, Mechanism
from fastdp.mechanisms.central.additive import Additive
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.mechanisms.local.randomized_response import RandomizedResponse

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "audit.search"
MOST_PAIRS = 1000


def search(
    mechanism: Mechanism | Draw,
    pairs: str | Iterable[tuple[Any, Any]] = "extremes",
    *,
    draws: int = 10**7,
    coarse: int | None = None,
    delta: float = 0.0,
    level: float = 1 - 1e-6,
    claimed: float | None = None,
    rng: Rng | None = None,
) -> EpsilonAudit:
    """The audit of the pair of inputs that gives most away, out of many.

    Every pair gets a short audit; the one that proves most gets a long one on fresh draws, so that the search costs no
    confidence.

    Parameters
    ----------
    mechanism
        A mechanism, or a callable ``draw(value, count)``.
    pairs
        Pairs of neighbouring inputs, or "extremes" for those that follow from a mechanism's domain, bounds or
        sensitivity.
    draws
        Fresh draws per input of the long audit.
    coarse
        Draws per input of each short audit; a hundredth of ``draws`` by default.
    delta, level, claimed, rng
        As for `epsilon`.

    >>> import fastdp as fd
    >>> found = search(fd.Geometric(epsilon=1.0), [(0, 0), (0, 1)], draws=10**5, rng=fd.Rng.unsafe_seed(1))
    >>> found.pair
    ('0', '1')
    """
    chosen = extremes(mechanism) if isinstance(pairs, str) else [(a, b) for a, b in islice(pairs, MOST_PAIRS + 1)]
    if isinstance(pairs, str) and pairs != "extremes":
        raise ParameterError(f'{OWNER}: pairs must be "extremes", or pairs of inputs, got {pairs!r}')
    if not chosen or len(chosen) > MOST_PAIRS:
        raise ParameterError(f"{OWNER}: give from 1 to {MOST_PAIRS:,} pairs of inputs")
    draws = validation.positive_integer(OWNER, "draws", draws)
    few = max(draws // 100, 1000) if coarse is None else validation.positive_integer(OWNER, "coarse", coarse)
    best = chosen[0]
    if len(chosen) > 1:
        short = [epsilon(mechanism, a, b, draws=few, delta=delta, level=0.95, claimed=1.0, rng=rng) for a, b in chosen]
        best = chosen[max(range(len(chosen)), key=lambda i: short[i].epsilon)]
    return epsilon(mechanism, *best, draws=draws, delta=delta, level=level, claimed=claimed, rng=rng)


def extremes(mechanism: object) -> list[tuple[Any, Any]]:
    """Pairs of neighbouring inputs that follow from a mechanism's parameters."""
    if isinstance(mechanism, RandomizedResponse):
        return [(False, True)]
    if isinstance(mechanism, Additive):
        low, high = mechanism.bounds or (0, 0)  # type: ignore[attr-defined]
        apart: Any = mechanism.sensitivity
        if not isinstance(apart, int | float):
            raise ParameterError(f"{OWNER}: parameters per record have no extreme pair; give pairs")
        whole = mechanism.number_kind == "integer"
        ends = [(low, min(low + apart, high))] if high > low else [(0, apart)]
        ends += [(max(high - apart, low), high)] if high > low else []
        return [(int(a), int(b)) if whole else (float(a), float(b)) for a, b in ends]
    if isinstance(mechanism, ColumnMechanism) and getattr(mechanism, "bounds", None):
        low, high = mechanism.bounds  # type: ignore[attr-defined]
        return [(float(low), float(high))]
    if isinstance(mechanism, FrequencyProtocol):
        values: Any = mechanism.value_names() or range(mechanism.domain.size)
        return [(values[0], values[1]), (values[0], values[-1])] if len(values) > 2 else [(values[0], values[1])]
    if isinstance(mechanism, FiniteMechanism):
        size = int(mechanism.channel().shape[0])
        return list(islice(combinations(range(size), 2), 64))
    raise ParameterError(
        f"{OWNER}: which inputs are neighbours does not follow from {type(mechanism).__name__}; give pairs"
    )
