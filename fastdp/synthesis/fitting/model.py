"""A graphical model: the distributions of the cliques of a junction tree, which agree on what they share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastdp.synthesis.fitting.axes import Columns, axes
from fastdp.synthesis.fitting.trees import Tree

TINY = 1e-300


def infer(tree: Tree, potentials: Sequence[np.ndarray]) -> tuple[list[np.ndarray], float]:
    """The distributions of all cliques under these log-potentials, and the logarithm of their sum.

    Two passes of messages: from the leaves in logarithms, from the root by the ratio of what parent and child have for
    their separator.
    """
    work = [table.copy() for table in potentials]
    sums: list[Any] = [None] * len(work)
    total = 0.0
    for number in reversed(range(len(work))):
        table, parent = work[number], tree.parents[number]
        top = float(table.max())
        table -= top
        np.exp(table, out=table)
        if parent < 0:
            weight = float(table.sum())
            table /= weight
            total = top + math.log(weight)
            continue
        clique, separator = tree.cliques[number], tree.separators[number]
        found = sums[number] = axes(clique, separator, tree.sizes).sum(table)
        message = np.log(np.maximum(found, TINY)) + top
        axes(tree.cliques[parent], separator, tree.sizes).add(message, work[parent])
    for number in range(1, len(work)):
        parent, separator = tree.parents[number], tree.separators[number]
        target = axes(tree.cliques[parent], separator, tree.sizes).sum(work[parent])
        ratio = np.divide(target, sums[number], out=np.zeros_like(target), where=sums[number] > 0)
        axes(tree.cliques[number], separator, tree.sizes).multiply(ratio, work[number])
    return work, total


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The distribution of each clique of the tree, and the number of rows that all of them are of."""

    tree: Tree
    tables: list[np.ndarray]
    rows: float

    def potentials(self, tree: Tree, forbidden: Sequence[np.ndarray | None]) -> list[np.ndarray]:
        """Log-potentials on another tree whose cliques hold this one's; -1e6 and less where forbidden."""
        made = [np.zeros(math.prod(tree.sizes[c] for c in clique)) for clique in tree.cliques]
        for number, clique in enumerate(self.tree.cliques):
            place = tree.holder(clique)
            if place is None:
                continue
            own = np.log(np.maximum(self.tables[number], TINY))
            separator = self.tree.separators[number]
            if separator:
                shared = axes(clique, separator, tree.sizes)
                shared.add(np.log(np.maximum(shared.sum(self.tables[number]), TINY)), own, -1.0)
            axes(tree.cliques[place], clique, tree.sizes).add(own, made[place])
        for number, mask in enumerate(forbidden):
            np.maximum(made[number], -600.0, out=made[number])  # a cell that is empty by chance may come back
            if mask is not None:
                made[number] += mask
        return made

    def marginal(self, subset: Columns) -> np.ndarray:
        """The distribution of some columns, flat."""
        tree = self.tree
        holder = tree.holder(subset)
        if holder is not None:
            return axes(tree.cliques[holder], subset, tree.sizes).sum(self.tables[holder])
        found, columns = _Elimination(self, subset).run()
        return np.ascontiguousarray(np.transpose(found, np.argsort(columns))).reshape(-1)

    def below(self) -> list[set[int]]:
        """The columns of each clique and all cliques under it."""
        found = [set(clique) for clique in self.tree.cliques]
        for number in reversed(range(1, len(found))):
            found[self.tree.parents[number]] |= found[number]
        return found


class _Elimination:
    """A marginal over several cliques: each one's conditional distribution, times what is below it, summed."""

    def __init__(self, model: Model, subset: Iterable[int]) -> None:
        self._model, self._wanted, self._below = model, set(subset), model.below()
        self._children: list[list[int]] = [[] for _ in model.tables]
        for number, parent in enumerate(model.tree.parents):
            if parent >= 0:
                self._children[parent].append(number)

    def run(self) -> tuple[np.ndarray, list[int]]:
        start = 0
        while True:
            lower = [child for child in self._children[start] if self._wanted <= self._below[child]]
            if not lower:
                return self._collect(start, ())
            start = lower[0]

    def _collect(self, number: int, given: Columns) -> tuple[np.ndarray, list[int]]:
        """p(wanted columns below | given), as an array and its columns."""
        tree, sizes = self._model.tree, self._model.tree.sizes
        clique = tree.cliques[number]
        parts = []
        needed = set(given) | self._wanted & set(clique)
        for child in self._children[number]:
            if (self._wanted & self._below[child]) - set(clique):
                parts.append(self._collect(child, tree.separators[child]))
                needed |= set(tree.separators[child])
        kept = tuple(column for column in clique if column in needed)
        table = axes(clique, kept, sizes).sum(self._model.tables[number])
        if given:
            shared = axes(kept, given, sizes)
            total = shared.sum(table)
            shared.multiply(np.divide(1.0, total, out=np.zeros_like(total), where=total > 0), table)
        found, columns = table.reshape([sizes[c] for c in kept]), list(kept)
        wanted = set(given) | self._wanted
        for place, (other, names) in enumerate(parts):
            later = {c for _, more in parts[place + 1 :] for c in more}
            result = [c for c in dict.fromkeys([*columns, *names]) if c in wanted or c in later]
            found = np.einsum(found, columns, other, names, result)
            columns = result
        return found, columns
