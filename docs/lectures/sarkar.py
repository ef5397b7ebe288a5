# %% [markdown]
# # Sarkar: privacy-preserving data publishing
#
# Anonymity models compared on numbers, and the question why noise must have no end.

# %%
import math

import numpy as np

import fastdp as fd

rng = fd.Rng.unsafe_seed(4)

# %% [markdown]
# ## A 6-anonymous table
#
# Two classes of six; their entropies are those of 3.78 and 2.75 equally likely values.

# %%
table = {"q": [0] * 6 + [1] * 6, "s": list("aabbcd") + list("aaabbc")}
found = fd.anonymity.classes(table, ["q"], ["s"])
assert (found.k, found.l(), found.alpha) == (6, 3, 0.5)
assert math.isclose(found.l("entropy"), 2.749459, abs_tol=1e-6)
first = fd.anonymity.classes({"q": [0] * 6, "s": list("aabbcd")}, ["q"], ["s"])
assert math.isclose(first.l("entropy"), 3.779763, abs_tol=1e-6)
found

# %% [markdown]
# ## A 4-anonymous table with l = 1

# %%
four = fd.anonymity.classes({"q": [0] * 4 + [1] * 4, "s": list("xxyz") + list("vvvv")}, ["q"], ["s"])
assert (four.k, four.l(), four.homogeneous) == (4, 1, 4)
four

# %% [markdown]
# ## Recursive diversity
#
# Counts 9 and 1 are recursive (c, 2)-diverse for c above 9; 5, 3, 2 are (c, 3)-diverse for c above 2.5.

# %%
for counts, l, expected in (((9, 1), 2, 9.0), ((5, 3, 2), 3, 2.5)):
    secrets = [s for s, times in enumerate(counts) for _ in range(times)]
    assert fd.anonymity.classes({"q": [0] * len(secrets), "s": secrets}, ["q"], ["s"]).recursive(l) == expected

# %% [markdown]
# ## The question: uniform noise from 0 to 5 on a count
#
# Neighbours' outputs differ in total variation by 1/5, and an output above n + 5 has probability 0 on n: one answer
# in five is certain, and no epsilon holds. Laplace noise has no end.

# %%
uniform = lambda count, draws: count + np.random.default_rng(4).uniform(0, 5, draws)
attack = fd.attacks.bounded_noise(uniform, draws=100_000, rng=rng)
assert abs(attack.success - 1 / 5) < 0.006
safe = fd.attacks.bounded_noise(fd.Laplace(epsilon=1.0, sensitivity=1.0), draws=100_000, rng=rng)
assert safe.success == 0
attack.success, safe.success

# %% [markdown]
# ## Budget
#
# A ledger keeps what was spent; what is too much is refused before anything is drawn.

# %%
ledger = fd.Ledger.create("people.ledger", epsilon=1.0, name="people")
mechanism = fd.Geometric(epsilon=0.4)
for name in ("births", "deaths"):
    with ledger.spend(mechanism, name=name):
        mechanism.randomize(1000, rng=rng)
try:
    with ledger.spend(mechanism, name="moves"):
        raise AssertionError
except fd.BudgetExceededError as error:
    print(error)

# %% [markdown]
# ## The Gaussian mechanism
#
# Sigma at epsilon 1 and delta 1e-5 is 3.7306 by the exact formula; the classic sqrt(2 ln(1.25/delta))/epsilon is
# 4.84, and holds up to epsilon 1 alone.

# %%
gaussian = fd.Gaussian(epsilon=1.0, delta=1e-5, sensitivity=1.0)
assert math.isclose(math.sqrt(gaussian.variance), 3.73063163, rel_tol=1e-5)
assert math.sqrt(2 * math.log(1.25e5)) > 4.84
gaussian.law.plot()

# %% [markdown]
# ## Who took part in the training
#
# An attacker who sees a loss for each record. Under epsilon-differential privacy the advantage is at most
# (e^epsilon - 1) / (e^epsilon + 1).

# %%
bound = fd.attacks.membership_bound(fd.Privacy(epsilon=1.0))
assert math.isclose(bound, math.tanh(0.5), rel_tol=1e-9)
bound
