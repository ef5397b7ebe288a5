"""What an output says of the secret: Bayes' rule on a channel."""

from __future__ import annotations

import math
import numbers

import numpy as np
from numpy.typing import ArrayLike

from fastdp.errors import ParameterError
from fastdp.measures.inputs import ChannelLike, read_channel, read_distribution


def posterior(channel: ChannelLike, prior: ArrayLike, output: int | None = None) -> np.ndarray:
    """The distribution of the secret given an output: P(x | y), by Bayes' rule.

    With ``output`` one distribution, else a matrix with a row per output, nan where the output never occurs.
    Under an epsilon of the channel no posterior probability is further than a factor of e**epsilon from its prior.

    [Alvim, Chatzikokolakis, McIver, Morgan, Palamidessi, Smith 2020, ch. 4]

    Parameters
    ----------
    channel, prior
        As in `additive_leakage`.
    output
        The number of the output that was seen; all of them by default.

    >>> posterior([[0.75, 0.25], [0.25, 0.75]], [0.1, 0.9], output=0).round(6).tolist()
    [0.25, 0.75]
    >>> posterior([[0.75, 0.25], [0.25, 0.75]], [0.5, 0.5]).tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    owner = "posterior"
    channel = read_channel(owner, channel)
    p = read_distribution(owner, "prior", prior, channel.shape[0])
    if output is None:
        together = (p[:, None] * channel.dense()).T
        seen = together.sum(axis=1, keepdims=True)
        found: np.ndarray = np.divide(together, seen, out=np.full_like(together, math.nan), where=seen > 0)
        return found
    outputs = channel.shape[1]
    if not isinstance(output, numbers.Integral) or isinstance(output, bool) or not 0 <= output < outputs:
        raise ParameterError(f"{owner}: output must be a number from 0 to {outputs - 1}, got {output!r}")
    weights: np.ndarray = p * channel.select(np.arange(p.size), np.array([int(output)]))[:, 0]
    if not weights.sum() > 0:
        raise ParameterError(f"{owner}: output {output} never occurs under this prior, so that nothing follows from it")
    distribution: np.ndarray = weights / weights.sum()
    return distribution
