"""A lower bound on epsilon from guesses about one run, such as the training of one model.

Every canary is included by a fair coin; an auditor sees the result, guesses for some canaries whether they are in it,
and may abstain on the rest. For an (epsilon, delta)-private algorithm the number of right guesses is below a binomial
one with probability e^epsilon / (1 + e^epsilon), up to a term of delta. [Steinke, Nasr, Jagielski 2023]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.audits.result import digits_down
from fastdp.binomial import binomial_tail, lower_limit
from fastdp.errors import ParameterError, SchemaError
from fastdp.typing import Numbers

OWNER = "audit.one_run"


@dataclass(frozen=True, slots=True)
class OneRun:
    """What guesses about one run prove."""

    epsilon: float
    """The proven epsilon at ``delta``."""
    delta: float
    level: float
    canaries: int
    guesses: int
    right: int
    claimed: float | None = None

    @property
    def verdict(self) -> str:
        """Whether the claim is refuted."""
        if self.claimed is None:
            return "nothing was claimed"
        return "refuted" if self.epsilon > self.claimed else f"not refuted (gap {self.claimed - self.epsilon:.4f})"

    def to_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {
            "epsilon": self.epsilon, "delta": self.delta, "level": self.level, "canaries": self.canaries,
            "guesses": self.guesses, "right": self.right, "claimed": self.claimed, "verdict": self.verdict,
        }  # fmt: skip

    def __str__(self) -> str:
        """What is proven."""
        return (
            f"{self.right:,} of {self.guesses:,} guesses right, about {self.canaries:,} canaries: epsilon >= "
            f"{digits_down(self.epsilon)} at delta {self.delta:g}, confidence {self.level:g}; {self.verdict}"
        )


def one_run(
    guesses: Numbers, truth: Numbers, *, delta: float = 0.0, level: float = 0.95, claimed: float | None = None
) -> OneRun:
    """The largest epsilon that guesses about one run prove.

    Parameters
    ----------
    guesses
        One per canary: 1 or True for "was in it", -1 or False for "was not", 0 (a number) to abstain.
    truth
        One per canary: whether it was in it, as truth values, or as 1 and -1. Decided by fair coins.
    delta
        The delta at which epsilon is proven.
    level
        The confidence level.
    claimed
        The epsilon to compare with.

    >>> found = one_run([1] * 731 + [-1] * 269, [1] * 1000)
    >>> found.right, round(found.epsilon, 6)
    (731, 0.880603)
    """
    guessed, true = _signs("guesses", guesses), _signs("truth", truth)
    if guessed.size != true.size:
        raise SchemaError(f"{OWNER}: give one guess per canary; the lengths differ")
    if (true == 0).any():
        raise ParameterError(f"{OWNER}: truth must be 1 or -1 for every canary")
    level = validation.level(OWNER, level)
    if not validation.is_number(delta) or not 0 <= delta < 1:
        raise ParameterError(f"{OWNER}: delta must be a number with 0 <= delta < 1, got {delta!r}")
    claimed = None if claimed is None else validation.positive(OWNER, "claimed", claimed)
    made, right = int((guessed != 0).sum()), int((guessed * true > 0).sum())
    proven = proven_epsilon(true.size, made, right, float(delta), 1 - level)
    return OneRun(proven, float(delta), level, true.size, made, right, claimed)


def proven_epsilon(canaries: int, guesses: int, right: int, delta: float, alpha: float) -> float:
    """The largest epsilon that so many right guesses refute at error ``alpha``, rounded down.

    >>> round(proven_epsilon(10**5, 10**5, 73106, 0.0, 0.05), 6)
    0.988258
    """
    if not right:
        return 0.0
    low = lower_limit(right, guesses, alpha)
    free = max(0.0, math.log(low / (1 - low))) if low > 0.5 else 0.0
    if not delta or not free:
        return math.nextafter(free, 0.0) if free else 0.0
    good, bad = 0.0, free
    for _ in range(60):  # the p-value grows with epsilon
        middle = (good + bad) / 2
        good, bad = (middle, bad) if p_value(canaries, guesses, right, middle, delta) < alpha else (good, middle)
    return good


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The largest probability of as many right guesses under (epsilon, delta)-DP, rounded up a little."""
    chance = 1 / (1 + math.exp(-epsilon))
    tail = binomial_tail(right, guesses, chance)
    worst = 0.0
    if delta:
        # probabilities of right - 1, right - 2, ... by ratios from the tail's own first term
        counts = np.arange(right, 0, -1.0)
        steps = np.log(counts / (guesses - counts + 1)) + math.log((1 - chance) / chance)
        first = binomial_tail(right, guesses, chance) - (
            binomial_tail(right + 1, guesses, chance) if right < guesses else 0.0
        )
        masses = max(first, 1e-300) * np.exp(np.cumsum(steps))
        worst = float(np.max(np.cumsum(masses) / np.arange(1, right + 1)))
    return min(1.0, (tail + 2 * canaries * delta * worst) * (1 + 1e-9))


def _signs(name: str, values: Numbers) -> np.ndarray:
    """-1, 0 and 1; truth values are -1 and 1."""
    given = np.asarray(values)
    if given.dtype.kind == "b":
        return np.where(given, 1, -1)
    if given.ndim != 1 or given.dtype.kind not in "iuf" or not np.isin(given, (-1, 0, 1)).all():
        raise ParameterError(f"{OWNER}: {name} must be truth values, or numbers of which each is -1, 0 or 1")
    return given.astype(np.int64)
