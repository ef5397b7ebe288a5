"""Linkage on graphs: a neighbourhood is a name. [Hay et al. 2008; Narayanan, Shmatikov 2009]"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastdp import validation
from fastdp.attacks.attack import Attack
from fastdp.attacks.keys import number
from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.splitmix import splitmix
from fastdp.typing import Matrix

OWNER = "attacks.topology"
DEFENCE = "statistics of the graph with edge- or node-level noise, instead of the graph without names"


def topology(
    release: Matrix | Callable[[np.ndarray], Matrix], known: Matrix | None = None, *, rounds: int = 3,
    records: Matrix | None = None,
) -> Attack:  # fmt: skip
    """The share of nodes of an unnamed graph that their neighbourhood identifies.

    Nodes are coloured by their degree, then again and again by the colours of their neighbours; a colour that one node
    of either graph has names it. Numbers of nodes are the truth, and tell whether a match is right.

    Parameters
    ----------
    release
        The edges of the published graph: two columns of node numbers. Or a callable that takes the true edges and
        returns those that are published, of the same node numbers.
    known
        The edges of a graph with names, such as another network of the same people; the same graph by default; for a
        callable the true one.
    rounds
        How often neighbours' colours are added.
    records
        The true edges, for a callable.

    >>> topology([[0, 1], [1, 2], [2, 3], [1, 3], [3, 4], [4, 5]]).success
    1.0
    """
    rounds = validation.positive_integer(OWNER, "rounds", rounds)
    if callable(release):
        if records is None:
            raise ParameterError(f"{OWNER}: a callable release needs records, the true edges that it is given")
        true = _edges("records", records)
        release, known = release(true.copy()), true if known is None else known
    edges = _edges("release", release)
    others = edges if known is None else _edges("known", known)
    n = int(max(edges.max(), others.max())) + 1
    colours = [np.zeros(n, np.int64), np.zeros(n, np.int64)]
    shares: list[float] = []
    for step in range(rounds + 1):
        spread = [_spread(graph, n, colour, step) for graph, colour in zip((edges, others), colours, strict=True)]
        both = number(np.concatenate(spread))
        colours = [both[:n], both[n:]]
        shares.append(_matched(colours, edges))
    return Attack(
        "topology", "nodes named", shares[-1], shares[0], 1 / n, int(np.unique(edges).size),
        "by their degree alone, which the first round has,", DEFENCE, {"rounds": [round(share, 6) for share in shares]},
    )  # fmt: skip


def _spread(edges: np.ndarray, n: int, colours: np.ndarray, step: int) -> np.ndarray:
    """A node's colour and the multiset of its neighbours' colours, hashed to 64 bits."""
    a, b = edges.T
    if step == 0:
        return np.bincount(np.concatenate([a, b]), minlength=n).astype(np.int64)
    with np.errstate(over="ignore"):
        mixed = splitmix(colours.astype(np.uint64))
        sums = mixed * np.uint64(3)
        np.add.at(sums, a, mixed[b])
        np.add.at(sums, b, mixed[a])
        return splitmix(sums).view(np.int64)


def _matched(colours: list[np.ndarray], edges: np.ndarray) -> float:
    """The share of nodes with an edge whose colour is theirs alone in both graphs, and the same in both."""
    present = np.unique(edges)
    top = int(max(part.max() for part in colours)) + 1
    sizes = [np.bincount(part, minlength=top) for part in colours]
    mine = colours[0][present]
    alone = (sizes[0][mine] == 1) & (sizes[1][mine] == 1) & (colours[1][present] == mine)
    return float(alone.mean())


def _edges(name: str, given: Matrix) -> np.ndarray:
    edges = np.asarray(given)
    if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu" or not edges.size:
        raise SchemaError(f"{OWNER}: {name} must be two columns of node numbers, one row per edge")
    if edges.min() < 0 or edges.max() > 1 << 31:
        raise ParameterError(f"{OWNER}: {name} must number nodes from 0 to 2**31")
    return edges.astype(np.int64)
