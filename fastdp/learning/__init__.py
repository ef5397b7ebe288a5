"""Learning with noise on gradients, weights and federated sums: exact on integer grids, and accounted for.

Estimators need scikit-learn and optimizers torch; both are loaded when they are first used.
"""

from fastdp.learning.gradient_sum import GradientSum
from fastdp.learning.sampling import poisson_sample
from fastdp.learning.training import Training, pay_for_training, train, training_cost

__all__ = ["GradientSum", "Training", "pay_for_training", "poisson_sample", "train", "training_cost"]
