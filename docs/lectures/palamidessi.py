# %% [markdown]
# # Palamidessi: from randomized response to geo-indistinguishability
#
# The information-flow view of privacy: mechanisms are channels, the adversary has a prior, and utility is an expected
# loss.

# %%
import math

import numpy as np

import fastdp as fd
from fastdp import measures

rng = fd.Rng.unsafe_seed(1)

# %% [markdown]
# ## Randomized response: two coins
#
# Heads: tell the truth. Tails: a second coin answers. The truth is reported with probability 3/4, which is epsilon =
# ln 3.

# %%
coins = fd.RandomizedResponse(epsilon=math.log(3))
assert np.allclose(coins.channel().dense(), [[0.75, 0.25], [0.25, 0.75]])
coins.channel().epsilon(), math.log(3)

# %% [markdown]
# 60 % of noisy answers are yes: then 70 % of true ones are. At 80 % inversion gives 110 %, which no share can be; the
# iterative Bayesian update (IBU) stays among distributions.

# %%
assert np.allclose(fd.invert(coins.channel(), [40, 60]), [0.3, 0.7])
assert np.allclose(fd.invert(coins.channel(), [20, 80]), [-0.1, 1.1])
fd.ibu(coins.channel(), [20, 80]).distribution.round(6).tolist()

# %% [markdown]
# ## The posterior, and what the adversary gains
#
# Bayes' rule on a channel. No posterior probability is further than a factor of e^epsilon from its prior.

# %%
after = measures.posterior(coins.channel(), [0.1, 0.9], output=0)
assert np.allclose(after, [0.25, 0.75])
measures.prior_vulnerability([0.5, 0.5]), measures.posterior_vulnerability(coins.channel(), [0.5, 0.5])

# %% [markdown]
# ## k-ary randomized response

# %%
krr = fd.KRR(epsilon=1.0, domain=10)
assert math.isclose(krr.variance(1), 3.63025, rel_tol=1e-5)  # n times the variance of a rare value
assert math.isclose(measures.multiplicative_capacity(krr.channel()), 10 * math.e / (math.e + 9), rel_tol=1e-5)
krr.channel().plot()

# %% [markdown]
# ## Two mechanisms on one secret are one channel
#
# Its epsilon is the sum: sequential composition.

# %%
both = coins.channel().joint(coins.channel())
assert math.isclose(both.epsilon(), 2 * math.log(3), rel_tol=1e-9)
both

# %% [markdown]
# ## The geometric mechanism, and utility as expected loss
#
# On a count from 0 to 7 with epsilon 0.7 and a uniform prior, the truncated geometric mechanism loses 0.9921304 in
# the mean of the absolute error, and so does the best mechanism that a linear program finds: it is universally
# optimal for counts (Ghosh, Roughgarden, Sundararajan).

# %%
count = fd.Geometric(epsilon=0.7, bounds=(0, 7))
loss = measures.expected_loss(count.channel(), np.full(8, 1 / 8), "absolute")
best = fd.OptimalMechanism(epsilon=0.7, prior=np.full(8, 1 / 8), distance=np.abs(np.subtract.outer(range(8), range(8))))
assert abs(loss - 0.9921304) < 1e-7
assert abs(measures.expected_loss(best.channel(), np.full(8, 1 / 8), "absolute") - loss) < 1e-5
loss

# %% [markdown]
# Other queries have no such mechanism (Brenner, Nissim). Here on a cycle of five values, one mechanism that is best
# for a first prior is not best for a second one.

# %%
ring = np.minimum((d := np.abs(np.subtract.outer(range(5), range(5)))), 5 - d)
first, second = np.array([0.6, 0.1, 0.1, 0.1, 0.1]), np.array([0.1, 0.1, 0.6, 0.1, 0.1])
one, other = (fd.OptimalMechanism(epsilon=0.7, prior=p, distance=ring, loss=ring).channel() for p in (first, second))
cost = lambda channel, prior: measures.expected_loss(channel, prior, ring.astype(float))
assert cost(one, second) > cost(other, second) + 1e-3
cost(one, second), cost(other, second)

# %% [markdown]
# ## d-privacy and planar Laplace noise
#
# Epsilon per unit of distance. The distance of a report is Gamma distributed: in the mean 2/epsilon, and epsilon r =
# 1.678 in the median.

# %%
place = fd.PlanarLaplace(epsilon="ln(2)/200m", unit="m")
assert abs(place.radius(0.5) * place.epsilon - 1.678347) < 0.005
assert abs(place.radius(0.95) * place.epsilon - 4.743865) < 0.005
place.epsilon_at(200.0), place.radius(0.95)

# %% [markdown]
# On a grid, noise that falls outside is clamped onto the border. Cutting the kernel off and dividing by the rows'
# sums instead is not private: epsilon 0.2 is really about 0.25.

# %%
cells = fd.GridGeometric(epsilon=0.9, shape=(3, 3), cell=1.1)
centres = np.array([(1.1 * i, 1.1 * j) for i in range(3) for j in range(3)])
apart = np.linalg.norm(centres[:, None] - centres[None, :], axis=2)
assert abs(cells.channel().epsilon(apart) - 0.9) < 1e-6
kernel = np.exp(-0.9 * apart)
cut = fd.Channel.from_matrix(kernel / kernel.sum(axis=1, keepdims=True))
assert cut.epsilon(apart) > 0.95
cells.channel().epsilon(apart), cut.epsilon(apart)

# %% [markdown]
# ## The iterative Bayesian update, step by step
#
# Ages behind geometric noise. IBU as it is taught, after 1, 10 and 100 iterations.

# %%
from matplotlib import pyplot as plt

noise = fd.Geometric(epsilon=0.2, bounds=(0, 99))
truth = np.exp(-0.5 * ((np.arange(100) - 35) / 8) ** 2) + 0.5 * np.exp(-0.5 * ((np.arange(100) - 70) / 5) ** 2)
ages = np.repeat(np.arange(100), np.round(20_000 * truth / truth.sum()).astype(int))
reports = noise.count_outputs(noise.randomize(ages, rng=rng))
steps = [fd.ibu(noise.channel(), reports, method="em", max_iterations=count) for count in (1, 10, 100)]
axes = plt.subplots()[1]
axes.plot(np.bincount(ages, minlength=100) / ages.size, "k", label="truth")
for count, found in zip((1, 10, 100), steps):
    axes.plot(found.distribution, label=f"{count} iterations")
axes.legend()
likelihoods = [found.log_likelihood for found in steps]
assert likelihoods == sorted(likelihoods)

# %% [markdown]
# The same as an animation, one frame per iteration, for a browser:

# %%
from matplotlib.animation import FuncAnimation

frames = [
    fd.ibu(noise.channel(), reports, method="em", max_iterations=n).distribution for n in (1, 2, 4, 8, 16, 32, 64)
]
figure, axes = plt.subplots()
(line,) = axes.plot(frames[-1])
animation = FuncAnimation(figure, lambda i: line.set_ydata(frames[i]), frames=len(frames))
page = animation.to_jshtml()
plt.close(figure)
assert page.count("data:image/png") >= len(frames)
len(frames)

# %% [markdown]
# ## The Gowalla experiment
#
# k-RR with epsilon ln 8 against planar Laplace noise with epsilon ln 2 per 188 m, which costs ln 8 at 564 m, the
# radius of a disc of one square kilometre. Here on made-up check-ins; `fastdp geo --experiment lecture` uses the real
# ones.

# %%
assert abs(math.sqrt(1e6 / math.pi) - 564) < 1
assert abs(math.log(2) / 188 * 564 - math.log(8)) < 1e-9
result = fd.locations.lecture(runs=1, cell=500.0, rng=rng)[0]
type(result).__name__
