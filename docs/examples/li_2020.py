# %% [markdown]
# # Li et al. 2020: the square wave
#
# *Estimating Numerical Distributions under Local Differential Privacy*, SIGMOD 2020. The density of a report, the
# best width b, and a distribution won back.

# %%
import numpy as np
from matplotlib import pyplot as plt

import fastdp as fd

# b at epsilon 0.5, 1, 2, 4, by the paper's formula
for epsilon, width in ((0.5, 0.3581554), (1.0, 0.2560829), (2.0, 0.1293371), (4.0, 0.0304277)):
    assert abs(fd.SquareWave(epsilon=epsilon, bounds=(0, 1)).b - width) < 1e-5

# %%
mechanism = fd.SquareWave(epsilon=1.0, bounds=(0, 1), bins=64)
rng = fd.Rng.unsafe_seed(3)
reports = mechanism.randomize(np.full(200_000, 0.3), rng=rng)
axes = plt.subplots()[1]
seen, edges, _ = axes.hist(reports, bins=200, density=True)
axes.set(xlabel="report of 0.3", ylabel="density")
b = mechanism.b
middles = (edges[1:] + edges[:-1]) / 2
near = np.abs(middles - 0.3) < b - 0.02
far = np.abs(middles - 0.3) > b + 0.02
assert abs(seen[near].mean() / seen[far].mean() - np.e) < 0.05

# %% [markdown]
# A beta(5, 2) distribution, as in the paper, from 100,000 reports.

# %%
truth = np.random.default_rng(3).beta(5, 2, 100_000)
found = mechanism.estimate(mechanism.randomize(truth, rng=rng))
axes = found.plot()
shares = np.histogram(truth, 64, (0, 1))[0] / truth.size
axes.plot(shares, "k")
assert fd.measures.wasserstein(found.distribution, shares, positions=np.arange(64) / 64) < 0.02
assert abs(found.mean - truth.mean()) < 0.02
