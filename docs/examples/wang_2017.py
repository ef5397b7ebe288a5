# %% [markdown]
# # Wang et al. 2017: variances of frequency protocols
#
# *Locally Differentially Private Protocols for Frequency Estimation*, USENIX Security 2017. Variance by epsilon of
# direct encoding (k-RR), symmetric and optimized unary encoding, and local hashing.

# %%
import math

import numpy as np
from matplotlib import pyplot as plt

import fastdp as fd

n, k = 4000, 1024
epsilons = np.array([0.5, 1.0, 2.0, 4.0])
found = fd.compare(["krr", "sue", "oue", "blh", "olh"], epsilons, k=k, n=n, rng=fd.Rng.unsafe_seed(1))
found.plot()

# %% [markdown]
# The closed forms of the paper's Table 1, per report, for a value that nobody has. Here a value has 1 in 1,024.

# %%
formulas = {
    "krr": lambda e: (k - 2 + e) / (e - 1) ** 2,
    "sue": lambda e: math.sqrt(e) / (math.sqrt(e) - 1) ** 2,
    "oue": lambda e: 4 * e / (e - 1) ** 2,
    "blh": lambda e: (e + 1) ** 2 / (e - 1) ** 2,
}
for name, variance in formulas.items():
    expected = np.array([variance(math.exp(epsilon)) for epsilon in epsilons])
    computed = found.error[found.protocols.index(name)] ** 2 * n
    assert np.allclose(computed, expected, rtol=0.05), name

# %% [markdown]
# At epsilon 1 the paper's constants: 3.918 (SUE), 3.683 (OUE), 4.683 (BLH); k-RR grows with k.

# %%
at_one = {name: one.variance(1) for name, one in {
    "SUE": fd.UnaryEncoding(epsilon=1.0, domain=k, optimized=False), "OUE": fd.UnaryEncoding(epsilon=1.0, domain=k),
    "BLH": fd.LocalHashing(epsilon=1.0, domain=k, g=2), "KRR": fd.KRR(epsilon=1.0, domain=k),
}.items()}  # fmt: skip
assert np.allclose(list(at_one.values()), [3.91770, 3.68269, 4.68269, 347.06889], rtol=1e-4)
at_one

# %% [markdown]
# k-RR is best while k < 3 e^epsilon + 2. The crossing, drawn:

# %%
axes = plt.subplots()[1]
sizes = np.arange(2, 60)
for epsilon in (1.0, 2.0, 2.5):
    better = [
        fd.KRR(epsilon=epsilon, domain=int(k)).variance(1)
        < fd.UnaryEncoding(epsilon=epsilon, domain=int(k)).variance(1)
        for k in sizes
    ]
    axes.plot(sizes, better, label=f"epsilon {epsilon}")
    crossing = sizes[better.index(False)] if False in better else None
    assert crossing is None or abs(crossing - (3 * math.exp(epsilon) + 2)) <= 1
axes.set(xlabel="k", yticks=[0, 1], yticklabels=["OUE", "k-RR"])
axes.legend()
