"""All k-way marginals at once, at the least total variance that any linear mechanism can reach.

A marginal is a sum of residuals, one for each subset of its columns: what the subset's counts say beyond its own
subsets. Each residual is measured once and serves every marginal above it. The integer query is the table of the subset
times (m I - 1 1') along each of its columns, with discrete Gaussian noise; its squared sensitivity is the product of
m (m - 1). [Xiao, He, Zhang, Kifer 2023]
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp.errors import ParameterError
from fastdp.queries.answers.answer import Answer, Answers
from fastdp.queries.answers.errors import NormalErrors
from fastdp.queries.answers.noise import Noise, Spend
from fastdp.queries.data.keys import ColumnKeys
from fastdp.queries.data.persons import Limits, PersonRows
from fastdp.queries.data.tally import Persons
from fastdp.queries.tasks.base import Setting

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.random.rng import Rng

LARGEST_DOMAIN = 1 << 31
Subset = tuple[str, ...]


def read_domains(owner: str, given: object, ways: int) -> dict[str, tuple[Any, ...]]:
    """The declared values of each column."""
    if not isinstance(given, Mapping) or not given:
        raise ParameterError(f"{owner}: marginals must give the domain of each column: {{city = [...], ...}}")
    domains = {}
    for name, values in given.items():
        if isinstance(values, str) or not isinstance(values, list | tuple | range | np.ndarray) or len(values) < 2:
            raise ParameterError(f"{owner}: the domain of {name!r} must list two values or more")
        domains[str(name)] = tuple(values)
    if ways > len(domains):
        raise ParameterError(f"{owner}: ways must be at most the number of columns, got {ways}")
    if math.prod(len(values) for values in domains.values()) >= LARGEST_DOMAIN:
        raise ParameterError(f"{owner}: all combinations of values must be fewer than 2**31; leave a column out")
    return domains


def subsets(names: Sequence[str], ways: int) -> list[Subset]:
    """All subsets of up to ``ways`` columns, the empty one first."""
    return [subset for size in range(ways + 1) for subset in itertools.combinations(names, size)]


def residual_share(subset: Subset, sizes: Mapping[str, int]) -> float:
    """The product of (m - 1) / m over a subset."""
    return math.prod((sizes[name] - 1) / sizes[name] for name in subset)


def influence(subset: Subset, marginals: Sequence[Subset], sizes: Mapping[str, int]) -> float:
    """How the variance of a residual adds up over all cells of all marginals above it."""
    total = 0.0
    for marginal in marginals:
        if set(subset) <= set(marginal):
            cells = math.prod(sizes[name] for name in marginal)
            spread = math.prod(sizes[name] ** -2.0 for name in marginal if name not in subset)
            total += cells * residual_share(subset, sizes) * spread
    return total


def best_shares(sizes: Mapping[str, int], ways: int) -> tuple[dict[Subset, float], float]:
    """The share of rho for each residual, and the least total variance at rho = 1/2.

    >>> round(best_shares({"a": 2, "b": 2, "c": 2}, 2)[1], 6)
    36.0
    """
    marginals = [subset for subset in subsets(list(sizes), ways) if subset]
    roots = {
        subset: math.sqrt(influence(subset, marginals, sizes) * residual_share(subset, sizes))
        for subset in subsets(list(sizes), ways)
    }
    total = math.fsum(roots.values())
    return {subset: root / total for subset, root in roots.items()}, total**2


def contrast(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The table times (m I - 1 1') along each axis, in integers."""
    for axis in axes:
        table = table.shape[axis] * table - table.sum(axis=axis, keepdims=True)
    return table


def project(table: np.ndarray, axes: Sequence[int]) -> np.ndarray:
    """The table less its mean along each axis."""
    for axis in axes:
        table = table - table.mean(axis=axis, keepdims=True)
    return table


class MarginalTask:
    """All marginals of up to ``ways`` columns with declared domains."""

    needs_delta = False

    def __init__(
        self, setting: Setting, name: str, domains: Mapping[str, tuple[Any, ...]], ways: int,
        *, share: float | None = None,
    ) -> None:  # fmt: skip
        self._setting, self.name, self.share, self._ways = setting, name, share, ways
        self._owner, self._domains = f"{setting.owner}: {name}", domains
        if setting.pure:
            raise ParameterError(f"{self._owner}: marginals take Gaussian noise: give the budget as rho")
        for column in domains:
            setting.check_column(column)
        self._sizes = {column: len(values) for column, values in domains.items()}
        self._keys = [
            ColumnKeys(self._owner, setting.schema, [column], setting.seed + number, values)
            for number, (column, values) in enumerate(domains.items())
        ]
        self._shares, self._best = best_shares(self._sizes, ways)
        self._persons = None
        if setting.unit.person is not None:
            setting.check_column(setting.unit.person)
            self._persons = Persons(self._owner, setting.schema, setting.unit.person, setting.seed + 1)
        self._noises: dict[Subset, Noise] = {}

    def amounts(self) -> list[float]:
        return [math.sqrt(self._best) * self._setting.unit.rows]

    def fund(self, parts: Sequence[Spend], delta: Fraction) -> None:  # noqa: ARG002
        for subset, share in self._shares.items():
            sizes = [self._sizes[name] for name in subset]
            spend = parts[0].part(Fraction(int(share * (1 << 40)), 1 << 40))
            self._noises[subset] = Noise.of(self._owner, spend, self._setting.unit.residual(sizes))

    @property
    def cost(self) -> Spend:
        return sum([noise.cost for noise in self._noises.values()], Spend())

    @property
    def columns(self) -> list[str]:
        return list(dict.fromkeys([*self._domains, *([] if self._persons is None else [self._persons.column])]))

    def start(self, rng: Rng, expected_rows: int | None) -> None:
        self._counts = {
            subset: np.zeros([self._sizes[name] for name in subset], np.int64)
            for subset in self._shares
            if len(subset) == self._ways
        }
        self._rows = None
        if self._persons is not None:
            self._rows = PersonRows(rng.child("bounding"), np.zeros(0, np.int64), expected_rows=expected_rows)

    def add(self, batch: pa.RecordBatch) -> None:
        codes = np.stack([keys.find(batch) for keys in self._keys])
        present = (codes >= 0).all(axis=0)
        if self._rows is None:
            self._count(codes[:, present], None)
            return
        assert self._persons is not None
        cells = np.zeros(batch.num_rows, np.int64)
        for row, size in zip(codes, self._sizes.values(), strict=True):
            cells = cells * size + np.maximum(row, 0)
        identities, absent = self._persons.read(batch)
        kept = present if absent is None else present & ~absent
        chosen = np.where(kept, cells, -1).astype(np.int32)
        self._rows.add(identities, chosen, np.empty((0, chosen.size), np.int32))

    def _count(self, codes: np.ndarray, times: np.ndarray | None) -> None:
        """Add rows, by the codes of all columns, to the tables of the largest subsets."""
        names = list(self._domains)
        for subset, table in self._counts.items():
            chosen = [codes[names.index(name)] for name in subset]
            flat = np.ravel_multi_index(chosen, table.shape) if chosen else np.zeros(codes.shape[1], np.int64)
            np.add.at(table.reshape(-1), flat, 1 if times is None else times)

    def _finish(self) -> None:
        if self._rows is None or self._persons is None:
            return
        found: list[tuple[np.ndarray, np.ndarray]] = []
        limits = Limits(1, self._setting.unit.rows, "rows")
        try:
            self._rows.bounded(
                limits, lambda _thread, kept, count: found.append((kept[:count, 0].copy(), kept[:count, 2].copy())),
                seeds=self._persons.seeds,
            )  # fmt: skip
        finally:
            self._rows.close()
        for cells, times in found:
            self._count(np.stack(np.unravel_index(cells, tuple(self._sizes.values()))), times)

    def _table(self, subset: Subset) -> np.ndarray:
        """The exact counts of a subset, from a larger one."""
        larger = next(one for one in self._counts if set(subset) <= set(one))
        axes = tuple(place for place, name in enumerate(larger) if name not in subset)
        return np.asarray(self._counts[larger].sum(axis=axes))

    def answer(self, rng: Rng) -> Answers:
        import pyarrow as pa

        self._finish()
        residuals: dict[Subset, np.ndarray] = {}
        variances: dict[Subset, float] = {}
        for subset, noise in self._noises.items():
            exact = contrast(self._table(subset), range(len(subset)))
            noisy = noise.add(exact.reshape(-1).astype(np.int64), rng.child(" ".join(subset) or "total"))
            scale = math.prod(self._sizes[name] for name in subset)
            residuals[subset] = project(noisy.reshape(exact.shape) / scale, range(len(subset)))
            variances[subset] = noise.variance / scale**2
        privacy = self._setting.privacy(self.cost)
        answers = {}
        for subset in self._shares:
            if not subset:
                continue
            shape = [self._sizes[name] for name in subset]
            values, variance = np.zeros(shape), 0.0
            for part in self._shares:
                if not set(part) <= set(subset):
                    continue
                spread = math.prod(self._sizes[name] for name in subset if name not in part)
                place = [self._sizes[name] if name in part else 1 for name in subset]
                values = values + residuals[part].reshape(place) / spread
                variance += variances[part] * residual_share(part, self._sizes) / spread**2
            cells = list(itertools.product(*(self._domains[name] for name in subset)))
            keys = pa.table({name: [cell[place] for cell in cells] for place, name in enumerate(subset)})
            flat = values.reshape(-1)
            errors = NormalErrors(flat, np.full(flat.size, math.sqrt(variance)))
            called = " × ".join(subset)
            answers[called] = Answer(called, flat, errors, privacy, keys)
        return Answers(self.name, answers, privacy)

    def explain(self, level: float) -> list[dict[str, Any]]:
        from statistics import NormalDist

        lines = []
        for subset in self._shares:
            if subset:
                variance = 0.0
                for part, noise in self._noises.items():
                    if set(part) <= set(subset):
                        spread = math.prod(self._sizes[name] for name in subset if name not in part)
                        scale = math.prod(self._sizes[name] for name in part)
                        variance += noise.variance / scale**2 * residual_share(part, self._sizes) / spread**2
                error = math.sqrt(variance)
                width = error * NormalDist().inv_cdf((1 + level) / 2)
                lines.append(
                    {"query": self.name, "answer": " × ".join(subset), "std_error": error, "half_width": width}
                )
        return lines

    def describe(self) -> dict[str, Any]:
        parts = [{"of": list(subset), **noise.describe()} for subset, noise in self._noises.items()]
        return {"query": self.name, "marginals": self._sizes, "ways": self._ways, "parts": parts}
