# %% [markdown]
# # Kairouz, Bonawitz, Ramage 2016: discrete distribution estimation with k-RR
#
# *Discrete Distribution Estimation under Local Privacy*, ICML 2016. The expected squared error of k-RR and of
# k-RAPPOR (symmetric unary encoding) on the uniform distribution: k-RR wins at low privacy, RAPPOR at high privacy
# and many values.

# %%
import math

import numpy as np
from matplotlib import pyplot as plt

import fastdp as fd

n, k = 2000, 16
rng = fd.Rng.unsafe_seed(2)
epsilons = np.array([0.5, 1.0, 2.0, 3.0, 4.0, 5.0])
truth = np.arange(n) % k


def total_error(mechanism, rounds=20):
    shares = [mechanism.estimate(mechanism.randomize(truth, rng=rng)).frequencies for _ in range(rounds)]
    return np.mean([((found - 1 / k) ** 2).sum() for found in shares])


made = {
    "k-RR": [fd.KRR(epsilon=e, domain=k) for e in epsilons],
    "k-RAPPOR": [fd.UnaryEncoding(epsilon=e, domain=k, optimized=False) for e in epsilons],
}
axes = plt.subplots()[1]
for name, line in made.items():
    expected = [k * one.variance(n, 1 / k) for one in line]
    measured = [total_error(one) for one in line]
    assert np.allclose(measured, expected, rtol=4.5 * math.sqrt(2 / (20 * (k - 1))))
    (drawn,) = axes.semilogy(epsilons, expected, label=name)
    axes.semilogy(epsilons, measured, "o", color=drawn.get_color())
axes.set(xlabel="epsilon", ylabel="expected squared error")
axes.legend()

# %% [markdown]
# The channel of k-RR, and its optimality in both regimes: the paper's p = e^epsilon / (e^epsilon + k - 1).

# %%
for mechanism, epsilon in zip(made["k-RR"], epsilons):
    assert math.isclose(mechanism.p, math.exp(epsilon) / (math.exp(epsilon) + k - 1), rel_tol=1e-5)
low, high = 0, len(epsilons) - 1
assert made["k-RR"][low].variance(n) > made["k-RAPPOR"][low].variance(n)
assert made["k-RR"][high].variance(n) < made["k-RAPPOR"][high].variance(n)
