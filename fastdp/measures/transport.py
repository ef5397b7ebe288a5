"""Optimal transport between two finite distributions, by a linear program."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fastdp import optional
from fastdp.errors import FastDPError, ParameterError

LARGEST_NETWORK = 30_000_000
"""Pairs for the network simplex of POT; 1.5 GB."""
LARGEST_PROGRAM = 200_000
"""Pairs for scipy's solver; 2 s."""
PIVOTS = 10**9

Costs = Callable[[np.ndarray, np.ndarray], np.ndarray]


def least_cost(owner: str, p: np.ndarray, q: np.ndarray, costs: Costs) -> float:
    """The least cost of carrying p to q; ``costs`` gives those between some places of p and some of q."""
    gives, takes = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    if not gives.size or not takes.size:
        return 0.0
    mass = float(p.sum())
    supply, demand = p[gives] / mass, q[takes] / q[takes].sum()
    pairs = gives.size * takes.size
    network = optional.is_installed("ot") or not optional.is_installed("scipy")
    largest = LARGEST_NETWORK if network else LARGEST_PROGRAM
    if pairs > largest:
        raise ParameterError(f"{owner}: {pairs} pairs of values {_way_out(largest, network=network)}")
    solve = _by_network if network else _by_program
    return mass * solve(owner, supply, demand, np.ascontiguousarray(costs(gives, takes)))


def _way_out(largest: int, *, network: bool) -> str:
    if network:
        return f"are too many, at most {largest} fit; use coarser cells, or positions on a line"
    return f"are too many for scipy, at most {largest} fit; install POT: pip install 'fastdp[transport]'"


def _by_network(owner: str, supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    ot = optional.load(owner, "ot", extra="transport")
    value, log = ot.emd2(supply, demand, cost, numItermax=PIVOTS, log=True)
    if log["warning"] is not None:
        raise FastDPError(f"{owner}: the optimal transport solver stopped early: {log['warning']}")
    return float(value)


def _by_program(owner: str, supply: np.ndarray, demand: np.ndarray, cost: np.ndarray) -> float:
    sparse = optional.load(owner, "scipy.sparse", extra="transport")
    linprog = optional.load(owner, "scipy.optimize", extra="transport").linprog
    rows = sparse.kron(sparse.eye_array(supply.size), np.ones((1, demand.size)))
    columns = sparse.kron(np.ones((1, supply.size)), sparse.eye_array(demand.size))
    equal = sparse.vstack([rows, columns], format="csr")[:-1]  # the last follows from the others
    result = linprog(cost.reshape(-1), A_eq=equal, b_eq=np.concatenate([supply, demand])[:-1], method="highs")
    if not result.success:
        raise FastDPError(f"{owner}: the linear program was not solved: {result.message}")
    return float(result.fun)
