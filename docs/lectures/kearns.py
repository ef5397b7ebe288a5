# %% [markdown]
# # Kearns, lecture 19: the ethical algorithm, privacy
#
# Why names are not enough, what differential privacy promises instead, and what one does with it.

# %%
import math

import numpy as np

import fastdp as fd

rng = fd.Rng.unsafe_seed(2)
source = np.random.default_rng(2)

# %% [markdown]
# ## The linkage attack
#
# Health records without names, and a register with them. Who is unique by postcode, age and sex is found.

# %%
n = 20_000
register = {"zip": source.integers(0, 500, n), "age": source.integers(0, 90, n), "sex": source.integers(0, 2, n)}
found = fd.attacks.linkage(register, register, on=["zip", "age", "sex"], truth=np.arange(n))
assert abs(found.success - math.exp(-n / 90_000)) < 0.02
found.success

# %% [markdown]
# ## k-anonymity does not compose
#
# Two tables of the same six people, each 2-anonymous. Who is 40 and weighs 100 is alone: everybody is.

# %%
ages, weights = [30, 30, 40, 40, 50, 50], [60, 90, 90, 100, 60, 100]
assert fd.anonymity.classes({"age": ages}, ["age"]).k == 2
assert fd.anonymity.classes({"age": ages, "weight": weights}, ["age", "weight"]).unique == 6
print(fd.attacks.composition({"age": ages}, {"weight": weights}))

# %% [markdown]
# ## The differencing attack
#
# Two sums that differ by one person are that person's value. Noise of epsilon 0.1 leaves 0.512 right guesses, of
# epsilon 1 0.621.

# %%
for epsilon, expected in ((0.1, 0.512495), (1.0, 0.620918)):
    attack = fd.attacks.differencing(
        source.integers(0, 2, 100), release=fd.Laplace(epsilon=epsilon, sensitivity=1.0), trials=4000, rng=rng
    )
    assert abs(attack.success - expected) < 4.5 * attack.std_error
    print(epsilon, attack.success)

# %% [markdown]
# ## The promise
#
# The probabilities of every output, with and without one person, are within a factor of e^epsilon.

# %%
laplace = fd.Laplace(epsilon=1.0, sensitivity=1.0)
assert abs(np.abs(laplace.law.log_ratio(np.linspace(-9, 9, 1001))).max() - 1.0) < 1e-5
laplace.law.plot()

# %% [markdown]
# ## Randomized response and its error
#
# A survey on an embarrassing question. The estimate is unbiased; its standard error falls with the root of n.

# %%
coins = fd.RandomizedResponse(epsilon=math.log(3))
truth = np.arange(40_000) < 12_000
estimate = coins.estimate(coins.randomize(truth, rng=rng))
share, error = estimate.frequencies[1], estimate.std_error[1]
assert abs(share - 0.3) < 4.5 * error
assert abs(error - math.sqrt(0.25 * 0.75 / 40_000) / 0.5) < 1e-4
share, error

# %% [markdown]
# ## The Laplace mechanism, and what an average costs

# %%
assert fd.sensitivity("sum", bounds=(0, 100)) == 100
assert fd.sensitivity("mean", bounds=(0, 100), n=1000, neighbours="replace") == 0.1
incomes = fd.Laplace(epsilon=1.0, sensitivity=0.1)
assert math.isclose(incomes.variance, 2 * 0.1**2, rel_tol=1e-5)
incomes.interval(0.95)

# %% [markdown]
# ## Composition and groups
#
# k releases cost k epsilon, or far less for a delta; k people together get k epsilon; replacing a person is removing
# one and adding another: 2 epsilon.

# %%
assert math.isclose(laplace.privacy.group(5).epsilon, 5.0, rel_tol=1e-6)
assert math.isclose(laplace.privacy.for_replacement().epsilon, 2.0, rel_tol=1e-6)
many = fd.compose([(fd.Laplace(epsilon=0.1, sensitivity=1.0), 100)])
assert many.epsilon(delta=1e-6).upper < 5.5  # of 10 by the sum
many.plot()

# %% [markdown]
# ## Post-processing
#
# What is computed from a private output costs nothing more: a cascade's epsilon is at most the first channel's.

# %%
channel = fd.KRR(epsilon=1.0, domain=4).channel()
merged = channel.compose(fd.Channel.from_matrix([[1, 0], [1, 0], [0, 1], [0, 1]]))
assert merged.epsilon() <= channel.epsilon()
channel.epsilon(), merged.epsilon()

# %% [markdown]
# ## The exponential mechanism
#
# The best of several candidates. Permute-and-flip is never worse.

# %%
scores = np.array([30, 42, 40, 10])
chosen = [fd.ExponentialMechanism(epsilon=0.5).choose(scores, rng=rng) for _ in range(400)]
better = [fd.PermuteAndFlip(epsilon=0.5).choose(scores, rng=rng) for _ in range(400)]
np.mean(scores[chosen]), np.mean(scores[better])

# %% [markdown]
# ## Noise on gradients
#
# Clip, add up, add noise: learning whose model depends on nobody much.

# %%
step = fd.learning.GradientSum(clip=1.0, noise_multiplier=1.1, batch=64)
step.add(source.normal(size=(64, 8)))
cost = fd.compose([(fd.sampled(step, rate=0.01), 1000)]).epsilon(delta=1e-5)
assert 0.5 < cost.upper < 3
cost
