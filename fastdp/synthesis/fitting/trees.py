"""Junction trees: cliques of columns that hold all modelled marginals, joined so that they can agree."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fastdp.synthesis.fitting.axes import Columns


@dataclass(frozen=True, slots=True)
class Tree:
    """Cliques, parents before children; what each shares with its parent; -1 is the root's parent."""

    sizes: tuple[int, ...]
    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]
    separators: tuple[Columns, ...]

    @property
    def cells(self) -> int:
        """The cells of all cliques."""
        return sum(math.prod(self.sizes[column] for column in clique) for clique in self.cliques)

    def holder(self, subset: Iterable[int]) -> int | None:
        """The smallest clique that holds these columns, None if no clique does."""
        wanted = set(subset)
        found = [number for number, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(found, key=lambda number: math.prod(self.sizes[c] for c in self.cliques[number]), default=None)


def neighbours(count: int, subsets: Iterable[Columns]) -> list[int]:
    """For each column, the columns that some subset joins it with, as the bits of a number."""
    joined = [0] * count
    for subset in subsets:
        mask = sum(1 << column for column in subset)
        for column in subset:
            joined[column] |= mask & ~(1 << column)
    return joined


def eliminate(sizes: Sequence[int], joined: Sequence[int]) -> list[int]:
    """The maximal cliques of a triangulation, as bits: the column whose clique has fewest cells goes first."""
    graph = list(joined)
    logs = [math.log(size) for size in sizes]

    def weight(column: int) -> float:
        total, rest = logs[column], graph[column]
        while rest:
            low = rest & -rest
            total += logs[low.bit_length() - 1]
            rest ^= low
        return total

    weights = {column: weight(column) for column in range(len(sizes))}
    cliques: list[int] = []
    while weights:
        column = min(weights, key=weights.__getitem__)
        del weights[column]
        clique = graph[column] | 1 << column
        rest = graph[column]
        while rest:
            low = rest & -rest
            other = low.bit_length() - 1
            graph[other] = (graph[other] | clique) & ~(1 << column) & ~low
            rest ^= low
        rest = graph[column]
        while rest:
            low = rest & -rest
            other = low.bit_length() - 1
            weights[other] = weight(other)
            rest ^= low
        if not any(clique & ~known == 0 for known in cliques):
            cliques.append(clique)
    return cliques


def model_cells(sizes: Sequence[int], subsets: Iterable[Columns]) -> int:
    """The cells of all cliques of a model with these marginals."""
    cliques = eliminate(sizes, neighbours(len(sizes), subsets))
    return sum(math.prod(sizes[c] for c in columns_of(clique)) for clique in cliques)


def columns_of(mask: int) -> Columns:
    """The columns that the bits of a number stand for."""
    return tuple(place for place in range(mask.bit_length()) if mask >> place & 1)


def build_tree(sizes: Sequence[int], subsets: Iterable[Columns]) -> Tree:
    """The junction tree of a model with these marginals: the spanning tree with the largest separators."""
    masks = eliminate(sizes, neighbours(len(sizes), subsets))
    cliques = [columns_of(mask) for mask in masks]
    placed, parents = [0], {0: -1}
    separators: dict[int, Columns] = {0: ()}
    best = {number: (_shared(masks, number, 0, sizes), 0) for number in range(1, len(cliques))}
    while best:
        number = max(best, key=lambda one: (best[one][0], -one))
        _, parent = best.pop(number)
        parents[number], separators[number] = parent, columns_of(masks[number] & masks[parent])
        placed.append(number)
        for other in best:
            shared = _shared(masks, other, number, sizes)
            if shared > best[other][0]:
                best[other] = shared, number
    order = {number: place for place, number in enumerate(placed)}
    return Tree(
        tuple(sizes),
        tuple(cliques[number] for number in placed),
        tuple(order.get(parents[number], -1) for number in placed),
        tuple(separators[number] for number in placed),
    )


def _shared(masks: Sequence[int], one: int, other: int, sizes: Sequence[int]) -> tuple[int, float]:
    common = columns_of(masks[one] & masks[other])
    return len(common), sum(math.log(sizes[column]) for column in common)
