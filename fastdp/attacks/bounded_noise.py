"""Bounded noise: outputs that only one of two neighbours can give, as with uniform noise on a count."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import ColumnMechanism

if TYPE_CHECKING:
    from fastdp import Rng

OWNER = "attacks.bounded_noise"
DEFENCE = "noise whose tails reach every output: Laplace, geometric, Gaussian"


def bounded_noise(
    release: ColumnMechanism | Callable[[float, int], Any], *, count: float = 100.0, draws: int = 10**6,
    width: float | None = None, rng: Rng | None = None,
) -> Attack:  # fmt: skip
    """The share of single answers that give away which of two neighbouring counts is true, with certainty.

    The ends of the noise are learned from draws of their own; an answer beyond the ends of what the other count can
    give is certain.

    Parameters
    ----------
    release
        A mechanism on a number, or a callable ``release(count, draws)``.
    count
        The true count; the other is one less.
    draws
        Answers that are judged, and as many to learn the ends from.
    width
        The width of uniform noise, for the closed form 1 / width.

    rng
        Where a mechanism's randomness comes from; the process's own stream by default.

    >>> source = np.random.default_rng(1)
    >>> found = bounded_noise(lambda count, n: count + source.uniform(0, 5, n), draws=10**5, width=5.0)
    >>> abs(found.success - 1 / 5) < 0.01
    True
    """
    draws = validation.positive_integer(OWNER, "draws", draws)
    learned, judged = _draw(release, count - 1, draws, rng), _draw(release, count, draws, rng)
    low, top = float(learned.min()), float(learned.max())
    edge = (top - low) / 100
    # an end of the noise has draws next to it; the last draws of a tail are far apart
    has_top, has_low = ((near <= edge).mean() > 1e-3 for near in (top - learned, learned - low))
    bounded = has_top or has_low
    success = float((((judged > top) & has_top) | ((judged < low) & has_low)).mean())
    expected = None if width is None else min(1.0, 1 / validation.positive(OWNER, "width", width))
    return Attack(
        "bounded noise", "answers that are certain", success, expected if bounded else 0.0, 0.0, draws,
        "the total variation 1 / width" if bounded else "noise without ends", DEFENCE,
    )  # fmt: skip


def _draw(
    release: ColumnMechanism | Callable[[float, int], Any], count: float, draws: int, rng: Rng | None
) -> np.ndarray:
    if isinstance(release, ColumnMechanism):
        whole = getattr(release, "number_kind", "float") == "integer"
        return np.asarray(release.randomize(np.full(draws, int(count) if whole else float(count)), rng=rng), float)
    answers = np.asarray(release(count, draws), float)
    if answers.shape != (draws,):
        raise ParameterError(f"{OWNER}: release(count, draws) must return one number per draw")
    return answers
