"""Federated sums: clients add a share of the noise each, and the server sees the sum of their messages modulo 2**bits.

A client's update is clipped and truncated to integers, as in `learning.clipping`; noise is added, and the result is
reduced modulo 2**bits, which secure aggregation needs and which costs nothing: it is post-processing. The server
adds the messages up modulo 2**bits. The sum of all updates and of 8 standard deviations of noise fits the modulus.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fastdp import rounding, validation
from fastdp.engine.runner import working_memory
from fastdp.errors import ParameterError, SchemaError
from fastdp.laws.central.gaussian import LARGEST_SIGMA, GaussianLaw
from fastdp.laws.central.skellam import LARGEST_TABLE, SkellamLaw
from fastdp.learning.clipping import MOST_STEPS, ClippedSum, read_gradients
from fastdp.learning.sampling import poisson_sample
from fastdp.privacy import DISTANCE, Privacy
from fastdp.random.rng import Rng, resolve
from fastdp.threads import for_each_block
from fastdp.typing import Numbers

LARGEST_BITS = 62
SPREAD = 8
"""Standard deviations of the noise that the modulus has room for on either side: more have probability 1e-15."""
MOST = 50.0
"""Epsilon or rho beyond which a guarantee says nothing."""
LEAST_SIGMA = 3.0
"""Of one client's discrete Gaussian noise, in steps: sums of such are discrete Gaussian to 1e-34."""


class FederatedSum(ABC):
    """What both sums share: the grid, the modulus, messages and their sum.

    ``noise_multiplier`` is the standard deviation of the noise of ``least`` clients together, as a multiple of the
    clip: noise for the sum, which an attacker sees who sees no message. With ``local=True`` every message has noise for
    itself, as a multiple of twice the clip, the distance of two updates: for the attacker who sees each update.
    """

    largest_sigma: ClassVar[float]
    """Of one client's noise, in steps: what its sampler draws fast; the grid is no finer."""

    def __init__(
        self,
        *,
        clients: int,
        clip: float,
        dimension: int,
        noise_multiplier: float,
        bits: int = 32,
        least: int | None = None,
        delta: float | None = None,
        local: bool = False,
    ) -> None:
        owner = type(self).__name__
        self.clients = validation.positive_integer(owner, "clients", clients)
        self.clip = validation.positive(owner, "clip", clip)
        self.dimension = validation.positive_integer(owner, "dimension", dimension)
        self.noise_multiplier = validation.positive(owner, "noise_multiplier", noise_multiplier)
        self.bits = validation.positive_integer(owner, "bits", bits)
        self.least = self.clients if least is None else validation.positive_integer(owner, "least", least)
        self.delta = None if delta is None else validation.probability(owner, "delta", delta)
        self.local = bool(local)
        if self.bits > LARGEST_BITS:
            raise ParameterError(f"{owner}: bits must be at most {LARGEST_BITS}, got {bits!r}")
        if self.least > self.clients:
            raise ParameterError(f"{owner}: least, the clients that stay at the least, must be at most clients")
        share = 2 * self.noise_multiplier if self.local else self.noise_multiplier / math.sqrt(self.least)
        room = self.clients + SPREAD * share * math.sqrt(self.clients)
        self.steps = min(MOST_STEPS, int(2.0 ** (self.bits - 1) / room), int(self.largest_sigma / share))
        if self.steps < 1:
            raise ParameterError(
                f"{owner}: {bits} bits have no room for the sum of {clients} clients and its noise; give more bits"
            )
        self._sigma = share * self.steps
        self._law = self._make_law(self._sigma)

    @abstractmethod
    def _make_law(self, sigma: float) -> Any:
        """The law of one client's noise, of at least this standard deviation in steps."""

    @property
    @abstractmethod
    def privacy(self) -> Privacy:
        """What the sum of at least ``least`` messages costs, to who sees the sum alone; for zeroing one update."""

    @property
    @abstractmethod
    def message_privacy(self) -> Privacy | None:
        """What one client's message costs, to who sees it, for any two updates; None if it guarantees nothing."""

    @property
    def resolution(self) -> float:
        """A step of the grid in units of the updates; coordinates below it are lost to truncation."""
        return self.clip / self.steps

    @property
    def std_error(self) -> float:
        """The standard deviation of the noise in a coordinate of the sum, if all clients stay."""
        return math.sqrt(self.clients * self._law.variance) * self.resolution

    def message(self, update: Numbers, *, rng: Rng | None = None) -> np.ndarray:
        """One client's message: its update clipped, on the grid, with its share of the noise, modulo 2**bits.

        Parameters
        ----------
        update
            A vector of ``dimension`` floats; one that is not finite counts as zero.
        rng
            The client's stream of noise; None is the process's own.
        """
        owner = type(self).__name__
        vector = np.asarray(update)
        if vector.shape != (self.dimension,):
            raise SchemaError(f"{owner}: an update must be a vector of {self.dimension} numbers, got {vector.shape}")
        parts, shapes = read_gradients(owner, vector[None])
        exact = ClippedSum(self.clip, self.steps, shapes)
        exact.add(parts)
        noisy = exact.totals[0] + self._noise(resolve(owner, rng))
        return np.asarray(noisy.view(np.uint64) & np.uint64((1 << self.bits) - 1))

    def _noise(self, rng: Rng) -> np.ndarray:
        parts = getattr(self._law, "parts", 1)
        key, start = rng.reserve(self.dimension * parts)
        noise, fill = np.empty(self.dimension, np.int64), self._law.sampler()

        def work(first: int, stop: int) -> None:
            with working_memory() as memory:
                fill(key, start + np.uint64(first * parts), first, None, memory.scratch, noise[first:stop])

        for_each_block(self.dimension, work)
        return noise

    def add(self, messages: Iterable[np.ndarray]) -> np.ndarray:
        """The sum of messages modulo 2**bits, as a server or secure aggregation computes it."""
        mask = np.uint64((1 << self.bits) - 1)
        total = np.zeros(self.dimension, np.uint64)
        for message in messages:
            total += message
            total &= mask
        return total

    def decode(self, total: np.ndarray) -> np.ndarray:
        """The noisy sum of the updates, from the sum of the messages."""
        signed = np.asarray(total, np.uint64).astype(np.int64)
        signed = np.where(signed >= 1 << (self.bits - 1), signed - (1 << self.bits), signed)
        return np.asarray(signed * self.resolution)

    def _need_delta(self) -> float:
        if self.delta is None:
            raise ParameterError(f"{type(self).__name__}: its guarantee is an epsilon at a delta; give delta")
        return self.delta

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}(clients={self.clients}, clip={self.clip!r}, dimension={self.dimension}, "
            f"noise_multiplier={self.noise_multiplier!r}, bits={self.bits}, least={self.least}, local={self.local})"
        )


class DiscreteGaussianSum(FederatedSum):
    """Sum of clients' updates with a share of discrete Gaussian noise from each.

    rho-zCDP for the sum if at least ``least`` clients stay: rho = e**2 / 2, e = clip / sigma + tau sqrt(dimension),
    where tau bounds how far a sum of discrete Gaussians is from one. [Kairouz, Liu, Steinke 2021]

    Parameters
    ----------
    clients
        The number of clients.
    clip
        The largest L2 norm of an update.
    dimension
        The number of coordinates of an update.
    noise_multiplier
        The standard deviation of the noise in the sum of ``least`` clients, as a multiple of the clip.
    bits
        The sum is modulo 2**bits; fewer make smaller messages and a coarser grid.
    least
        The clients that stay at the least; all where None.
    delta
        Not needed here.
    local
        Noise for each message by itself, as a multiple of twice the clip.

    >>> import fastdp as fd, numpy as np
    >>> total = DiscreteGaussianSum(clients=100, clip=1.0, dimension=3, noise_multiplier=2.0, least=90)
    >>> messages = [total.message(np.array([0.1, 0.2, 0.0]), rng=fd.Rng.unsafe_seed(i)) for i in range(100)]
    >>> total.decode(total.add(messages)).round(0).tolist()
    [7.0, 21.0, 2.0]
    >>> round(total.privacy.rho, 6), round(total.message_privacy.rho, 6)
    (0.125, 45.0)
    """

    largest_sigma = LARGEST_SIGMA

    def _make_law(self, sigma: float) -> GaussianLaw:
        if sigma < LEAST_SIGMA:
            raise ParameterError(
                f"DiscreteGaussianSum: one client's noise is {sigma:.3g} steps wide, below {LEAST_SIGMA:g}; give more "
                "bits or noise, or use SkellamSum, whose shares may be narrow"
            )
        return GaussianLaw.of_sigma(sigma, "DiscreteGaussianSum")

    @property
    def privacy(self) -> Privacy:
        """What the sum of at least ``least`` messages costs, to who sees the sum alone; for zeroing one update."""
        least = math.sqrt(self.least) * self._law.sigma * (1 - 1e-15)
        root = self.steps / least + tau(self._law.sigma, self.clients) * math.sqrt(self.dimension)
        return Privacy(rho=rounding.up(root * root / 2, 8), unit="person")

    @property
    def message_privacy(self) -> Privacy | None:
        """What one client's message costs, to who sees it, for any two updates; None if it guarantees nothing."""
        rho = self._law.rho(2 * self.steps)
        return Privacy(rho=rho, unit="person", neighbours="replace") if rho < MOST else None


def tau(sigma: float, clients: int) -> float:
    """How far the sum of so many discrete Gaussians is from one, in the logarithm: 10 sum_k e**(-2 pi**2 s**2 k/(k+1)).

    >>> round(tau(1.0, 10), 10)
    0.0005435243
    """
    k = np.arange(1, clients, dtype=np.float64)
    return float(10 * np.exp(-2 * math.pi**2 * sigma**2 * k / (k + 1)).sum() * (1 + 1e-9))


class SkellamSum(FederatedSum):
    """Sum of clients' updates with a share of Skellam noise from each: the sum's noise is Skellam again, exactly.

    (epsilon, delta)-DP for the sum if at least ``least`` clients stay, from the Rényi divergences of integer orders.
    Shares may be far below a step wide, so that few bits serve many clients. [Agarwal, Kairouz, Liu 2021]

    Parameters
    ----------
    clients, clip, dimension, noise_multiplier, bits, least, local
        As in `DiscreteGaussianSum`.
    delta
        The delta at which the guarantees are stated.

    >>> import fastdp as fd, numpy as np
    >>> total = SkellamSum(clients=1000, clip=1.0, dimension=3, noise_multiplier=4.0, bits=18, delta=1e-6)
    >>> messages = [total.message(np.array([0.5, 0.25, 0.0]), rng=fd.Rng.unsafe_seed(i)) for i in range(1000)]
    >>> bool(np.abs(total.decode(total.add(messages)) - [500, 250, 0]).max() < 25)
    True
    >>> round(total.privacy.epsilon, 2)
    1.18
    """

    largest_sigma = math.sqrt(LARGEST_TABLE) * (1 - 1e-9)

    def _make_law(self, sigma: float) -> SkellamLaw:
        return SkellamLaw.of_variance(sigma * sigma, "SkellamSum")

    @property
    def privacy(self) -> Privacy:
        """What the sum of at least ``least`` messages costs, to who sees the sum alone; for zeroing one update."""
        whole = SkellamLaw(self._law.numerator, self._law.shift, self._law.parts * self.least)
        return self._guarantee(whole, self.steps, "add/remove")

    @property
    def message_privacy(self) -> Privacy | None:
        """What one client's message costs, to who sees it, for any two updates; None if it guarantees nothing."""
        found = self._guarantee(self._law, 2 * self.steps, "replace")
        return found if found.epsilon is not None and found.epsilon < MOST else None

    def _guarantee(self, law: SkellamLaw, l2: float, neighbours: Any) -> Privacy:
        """For integer vectors of L2 norm l2: their L1 norm is at most l2 sqrt(dimension), and at most l2**2."""
        delta, l1 = self._need_delta(), min(math.sqrt(self.dimension) * l2 * (1 + 1e-15), float(l2) ** 2)
        epsilon = law.epsilon(delta, l1, l2, draws=self.dimension)
        return Privacy(epsilon=max(epsilon, DISTANCE), delta=delta, unit="person", neighbours=neighbours)


@dataclass(frozen=True, slots=True)
class Simulation:
    """One round: the noisy mean of those who stayed, their number, the true mean, and what it costs."""

    mean: np.ndarray
    stayed: int
    truth: np.ndarray
    privacy: Privacy


def simulate(total: FederatedSum, updates: np.ndarray, *, dropout: float = 0.0, rng: Rng | None = None) -> Simulation:
    """One round of a federated sum in which every client leaves with probability ``dropout``.

    Refused, before anything is decoded, if fewer than ``least`` stay: the noise would be below what is stated.

    Parameters
    ----------
    total
        The sum, with the number of clients and of those that stay at the least.
    updates
        One row per client.
    dropout
        The probability that a client leaves before it sends its message.
    rng
        The stream that the clients' own are derived from; None is the process's own.

    >>> import fastdp as fd, numpy as np
    >>> total = SkellamSum(clients=1000, clip=1.0, dimension=2, noise_multiplier=4.0, bits=20, least=850, delta=1e-6)
    >>> done = simulate(total, np.full((1000, 2), 0.5), dropout=0.1, rng=fd.Rng.unsafe_seed(1))
    >>> done.stayed, bool(np.abs(done.mean - done.truth).max() < 0.02)
    (887, True)
    """
    owner = "simulate"
    updates = np.asarray(updates)
    if updates.shape != (total.clients, total.dimension):
        raise SchemaError(f"{owner}: updates must be an array ({total.clients}, {total.dimension})")
    dropout = validation.as_float(dropout)
    if not 0 <= dropout < 1:
        raise ParameterError(f"{owner}: dropout must be a number with 0 <= dropout < 1, got {dropout!r}")
    stream = resolve(owner, rng)
    stayed = poisson_sample(total.clients, 1 - dropout, rng=stream.child("dropouts"))
    if stayed.size < total.least:
        raise ParameterError(
            f"{owner}: {stayed.size} clients stayed, fewer than the {total.least} that the guarantee needs; nothing "
            "was decoded"
        )
    messages = (total.message(updates[client], rng=stream.child(int(client))) for client in stayed)
    mean = total.decode(total.add(messages)) / stayed.size
    return Simulation(mean, int(stayed.size), updates[stayed].mean(axis=0), total.privacy)
