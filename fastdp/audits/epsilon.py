"""The largest epsilon that outputs prove: events chosen on training draws, Clopper-Pearson limits on fresh ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import rounding, validation
from fastdp.audits.cells import Bins, Cells
from fastdp.audits.draws import Draw, Source, has_outputs, open_source
from fastdp.audits.events import Family, Proof, choose_events, prove
from fastdp.audits.result import DELTAS, EpsilonAudit, Witness
from fastdp.binomial import lower_limit, upper_limit
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import Mechanism
from fastdp.mechanisms.central.additive import Additive
from fastdp.mechanisms.metric.finite import CodeMechanism
from fastdp.mechanisms.metric.globe_laplace import GlobeLaplace
from fastdp.mechanisms.metric.planar_laplace import PlanarLaplace
from fastdp.privacy import Privacy
from fastdp.units.lengths import METRES

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "audit.epsilon"
MOST_DRAWS = 10**10
LEAST_TRAINING = 200_000
MOST_SEEN = 30_000
"""Draws per input that cells are made from."""


def epsilon(
    mechanism: Mechanism | Draw,
    a: object,
    b: object,
    *,
    draws: int = 10**7,
    delta: float = 0.0,
    level: float = 1 - 1e-6,
    claimed: float | None = None,
    cells: Cells | None = None,
    training: int | None = None,
    rng: Rng | None = None,
) -> EpsilonAudit:
    """The largest epsilon that the outputs of a mechanism on two inputs prove, at a confidence level.

    Outputs are counted in cells: each its own where there are few, else the bin of the value and, where it promises
    more, the number of binary digits that it needs, which is what floating-point noise gives away. Training draws fix
    32 events for each direction; fresh draws then bound their probabilities, all together at ``level``. A lower bound:
    what is proven is true of the mechanism, what is not proven may still be. The time is that of the draws, and a third
    more. [Clopper, Pearson 1934; Ding, Wang, Wang, Zhang, Kifer 2018; Bichsel, Steffen, Bogunovic, Vechev 2021]

    Parameters
    ----------
    mechanism
        A mechanism, or a callable ``draw(value, count)`` that returns one output per draw, of any library.
    a, b
        Two inputs that are neighbours: the guarantee says that their outputs are hard to tell apart.
    draws
        Fresh draws per input, up to 10**10.
    delta
        The delta at which epsilon is proven; the result's ``curve`` has others.
    level
        The confidence level of all that is proven.
    claimed
        The epsilon to compare with; by default what the mechanism states.
    cells
        Cells of your own, instead of those chosen.
    training
        Draws per input that choose the events; by default a twentieth of ``draws``, and some.
    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> import fastdp as fd
    >>> found = fd.audit.epsilon(
    ...     fd.RandomizedResponse(epsilon=1.0), False, True, draws=10**6, rng=fd.Rng.unsafe_seed(1)
    ... )
    >>> found.verdict, 0.97 < found.epsilon < 1
    ('not refuted (gap 0.0...)', True)
    """
    draws, training = _check_draws(draws, training, delta)
    delta, level = _check_delta(delta), validation.level(OWNER, level)
    claimed = validation.positive(OWNER, "claimed", claimed) if claimed is not None else None
    if isinstance(mechanism, Mechanism) and claimed is None:
        claimed = claim(mechanism, a, b, delta)
    source = open_source(mechanism, (a, b), rng)
    kinds, families = _train(source, (a, b), cells, draws, training, 1 - level, delta)
    family_counts = [source.counts(value, draws, [kinds])[0] for value in (a, b)]
    return _judge(
        mechanism, (a, b), kinds, families, family_counts, draws=draws, delta=delta, level=level, claimed=claimed,
        unsafe=rng is not None and rng.is_unsafe,
    )  # fmt: skip


def _check_draws(draws: int, training: int | None, delta: float) -> tuple[int, int]:
    draws = validation.positive_integer(OWNER, "draws", draws)
    if draws > MOST_DRAWS:
        raise ParameterError(f"{OWNER}: draws must be at most 10**10, got {draws}")
    share = 10 if delta else 20
    wanted = max(min(draws, LEAST_TRAINING), draws // share) if training is None else training
    return draws, max(validation.positive_integer(OWNER, "training", wanted), 2)


def _check_delta(delta: float) -> float:
    if not validation.is_number(delta) or not 0 <= delta < 1:
        raise ParameterError(f"{OWNER}: delta must be a number with 0 <= delta < 1, got {delta!r}")
    return float(delta)


def _train(
    source: Source, pair: tuple[Any, Any], given: Cells | None, draws: int, training: int, alpha: float, delta: float
) -> tuple[Cells, tuple[Family, Family]]:
    """The cells and the events of both directions that promise most."""
    first = [source.draw(value, min(training // 2 or 1, source.batch, MOST_SEEN)) for value in pair]
    options = source.cells(first, pair) if given is None else [given]
    counts = [[source.counts(value, training // 2, options) for value in pair] for _ in range(2)]
    best: tuple[Cells, tuple[Family, Family]] | None = None
    for number, kind in enumerate(options):
        halves = [(half[0][number], half[1][number]) for half in counts]
        families = (
            choose_events(halves, ordered=kind.ordered, n=draws, alpha=alpha, delta=delta),
            choose_events([(b, a) for a, b in halves], ordered=kind.ordered, n=draws, alpha=alpha, delta=delta),
        )
        promise = max(family.promise for family in families)
        if best is None or promise > max(family.promise for family in best[1]) + 0.02:
            best = kind, families
    assert best is not None
    return best


def _judge(
    mechanism: Any, pair: tuple[Any, Any], cells: Cells, families: tuple[Family, Family], counts: list[np.ndarray], *,
    draws: int, delta: float, level: float, claimed: float | None, unsafe: bool,
) -> EpsilonAudit:  # fmt: skip
    """Limits of all events, and the one that proves most."""
    a, b = counts
    alpha = (1 - level) / 2  # half for each direction
    proofs = [("a", proof) for proof in prove(families[0], a, b, draws, alpha)]
    proofs += [("b", proof) for proof in prove(families[1], b, a, draws, alpha)]
    likelier, best = max(proofs, key=lambda one: one[1].epsilon(delta))
    deltas = sorted({*DELTAS, delta})
    return EpsilonAudit(
        epsilon=best.epsilon(delta), delta=delta, level=level, draws=draws, claimed=claimed,
        exact=exact_epsilon(mechanism, pair) if not delta else None,
        witness=Witness(cells.words(best.mask), likelier, best.counts, (best.low, best.high)),
        curve=tuple((one, max(proof.epsilon(one) for _, proof in proofs)) for one in deltas),
        name=describe(mechanism), pair=(str(pair[0]), str(pair[1])), unsafe=unsafe,
        histogram=_histogram(cells, a, b, best), promise=_promise(best, draws, delta, alpha),
    )  # fmt: skip


def _promise(proof: Proof, draws: int, delta: float, alpha: float) -> tuple[tuple[int, float], ...]:
    """What the same event would prove with fewer draws, at the same frequencies and half of the error."""
    tail, points = alpha / 4, []
    for power in range(math.ceil(math.log10(draws)) + 1):
        fewer = draws // 10**power
        if fewer < 100:
            break
        x, y = (round(count * fewer / draws) for count in proof.counts)
        limits = lower_limit(x, fewer, tail), upper_limit(y, fewer, tail)
        points.append((fewer, Proof(proof.mask, (x, y), *limits).epsilon(delta)))
    return tuple(points[::-1])


def _histogram(cells: Cells, a: np.ndarray, b: np.ndarray, proof: Proof) -> dict[str, Any]:
    """Counts in at most 64 bins, for a picture, and the part of each bin that is in the event."""
    if not isinstance(cells, Bins):
        if cells.size > 64:
            return {}
        return {"names": [cells.words(np.arange(cells.size) == i).removeprefix("outputs ") for i in range(cells.size)],
                "a": a.tolist(), "b": b.tolist(), "event": proof.mask.astype(float).tolist()}  # fmt: skip
    rows = [counts.reshape(cells.bins, cells.digits) for counts in (a, b, (a + b) * proof.mask)]
    each = -(-cells.bins // 64)
    starts = np.arange(0, cells.bins, each)
    left, right, inside = (np.add.reduceat(row.sum(axis=1), starts) for row in rows)
    shares = inside / np.maximum(left + right, 1)
    return {
        "names": [f"{cells.low + start * cells.step:.4g}" for start in starts], "a": left.tolist(), "b": right.tolist(),
        "event": shares.tolist(),
    }  # fmt: skip


def describe(mechanism: object) -> str:
    """The call that makes a mechanism, or the name of a callable."""
    return repr(mechanism) if isinstance(mechanism, Mechanism) else getattr(mechanism, "__name__", "a callable")


def claim(mechanism: Mechanism, a: object, b: object, delta: float) -> float | None:
    """The epsilon that a mechanism states for two inputs at ``delta``; None where it states none."""
    try:
        stated = _stated(mechanism, a, b)
    except ParameterError:  # what a trajectory costs depends on its points
        return None
    if stated is None:
        return None
    if not delta:
        return stated.epsilon if not stated.delta else None
    options = [stated.epsilon] if stated.epsilon is not None and stated.delta <= delta else []
    if stated is mechanism.privacy or stated == mechanism.privacy:
        from fastdp.accounting.compose import compose

        options.append(compose([mechanism]).epsilon(delta=delta).upper)
    return min(options) if options else stated.epsilon_at(delta)


def _stated(mechanism: Mechanism, a: Any, b: Any) -> Privacy | None:
    """What a mechanism guarantees for two inputs: by their distance where that is how it is stated."""
    if isinstance(mechanism, Additive):
        apart = abs(float(a) - float(b))
        if apart > float(getattr(mechanism, "sensitivity", math.inf)):
            return mechanism.privacy_by_distance.at(apart)
        return mechanism.privacy
    stated = mechanism.privacy
    if not stated.unit[:1].isdigit():
        return stated
    if isinstance(mechanism, CodeMechanism):  # per unit of distance
        apart = float(mechanism.distances_from(int(a))[int(b)])
        return Privacy(epsilon=rounding.up(float(stated.epsilon or 0.0) * apart), neighbours="replace")
    if isinstance(mechanism, PlanarLaplace):
        return Privacy(epsilon=mechanism.epsilon_at(math.dist(a, b)), neighbours="replace")
    if isinstance(mechanism, GlobeLaplace):
        return Privacy(epsilon=mechanism.epsilon_at(_on_globe(a, b) / METRES[mechanism.unit]), neighbours="replace")
    return None


def _on_globe(a: Any, b: Any) -> float:
    """Metres between two points given by latitude and longitude, at most: on the sphere around the ellipsoid."""
    (up, east), (up_b, east_b) = ([math.radians(float(part)) for part in point] for point in (a, b))
    chord = math.sin((up - up_b) / 2) ** 2 + math.cos(up) * math.cos(up_b) * math.sin((east - east_b) / 2) ** 2
    return 2 * 6_400_000 * math.asin(min(1.0, math.sqrt(chord)))


def exact_epsilon(mechanism: object, pair: tuple[Any, Any]) -> float | None:
    """The epsilon of two inputs by the mechanism's channel; None where it has none, or its values are bins."""
    if not has_outputs(mechanism):
        return None
    names = mechanism.value_names()
    codes = [int(value) if names is None else list(names).index(value) for value in pair]
    channel: Any = mechanism.channel()
    first, second = (np.asarray(channel.row(code), float) for code in codes)
    if ((first > 0) != (second > 0)).any():
        return math.inf
    both = first > 0
    return float(np.abs(np.log(first[both] / second[both])).max())
