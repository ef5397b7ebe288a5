"""The reader for the reports of each kind of mechanism: one row per kind, the most specific first."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from typing import Any, NamedTuple

from fastdp.mechanisms.base import FiniteMechanism
from fastdp.mechanisms.central.additive import Additive
from fastdp.mechanisms.local.frequencies import FrequencyProtocol
from fastdp.mechanisms.local.means.reports import MeanReports
from fastdp.mechanisms.local.square_wave import SquareWave
from fastdp.plans.category_group import Joint, Several
from fastdp.tables.estimating.category_readers import OutputReader, Reader, ShareReader
from fastdp.tables.estimating.group_readers import LARGEST_JOINT, JointReader, SeveralReader
from fastdp.tables.estimating.number_readers import WAVE_BINS, MeanReader, NoiseReader, WaveReader


class Options(NamedTuple):
    """What was asked of the estimates, and what the plan says of the part."""

    bins: int | None
    unbiased: bool
    given: Mapping[str, Any]


@singledispatch
def open_reader(mechanism: object, options: Options) -> Reader | None:  # noqa: ARG001  # the rows below take it
    """The reader for the reports of a mechanism or of a group's body; None where there is none."""
    return None


@open_reader.register
def _(mechanism: SquareWave, options: Options) -> Reader | None:
    return WaveReader(mechanism, options.bins or options.given.get("bins", WAVE_BINS))


@open_reader.register
def _(mechanism: MeanReports, options: Options) -> Reader | None:
    return MeanReader(mechanism, options.bins)


@open_reader.register
def _(mechanism: Additive, options: Options) -> Reader | None:
    return NoiseReader(mechanism, options.bins)


@open_reader.register
def _(mechanism: FrequencyProtocol, options: Options) -> Reader | None:
    return ShareReader(mechanism, unbiased=options.unbiased)


@open_reader.register
def _(mechanism: FiniteMechanism, options: Options) -> Reader | None:  # noqa: ARG001  # none of them applies
    return OutputReader(mechanism)


@open_reader.register
def _(body: Joint, options: Options) -> Reader | None:
    few = body.mechanism.domain.size <= LARGEST_JOINT
    return JointReader(body, unbiased=options.unbiased) if few else None


@open_reader.register
def _(body: Several, options: Options) -> Reader | None:
    return SeveralReader(body, unbiased=options.unbiased)
