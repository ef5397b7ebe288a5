"""The best node of a generalization lattice: every node checked, or a search that skips only what cannot be better."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fastdp.anonymity.coding.codes import Codes, sort_values
from fastdp.anonymity.coding.grouping import Shares, lay_out, number_rows, weighted_entries
from fastdp.anonymity.generalization import Ladder
from fastdp.anonymity.loss import Loss
from fastdp.anonymity.requirements import Requirement, fitting
from fastdp.errors import ParameterError
from fastdp.kernels.classes.diversity import FIGURES
from fastdp.kernels.classes.rollup import (
    CLASSES,
    DISCERNIBILITY,
    DUMMIES,
    LOSS,
    RESULTS,
    SUPPRESSED,
    visit_lattice,
)
from fastdp.typing import Progress

MOST_NODES = 10**6
"""Nodes of a lattice that is checked as a whole."""
MOST_VISITS = 10**8
SLICE = 1 << 12
"""Nodes between two looks at signals and progress."""
BITS = 64


@dataclass(frozen=True, slots=True)
class Node:
    """A level for every column, and what it costs."""

    levels: tuple[int, ...]
    loss: float
    suppressed: int
    dummies: int
    classes: int


@dataclass(frozen=True, slots=True)
class Found:
    """Nodes that qualify, the best first, and how the search went."""

    nodes: list[Node]
    size: int
    """Nodes of the lattice."""
    visited: int
    qualifying: int | None
    """How many nodes qualify; None where some were skipped."""
    proven: bool


@dataclass(frozen=True)
class Problem:
    """Distinct rows, the ladders of their columns, and what is asked of every class."""

    ladders: Sequence[Ladder]
    weights: np.ndarray
    sensitive: Sequence[Codes]
    shares: Sequence[Shares]
    """Of each sensitive column."""
    requirement: Requirement
    loss: Loss
    most_suppressed: int
    most_dummies: int

    @property
    def rows(self) -> int:
        return int(self.weights.sum())

    def classes_at(self, levels: Sequence[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """The class of each distinct row at a node, a row of every class, class sizes, and which classes qualify."""
        columns = [ladder.at(level) for ladder, level in zip(self.ladders, levels, strict=True)]
        ids, first = number_rows(columns)
        sizes = np.bincount(ids, self.weights, first.size).astype(np.int64)
        fits = sizes >= self.requirement.k
        for secret, shares in zip(self.sensitive, self.shares, strict=True):
            fits &= fitting(weighted_entries(ids, first.size, secret, self.weights), shares, self.requirement)
        return ids, first, sizes, fits

    def assess(self, levels: Sequence[int]) -> tuple[float, int, int]:
        """The raw loss, suppressed rows and dummy records of one node, without the kernel of the search."""
        _, first, sizes, fits = self.classes_at(levels)
        penalty = np.zeros(first.size)
        for ladder, level, tables in zip(self.ladders, levels, self.loss.penalties, strict=True):
            penalty += tables[level][ladder.groups[level][ladder.column.codes[first]]]
        padded = padding(sizes, fits, self.requirement.k, self.most_dummies)
        lost, dummies = int(sizes[~fits & ~padded].sum()), int((self.requirement.k - sizes[padded]).sum())
        if self.loss.kind == DISCERNIBILITY:
            raw = float((sizes[fits].astype(float) ** 2).sum()) + lost * self.rows
            raw += int(padded.sum()) * self.requirement.k**2
        else:
            raw = float((penalty * sizes)[fits | padded].sum()) + lost + dummies
        return raw, lost, dummies


def released_fits(problem: Problem, levels: Sequence[int]) -> bool:
    """Whether the classes that a node keeps meet the requirement by the distribution of what is released, too.

    Closeness, beta and delta compare a class with the table, which is another one once rows are suppressed.
    """
    asked = problem.requirement
    if not problem.sensitive or (asked.t is None and asked.beta is None and asked.delta is None):
        return True
    ids, _, _, fits = problem.classes_at(levels)
    if fits.all():
        return True
    kept = fits[ids]
    renumbered = (np.cumsum(fits) - 1)[ids[kept]].astype(np.uint32)
    weights = problem.weights[kept]
    for one in problem.sensitive:
        secret, counts = sort_values(replace(one, codes=one.codes[kept]), weights)
        entries = weighted_entries(renumbered, int(fits.sum()), secret, weights)
        if not fitting(entries, Shares.of(counts), asked).all():
            return False
    return True


def padding(sizes: np.ndarray, fits: np.ndarray, k: int, most: int) -> np.ndarray:
    """Which classes below k are filled with dummy records: the largest, all of one size or none."""
    padded = np.zeros(sizes.size, bool)
    left = most
    for size in range(k - 1, 0, -1):
        these = ~fits & (sizes == size)
        cost = int(these.sum()) * (k - size)
        if not most or cost > left:
            break
        padded |= these
        left -= cost
    return padded


def search(problem: Problem, progress: Progress | None = None, most_nodes: int = MOST_NODES) -> Found:
    """The nodes that qualify, the best first; [] where none does."""
    order = sorted(range(len(problem.ladders)), key=lambda j: -problem.ladders[j].counts.size)
    size = math.prod(ladder.top + 1 for ladder in problem.ladders)
    if size >= 1 << 62:
        raise ParameterError("anonymize: the lattice has more than 2**62 nodes; give hierarchies of fewer levels")
    prune = size > most_nodes
    run = _Run(problem, order, prune, size)
    if prune:
        run.best[0] = _descend(problem)
    done = run.go(MOST_VISITS if prune else size, progress, None if prune else size)
    nodes = run.nodes_found(order)
    if prune:  # a node of the descent may be the best one; the search must beat it to keep another
        nodes = nodes or [_as_node(problem, _lowest(problem))]
        nodes = [node for node in nodes if node.suppressed <= problem.most_suppressed]
    return Found(nodes, size, int(run.state[3]), None if prune else len(nodes), bool(done))


def _as_node(problem: Problem, levels: Sequence[int]) -> Node:
    raw, lost, dummies = problem.assess(levels)
    *_, fits = problem.classes_at(levels)
    return Node(tuple(levels), problem.loss.scaled(raw), lost, dummies, int(fits.sum()))


def _lowest(problem: Problem) -> list[int]:
    """From the top down, one level at a time: where the loss falls most while the node still qualifies."""
    levels = [ladder.top for ladder in problem.ladders]
    raw, lost, _ = problem.assess(levels)
    while True:
        tried = []
        for j, level in enumerate(levels):
            if level:
                lower = [*levels[:j], level - 1, *levels[j + 1 :]]
                cost, suppressed, _ = problem.assess(lower)
                if suppressed <= problem.most_suppressed and (cost < raw or lost > problem.most_suppressed):
                    tried.append((cost, suppressed, lower))
        if not tried:
            return levels
        raw, lost, levels = min(tried)


def _descend(problem: Problem) -> float:
    """A loss that the search must beat: just above that of a node found by descent."""
    raw, lost, _ = problem.assess(_lowest(problem))
    return math.nextafter(raw, math.inf) if lost <= problem.most_suppressed else math.inf


class _Run:
    """The memory of a search, laid out as its kernel wants it."""

    def __init__(self, problem: Problem, order: Sequence[int], prune: bool, size: int) -> None:
        ladders = [problem.ladders[j] for j in order]
        self.problem, self.prune = problem, prune
        columns, count = len(ladders), problem.weights.size
        coded = [(ladder.column.codes, ladder.counts.size) for ladder in ladders]
        coded += [(secret.codes, secret.size) for secret in problem.sensitive]
        self.fields = _place_fields([size for _, size in coded])
        self.words = np.zeros((columns + 1, 2, count), np.uint64)
        for (codes, _), (word, shift, _) in zip(coded, self.fields, strict=True):
            self.words[0, word] |= codes.astype(np.uint64) << np.uint64(shift)
        self.weights = np.empty((columns + 1, count), np.int64)
        self.weights[0] = problem.weights
        self.sensitive = self.fields[columns:]
        masks = np.zeros((columns, 2), np.uint64)
        masks[np.arange(columns), self.fields[:columns, 0]] = [
            np.uint64(mask) << np.uint64(shift) for _, shift, mask in self.fields[:columns]
        ]
        self.prefixes = np.bitwise_or.accumulate(masks, axis=0)
        self.tops = np.array([ladder.top for ladder in ladders], np.int64)
        self.offsets, self.maps, self.penalties = _lay_out(ladders, [problem.loss.penalties[j] for j in order])
        self.floors = np.ascontiguousarray(problem.loss.floors[list(order)])
        places = 16
        while places < 2 * count + 1:
            places *= 2
        self.table = np.zeros((places, 2), np.int64)
        self.best = np.array([math.inf])
        self.state = np.array([-1, 0, 0, 0], np.int64)
        kept = 1 if prune else size
        self.nodes, self.results = np.empty(kept, np.int64), np.empty((kept, RESULTS))
        values = count if problem.sensitive or prune else 1
        asked = problem.requirement
        low, high = asked.limits()
        known, shares = lay_out(problem.shares)
        kept_bits = np.full(2, ~np.uint64(0))
        for word, shift, mask in self.sensitive.tolist():
            kept_bits[word] &= ~(np.uint64(mask) << np.uint64(shift))
        self.arguments = (
            self.words, self.weights, np.zeros(columns + 1, np.int64), np.array([count] + [0] * columns, np.int64),
            np.zeros(columns, np.int64), self.tops, self.fields[:columns], self.prefixes, self.offsets, self.maps,
            self.penalties, self.floors, problem.loss.kind, problem.rows, asked.k, problem.most_dummies,
            problem.most_suppressed, self.sensitive, kept_bits, low, high, asked.depth, known, shares, prune, self.best,
        )  # fmt: skip
        self.room = (
            self.table, np.empty((2, values), np.uint64), np.empty(values, np.int64), np.empty(values, np.int64),
            np.empty(values, np.int64), np.empty(values, np.int64), np.empty(values, np.int64),
            np.zeros(asked.k, np.int64), np.zeros(asked.k), np.empty(max(asked.depth, 1), np.int64), np.empty(FIGURES),
            np.empty(RESULTS), self.state, self.nodes, self.results,
        )  # fmt: skip

    def go(self, budget: int, progress: Progress | None, total: int | None) -> bool:
        """Visit nodes until all are done or the budget is; signals are seen between slices."""
        done = False
        while not done and self.state[3] < budget:
            done = bool(visit_lattice(*self.arguments, min(SLICE, budget - int(self.state[3])), *self.room))
            if progress is not None:
                progress(int(self.state[3]), total)
        return done

    def nodes_found(self, order: Sequence[int]) -> list[Node]:
        """The nodes kept, the best first, their levels in the caller's order of columns."""
        kept = int(self.state[2])
        ranked = np.argsort(self.results[:kept, LOSS], kind="stable")
        digits = np.empty((kept, self.tops.size), np.int64)
        numbers = self.nodes[:kept].copy()
        for j in range(self.tops.size - 1, -1, -1):
            numbers, digits[:, order[j]] = np.divmod(numbers, self.tops[j] + 1)
        return [
            Node(
                tuple(digits[i].tolist()),
                self.problem.loss.scaled(float(self.results[i, LOSS])),
                int(self.results[i, SUPPRESSED]),
                int(self.results[i, DUMMIES]),
                int(self.results[i, CLASSES]),
            )
            for i in ranked.tolist()
        ]


def _place_fields(sizes: Sequence[int]) -> np.ndarray:
    """The word, shift and mask of every column's field; no field crosses from one word to the other."""
    used, fields = [0, 0], []
    for size in sizes:
        bits = max(1, (size - 1).bit_length())
        word = 0 if used[0] + bits <= BITS else 1
        if used[word] + bits > BITS:
            raise ParameterError(
                "anonymize: the columns need more than 128 bits; leave some out, or use method='mondrian'"
            )
        fields.append((word, used[word], (1 << bits) - 1))
        used[word] += bits
    return np.array(fields, np.int64)


def _lay_out(
    ladders: Sequence[Ladder], penalties: Sequence[Sequence[np.ndarray]]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps and penalties of all columns and levels one after another, and where each begins."""
    offsets = np.zeros((len(ladders), max(ladder.top for ladder in ladders) + 1), np.int64)
    maps, costs, place = [], [], 0
    for j, ladder in enumerate(ladders):
        for level, cost in enumerate(penalties[j]):
            offsets[j, level] = place
            maps.append(ladder.steps[level] if level < ladder.top else np.zeros(cost.size, np.int64))
            costs.append(cost)
            place += cost.size
    return offsets, np.concatenate(maps), np.concatenate(costs)
