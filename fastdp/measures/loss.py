"""What a channel costs its user: expected loss, and the remap that makes it least."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from fastdp.channels import Channel
from fastdp.errors import ParameterError
from fastdp.measures.inputs import ChannelLike, read_channel, read_distribution, read_numbers
from fastdp.measures.joint import best_guesses, row_blocks
from fastdp.measures.payoff import Payoff, PayoffLike, function_payoff, matrix_payoff, named_payoff


def expected_loss(
    channel: ChannelLike,
    prior: ArrayLike,
    loss: PayoffLike,
    *,
    remap: ArrayLike | None = None,
    positions: ArrayLike | None = None,
    guesses: ArrayLike | None = None,
) -> float:
    """The mean loss of a user who reads the channel's outputs: the sum of prior[x] C[x, y] loss(guess(y), x).

    ``remap`` says what is guessed for each output: None takes output y as guess y; ``"optimal"`` takes the guess with
    the least expected loss given y, so the result is the Bayes risk; an array has the number of a guess per output.

    ``loss`` is ``"zero-one"``, ``"absolute"`` (Euclidean for points), ``"squared"``, a function of two arrays (guesses,
    truths), or a matrix with a row per guess and a column per input. Names and functions see ``positions``, one per
    input (numbers, or rows of coordinates; 0, 1, 2, ... unless given), and ``guesses``, the positions that may be
    guessed (those of the inputs unless given).

    O(inputs x outputs) time and memory for a few rows; with the optimal remap, one product of the channel per guess, or
    one matrix product if it has at most 2**22 entries. [Ghosh, Roughgarden, Sundararajan 2009]

    Parameters
    ----------
    channel
        A channel, or its matrix, inputs by outputs.
    prior
        The probabilities of the inputs, over which the loss is averaged.
    loss
        The loss of a guess for an input: a name, a function of two arrays, or a matrix.
    remap
        The guess for each output, or "optimal"; without it output y is guess y.
    positions
        Where the inputs lie, for losses that are named.
    guesses
        Where the guesses lie; the inputs' positions by default.

    >>> coins = [[0.75, 0.25], [0.25, 0.75]]
    >>> expected_loss(coins, [0.9, 0.1], "zero-one")
    0.25
    >>> round(expected_loss(coins, [0.9, 0.1], "zero-one", remap="optimal"), 12)
    0.1
    """
    owner = "expected_loss"
    channel = read_channel(owner, channel)
    prior = read_distribution(owner, "prior", prior, channel.shape[0])
    payoff = _read_loss(owner, channel, loss, positions, guesses, is_output=remap is None)
    if isinstance(remap, str):
        if remap != "optimal":
            raise ParameterError(f"{owner}: remap must be None, 'optimal' or an array of guesses, got {remap!r}")
        return float(best_guesses(channel, prior, payoff, most=False)[0].sum())
    guess = slice(None) if remap is None else _read_remap(owner, remap, channel.shape[1], payoff.guesses)
    total = 0.0
    for some, rows in row_blocks(channel, np.flatnonzero(prior)):
        total += float(prior[some] @ np.einsum("xy,yx->x", rows, payoff.part(guess, some)))
    return total


def optimal_remap(
    channel: ChannelLike,
    prior: ArrayLike,
    loss: PayoffLike,
    *,
    positions: ArrayLike | None = None,
    guesses: ArrayLike | None = None,
) -> np.ndarray:
    """For each output, the number of the guess with the least expected loss given that output.

    remap[y] = argmin over w of the sum over x of prior[x] C[x, y] loss(w, x). It is post-processing: it costs no
    privacy, and no other way of reading the outputs loses less under this prior. ``loss``, ``positions`` and
    ``guesses`` are those of `expected_loss`. Of guesses that are equally good, within rounding, any may be taken; an
    output that never happens gets guess 0.

    One product of the channel per guess, or one matrix product if it has at most 2**22 entries. [Ghosh, Roughgarden,
    Sundararajan 2009]

    Parameters
    ----------
    channel, prior, loss, positions, guesses
        As in `expected_loss`.

    >>> optimal_remap([[0.75, 0.25], [0.25, 0.75]], [0.9, 0.1], "zero-one")
    array([0, 0])
    """
    owner = "optimal_remap"
    channel = read_channel(owner, channel)
    prior = read_distribution(owner, "prior", prior, channel.shape[0])
    payoff = _read_loss(owner, channel, loss, positions, guesses, is_output=False)
    return best_guesses(channel, prior, payoff, most=False)[1]


def _read_loss(
    owner: str,
    channel: Channel,
    loss: PayoffLike,
    positions: ArrayLike | None,
    guesses: ArrayLike | None,
    *,
    is_output: bool,
) -> Payoff:
    """The loss, with as many guesses as outputs if each output is a guess."""
    inputs, outputs = channel.shape
    if isinstance(loss, str) or callable(loss):
        truths = np.arange(inputs, dtype=np.float64)
        if positions is not None:
            truths = read_numbers(owner, "positions", positions, 1, 2)
        if truths.shape[0] != inputs:
            raise ParameterError(f"{owner}: positions must have {inputs} entries, one per input, got {truths.shape[0]}")
        places = truths if guesses is None else read_numbers(owner, "guesses", guesses, 1, 2)
        if places.shape[1:] != truths.shape[1:]:
            raise ParameterError(f"{owner}: guesses and positions must be both numbers, or points of the same space")
        if isinstance(loss, str):
            payoff = named_payoff(owner, "loss", loss, places, truths)
        else:
            payoff = function_payoff(owner, "loss", loss, places, truths)
    elif positions is not None or guesses is not None:
        raise ParameterError(f"{owner}: positions and guesses are for a loss by name or a function, not for a matrix")
    else:
        payoff = matrix_payoff(owner, "loss", loss, inputs)
    if is_output and payoff.guesses != outputs:
        raise ParameterError(
            f"{owner}: without a remap each of the {outputs} outputs is a guess, but the loss has {payoff.guesses} "
            f"guesses; give guesses, one per output, or a remap"
        )
    return payoff


def _read_remap(owner: str, remap: ArrayLike, outputs: int, guesses: int) -> np.ndarray:
    given = np.asarray(remap)
    if given.dtype.kind not in "iu" or given.shape != (outputs,) or given.min() < 0 or given.max() >= guesses:
        raise ParameterError(
            f"{owner}: remap must hold, for each of {outputs} outputs, a guess from 0 to {guesses - 1}"
        )
    return given
