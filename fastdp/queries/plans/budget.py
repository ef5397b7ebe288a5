"""The budget of a release: epsilon for geometric noise, rho for Gaussian noise, delta for keys that are selected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.queries.answers.noise import Spend
from fastdp.queries.shares import in_proportion, least_variance
from fastdp.queries.tasks.base import Task
from fastdp.validation import unknown

KEYS = ("epsilon", "rho", "delta", "ledger")


@dataclass(frozen=True, slots=True)
class Budget:
    """What one release may cost."""

    epsilon: float | None = None
    rho: float | None = None
    delta: float = 0.0

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any]) -> Budget:
        """Epsilon or rho, and perhaps delta; there is no default."""
        if not isinstance(given, Mapping):
            raise ParameterError(f"{owner}: budget must give epsilon or rho")
        for key in given:
            if key not in KEYS:
                raise ParameterError(f"{owner}: budget: {unknown('key', key, KEYS)}")
        kind = validation.exactly_one(owner, epsilon=given.get("epsilon"), rho=given.get("rho"))
        amount = validation.positive(owner, kind, given[kind])
        delta = given.get("delta")
        delta = 0.0 if delta is None else validation.probability(owner, "delta", delta)
        if delta and delta < 1e-25:
            raise ParameterError(f"{owner}: delta must be at least 1e-25, the samplers' resolution, got {delta!r}")
        return cls(amount, None, delta) if kind == "epsilon" else cls(None, amount, delta)

    @property
    def pure(self) -> bool:
        """Whether noise is calibrated to epsilon."""
        return self.epsilon is not None

    @property
    def spend(self) -> Spend:
        """The whole of it; of a delta beside rho, half is kept for stating the guarantee as an epsilon."""
        if self.epsilon is not None:
            return Spend(epsilon=Fraction(self.epsilon), delta=Fraction(self.delta))
        assert self.rho is not None
        return Spend(rho=Fraction(self.rho), delta=Fraction(self.delta) / 2)

    def fund(self, owner: str, tasks: Sequence[Task], kept: Fraction = Fraction(0)) -> None:
        """Share it among the queries: as they ask, else for the least total variance; ``kept`` of it is gone."""
        selecting = sum(task.needs_delta for task in tasks)
        if self.delta and not selecting:
            raise ParameterError(
                f"{owner}: delta is for keys that are selected, and none are; leave it out, or give rho for Gaussian "
                "noise"
            )
        amounts = [list(task.amounts()) for task in tasks]
        if not any(amount for one in amounts for amount in one):
            raise ParameterError(f"{owner}: everything asked for is public under these neighbours; no budget is needed")
        rest = self.spend.part(1 - kept)
        delta = self.spend.delta / selecting if selecting else Fraction(0)
        if all(task.share is None for task in tasks):
            shares = iter(least_variance([amount for one in amounts for amount in one], pure=self.pure))
            parts = [[rest.part(next(shares)) for _ in one] for one in amounts]
        else:
            weights = [0.0 if not any(one) else task.share or 1.0 for task, one in zip(tasks, amounts, strict=True)]
            parts = []
            for share, one in zip(in_proportion(owner, weights), amounts, strict=True):
                inside = least_variance(one, pure=self.pure) if any(one) else [Fraction(0)] * len(one)
                parts.append([rest.part(share * part) for part in inside])
        for task, part in zip(tasks, parts, strict=True):
            task.fund(part, delta)

    def to_dict(self) -> dict[str, float]:
        """The same words again."""
        stated = {"epsilon": self.epsilon, "rho": self.rho, "delta": self.delta or None}
        return {key: value for key, value in stated.items() if value is not None}
