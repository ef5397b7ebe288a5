"""What a channel tells an adversary: vulnerabilities, leakage, capacity."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from fastdp.channels import Channel
from fastdp.errors import ParameterError
from fastdp.measures.inputs import ChannelLike, read_channel, read_distribution
from fastdp.measures.joint import best_guesses, column_maxima, row_blocks
from fastdp.measures.payoff import Payoff, PayoffLike, function_payoff, matrix_payoff


def prior_vulnerability(prior: ArrayLike, gain: PayoffLike = "identity") -> float:
    """What an adversary gains who knows the prior only: the largest sum over x of prior[x] gain(w, x), over guesses w.

    ``gain="identity"`` is a guess of the secret in one try, hence Bayes vulnerability, the largest prior probability.
    Else it is a matrix with a row per guess and a column per input, or a function of two arrays of inputs' numbers
    (guesses, truths); guesses of a function are inputs.

    [Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, ch. 3]

    Parameters
    ----------
    prior, gain
        As in `additive_leakage`.

    >>> prior_vulnerability([0.5, 0.25, 0.25])
    0.5
    >>> prior_vulnerability([0.5, 0.25, 0.25], [[0, 1, 1], [1, 0, 0]])
    0.5
    """
    owner = "prior_vulnerability"
    prior = read_distribution(owner, "prior", prior)
    return _prior_vulnerability(prior, _read_gain(owner, gain, prior.size))


def posterior_vulnerability(channel: ChannelLike, prior: ArrayLike, gain: PayoffLike = "identity") -> float:
    """What an adversary gains who sees the output, in the mean over outputs.

    The sum over y of max over w of the sum over x of prior[x] C[x, y] gain(w, x); ``gain`` is that of
    `prior_vulnerability`. With ``"identity"`` it is the posterior Bayes vulnerability, the sum over y of the largest
    prior[x] C[x, y], in O(inputs x outputs) time and memory for a few rows. Another gain takes one product of the
    channel per guess, or one matrix product if it has at most 2**22 entries.

    [Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, ch. 5]

    Parameters
    ----------
    channel, prior, gain
        As in `additive_leakage`.

    >>> posterior_vulnerability([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5])
    0.75
    """
    channel, prior, payoff = _read("posterior_vulnerability", channel, prior, gain)
    return _posterior_vulnerability(channel, prior, payoff)


def additive_leakage(channel: ChannelLike, prior: ArrayLike, gain: PayoffLike = "identity") -> float:
    """By how much the output raises the vulnerability: posterior minus prior; never below 0.

    [Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, ch. 5]

    Parameters
    ----------
    channel
        A channel, or its matrix, inputs by outputs.
    prior
        The distribution of the secret.
    gain
        ``"identity"``, a matrix with a row per guess and a column per input, or a function of guesses and truths.

    >>> additive_leakage([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5])
    0.25
    """
    channel, prior, payoff = _read("additive_leakage", channel, prior, gain)
    return max(0.0, _posterior_vulnerability(channel, prior, payoff) - _prior_vulnerability(prior, payoff))


def multiplicative_leakage(channel: ChannelLike, prior: ArrayLike, gain: PayoffLike = "identity") -> float:
    """By what factor the output raises the vulnerability: posterior over prior; never below 1.

    Gains must be >= 0. No gain and no prior leak more than `multiplicative_capacity`.

    [Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, ch. 5]

    Parameters
    ----------
    channel, prior, gain
        As in `additive_leakage`.

    >>> multiplicative_leakage([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5])
    1.5
    """
    owner = "multiplicative_leakage"
    channel, prior, payoff = _read(owner, channel, prior, gain)
    if payoff is not None and any((part < 0).any() for _, part in payoff.blocks(prior.size)):
        raise ParameterError(f"{owner}: gain must be >= 0 everywhere; additive_leakage takes any")
    before = _prior_vulnerability(prior, payoff)
    if before == 0:
        raise ParameterError(f"{owner}: gain must be > 0 for some guess and some input that the prior makes possible")
    return max(1.0, _posterior_vulnerability(channel, prior, payoff) / before)


def min_entropy_leakage(channel: ChannelLike, prior: ArrayLike) -> float:
    """The drop of min-entropy by seeing the output, in bits: log2 of the multiplicative Bayes leakage.

    [Smith 2009]

    Parameters
    ----------
    channel, prior
        As in `additive_leakage`.

    >>> round(min_entropy_leakage([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5]), 6)
    0.584963
    """
    channel, prior, _ = _read("min_entropy_leakage", channel, prior, "identity")
    return max(0.0, math.log2(_posterior_vulnerability(channel, prior, None) / _prior_vulnerability(prior, None)))


def shannon_leakage(channel: ChannelLike, prior: ArrayLike) -> float:
    """The mutual information of input and output, in bits.

    The sum of prior[x] C[x, y] log2(C[x, y] / d[y]), where d is the distribution of outputs. At most the entropy of the
    prior, and at most epsilon / ln 2 for a channel of epsilon. One product of the channel, and O(inputs x outputs) time
    and memory for a few rows. [Shannon 1948]

    Parameters
    ----------
    channel, prior
        As in `additive_leakage`.

    >>> round(shannon_leakage([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5]), 6)
    0.188722
    """
    channel, prior, _ = _read("shannon_leakage", channel, prior, "identity")
    outputs = channel.forward(prior)
    total = 0.0
    for some, rows in row_blocks(channel, np.flatnonzero(prior)):
        joint = rows * prior[some, None]
        # A product by fast transforms is off by 1e-16 of the largest output; no output is rarer than its own joint.
        ratio = np.log(rows, where=joint > 0, out=np.zeros_like(rows))
        ratio -= np.log(np.maximum(outputs, joint), where=joint > 0, out=np.zeros_like(rows))
        total += float((joint * ratio).sum())
    return max(0.0, total / math.log(2))


def multiplicative_capacity(channel: ChannelLike) -> float:
    """The largest multiplicative leakage over all priors and all gains >= 0: the sum over y of max over x of C[x, y].

    The uniform prior with Bayes vulnerability attains it. Its log2 is the min-capacity in bits. O(inputs x outputs)
    time and memory for a few rows. [Braun, Chatzikokolakis, Palamidessi 2009]

    Parameters
    ----------
    channel
        A channel, or its matrix, inputs by outputs.

    >>> multiplicative_capacity([[0.75, 0.25], [0.25, 0.75]])
    1.5
    """
    channel = read_channel("multiplicative_capacity", channel)
    return float(column_maxima(channel, np.ones(channel.shape[0])).sum())


def _read(
    owner: str, channel: ChannelLike, prior: ArrayLike, gain: PayoffLike
) -> tuple[Channel, np.ndarray, Payoff | None]:
    channel = read_channel(owner, channel)
    prior = read_distribution(owner, "prior", prior, channel.shape[0])
    return channel, prior, _read_gain(owner, gain, prior.size)


def _read_gain(owner: str, gain: PayoffLike, size: int) -> Payoff | None:
    """The gain function; None for a guess of the secret itself."""
    if isinstance(gain, str):
        if gain != "identity":
            raise ParameterError(f"{owner}: gain must be 'identity', a function or a matrix, got {gain!r}")
        return None
    if callable(gain):
        numbers = np.arange(size, dtype=np.float64)
        return function_payoff(owner, "gain", gain, numbers, numbers)
    return matrix_payoff(owner, "gain", gain, size)


def _prior_vulnerability(prior: np.ndarray, payoff: Payoff | None) -> float:
    if payoff is None:
        return float(prior.max())
    return max(float((part @ prior).max()) for _, part in payoff.blocks(prior.size))


def _posterior_vulnerability(channel: Channel, prior: np.ndarray, payoff: Payoff | None) -> float:
    if payoff is None:
        return float(column_maxima(channel, prior).sum())
    return float(best_guesses(channel, prior, payoff, most=True)[0].sum())
