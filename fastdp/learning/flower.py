"""Federated sums in Flower: a strategy that decodes the sum of messages, and the message of a client.

Flower is imported when the strategy is made; it is not installed with fastdp.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fastdp import optional, validation
from fastdp.errors import SchemaError
from fastdp.learning.federated import FederatedSum
from fastdp.random.rng import Rng

OWNER = "flower_strategy"


def flower_message(
    total: FederatedSum, before: Sequence[np.ndarray], after: Sequence[np.ndarray], *, rng: Rng | None = None
) -> list[np.ndarray]:
    """What a client's ``fit`` returns as its parameters: the message about the change of its weights.

    Parameters
    ----------
    total
        The federated sum that all clients and the server share.
    before, after
        The weights as the client got them, and after its training.
    rng
        The client's stream of noise; None is the process's own.

    >>> import fastdp as fd
    >>> total = fd.learning.SkellamSum(clients=1000, clip=1.0, dimension=4, noise_multiplier=4.0, bits=24, delta=1e-6)
    >>> [message] = flower_message(total, [np.zeros((2, 2))], [np.full((2, 2), 0.1)])
    >>> message.shape, message.dtype
    ((4,), dtype('uint64'))
    """
    return [total.message(_flat(after) - _flat(before), rng=rng)]


def flower_strategy(
    total: FederatedSum, weights: Sequence[np.ndarray], *, learning_rate: float = 1.0, **parameters: Any
) -> Any:
    """A strategy of Flower that adds the noisy mean of the clients' changes to the weights.

    A round in which fewer than ``total.least`` clients answer is not decoded, and the weights stay as they are. What a
    round costs is ``total.privacy`` for who sees the sum alone, which takes secure aggregation, and
    ``total.message_privacy`` for who sees single messages.

    Parameters
    ----------
    total
        The federated sum that all clients and the server share.
    weights
        The weights that the first round starts from.
    learning_rate
        What the mean is multiplied by.
    **parameters
        Parameters of Flower's ``FedAvg``, such as ``fraction_fit``.
    """
    averaging: Any = optional.load(OWNER, "flwr.server.strategy", extra="flower").FedAvg
    common = optional.load(OWNER, "flwr.common", extra="flower")
    rate = validation.positive(OWNER, "learning_rate", learning_rate)
    start = [np.asarray(part) for part in weights]
    if sum(part.size for part in start) != total.dimension:
        raise SchemaError(f"{OWNER}: weights have {_flat(start).size} coordinates, the sum has {total.dimension}")

    class PrivateSum(averaging):  # type: ignore[misc]
        """FedAvg, with the sum of messages in place of the mean of weights."""

        def __init__(self) -> None:
            super().__init__(initial_parameters=common.ndarrays_to_parameters(start), **parameters)
            self.weights = start

        def aggregate_fit(self, server_round: int, results: Any, failures: Any) -> Any:  # noqa: ARG002
            messages = [common.parameters_to_ndarrays(answer.parameters)[0] for _, answer in results]
            if len(messages) < total.least:
                return None, {"answers": len(messages)}
            mean = rate * total.decode(total.add(messages)) / len(messages)
            edges = np.cumsum([part.size for part in start])[:-1]
            changes = np.split(mean, edges)
            self.weights = [
                (part + change.reshape(part.shape)).astype(part.dtype, copy=False)
                for part, change in zip(self.weights, changes, strict=True)
            ]
            return common.ndarrays_to_parameters(self.weights), {"answers": len(messages)}

    return PrivateSum()


def _flat(weights: Sequence[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(part, np.float64).ravel() for part in weights])
