"""Which marginals are measured: those given, a tree of pairs (as MST does), or the worst ones round by round (AIM).

Everything here sees noisy answers alone: the curator measures and chooses, the model is fitted to what it says.
[McKenna, Miklau, Sheldon 2021; McKenna, Mullins, Sheldon, Miklau 2022]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from fastdp.queries.answers.noise import Noise, Spend
from fastdp.synthesis.fitting.axes import Columns
from fastdp.synthesis.fitting.descent import Measurement, fit
from fastdp.synthesis.fitting.model import Model
from fastdp.synthesis.fitting.trees import eliminate, neighbours
from fastdp.synthesis.plan import CELL_BYTES
from fastdp.synthesis.workload import candidate_weights

if TYPE_CHECKING:
    from fastdp.synthesis.curator import Curator
    from fastdp.synthesis.plan import SynthesisPlan

ROUNDS = 16
"""Rounds per column that an adaptive choice plans for; it doubles what a round spends where one tells nothing."""
MEASURED = Fraction(9, 10)
"""The part of a round that measures; the rest chooses."""
WARM, FINAL = 30, 1000
"""Iterations of a fit between rounds, and of the last one."""
Report = Callable[[float, str], None]


def choose_and_fit(
    plan: SynthesisPlan, curator: Curator, spend: Spend, report: Report
) -> tuple[Model, list[Measurement]]:
    """The model, and all that was measured for it."""
    chooser = _Chooser(plan, curator, spend, report)
    measured = {"given": chooser.given, "tree": chooser.tree, "adaptive": chooser.adaptive}[plan.choose]()
    return chooser.fit(measured, final=True), measured


class _Chooser:
    def __init__(self, plan: SynthesisPlan, curator: Curator, spend: Spend, report: Report) -> None:
        self._plan, self._curator, self._report = plan, curator, report
        self._sizes, self._pure = plan.sizes, spend.is_pure
        self._total = spend.epsilon if spend.epsilon is not None else spend.rho or Fraction(0)
        self._model: Model | None = None

    def _spend(self, amount: Fraction) -> Spend:
        short = amount.limit_denominator(1 << 200) if amount.denominator > 1 << 200 else amount
        short = min(short, amount)
        return Spend(epsilon=short) if self._pure else Spend(rho=short)

    def fit(self, measured: list[Measurement], *, final: bool = False) -> Model:
        """The model of what was measured so far, from the last one."""
        limits = (FINAL, 1e-5) if final else (WARM, 1e-3)
        self._model = fit(
            self._sizes, measured, start=self._model, empty=self._plan.empty, max_iterations=limits[0],
            tolerance=limits[1],
        )  # fmt: skip
        return self._model

    def given(self) -> list[Measurement]:
        """All marginals of the workload, for the least total variance: shares as the square roots of their cells."""
        shares = _shares(self._plan)
        return [self._curator.measure(subset, self._spend(self._total * share)) for subset, share in shares.items()]

    def _single(self, amount: Fraction) -> list[Measurement]:
        return [self._curator.measure((column,), self._spend(amount)) for column in range(len(self._sizes))]

    def tree(self) -> list[Measurement]:
        """Single columns, then a spanning tree of pairs, chosen by how far single columns are from telling them."""
        count = len(self._sizes)
        if count == 1:
            return self._single(self._total)
        third = self._total / 3
        measured = self._single(third / count)
        model = self.fit(measured)
        pairs: list[Columns] = [
            one for one in itertools.combinations(range(count), 2) if self._fits(measured, one, Fraction(1))
        ]
        estimates = {pair: model.rows * model.marginal(pair) for pair in pairs}
        group = list(range(count))
        chosen: list[Columns] = []
        for step in range(count - 1):
            left: dict[Columns, tuple[int, float]] = {
                pair: (1, 0.0) for pair in pairs if group[pair[0]] != group[pair[1]]
            }
            if not left:
                break
            pair = self._curator.choose(estimates, left, self._spend(third / (count - 1)))
            chosen.append(pair)
            old, new = group[pair[1]], group[pair[0]]
            group = [new if one == old else one for one in group]
            self._report((step + 1) / count, "choosing")
        for pair in chosen:
            measured.append(self._curator.measure(pair, self._spend(third / len(chosen))))
        return measured

    def adaptive(self) -> list[Measurement]:
        """Single columns, then in each round the marginal that the model tells worst, by what it is worth."""
        weights = candidate_weights(self._plan.workload)
        rounds = self._plan.rounds or ROUNDS * len(self._sizes)
        measuring = MEASURED * self._total / rounds
        choosing = (1 - MEASURED) * self._total / rounds
        if len(self._sizes) * measuring > self._total / 2:
            measuring = self._total / (2 * len(self._sizes))
        if len(self._sizes) == 1:
            return self._single(self._total)
        measured = self._single(measuring)
        used = measuring * len(self._sizes)
        model = self.fit(measured)
        while used < self._total:
            left = self._total - used
            if left < 2 * (measuring + choosing):
                measuring, choosing = MEASURED * left, (1 - MEASURED) * left
            used += measuring + choosing
            candidates = [one for one in weights if len(one) > 1 or len(self._sizes) == 1]
            candidates = self._small(measured, candidates, used / self._total) or list(weights)[: len(self._sizes)]
            estimates = {one: model.rows * model.marginal(one) for one in candidates}
            scores = {one: (weights[one], self._allowance(one, measuring)) for one in candidates}
            chosen = self._curator.choose(estimates, scores, self._spend(choosing))
            measured.append(self._curator.measure(chosen, self._spend(measuring)))
            model = self.fit(measured)
            moved = float(np.abs(model.rows * model.marginal(chosen) - estimates[chosen]).sum())
            if moved <= self._allowance(chosen, measuring):
                factor = 2 if self._pure else 4
                measuring, choosing = measuring * factor, choosing * factor
            self._report(float(used / self._total), "choosing")
        return measured

    def _allowance(self, subset: Columns, amount: Fraction) -> float:
        """The expected L1 size of the noise of a measurement."""
        noise = self._curator.noise(subset, self._spend(amount))
        cells = math.prod(self._sizes[column] for column in subset)
        return cells * math.sqrt(noise.variance) * (math.sqrt(2 / math.pi) if noise.is_gaussian else math.sqrt(0.5))

    def _small(self, measured: list[Measurement], candidates: list[Columns], share: Fraction) -> list[Columns]:
        return [one for one in candidates if self._fits(measured, one, share)]

    def _fits(self, measured: list[Measurement], subset: Columns, share: Fraction) -> bool:
        """Whether the model with one more marginal stays within the memory that is free by now."""
        known = self._neighbours(measured)
        mask = sum(1 << column for column in subset)
        if all(known[column] | 1 << column | mask == known[column] | 1 << column for column in subset):
            return True
        joined = list(known)
        for column in subset:
            joined[column] |= mask & ~(1 << column)
        cliques = eliminate(self._sizes, joined)
        cells = sum(math.prod(s for c, s in enumerate(self._sizes) if clique >> c & 1) for clique in cliques)
        return CELL_BYTES * cells <= self._plan.memory_mb * 2**20 * float(share)

    def _neighbours(self, measured: list[Measurement]) -> list[int]:
        key = len(measured)
        if getattr(self, "_cached", (0, []))[0] != key:
            subsets = [*(one.subset for one in measured), *self._plan.empty]
            self._cached: tuple[int, list[int]] = (key, neighbours(len(self._sizes), subsets))
        return self._cached[1]


def _shares(plan: SynthesisPlan) -> dict[Columns, Fraction]:
    """The shares of the budget for the marginals of the workload, and of columns that none of them has."""
    sizes = {subset: math.prod(plan.sizes[c] for c in subset) for subset in plan.workload}
    missing = set(range(len(plan.sizes))) - {c for subset in sizes for c in subset}
    sizes |= {(column,): plan.sizes[column] for column in sorted(missing)}
    weights = {subset: Fraction(math.isqrt(cells << 20)) for subset, cells in sizes.items()}
    whole = sum(weights.values())
    return {subset: weight / whole for subset, weight in weights.items()}


def planned(plan: SynthesisPlan, spend: Spend) -> dict[Columns, float]:
    """The variance of the noise of each marginal that is measured whatever the data say."""
    found = {}
    if plan.choose == "given":
        for subset, share in _shares(plan).items():
            sensitivity = plan.unit.cells(math.prod(plan.sizes[c] for c in subset))
            found[subset] = Noise.of("synthesize", spend.part(share), sensitivity).variance
    return found


def estimates_of(model: Model, workload: list[Columns]) -> Mapping[Columns, np.ndarray]:
    """The model's counts of each marginal."""
    return {subset: model.rows * model.marginal(subset) for subset in workload}
