"""Selection mechanisms: choose the best-scored candidates privately, exactly, over millions of them."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar, Literal

from fastdp import rounding, validation
from fastdp.engine.selection import Scores
from fastdp.errors import ParameterError
from fastdp.laws.central.selection import SelectionLaw
from fastdp.laws.rate import Rate
from fastdp.mechanisms.base import Mechanism, set_fields
from fastdp.privacy import Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column

GRID_BITS = 20
"""Float scores are rounded down to multiples of about 2**-20 of the sensitivity, which is charged for."""
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 100.0
SMALLEST_SENSITIVITY, LARGEST_SENSITIVITY = 1e-250, 1e250


class Selection(Mechanism):
    """A mechanism that chooses one of several candidates by their scores."""

    __slots__ = ()

    @abstractmethod
    def choose(self, scores: Column, *, rng: Rng | None = None) -> int:
        """The index of one candidate; those with higher scores are likelier."""


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class _ByScore(Selection):
    """What the exponential mechanism and permute-and-flip share: one law of weights, on one grid."""

    epsilon: float
    sensitivity: float = 1.0
    monotone: bool = False
    _law: SelectionLaw = field(init=False, repr=False, compare=False)
    _granularity: float = field(init=False, repr=False, compare=False)

    rho_of: ClassVar[Fraction]
    """What rho is of the square of epsilon."""

    def __post_init__(self) -> None:
        owner = type(self).__name__
        epsilon = validation.positive(owner, "epsilon", self.epsilon)
        if not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
            raise ParameterError(
                f"{owner}: epsilon must be from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}, got {epsilon!r}"
            )
        sensitivity = _sensitivity(owner, self.sensitivity)
        if not isinstance(self.monotone, bool):
            raise ParameterError(f"{owner}: monotone must be True or False, got {self.monotone!r}")
        granularity = grid_below(sensitivity)
        rate = Fraction(epsilon) / _steps(sensitivity, granularity) / (1 if self.monotone else 2)
        law = SelectionLaw(Rate.below(rate))
        set_fields(self, epsilon=epsilon, sensitivity=sensitivity, _law=law, _granularity=granularity)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one choice, from the integer weights, rounded up."""
        epsilon = self._law.cost(_steps(self.sensitivity, self._granularity), monotone=self.monotone)
        return Privacy(epsilon=epsilon, rho=rounding.float_up(self.rho_of * Fraction(epsilon) ** 2))

    def _scores(self, values: Any) -> Scores:
        return Scores(type(self).__name__, values, self._law, self._granularity)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ExponentialMechanism(_ByScore):
    """Choose a candidate with probability proportional to e**(epsilon * score / (2 * sensitivity)).

    epsilon-DP, and epsilon**2 / 8-zCDP, when a neighbouring data set moves every score by at most ``sensitivity``. No
    noise is drawn per candidate: candidates are counted by their distance from the best, and a handful of exact draws
    decide, so that a choice costs two passes over the scores. [McSherry, Talwar 2007; Cesar, Rogers 2021]

    Parameters
    ----------
    epsilon : float
        The privacy of one choice.
    sensitivity : float
        By how much one unit of privacy moves a score at the most.
    monotone : bool
        Whether a neighbouring data set moves all scores in one direction, as counts do under add/remove. Then
        probabilities are proportional to e**(epsilon * score / sensitivity) at the same cost.

    >>> import fastdp as fd
    >>> fd.ExponentialMechanism(epsilon=1.0).choose([10, 9, 9, 5], rng=fd.Rng.unsafe_seed(1)) in range(4)
    True
    """

    rho_of: ClassVar[Fraction] = Fraction(1, 8)

    def choose(self, scores: Column, *, rng: Rng | None = None) -> int:
        """The index of one candidate.

        Parameters
        ----------
        scores : array-like
            One finite number per candidate, in any container that `randomize` takes. Floats are rounded down to
            multiples of a grid of about a millionth of the sensitivity; integers are exact.
        rng : Rng, optional
            Where randomness comes from; the process's own stream by default.
        """
        return self._scores(scores).choose(1, resolve("ExponentialMechanism", rng).reserve(1))[0]

    def top(self, scores: Column, k: int, *, rng: Rng | None = None) -> list[int]:
        """The indices of ``k`` candidates, best first: ``k`` choices without replacement, at ``k`` times the cost.

        Parameters
        ----------
        scores
            One finite number per candidate.
        k
            The number of candidates.
        rng
            Where randomness comes from; by default the process's own stream, keyed by the operating system.

        >>> import fastdp as fd
        >>> sorted(fd.ExponentialMechanism(epsilon=1.0).top([3, 2, 1], 3))
        [0, 1, 2]
        """
        candidates = self._scores(scores)
        k = validation.positive_integer("ExponentialMechanism.top", "k", k)
        if k > candidates.size:
            raise ParameterError(f"ExponentialMechanism.top: k must be at most the number of candidates, got {k}")
        return candidates.choose(k, resolve("ExponentialMechanism", rng).reserve(1))

    def top_privacy(self, k: int) -> Privacy:
        """The guarantee of `top` with ``k`` candidates: ``k`` times that of one choice.

        Parameters
        ----------
        k
            The number of candidates.
        """
        k = validation.positive_integer("ExponentialMechanism.top_privacy", "k", k)
        one = self.privacy
        epsilon, rho = (rounding.float_up(Fraction(value or 0.0) * k) for value in (one.epsilon, one.rho))
        return Privacy(epsilon=epsilon, rho=rho)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class PermuteAndFlip(_ByScore):
    """Accept each candidate with probability e**(-epsilon * (best - score) / (2 * sensitivity)), choose one uniformly.

    epsilon-DP, and never a larger expected error than the exponential mechanism of the same epsilon; its rho is
    epsilon**2 / 2, though. The law is that of flipping the same coins in random order until the first success.
    4 random bytes per candidate. [McKenna, Sheldon 2020]

    Parameters
    ----------
    epsilon, sensitivity : float
        As in `ExponentialMechanism`.
    monotone : bool
        Whether a neighbouring data set moves all scores in one direction; then the exponent is twice as large.

    >>> import fastdp as fd
    >>> fd.PermuteAndFlip(epsilon=1.0).choose([10, 9, 9, 5], rng=fd.Rng.unsafe_seed(1)) in range(4)
    True
    """

    rho_of: ClassVar[Fraction] = Fraction(1, 2)

    def choose(self, scores: Column, *, rng: Rng | None = None) -> int:
        """The index of one candidate; parameters as in `ExponentialMechanism.choose`.

        Parameters
        ----------
        scores, rng
            As in `ExponentialMechanism.choose`.
        """
        candidates = self._scores(scores)
        return candidates.accept_one(resolve("PermuteAndFlip", rng).reserve(candidates.size + 1))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class NoisyMax(Selection):
    """Report the candidate whose score is largest after noise: Gumbel or exponential noise, by their exact equivalents.

    The largest score with Gumbel noise is a draw of the exponential mechanism, with one-sided exponential noise one of
    permute-and-flip, so no noise is drawn. [Durfee, Rogers 2019; Ding et al. 2021]

    Parameters
    ----------
    epsilon : float
        The privacy of one choice.
    noise : {"exponential", "gumbel"}
        ``"exponential"`` has the smaller error, ``"gumbel"`` the smaller rho.
    sensitivity, monotone
        As in `ExponentialMechanism`.

    >>> import fastdp as fd
    >>> fd.NoisyMax(epsilon=1.0, noise="gumbel").exact
    ExponentialMechanism(epsilon=1.0)
    """

    epsilon: float
    noise: Literal["exponential", "gumbel"] = "exponential"
    sensitivity: float = 1.0
    monotone: bool = False

    def __post_init__(self) -> None:
        validation.one_of("NoisyMax", "noise", self.noise, ("exponential", "gumbel"))
        exact = self.exact
        set_fields(self, epsilon=exact.epsilon, sensitivity=exact.sensitivity)

    @property
    def exact(self) -> _ByScore:
        """The mechanism with the same law."""
        kind = PermuteAndFlip if self.noise == "exponential" else ExponentialMechanism
        return kind(epsilon=self.epsilon, sensitivity=self.sensitivity, monotone=self.monotone)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of one choice."""
        return self.exact.privacy

    def choose(self, scores: Column, *, rng: Rng | None = None) -> int:
        """The index of one candidate; parameters as in `ExponentialMechanism.choose`.

        Parameters
        ----------
        scores, rng
            As in `ExponentialMechanism.choose`.
        """
        return self.exact.choose(scores, rng=rng)


def grid_below(sensitivity: float) -> float:
    """The power of two that is from 2**-21 to 2**-20 of the sensitivity."""
    return 2.0 ** (math.frexp(sensitivity)[1] - 1 - GRID_BITS)


def _steps(sensitivity: float, granularity: float) -> int:
    """How many steps a score moves at the most: numbers d apart are at most ceil(d / g) steps apart, rounded down."""
    return math.ceil(Fraction(sensitivity) / Fraction(granularity))


def _sensitivity(owner: str, value: Any) -> float:
    sensitivity = validation.positive(owner, "sensitivity", value)
    if not SMALLEST_SENSITIVITY <= sensitivity <= LARGEST_SENSITIVITY:
        raise ParameterError(
            f"{owner}: sensitivity must be from {SMALLEST_SENSITIVITY:g} to {LARGEST_SENSITIVITY:g}, "
            f"got {sensitivity!r}"
        )
    return sensitivity
