# %% [markdown]
# # NPTEL: responsible AI, privacy and fairness
#
# From a table of patients to the whole debate on COMPAS.

# %%
import math

import numpy as np

import fastdp as fd

rng = fd.Rng.unsafe_seed(5)

# %% [markdown]
# ## Sensitivity and noise
#
# The standard queries, with values from 0 to 100 of 200 people.

# %%
assert fd.sensitivity("count") == 1
assert fd.sensitivity("sum", bounds=(0, 100)) == 100
assert fd.sensitivity("mean", bounds=(0, 100), n=200) == 0.5
assert fd.sensitivity("max", bounds=(0, 100)) == 100
fd.sensitivity("variance", bounds=(0, 100), n=200)

# %% [markdown]
# ## Local privacy: k-RR, and which protocol is best

# %%
assert fd.recommend(epsilon=1.0, k=4, n=10_000).by_error == "krr"
comparison = fd.compare(["krr", "oue", "olh", "hadamard"], [0.5, 1.0, 2.0, 3.0], k=32, n=5000, rng=rng)
comparison.plot()

# %% [markdown]
# ## COMPAS: both sides were right
#
# The two-year data, 6,150 African-American and Caucasian defendants; "not low" is the decision. Of those who did not
# reoffend, 44.8 % and 23.5 % were called risky; of those who did, 28.0 % and 47.7 % were not.

# %%
cells = {"African-American": (990, 805, 532, 1369), "Caucasian": (1139, 349, 461, 505)}  # tn, fp, fn, tp
truth, decision, race = [], [], []
for name, (tn, fp, fn, tp) in cells.items():
    truth += [0] * (tn + fp) + [1] * (fn + tp)
    decision += [0] * tn + [1] * fp + [0] * fn + [1] * tp
    race += [name] * (tn + fp + fn + tp)
compas = fd.fairness.table(y_true=np.array(truth), y_pred=np.array(decision), sensitive={"race": np.array(race)})
assert np.allclose(compas.rates("fpr").values, [0.448468, 0.234543], atol=1e-6)
assert np.allclose(compas.rates("fnr").values, [0.279853, 0.477226], atol=1e-6)
print(compas)

# %% [markdown]
# ## Every criterion, with intervals

# %%
verdicts = {one.name: one.verdict for one in compas.criteria()}
assert verdicts["separation"] == "violated"
assert math.isclose(compas.four_fifths(favourable=0).value, 0.631593, abs_tol=1e-6)
gap = compas.gap("fpr")
assert np.allclose([gap.value, gap.low, gap.high], [0.213925, 0.182053, 0.245023], atol=1e-6)
for name, verdict in verdicts.items():
    print(f"{name:25} {verdict}")

# %% [markdown]
# ## Why they exclude each other
#
# FPR = p/(1-p) (1-PPV)/PPV (1-FNR). With the other group's PPV and FNR the Caucasian base rate would force an FPR of
# 0.2749.

# %%
clash = compas.incompatible()
assert np.allclose(clash.identity, clash.fpr, atol=1e-12)
assert math.isclose(clash.forced[1, 0], 0.274908, abs_tol=1e-6)
for sentence in clash.pairs:
    print(sentence)

# %% [markdown]
# ## What a criterion costs
#
# The best policy under each criterion, where a right "low" gains 1 and a wrong one costs 1.

# %%
score = np.where(np.array(decision) == 1, 3, 7) + np.arange(len(truth)) % 3
lending = fd.fairness.table(
    y_true=1 - np.array(truth), y_pred=1 - np.array(decision), score=score, sensitive={"race": np.array(race)}
)
print(lending.price(gain=1, cost=1))

# %% [markdown]
# ## When the attribute itself is private
#
# Groups told through k-RR look fairer than they are: gaps shrink. Won back through the channel they do not.

# %%
krr = fd.KRR(epsilon=2.0, domain=["African-American", "Caucasian"])
private = fd.fairness.table(
    y_true=np.array(truth), y_pred=np.array(decision),
    sensitive={"race": krr.randomize(np.array(race), rng=rng)}, mechanisms={"race": krr},
)  # fmt: skip
corrected = private.gap("fpr")
assert corrected.low <= 0.213925 <= corrected.high
assert private.naive.gap("fpr").value < corrected.value
corrected.low, corrected.value, corrected.high

# %% [markdown]
# ## Membership inference
#
# A record of the training set has a lower loss. Differential privacy bounds what that can tell.

# %%
source = np.random.default_rng(5)
attack = fd.attacks.loss_attack(source.exponential(0.5, 2000), source.exponential(1.0, 2000))
print(attack)
