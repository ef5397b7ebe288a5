# %% [markdown]
# # COMPAS: from data to a decision
#
# ProPublica's two-year data: whom a score called a high risk, and who reoffended. What can be said of it, and what can
# not; then thresholds that meet a criterion, and their price. The file is read from the folder that the environment
# variable FASTDP_FAIRNESS names.

# %%
import os
from pathlib import Path

import numpy as np
import pyarrow.csv
from matplotlib import pyplot as plt

import fastdp as fd

folder = os.environ.get("FASTDP_FAIRNESS")

# %% [markdown]
# The decision is "not low". Everything that follows is computed from one table of counts.

# %%
if folder is not None:
    people = pyarrow.csv.read_csv(Path(folder) / "compas_two_years.csv")
    columns = {name: people[name].to_numpy() for name in ("race", "two_year_recid", "score_text", "decile_score")}
    both = np.isin(columns["race"].astype(str), ["African-American", "Caucasian"])
    race, reoffended, text, decile = (columns[name][both] for name in columns)
    race, high = race.astype(str), text.astype(str) != "Low"
    table = fd.fairness.table(y_true=reoffended, y_pred=high, score=decile, sensitive={"race": race})
    print(table)

# %% [markdown]
# The lecture's four numbers. The first is 805 of 1,795, which is 44.8468 %: one decimal of it is 44.8, and 44.9 only if
# it is rounded to 44.85 first.

# %%
if folder is not None:
    shown = {rate: (100 * table.rates(rate).values).round(4).tolist() for rate in ("fpr", "fnr")}
    assert shown == {"fpr": [44.8468, 23.4543], "fnr": [27.9853, 47.7226]}
    print(shown)

# %% [markdown]
# In each group FPR = p / (1 - p) · (1 - PPV) / PPV · (1 - FNR), with p the base rate. Base rates differ, so equal PPV
# and FNR would force unequal FPR: both sides of the debate were right, and had to be.

# %%
if folder is not None:
    why = table.incompatible()
    assert np.allclose(why.fpr, why.identity, atol=1e-15)
    print(*why.pairs, sep="\n")
    print("the FPR of Caucasian defendants with the PPV and FNR of the others:", round(float(why.forced[1, 0]), 4))

# %% [markdown]
# How many labels would have to be wrong before the gap of false positive rates could be within 0.05?

# %%
if folder is not None:
    wrong = table.label_sensitivity("fpr", wrong=0.05)
    assert 0.26 < wrong.tipping < 0.27
    print(wrong)

# %% [markdown]
# ## A decision
#
# Someone who is detained and would have reoffended counts 1, someone who would not costs 1. One threshold for all is
# the most profitable one, and each criterion has a price.

# %%
if folder is not None:
    price = table.price(gain=1, cost=1)
    print(price)
    equal = table.thresholds("predictive_equality", gain=1, cost=1, tolerance=0.02, randomized=False)
    print(equal)
    axes = plt.subplots()[1]
    for group, fpr, tpr in zip(table.roc().groups, table.roc().fpr, table.roc().tpr, strict=True):
        axes.plot(fpr, tpr, marker=".", label=group[0])
    axes.plot(equal.fpr, equal.tpr, "ks", label="equal false positive rates")
    axes.set_xlabel("false positive rate")
    axes.set_ylabel("true positive rate")
    axes.legend()

# %% [markdown]
# The same decisions, made and measured again.

# %%
if folder is not None:
    decided = equal.decide(score=decile, sensitive=race)
    after = fd.fairness.table(y_true=reoffended, y_pred=decided, sensitive={"race": race})
    assert after.gap("fpr").value <= 0.02
    print(table.gap("fpr"), "before")
    print(after.gap("fpr"), "after")

# %% [markdown]
# ## Race told through k-RR alone
#
# The reports make the decisions look fairer than they are. Won back through the channel, gap and price are those of the
# truth, with wider intervals.

# %%
if folder is not None:
    krr = fd.KRR(epsilon=2.0, domain=["African-American", "Caucasian"])
    reports = krr.randomize(race, rng=fd.Rng.unsafe_seed(1))
    private = fd.fairness.table(
        y_true=reoffended, y_pred=high, score=decile, sensitive={"race": reports}, mechanisms={"race": krr}
    )
    gap = private.gap("fpr")
    assert gap.low <= table.gap("fpr").value <= gap.high
    print(private.naive.gap("fpr"), "of the reports")
    print(gap, "of the truth")
    print(private.price(gain=1, cost=1))
