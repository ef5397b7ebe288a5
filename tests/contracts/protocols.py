"""Every local protocol, listed once; the contract of local protocols runs over this list."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pyarrow as pa

import fastdp as fd
from fastdp.mechanisms.local.hashing import LocalHashing
from fastdp.mechanisms.local.subset import SubsetSelection
from tests.reference import protocols as laws
from tests.reference.protocols import ONE, log_ratio, unary_ratio

KEY = bytes(range(32))


@dataclass(frozen=True)
class Protocol:
    """How a protocol is made from an epsilon and a domain, and what is known of it from elsewhere."""

    name: str
    make: Callable[[float, Any], Any]
    cost: Callable[[Any], mpmath.mpf]
    """What the realised integers cost, to 80 digits."""
    law: Callable[[Any, int], tuple[np.ndarray, np.ndarray]] | None = None
    """Probabilities of whole reports of value x as numbers, and which of them support it."""
    keyed: bool = False
    """All randomness but that of a second round is a function of the key, person and value."""
    rng: bool = True
    bools: bool = False
    tight: bool = True
    """Costs at least 1 - 1e-6 of what was asked."""
    unbiased: bool = True
    """Over the coins alone; public hash functions are fixed."""
    one_value: bool = False
    """``variance`` is that of value 0 where all others are equally frequent."""
    by_epsilon: bool = True
    """Whether it is made from an epsilon; else from p and q."""
    small: int = 5
    """Values of the domain of the tests of whole reports."""

    def domain(self, k: int) -> int:
        return 2 if self.bools else k

    def values(self, size: int, k: int) -> np.ndarray:
        """Some values, the same every time."""
        codes = np.arange(size) * 7 % self.domain(k)
        return codes.astype(bool) if self.bools else codes.astype(np.int32)

    def same_value(self, size: int, x: int) -> np.ndarray:
        return np.full(size, x, bool if self.bools else np.int8)

    def randomize(self, mechanism: Any, values: Any, *, rng: Any = None, first: int = 0, **more: Any) -> Any:
        """Reports; persons are numbered from ``first`` on where there are any."""
        if self.keyed:
            size = len(values) if hasattr(values, "__len__") else 1
            more = {"persons": np.arange(first, first + size), "key": KEY, **more}
        return mechanism.randomize(values, rng=rng, **more)


def report_type(mechanism: Any) -> Any:
    """The type of reports; None where reports have the type of the values."""
    if isinstance(mechanism, fd.Longitudinal):
        mechanism = mechanism.mechanism
    return getattr(mechanism, "report_type", None)


def arrow_type(mechanism: Any, values: pa.Array) -> pa.DataType:
    kind = report_type(mechanism)
    return values.type if kind is None else kind.arrow_type()


def _coin(coin: Any) -> Fraction:
    return Fraction(coin.threshold, ONE)


def _sets(mechanism: Any) -> mpmath.mpf:
    return log_ratio(unary_ratio(_coin(mechanism._truth), _coin(mechanism._noise)))


def _keep(keep: Fraction, k: int) -> mpmath.mpf:
    return log_ratio(1 + keep * k / (1 - keep))


def _heads(threshold: int, favoured: int, others: int) -> mpmath.mpf:
    return log_ratio(Fraction(threshold * others, (ONE - threshold) * favoured))


def _flips(coin: Any, count: int) -> mpmath.mpf:
    return count * log_ratio((1 - _coin(coin)) / _coin(coin))


def _steps(mechanism: Any) -> mpmath.mpf:
    """Noise with ratio e**-rate per step of the grid; two entries move by 1."""
    rate = mechanism._law.rate.exact * 2 / Fraction(mechanism.granularity)
    return mpmath.mpf(rate.numerator) / rate.denominator


def _unary(mechanism: Any, x: int) -> Any:
    p, q = (float(_coin(coin)) for coin in mechanism.coins)
    return laws.unary(p, q, mechanism.domain.size, x)


def _krr(mechanism: Any, x: int) -> Any:
    e, k = np.exp(mechanism.epsilon), mechanism.domain.size
    return laws.one_hot(e / (e + k - 1), 1 / (e + k - 1), k, x)


def _twice_krr(mechanism: Any, x: int) -> Any:
    e, k = np.exp(mechanism.first), mechanism.domain.size
    return laws.one_hot(e / (e + k - 1), 1 / (e + k - 1), k, x)


def _twice_sets(mechanism: Any, x: int) -> Any:
    flip = float(_coin(mechanism._rounds.flip))
    p, q = (float(_coin(coin)) for coin in mechanism.mechanism.coins)
    return laws.unary(p + flip - 2 * p * flip, q + flip - 2 * q * flip, mechanism.domain.size, x)


def _twice(mechanism: Any) -> Callable[[float, Any], Any]:
    """Longitudinal with two thirds of epsilon for a single report."""
    return lambda epsilon, domain: fd.Longitudinal(mechanism(epsilon, domain), first=epsilon * 2 / 3)


def _oue(epsilon: float, domain: Any) -> Any:
    return fd.UnaryEncoding(epsilon=epsilon, domain=domain)


def _sue(epsilon: float, domain: Any) -> Any:
    return fd.UnaryEncoding(epsilon=epsilon, domain=domain, optimized=False)


def _given(epsilon: float, domain: Any) -> Any:
    """p = 3/4, and q so that the whole costs hardly less than epsilon."""
    q = 3 / (3 + math.exp(epsilon)) * (1 + 1e-7 * epsilon)
    return fd.UnaryEncoding.of(p=0.75, q=q, domain=domain)


PROTOCOLS = [
    Protocol(
        "krr",
        lambda epsilon, domain: fd.KRR(epsilon=epsilon, domain=domain),
        lambda m: _keep(m.keep, m.domain.size),
        _krr,
    ),
    Protocol(
        "randomized-response",
        lambda epsilon, _domain: fd.RandomizedResponse(epsilon=epsilon),
        lambda m: _flips(m._noise, 1),
        lambda m, x: laws.one_hot(1 - float(_coin(m._noise)), float(_coin(m._noise)), 2, x),
        bools=True,
        small=2,
    ),
    Protocol("oue", _oue, _sets, _unary),
    Protocol("sue", _sue, _sets, _unary, small=6),
    Protocol("unary-of", _given, _sets, _unary, by_epsilon=False, small=4),
    Protocol(
        "thresholded-histogram",
        lambda epsilon, domain: fd.ThresholdedHistogram(epsilon=epsilon, domain=domain),
        _sets,
        _unary,
        tight=False,
    ),
    Protocol(
        "summed-histogram",
        lambda epsilon, domain: fd.SummedHistogram(epsilon=epsilon, domain=domain),
        _steps,
    ),
    Protocol(
        "subset-selection",
        lambda epsilon, domain: SubsetSelection(epsilon=epsilon, domain=domain),
        lambda m: _heads(m._law.odds.threshold, m.size, m.domain.size - m.size),
        lambda m, x: laws.subset(m.p, m.size, m.domain.size, x),
        small=6,
    ),
    Protocol(
        "hadamard-response",
        lambda epsilon, domain: fd.HadamardResponse(epsilon=epsilon, domain=domain),
        lambda m: _heads(m._odds.threshold, 1, 1),
        lambda m, x: laws.hadamard(m.p, m.rows, x),
    ),
    Protocol(
        "rappor",
        lambda epsilon, domain: fd.RAPPOR(epsilon=epsilon, domain=domain, bits=13, cohorts=16),
        lambda m: _flips(m._noise, 2 * m.hashes),
        one_value=True,
    ),
    Protocol(
        "rappor-narrow",
        lambda epsilon, domain: fd.RAPPOR(epsilon=epsilon, domain=domain, bits=5, cohorts=4, salt=3),
        lambda m: _flips(m._noise, 2 * m.hashes),
        lambda m, x: laws.rappor(m.p, m.q, m.filters(), x),
        one_value=True,
        unbiased=False,  # too few bits for the domains of those tests
        small=4,
    ),
    Protocol(
        "longitudinal-krr",
        _twice(lambda epsilon, domain: fd.KRR(epsilon=epsilon, domain=domain)),
        lambda m: _keep(Fraction(m._rounds.permanent, ONE), m.domain.size),
        _twice_krr,
        keyed=True,
    ),
    Protocol("longitudinal-oue", _twice(_oue), lambda m: _sets(m.mechanism), _twice_sets, keyed=True, small=4),
    Protocol("longitudinal-sue", _twice(_sue), lambda m: _sets(m.mechanism), _twice_sets, keyed=True, small=3),
    Protocol(
        "dbitflip",
        lambda epsilon, domain: fd.DBitFlip(epsilon=epsilon, domain=domain, bits=2),
        lambda m: _flips(m._noise, 2),
        lambda m, x: laws.dbitflip(m.p, m.q, m.domain.size, m.bits, x),
        keyed=True,
        rng=False,
    ),
    Protocol(
        "local-hashing",
        lambda epsilon, domain: LocalHashing(epsilon=epsilon, domain=domain),
        lambda m: _keep(m._law.krr.keep, m.g),
    ),
    Protocol(
        "local-hashing-cohorts",
        lambda epsilon, domain: LocalHashing(epsilon=epsilon, domain=domain, cohorts=8),
        lambda m: _keep(m._law.krr.keep, m.g),
        unbiased=False,
    ),
]
NAMES = {protocol.name: protocol for protocol in PROTOCOLS}
