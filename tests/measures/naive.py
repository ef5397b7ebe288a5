"""The measures as their definitions read: loops over inputs, outputs and guesses, in plain Python numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np


def random_case(seed, inputs=None, outputs=None, *, zeros=False):
    """A channel and a prior; with ``zeros``, both have entries that are 0."""
    source = np.random.default_rng(seed)
    inputs, outputs = inputs or int(source.integers(1, 6)), outputs or int(source.integers(1, 6))
    channel, prior = source.dirichlet(np.ones(outputs), inputs), source.dirichlet(np.ones(inputs))
    if zeros:
        channel = np.where(source.random(channel.shape) < 0.4, 0.0, channel)
        channel[np.arange(inputs), source.integers(0, outputs, inputs)] += 0.1
        channel /= channel.sum(axis=1, keepdims=True)
        prior = np.where(source.random(inputs) < 0.3, 0.0, prior)
        prior[source.integers(0, inputs)] += 0.1
        prior /= prior.sum()
    return channel, prior


def loss_with_remap(channel, prior, loss, remap):
    """``loss[w][x]``, ``remap[y]`` the guess for output y."""
    inputs, outputs = np.shape(channel)
    return math.fsum(
        prior[x] * channel[x][y] * loss[remap[y]][x] for x, y in itertools.product(range(inputs), range(outputs))
    )


def least_loss(channel, prior, loss):
    """By trying every remap there is."""
    outputs = np.shape(channel)[1]
    return min(
        loss_with_remap(channel, prior, loss, remap)
        for remap in itertools.product(range(len(loss)), repeat=outputs)
    )  # fmt: skip


def vulnerability(channel, prior, gain):
    """``gain[w][x]``."""
    inputs, outputs = np.shape(channel)
    return math.fsum(
        max(math.fsum(prior[x] * channel[x][y] * row[x] for x in range(inputs)) for row in gain)
        for y in range(outputs)
    )  # fmt: skip


def entropy(p):
    return -math.fsum(x * math.log2(x) for x in p if x > 0)


def mutual_information(channel, prior):
    """H(X) + H(Y) - H(X, Y), another form than the one under test."""
    joint = np.asarray(prior)[:, None] * np.asarray(channel)
    return entropy(joint.sum(axis=1)) + entropy(joint.sum(axis=0)) - entropy(joint.ravel())
