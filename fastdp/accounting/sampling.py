"""Releases on a random sample of the records, which cost less than on all of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fastdp import rounding, validation
from fastdp.accounting.building import geometric_atoms
from fastdp.accounting.cells import CELLS, Cells, mix
from fastdp.accounting.compose import Parallel, Release, read_part
from fastdp.errors import ParameterError
from fastdp.losses import AtomicLoss, CellsLoss, GaussianLoss, GeometricLoss, LaplaceLoss, Loss, SampledGaussianLoss


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
    mixed = _mix(loss, rate) if scheme == "poisson" else _symmetric(_mix(loss, rate, gathered=True))
    return Release(((mixed, 1),), release.neighbours, release.unit, _amplify(release.pure, rate), release.metric)


def _amplify(pure: float, rate: float) -> float:
    """ln(1 + rate (e^pure - 1)), rounded up."""
    if not math.isfinite(pure) or rate == 1:
        return pure
    if pure < 30:
        return min(pure, rounding.up(math.log1p(rate * math.expm1(pure)) * (1 + 1e-14)))
    return min(pure, pure + math.log(rate + (1 - rate) * math.exp(-pure)) + 1e-14 * pure)


def _mix(loss: Loss, rate: float, *, gathered: bool = False) -> Loss:
    """(1 - rate) Q + rate P against Q; ``gathered`` to cells where it has no atoms."""
    if rate == 1 and not gathered:
        return loss
    match loss:
        case GaussianLoss() if not gathered:
            return SampledGaussianLoss(mu=loss.mu, rate=rate, margin=loss.margin, distance=loss.distance)
        case GeometricLoss() if loss.steps <= CELLS:
            return _mix_atoms(geometric_atoms(loss), rate)
        case GaussianLoss() | LaplaceLoss() | GeometricLoss():
            return Cells.of(loss).mixed(rate).loss(margin=loss.margin, distance=loss.distance)
        case AtomicLoss():
            return _mix_atoms(loss, rate)
    raise ParameterError(f"sampled: a {type(loss).__name__} has no bound for samples; give the mechanism itself")


def _mix_atoms(loss: AtomicLoss, rate: float) -> AtomicLoss:
    losses = mix(loss.losses, rate)
    p = (1 - rate) * loss.q + rate * loss.p
    q = loss.q
    if loss.q_infinite and rate < 1:
        losses, p = np.append(losses, math.log1p(-rate)), np.append(p, (1 - rate) * loss.q_infinite)
        q = np.append(q, loss.q_infinite)
    # what the data of the atoms may be off by, 2**-50 of loss and masses, is more after mixing
    margin = loss.margin + 2.0**-49 * (1 + float(np.abs(loss.losses).max()))
    return AtomicLoss(losses=losses, p=p, q=q, p_infinite=rate * loss.p_infinite, margin=margin, distance=loss.distance)


def _symmetric(loss: Loss) -> Loss:
    """The pair whose curve is that of (1-rate) Q + rate P against Q for epsilon >= 0, the same in both directions."""
    if isinstance(loss, CellsLoss):
        below, above = _symmetric_atoms(loss.below), _symmetric_atoms(loss.above)
        return CellsLoss(below=below, above=above, margin=above.margin, distance=loss.distance)
    assert isinstance(loss, AtomicLoss)
    return _symmetric_atoms(loss)


def _symmetric_atoms(loss: AtomicLoss) -> AtomicLoss:
    above = loss.losses > 0
    losses, p, q = loss.losses[above], loss.p[above], loss.q[above]
    rest = max(0.0, 1 - float(p.sum()) - float(q.sum()) - loss.p_infinite)
    return AtomicLoss(
        losses=np.concatenate([losses, [0.0], -losses[::-1]]), p=np.concatenate([p, [rest], q[::-1]]),
        q=np.concatenate([q, [rest], p[::-1]]), p_infinite=loss.p_infinite, q_infinite=loss.p_infinite,
        margin=loss.margin + 2.0**-48, distance=loss.distance,
    )  # fmt: skip
