"""The best mechanism for a prior and a loss among all that are epsilon-DP on a graph, by linear programming."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog


def path(size):
    """The graph of a counting query: one person moves the count by one."""
    return [(x, x + 1) for x in range(size - 1)]


def cycle(size):
    return [*path(size), (0, size - 1)]


def sums(size, most):
    """The graph of a sum: one person moves it by ``most`` or less."""
    return [(x, y) for x in range(size) for y in range(x + 1, size) if y - x <= most]


def cost(prior, loss):
    """What a guess costs for each input, inputs by guesses; ``loss`` has a row per guess."""
    return (np.asarray(loss) * prior).T


def least_cost(edges, epsilon, costs):
    """The least sum of costs[x, y] C[x, y] over channels with C[x, y] <= e**epsilon C[z, y] for all edges (x, z)."""
    inputs, outputs = costs.shape
    pairs = [*edges, *((z, x) for x, z in edges)]
    ratio = np.zeros((len(pairs), inputs))
    for number, (x, z) in enumerate(pairs):
        ratio[number, x], ratio[number, z] = 1.0, -np.exp(epsilon)
    private = sparse.kron(sparse.csr_array(ratio), sparse.eye_array(outputs), format="csr")
    stochastic = sparse.kron(sparse.eye_array(inputs), np.ones((1, outputs)), format="csr")
    result = linprog(
        costs.ravel(), A_ub=private, b_ub=np.zeros(private.shape[0]), A_eq=stochastic, b_eq=np.ones(inputs),
        method="highs", options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    assert result.success, result.message
    return result.fun


def least_cost_for_both(edges, epsilon, one, other):
    """The least sum of two users' costs when both read the same output, each with a remap of their own.

    A channel and two remaps, random ones too, amount to a channel that tells each user what to guess: its outputs are
    pairs of guesses, and it is as private. So this program covers every mechanism there is.
    """
    both = one[:, :, None] + other[:, None, :]
    return least_cost(edges, epsilon, both.reshape(one.shape[0], -1))
