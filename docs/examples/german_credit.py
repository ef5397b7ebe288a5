# %% [markdown]
# # German credit: a model, its fairness, and what 1,000 people can tell
#
# The Statlog data: 1,000 loans, of which 700 were paid back. A model decides who gets one, without looking at sex or
# age. The file is read from the folder that the environment variable FASTDP_FAIRNESS names.

# %%
import os
from pathlib import Path

import numpy as np

import fastdp as fd

folder = os.environ.get("FASTDP_FAIRNESS")

# %% [markdown]
# Columns of codes become columns of zeros and ones. Sex is part of the ninth column, age is the thirteenth; both are
# taken out.

# %%
if folder is not None:
    lines = [line.split() for line in (Path(folder) / "german.data").read_text().splitlines() if line.strip()]
    rows = np.array(lines)
    good = (rows[:, 20] == "1").astype(int)
    sex = np.where(np.isin(rows[:, 8], ["A92", "A95"]), "female", "male")
    age = np.where(rows[:, 12].astype(int) > 25, "over 25", "to 25")
    parts, names = [], []
    for place in range(20):
        if place in (8, 12):
            continue
        if rows[0, place].startswith("A"):
            for code in np.unique(rows[:, place]):
                parts.append(rows[:, place] == code)
                names.append(str(code))
        else:
            numbers = rows[:, place].astype(float)
            parts.append((numbers - numbers.mean()) / numbers.std())
            names.append(f"column {place + 1}")
    features = np.stack(parts, axis=1).astype(float)
    print(features.shape, good.mean())

# %% [markdown]
# Half of the people train the model, the other half are decided about. A loan that is not paid back costs five times
# what another brings: so the data's own cost matrix has it.

# %%
if folder is not None:
    from sklearn.linear_model import LogisticRegression

    order = np.random.default_rng(1).permutation(good.size)
    train, held_out = order[:500], order[500:]
    model = LogisticRegression(C=0.1, max_iter=1000).fit(features[train], good[train])
    score = model.predict_proba(features[held_out])[:, 1].round(2)
    table = fd.fairness.table(
        y_true=good[held_out],
        y_pred=score >= 5 / 6,
        score=score,
        sensitive={"age": age[held_out], "sex": sex[held_out]},
    )
    print(table.by("age"))

# %% [markdown]
# Fewer of those under 26 would get a loan, though the model has not seen their age; whether that is more than chance,
# so few people cannot tell. How well do the other columns tell the age?

# %%
if folder is not None:
    columns = {name: features[:, i] for i, name in enumerate(names)}
    found = fd.fairness.proxies(columns, age, name="age")
    assert found.together.accuracy > found.together.chance
    print(
        f"all together {found.together.accuracy:.2f} [{found.together.low:.2f}, {found.together.high:.2f}], chance 0.50"
    )

# %% [markdown]
# ## What 500 people cannot tell
#
# All four intersections of age and sex are compared, so intervals are wide. A verdict is made from them, not from the
# estimate: most are "cannot be told", and the page says so.

# %%
if folder is not None:
    for criterion in table.criteria():
        print(f"{criterion.name:<20}{criterion.verdict}")
    gap = table.gap("tpr")
    assert gap.high - gap.low > 0.2
    print(gap)

# %% [markdown]
# ## Decisions that meet a criterion
#
# Thresholds per age group, from the scores of the held-out people, and what each criterion costs.

# %%
if folder is not None:
    price = table.by("age").price(gain=1, cost=5)
    assert price["profit"].share == 1
    assert all(policy.share <= 1 for policy in price.policies)
    print(price)
    print(table.by("age").thresholds("equal_opportunity", gain=1, cost=5, tolerance=0.05, randomized=False))

# %% [markdown]
# Or while the model is trained: each way measured on rows that it has not seen.

# %%
if folder is not None:
    compared = fd.fairness.compare(
        LogisticRegression(C=0.1, max_iter=1000), features, good, {"age": age},
        methods=("plain", "reweighed", "independence"),
    )  # fmt: skip
    print(compared)
