"""The PRIVIC loop: collect with a mechanism, estimate the prior from its reports, and build the mechanism for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.estimators.estimate import estimate
from fastdp.estimators.result import Estimate
from fastdp.mechanisms.base import FiniteMechanism
from fastdp.privacy import Privacy, compose
from fastdp.typing import Numbers


@runtime_checkable
class ForPrior(Protocol):
    """A mechanism that can be made for another prior."""

    def for_prior(self, prior: Numbers) -> Any:
        """The same mechanism made for another prior."""


@dataclass(frozen=True, slots=True, eq=False)
class PrivicRound:
    """What one round collected with, what was known after it, and by how much that moved (total variation)."""

    mechanism: FiniteMechanism
    estimate: Estimate
    moved: float


@dataclass(frozen=True, slots=True, eq=False)
class Privic:
    """The mechanism for the prior as estimated in the end, that estimate, and what each person's reports cost.

    ``mechanism`` has not collected anything yet: using it costs its own privacy.
    """

    mechanism: FiniteMechanism
    estimate: Estimate
    rounds: tuple[PrivicRound, ...]
    privacy: Privacy

    def __repr__(self) -> str:
        return f"Privic({len(self.rounds)} rounds, {self.estimate.n:,.12g} reports, {self.privacy!r})"


def privic(
    mechanism: Any,
    collect: Callable[[Any], Any],
    *,
    rounds: int,
    people: str,
    pool: bool = True,
    regularize: str | None = None,
) -> Privic:
    """The mechanism that fits people whose distribution nobody knows, as a :class:`Privic`.

    ``mechanism`` is the first one, with ``for_prior``, such as a `BlahutArimoto` with a uniform prior. Each round calls
    ``collect(mechanism)`` for a batch of reports, in any container, estimates the distribution of the true values from
    them by IBU, and goes on with ``mechanism.for_prior`` of that. With ``pool`` all reports so far are used, each
    through the channel it came from (generalised IBU), which is far closer; without, those of the last round, as
    published. ``regularize`` is that of :func:`estimate`: None is IBU's own limit, the maximum likelihood.

    The cost depends on who is asked, so ``people`` has no default. ``"fresh"``: no person in more than one round; each
    pays for one report, and ``privacy`` is the dearest round's. ``"same"``: people may report in every round; their
    reports compose, and ``privacy`` is the sum over all rounds. What is estimated, and the later mechanisms, are
    computed from private reports and cost nothing more. [Biswas, Palamidessi 2023]

    Parameters
    ----------
    mechanism
        The first mechanism, with ``for_prior``.
    collect
        Called with a mechanism, returns a batch of its reports.
    rounds
        The number of rounds.
    people
        "fresh" if no person is in two rounds, "same" if people may be in all.
    pool
        Estimate from the reports of all rounds so far, not of the last one alone.
    regularize
        As in `estimate`; None for the maximum likelihood.

    >>> import numpy as np
    >>> import fastdp as fd
    >>> start = fd.BlahutArimoto(prior=[1, 1, 1], distance=[[0, 1, 2], [1, 0, 1], [2, 1, 0]], beta=1.0)
    >>> cells, rng = np.repeat([0, 1, 2], [6000, 3000, 1000]), fd.Rng.unsafe_seed(7)
    >>> result = fd.privic(start, lambda mechanism: mechanism.randomize(cells, rng=rng), rounds=3, people="same")
    >>> result.estimate.distribution.round(1).tolist()
    [0.6, 0.3, 0.1]
    >>> result.privacy.epsilon <= 3 * 2 * 1.0
    True
    """
    rounds = validation.positive_integer("privic", "rounds", rounds)
    validation.one_of("privic", "people", people, ("fresh", "same"))
    if regularize is not None:
        validation.one_of("privic", "regularize", regularize, ("cv", "early", "smooth"))
    if not callable(collect) or not isinstance(pool, bool):
        raise ParameterError("privic: collect must be a function of the mechanism, and pool True or False")
    if not isinstance(mechanism, FiniteMechanism) or not isinstance(mechanism, ForPrior):
        raise ParameterError(
            f"privic: mechanism must be one for a prior, such as BlahutArimoto; {type(mechanism).__name__} has no "
            "for_prior"
        )
    parts: list[tuple[Any, np.ndarray]] = []
    done: list[PrivicRound] = []
    costs: list[Privacy] = []
    known = np.full(mechanism.channel().shape[0], 1 / mechanism.channel().shape[0])
    for _ in range(rounds):
        part = mechanism.channel(), mechanism.count_outputs(collect(mechanism))
        parts = [*parts, part] if pool else [part]
        found = estimate(parts, regularize=regularize, progress=False)
        costs.append(mechanism.privacy)
        done.append(PrivicRound(mechanism, found, float(np.abs(found.distribution - known).sum() / 2)))
        known = found.distribution
        mechanism = mechanism.for_prior(known)
    return Privic(mechanism, found, tuple(done), _total(costs, people))


def _total(costs: list[Privacy], people: str) -> Privacy:
    """The dearest round's cost, or that of all rounds together, rounded up."""
    dearest = max(costs, key=lambda cost: cost.epsilon or 0.0)
    if people == "fresh":
        return dearest
    return replace(dearest, epsilon=compose(costs, owner="privic").epsilon)
