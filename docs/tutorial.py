# %% [markdown]
# # Tutorial: a clinic's table, from export to release and estimate
#
# A clinic exports a table of its patients. Researchers want to know which diseases there are and how old patients
# are; nobody should learn anything about a single one of them. First every record is sanitized by a plan, as if each
# patient had done it alone; then statistics are released from the true table, which costs less error, but needs a
# curator who is trusted.

# %%
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import fastdp as fd

source = np.random.default_rng(7)
count = 50_000
patients = pa.table(
    {
        "name": [f"patient {i}" for i in range(count)],
        "disease": source.choice(["cold", "flu", "asthma", "none"], count, p=[0.3, 0.2, 0.1, 0.4]),
        "age": np.clip(source.normal(45, 18, count).astype(np.int64), 0, 100),
    }
)
pq.write_table(patients, "patients.parquet")
patients.schema

# %% [markdown]
# ## A plan
#
# `fastdp plan init` writes the columns' names and types, never the data. What becomes of each column is for you to
# say; a plan that leaves one out is refused.

# %% [sh]
# fastdp plan init patients.parquet

# %%
from pathlib import Path

Path("plan.toml").write_text("""
[columns]
name = "drop"

[columns.disease]
mechanism = "krr"
epsilon = 2.0
domain = ["cold", "flu", "asthma", "none"]

[columns.age]
mechanism = "geometric"
epsilon = 1.0
bounds = [0, 100]
""")
plan = fd.Plan.load("plan.toml")
assert abs(plan.privacy.record.epsilon - 3.0) < 1e-5
plan

# %% [markdown]
# `plan check` says what it guarantees and how large errors will be, before anything is done.

# %% [sh]
# fastdp plan check plan.toml patients.parquet

# %% [markdown]
# ## Sanitize
#
# The file is streamed; the output appears whole or not at all, with a receipt beside it.

# %% [sh]
# fastdp sanitize patients.parquet -p plan.toml -o private.parquet --quiet
# fastdp verify private.parquet -p plan.toml

# %% [markdown]
# ## Estimate
#
# Anyone who has the private file can win the shares back, with intervals that cover.

# %%
found = fd.estimate_table("private.parquet")
truth = {name: float(np.mean(patients["disease"].to_numpy() == name)) for name in ("cold", "flu", "asthma", "none")}
for line in found["disease"].lines:
    assert abs(line.estimate - truth[line.value]) < 0.03
found["disease"].plot()

# %%
found["disease"]

# %% [markdown]
# ## Release from the true table
#
# A curator who is trusted releases counts and means, bounded per person. The ledger is charged before anything is
# drawn.

# %%
ledger = fd.Ledger.create("patients.ledger", epsilon=1.0, name="patients")
mechanism = fd.Geometric(epsilon=0.25)
with ledger.spend(mechanism, name="patients with flu") as paid:
    flu = mechanism.randomize(int(np.sum(patients["disease"].to_numpy() == "flu")))
assert abs(flu - truth["flu"] * count) < 100
ledger

# %%
mean = fd.release.mean(patients["age"], bounds=(0, 100), epsilon=0.5)
low, high = mean.interval(0.95)
assert low - 1 < np.mean(patients["age"].to_numpy()) < high + 1
mean

# %% [markdown]
# ## What it costs together
#
# Releases that are fixed beforehand compose to less than their sum, for a delta.

# %%
total = fd.compose([(fd.Geometric(epsilon=0.05), 100)])
assert total.epsilon(delta=1e-6).upper < 3.0
total.epsilon(delta=1e-6)
