"""Objective and output perturbation of a strongly convex problem, for losses of one margin per record.

The objective is sum_i loss(y_i <w, x_i>) + penalty / 2 |w|**2, with |x_i| <= 1, |loss'| <= 1 and loss'' <= 1/4.

*Output.* Adding a record moves the minimum by at most 1 / penalty. The solver stops where the gradient is below a
tolerance, which moves it by tolerance / penalty; noise is for one plus twice the other.

*Objective.* <b, w> is added, b Gaussian of scale sigma, or geometric for pure DP. The density of the minimum w has
the factor det H(w), which one record changes by at most ln(1 + 1 / (4 penalty)), and that of b at -gradient(w), which
one record x moves by s x, |s| <= 1: the logarithm changes by at most (|<b, x>| + 1/2) / sigma**2, where <b, x> /
sigma is a standard normal number or less. So it exceeds epsilon - ln(1 + 1 / (4 penalty)) with probability delta at
the most if sigma solves 2 P(N > epsilon' sigma - 1 / (2 sigma)) = delta. Geometric steps spread evenly over their
cells of the grid have a density that changes at the edges of cells alone: s x, of an L1 norm of at most sqrt(d),
crosses at most sqrt(d) / grid + d of them, and that is their sensitivity. What the solver leaves over, and the grid
of b, is hidden by output noise for twice what they move the minimum by, from one hundredth of the budget.
[Chaudhuri, Monteleoni, Sarwate 2011; Kifer, Smith, Thakurta 2012; Iyengar et al. 2019]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from fastdp.errors import ParameterError
from fastdp.learning.noisy_descent import Budget
from fastdp.mechanisms.central.discrete_gaussian import DiscreteGaussian
from fastdp.mechanisms.central.geometric import Geometric
from fastdp.random.rng import Rng

SMOOTHNESS = 0.25
GRID_BITS = 20
SOLVER_SHARE = 0.01
"""Of epsilon and of delta, for what the solver leaves over."""
DETERMINANT_SHARE = 1 / 64
"""Of epsilon, for what a record changes the determinant by, where no penalty is given."""
SPARE = 1e-9
"""Of delta, for the draws' distance from their law; and of epsilon, for the rounding of formulas."""


@dataclass(frozen=True, slots=True)
class Margins:
    """Rows of the unit ball and signs: what the logistic loss is a function of."""

    rows: np.ndarray
    signs: np.ndarray

    def gradient(self, weights: np.ndarray, penalty: float, linear: np.ndarray) -> np.ndarray:
        """Of the objective, with the linear term added."""
        pulls = -self.signs / (1 + np.exp(np.minimum(self.signs * (self.rows @ weights), 700.0)))
        return np.asarray(self.rows.T @ pulls + penalty * weights + linear)

    def hessian(self, weights: np.ndarray, penalty: float) -> np.ndarray:
        """Of the objective."""
        share = 1 / (1 + np.exp(-np.abs(self.rows @ weights)))
        return np.asarray((self.rows.T * (share * (1 - share))) @ self.rows + penalty * np.eye(weights.size))

    def tolerance(self, coordinates: int) -> float:
        """A norm of the gradient that Newton's method reaches, and twice what its sum of n terms is rounded by."""
        count = len(self.signs)
        return 1e-6 + 4 * (count + coordinates) * 2.0**-52 * count * math.sqrt(coordinates)

    def solve(self, penalty: float, linear: np.ndarray) -> np.ndarray:
        """The minimum, by Newton's method with halved steps: its gradient is below the tolerance."""
        weights = np.zeros(linear.size)
        aim = self.tolerance(linear.size)
        gradient = self.gradient(weights, penalty, linear)
        for _ in range(200):
            size = float(np.linalg.norm(gradient))
            if size <= aim / 2:
                return weights
            step = np.linalg.solve(self.hessian(weights, penalty), gradient)
            length = 1.0
            while length > 1e-9:
                moved = weights - length * step
                after = self.gradient(moved, penalty, linear)
                if np.linalg.norm(after) < size:
                    break
                length /= 2
            weights, gradient = moved, after
        return weights * 0  # never reached on finite data; a constant is private whatever the data are


def perturb_output(data: Margins, budget: Budget, penalty: float, rng: Rng) -> np.ndarray:
    """The minimum with noise for its sensitivity; geometric for a pure budget."""
    size = data.rows.shape[1]
    weights = data.solve(penalty, np.zeros(size))
    shift = (1 + 2 * data.tolerance(size)) / penalty
    return add_noise(weights, shift, budget, rng)


def perturb_objective(data: Margins, budget: Budget, penalty: float, rng: Rng) -> np.ndarray:
    """The minimum of the objective with a random linear term; what the solver left over is hidden."""
    size = data.rows.shape[1]
    epsilon = budget.epsilon * (1 - SOLVER_SHARE - SPARE) - math.log1p(SMOOTHNESS / penalty)
    if epsilon <= 0:
        raise ParameterError(
            "LogisticRegression: objective perturbation needs a regularization above "
            f"{objective_penalty(budget, 0.9):.6g} for this epsilon; give more, or use another method"
        )
    noise, grid = draw_linear_term(epsilon, budget.delta * (1 - SOLVER_SHARE - SPARE), size, rng)
    weights = data.solve(penalty, noise)
    left_over = 2 * (data.tolerance(size) + grid * math.sqrt(size)) / penalty
    return add_noise(weights, left_over, Budget(budget.epsilon * SOLVER_SHARE, budget.delta * SOLVER_SHARE), rng)


def draw_linear_term(epsilon: float, delta: float, size: int, rng: Rng) -> tuple[np.ndarray, float]:
    """The noise b of the objective, and the grid that it lies on; geometric where delta is 0."""
    sigma = smallest_objective_sigma(epsilon, delta) if delta else 1 / epsilon
    grid = 2.0 ** (math.floor(math.log2(sigma)) - GRID_BITS)
    mechanism: DiscreteGaussian | Geometric
    if delta:
        mechanism = DiscreteGaussian(scale=sigma / grid + 1, sensitivity=1)
    else:
        mechanism = Geometric(epsilon=epsilon, sensitivity=math.ceil(math.sqrt(size) / grid) + size)
    return np.asarray(mechanism.randomize(np.zeros(size, np.int64), rng=rng)) * grid, grid


def output_penalty(budget: Budget, coordinates: int) -> float:
    """The penalty at which the noise of the minimum has a norm of about 1, the order of the weights."""
    if budget.delta:
        return budget.ratio * math.sqrt(coordinates)
    return math.sqrt(2) * coordinates / budget.epsilon


def objective_penalty(budget: Budget, share: float = DETERMINANT_SHARE) -> float:
    """The penalty at which the determinant takes a share of epsilon."""
    return SMOOTHNESS / math.expm1(min(budget.epsilon, 100.0) * share)


def smallest_objective_sigma(epsilon: float, delta: float) -> float:
    """The sigma with 2 P(N > epsilon sigma - 1 / (2 sigma)) = delta, rounded up: the root of a quadratic.

    >>> sigma = smallest_objective_sigma(1.0, 1e-6)
    >>> round(2 * (1 - NormalDist().cdf(sigma - 1 / (2 * sigma))) / 1e-6, 6)
    1.0
    """
    edge = -NormalDist().inv_cdf(delta / 2) * (1 + 1e-12)
    return (edge + math.sqrt(edge * edge + 2 * epsilon)) / (2 * epsilon) * (1 + 1e-9)


def add_noise(weights: np.ndarray, shift: float, budget: Budget, rng: Rng) -> np.ndarray:
    """Weights on a grid with noise for a move by ``shift`` in L2; rounding to the grid is part of the move."""
    grid = 2.0 ** (math.floor(math.log2(shift)) - GRID_BITS)
    steps = math.ceil(shift / grid * (1 + 1e-12)) + math.isqrt(weights.size) + 1
    exact = np.rint(weights / grid).astype(np.int64)
    mechanism: DiscreteGaussian | Geometric
    if budget.delta:
        mechanism = DiscreteGaussian(scale=budget.ratio * steps, sensitivity=steps)
    else:
        mechanism = Geometric(epsilon=budget.epsilon, sensitivity=math.isqrt(steps**2 * weights.size) + 1)
    return np.asarray(mechanism.randomize(exact, rng=rng)) * grid
