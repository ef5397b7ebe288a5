# %% [markdown]
# # Saarland, lecture 14: privacy of data
#
# Models of anonymity on the lecture's tables, how each fails, and the noise that does not.

# %%
import math

import numpy as np

import fastdp as fd

rng = fd.Rng.unsafe_seed(3)

# %% [markdown]
# ## A 2-anonymous table
#
# Nine patients, four classes of 3, 2, 2 and 2.

# %%
patients = {
    "age": ["60-70"] * 5 + ["50-60"] * 4,
    "gender": list("MFMFM") + list("FMMF"),
    "zip": ["191**"] * 9,
    "smoker": list("YNYNY") + list("NYYN"),
    "disease": ["Heart", "Arthritis", "Lung", "Crohn", "Lung", "HIV", "Lyme", "Allergy", "Colitis"],
}
classes = fd.anonymity.classes(patients, ["age", "gender", "zip", "smoker"], ["disease"])
assert (classes.count, classes.k, classes.l()) == (4, 2, 2)
classes

# %% [markdown]
# ## l-diversity, t-closeness and likeness

# %%
assert math.isclose(classes.t(), 7 / 9)
assert math.isclose(classes.beta, 3.5)
assert math.isclose(classes.l("entropy"), 1.889882, abs_tol=1e-6)
classes.t(), classes.beta, classes.l("entropy")

# %% [markdown]
# ## The homogeneity attack
#
# Four rows of twelve are in a class with one condition: k = 4 does not help them.

# %%
inpatients = {
    "zip": ["130**"] * 4 + ["1485*"] * 4 + ["130**"] * 4,
    "age": ["<30"] * 4 + [">=40"] * 4 + ["3*"] * 4,
    "condition": ["Heart", "Heart", "Viral", "Viral", "Cancer", "Heart", "Viral", "Viral"] + ["Cancer"] * 4,
}
found = fd.anonymity.classes(inpatients, ["zip", "age"], ["condition"])
assert (found.k, found.l(), found.homogeneous, found.discernibility) == (4, 1, 4, 48)
assert math.isclose(found.t(), 7 / 12)
found

# %% [markdown]
# ## Making a table coarser, at the least loss

# %%
raw = {"age": [28, 29, 21, 23, 50, 55, 47, 49, 31, 37, 36, 35]}
assert fd.anonymity.classes(raw, ["age"]).k == 1
coarse = fd.anonymize(raw, {"age": fd.Hierarchy.intervals(5, 10, 20, 40)}, k=3, suppress=0.0)
coarse

# %% [markdown]
# ## Reconstruction
#
# As many noisy counts as people give nearly every bit back: with noise of sqrt(n)/4 all but 2.3 % (Dinur, Nissim).

# %%
bits = np.random.default_rng(3).integers(0, 2, 4096)
attack = fd.attacks.reconstruction(bits, release=fd.DiscreteGaussian(scale=math.sqrt(4096) / 8, sensitivity=1), rng=rng)
assert abs(1 - attack.success - 0.022750) < 0.012
attack.success, attack.expected

# %% [markdown]
# ## The Laplace mechanism on a count
#
# A neighbour changes a count by one. The noise has variance 2 a / (1 - a)^2, a = e^-epsilon: 1.8413 at epsilon 1.

# %%
count = fd.Geometric(epsilon=1.0, sensitivity=int(fd.sensitivity("count")))
assert math.isclose(count.variance, 1.8413471884, rel_tol=1e-6)
count.law.plot()

# %% [markdown]
# ## The exercise: groups and replacement
#
# Model answers: k people together are protected by k epsilon, and replacing one value costs 2 epsilon where adding or
# removing one costs epsilon. Both are seen in the ratio of densities.

# %%
for k in (1, 2, 5):
    ratio = np.abs(count.law.log_ratio(np.arange(-30, 31), shift=k)).max()
    assert math.isclose(ratio, k * 1.0, rel_tol=1e-6)
    assert count.privacy.group(k).epsilon >= ratio * (1 - 1e-6)
count.privacy.for_replacement()

# %% [markdown]
# ## Fresh noise wears off
#
# The same count asked a hundred times with fresh noise is known; a budget for all of them is what stops it.

# %%
attack = fd.attacks.averaging(fd.Laplace(epsilon=1.0, sensitivity=1.0), repeats=100, trials=500, rng=rng)
assert attack.success > 0.95
attack.success, attack.expected
