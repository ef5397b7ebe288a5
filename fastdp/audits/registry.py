"""Audits of every mechanism of the registry, each on a pair of neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from fastdp.audits.epsilon import epsilon
from fastdp.audits.pairs import extremes
from fastdp.audits.result import EpsilonAudit
from fastdp.errors import ParameterError
from fastdp.mechanisms.base import Mechanism
from fastdp.mechanisms.registry import rows
from fastdp.validation import unknown

if TYPE_CHECKING:
    from fastdp import Rng
    from fastdp.mechanisms.registry import Row

OWNER = "audit.registry"
ONE_BY_ONE = 10_000
"""Draws at most where every draw is a call."""
_LINE = [[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]]
_PLANAR = {"type": "PlanarLaplace", "epsilon": 1.0, "unit": "km"}
_HERE, _NORTH = (48.85, 2.35), (48.858993, 2.35)
_ROWS = {"domains": {"city": 3, "age": 2}}


class Example(NamedTuple):
    """A mechanism and two inputs that its guarantee is about."""

    parameters: Mapping[str, Any]
    pair: tuple[Any, Any]
    delta: float = 0.0
    claimed: float | None = None
    slow: bool = False


_SCORES = ([3, 2, 1], [2, 3, 2])
EXAMPLES = {
    "Gaussian": Example({"epsilon": 1.0, "delta": 1e-5, "sensitivity": 1.0}, (0.0, 1.0), 1e-5),
    "DiscreteGaussian": Example({"epsilon": 1.0, "delta": 1e-5}, (0, 1), 1e-5),
    "ExponentialMechanism": Example({"epsilon": 1.0}, _SCORES, slow=True),
    "PermuteAndFlip": Example({"epsilon": 1.0}, _SCORES, slow=True),
    "NoisyMax": Example({"epsilon": 1.0}, _SCORES, slow=True),
    "AboveThreshold": Example({"epsilon": 1.0, "threshold": 1.0}, ([0.0, 0.0, 1.0], [1.0, 1.0, 0.0]), slow=True),
    "KeySelection": Example({"epsilon": 1.0, "delta": 1e-3}, (5, 6), 1e-3),
    "RAPPOR": Example({"epsilon": 1.0, "domain": 10, "cohorts": 1}, (0, 1)),
    "FrequentStrings": Example({"epsilon": 1.0, "length": 2}, ("a", "b")),
    "SplitBudget": Example({"epsilon": 1.0, **_ROWS}, ({"city": 0, "age": 0}, {"city": 1, "age": 1})),
    "SampleOne": Example({"epsilon": 1.0, **_ROWS}, ({"city": 0, "age": 0}, {"city": 1, "age": 1})),
    "SampleAndFake": Example({"epsilon": 1.0, **_ROWS}, ({"city": 0, "age": 0}, {"city": 1, "age": 1})),
    "OptimalMechanism": Example({"epsilon": 1.0, "prior": [1, 2, 1], "distance": _LINE}, (0, 1)),
    "TightConstraints": Example({"epsilon": 1.5, "distance": _LINE}, (0, 1)),
    "Remapped": Example(
        {"mechanism": {"type": "GridGeometric", "epsilon": 1.0, "shape": [1, 4]}, "prior": [1, 2, 2, 1]}, (0, 1)
    ),
    "PlanarLaplace": Example({"epsilon": 1.0, "unit": "km"}, ((0.0, 0.0), (0.0, 1.0))),
    "GlobeLaplace": Example({"epsilon": 1.0, "unit": "km"}, (_HERE, _NORTH)),
    "RemappedPoints": Example(
        {
            "mechanism": {**_PLANAR, "origin": list(_HERE)}, "places": [[48.85, 2.35], [48.86, 2.36], [48.84, 2.34]],
            "prior": [1, 1, 1],
        },
        (_HERE, _NORTH), claimed=1.0013810686802649,
    ),
    "MemoizedTrajectory": Example({"mechanism": _PLANAR}, ((0.0, 0.0), (0.0, 1.0)), claimed=1.0013810677265904),
    "PredictiveTrajectory": Example(
        {"mechanism": _PLANAR, "threshold": 30.0, "test_epsilon": 0.5, "budget": 9.0}, ((0.0, 0.0), (0.0, 1.0)),
        claimed=1.0013810677265904,
    ),
}  # fmt: skip
"""Where the calls of ``fastdp warmup`` do not say enough: parameters, and two neighbours."""


def registry(
    names: Iterable[str] | None = None, *, draws: int = 10**6, level: float = 1 - 1e-6, rng: Rng | None = None
) -> Iterator[EpsilonAudit]:
    """Audits of every mechanism of the registry, or of those named, one after the other.

    Mechanisms that choose one candidate per call get at most 10,000 draws.

    Parameters
    ----------
    names
        Mechanisms by name; all by default.
    draws
        Fresh draws per input.
    level
        The confidence level of each audit.
    rng
        Where randomness comes from; the process's own stream by default.

    >>> [found.name for found in registry(["KRR"], draws=10**4)]
    ['KRR(epsilon=1.0, domain=100)']
    """
    known = {row.name: row for row in rows()}
    wanted = list(known) if names is None else list(names)
    for name in wanted:
        if name not in known:
            raise ParameterError(f"{OWNER}: {unknown('mechanism', name, tuple(known))}")
    for name in wanted:
        yield _audit(known[name], draws, level, rng)


def _audit(row: Row, draws: int, level: float, rng: Rng | None) -> EpsilonAudit:
    example = EXAMPLES.get(row.name)
    if example is None:
        if not row.warmup:
            raise ParameterError(
                f"{OWNER}: {row.name} of another package has no warm-up call to take its parameters from"
            )
        made = Mechanism.from_dict({"type": row.name, **row.warmup[0].parameters})
        example = Example({}, extremes(made)[0])
    else:
        made = Mechanism.from_dict({"type": row.name, **example.parameters})
    most, training = (min(draws, ONE_BY_ONE), ONE_BY_ONE // 5) if example.slow else (draws, None)
    return epsilon(
        made, *example.pair, draws=most, delta=example.delta, level=level, claimed=example.claimed, training=training,
        rng=rng,
    )  # fmt: skip
