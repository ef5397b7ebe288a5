# %% [markdown]
# # Hardt, Price, Srebro 2016: equality of opportunity in lending
#
# *Equality of Opportunity in Supervised Learning*, NeurIPS 2016. FICO scores of four groups; a default costs 82/18 of
# what a loan brings. How much of the largest profit each criterion keeps: the paper's figure 5 (one threshold 99.3 %,
# opportunity 92.8 %, odds 80.2 %, parity 69.8 %).

# %%
import csv
import os
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import fastdp as fd

folder = os.environ.get("FASTDP_FAIRNESS")  # the published tables are in its folder fico/

# %%
if folder is not None:
    read = lambda name: list(csv.DictReader((Path(folder) / "fico" / name).read_text().splitlines()))
    cdf, failures = read("transrisk_cdf_by_race_ssa.csv"), read("transrisk_performance_by_race_ssa.csv")
    totals = read("totals.csv")[0]
    groups = [name for name in cdf[0] if name != "Score"]
    scores = np.array([float(row["Score"]) for row in cdf])
    mass = np.diff(np.array([[float(row[g]) for g in groups] for row in cdf]) / 100, axis=0, prepend=0)
    mass /= mass.sum(axis=0)
    paid = 1 - np.array([[float(row[g]) for g in groups] for row in failures]) / 100
    weights = np.array([float(totals[g]) for g in groups])
    mass = mass * weights / weights.sum()

# %% [markdown]
# The best policy under each criterion, exact on the table, and the rates of repayment by score.

# %%
if folder is not None:
    cells = np.stack([mass * (1 - paid), mass * paid]).transpose(2, 0, 1)  # group, label, score
    group, label, score = (place.ravel() for place in np.indices(cells.shape))
    table = fd.fairness.table(
        y_true=label,
        y_pred=label,
        score=scores[score],
        sensitive={"group": np.array(groups)[group]},
        weights=cells.ravel(),
    )
    price = table.price(gain=1, cost=82 / 18)
    kept = {name: price[name].share for name in ("single", "equal_opportunity", "separation", "independence")}
    axes = plt.subplots()[1]
    axes.bar(list(kept), list(kept.values()))
    axes.set_ylabel("part of the largest profit")

# %% [markdown]
# The paper's figures, to one percentage point.

# %%
if folder is not None:
    published = {"single": 0.993, "equal_opportunity": 0.928, "separation": 0.802, "independence": 0.698}
    for name, expected in published.items():
        assert abs(kept[name] - expected) < 0.01, (name, kept[name])
    print(kept)
