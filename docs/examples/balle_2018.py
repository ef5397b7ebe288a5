# %% [markdown]
# # Balle and Wang 2018: the analytic Gaussian mechanism
#
# *Improving the Gaussian Mechanism for Differential Privacy*, ICML 2018. Sigma by epsilon, of the exact calibration
# and of the classic formula sqrt(2 ln(1.25 / delta)) / epsilon, which holds up to epsilon 1 and wastes noise.

# %%
import math

import numpy as np
from matplotlib import pyplot as plt

import fastdp as fd

delta = 1e-5
epsilons = np.geomspace(0.1, 10, 13)
exact = [math.sqrt(fd.Gaussian(epsilon=float(e), delta=delta, sensitivity=1.0).variance) for e in epsilons]
classic = np.sqrt(2 * np.log(1.25 / delta)) / epsilons
axes = plt.subplots()[1]
axes.loglog(epsilons, exact, label="analytic")
axes.loglog(epsilons[epsilons <= 1], classic[epsilons <= 1], label="classic")
axes.set(xlabel="epsilon", ylabel="sigma")
axes.legend()
assert (np.array(exact)[epsilons <= 1] < classic[epsilons <= 1]).all()

# %% [markdown]
# Reference values, and the defining equation: delta = Phi(1/(2 sigma) - epsilon sigma) - e^epsilon Phi(-1/(2 sigma) -
# epsilon sigma).

# %%
phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2
for epsilon, d, sigma in ((1, 1e-5, 3.73063163), (1, 1e-6, 4.22467889), (0.5, 1e-6, 8.05761848), (4, 1e-5, 1.08116185)):
    found = math.sqrt(fd.Gaussian(epsilon=epsilon, delta=d, sensitivity=1.0).variance)
    assert math.isclose(found, sigma, rel_tol=1e-4)
    reached = phi(0.5 / found - epsilon * found) - math.exp(epsilon) * phi(-0.5 / found - epsilon * found)
    assert 0.99 * d < reached <= d * (1 + 1e-6)
