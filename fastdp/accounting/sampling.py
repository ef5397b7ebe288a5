"""Releases on a random sample of the records, which cost less than on all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.accounting.compose import Parallel, Release, read_part
from fastdp.accounting.factors import geometric_atoms
from fastdp.errors import ParameterError
from fastdp.losses import AtomicLoss, GaussianLoss, GeometricLoss, LaplaceLoss, Loss, SampledGaussianLoss

CELLS = 1 << 13


def sampled(mechanism: Any, *, rate: float, scheme: str = "poisson", replacement: bool = False) -> Release:
    """A release on a secret random sample of the records.

    ``scheme="poisson"`` keeps each record by itself with probability ``rate``: for neighbours "add/remove". With
    ``scheme="fixed size"`` the sample is a uniform subset with a share of ``rate``: for neighbours "replace". Sampling
    with replacement has no bound here. [Zhu, Dong, Wang 2022]

    Parameters
    ----------
    mechanism
        What is released on the sample: a mechanism, or anything else that `compose` takes.
    rate
        The sampling rate, between 0 and 1.
    scheme
        "poisson" or "fixed size".
    replacement
        Sampling with replacement, which is refused.

    >>> import fastdp as fd
    >>> one = sampled(fd.Privacy(epsilon=1.0), rate=0.01)
    >>> round(fd.compose([one]).epsilon(delta=0).upper, 6)
    0.017037
    """
    rate = validation.as_float(rate)
    if not 0 < rate <= 1:
        raise ParameterError(f"sampled: rate must be a number with 0 < rate <= 1, got {rate!r}")
    validation.one_of("sampled", "scheme", scheme, ("poisson", "fixed size"))
    if replacement:
        raise ParameterError(
            "sampled: with replacement a record may occur twice, for which there is no bound; leave it"
        )
    read = read_part(mechanism)
    if isinstance(read, Parallel) or len(read) != 1 or len(read[0].losses) != 1 or read[0].losses[0][1] != 1:
        raise ParameterError("sampled: give one mechanism or guarantee; compose repetitions by (sampled(...), times)")
    release = read[0]
    wanted = "add/remove" if scheme == "poisson" else "replace"
    if release.neighbours != wanted:
        other = "fixed size" if scheme == "poisson" else "poisson"
        raise ParameterError(
            f"sampled: scheme {scheme!r} needs a guarantee for neighbours {wanted!r}, this one is for "
            f"{release.neighbours!r}; use scheme={other!r}"
        )
    loss = release.losses[0][0]
    mixed = _mix(loss, rate) if scheme == "poisson" else _symmetric(_mix(loss, rate))
    pure = release.pure
    if math.isfinite(pure):
        amplified = pure + math.log(rate) if pure > 30 else 0.0
        amplified = max(amplified, math.log1p(rate * math.expm1(min(pure, 30.0))))
        pure = rounding.up(amplified * (1 + 1e-14)) if pure <= 30 else pure
    return Release(((mixed, 1),), release.neighbours, release.unit, pure, release.metric)


def _mix(loss: Loss, rate: float) -> Loss:
    """(1 - rate) Q + rate P against Q."""
    if rate == 1:
        return loss
    match loss:
        case GaussianLoss():
            return SampledGaussianLoss(mu=loss.mu, rate=rate, margin=loss.margin, distance=loss.distance)
        case LaplaceLoss():
            return _mix_atoms(_laplace_atoms(loss), rate)
        case GeometricLoss():
            return _mix_atoms(geometric_atoms(loss), rate)
        case AtomicLoss():
            return _mix_atoms(loss, rate)
    raise ParameterError(f"sampled: a {type(loss).__name__} has no bound for samples; give the mechanism itself")


def _mix_atoms(loss: AtomicLoss, rate: float) -> AtomicLoss:
    x = np.minimum(loss.losses, 500.0)
    mixed = np.log1p(rate * np.expm1(x)) if rate <= 0.5 else np.log((1 - rate) + rate * np.exp(x))
    losses = np.where(loss.losses > 500, loss.losses + math.log(rate), mixed)
    p = (1 - rate) * loss.q + rate * loss.p
    q = loss.q
    if loss.q_infinite:
        losses, p = np.append(losses, math.log1p(-rate)), np.append(p, (1 - rate) * loss.q_infinite)
        q = np.append(q, loss.q_infinite)
    # what the data of the atoms may be off by, 2**-50 of loss and masses, is more after mixing
    margin = loss.margin + 2.0**-49 * (1 + float(np.abs(loss.losses).max()))
    return AtomicLoss(losses=losses, p=p, q=q, p_infinite=rate * loss.p_infinite, margin=margin, distance=loss.distance)


def _laplace_atoms(loss: LaplaceLoss) -> AtomicLoss:
    """Cells of equal width in the loss, each merged to one atom; what merging hides is charged as margin."""
    e = loss.epsilon
    edges = np.linspace(-e, e, CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    half = e / CELLS
    # density of the loss under P: e^{(l - e)/2} / 4 between the atoms 1/2 at e and e^-e / 2 at -e
    p = np.concatenate([[0.5], np.exp((middle - e) / 2) * np.sinh(half / 2), [math.exp(-e) / 2]])
    losses = np.concatenate([[e], middle, [-e]])
    q = p * np.exp(-losses)
    return AtomicLoss(losses=losses, p=p, q=q, margin=loss.margin + half * (1 + 1e-9), distance=loss.distance)


def _symmetric(loss: Loss) -> Loss:
    """The pair whose curve is that of (1-rate) Q + rate P against Q for epsilon >= 0, the same in both directions."""
    if not isinstance(loss, AtomicLoss):
        raise ParameterError("sampled: a sample of fixed size needs finitely many losses; use Poisson sampling")
    above = loss.losses > 0
    losses, p, q = loss.losses[above], loss.p[above], loss.q[above]
    rest = max(0.0, 1 - float(p.sum()) - float(q.sum()) - loss.p_infinite)
    return AtomicLoss(
        losses=np.concatenate([losses, [0.0], -losses]), p=np.concatenate([p, [rest], q]),
        q=np.concatenate([q, [rest], p]), p_infinite=loss.p_infinite, q_infinite=loss.p_infinite,
        margin=loss.margin + 2.0**-48, distance=loss.distance,
    )  # fmt: skip
