"""Repeated collection: a permanent first answer, and a fresh second one each time."""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Any

import numpy as np

from fastdp.channels import DenseChannel, KRRChannel
from fastdp.columns.categories import out_of_domain, read_codes
from fastdp.columns.numeric import Nulls
from fastdp.columns.persons import Persons, read_persons
from fastdp.columns.reports import Parts, ReportType
from fastdp.engine.runner import run, run_reports
from fastdp.errors import ParameterError
from fastdp.kernels.local.krr import fill_krr_large
from fastdp.kernels.local.permanent import fill_permanent_krr, fill_permanent_sets
from fastdp.kernels.local.unary import flip_sets
from fastdp.laws.coins import halves, resolvable_epsilon
from fastdp.laws.local.krr import KRRLaw
from fastdp.laws.local.two_rounds import TwoKeeps, TwoSets
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import computed, frozen
from fastdp.mechanisms.base import FiniteMechanism, set_fields
from fastdp.mechanisms.local.frequencies import Counts, FrequencyProtocol
from fastdp.mechanisms.local.krr import KRR
from fastdp.mechanisms.local.unary import PackedBits, sets_channel
from fastdp.privacy import Privacy
from fastdp.random.permanent_keys import new_key, read_key
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column


@frozen(kw_only=False)
class Longitudinal(FrequencyProtocol, FiniteMechanism):
    """Answer again and again: the mechanism's answer is drawn once for good, and each report randomizes it anew.

    ``mechanism`` is a KRR or a unary encoding, and its epsilon is what all the reports of one person about one value
    ever cost together. ``first`` is the smaller epsilon that a single report costs. The permanent answer is a keyed
    function of (key, person, true value): the same on every machine and in every run, and nothing is stored. A value
    that changes costs the mechanism's epsilon once for every different value, and that it changed is not hidden: one
    value never has two permanent answers. For the same reason every ``question`` that is asked with one key needs a
    name of its own: without, permanent answers that differ would tell for certain that the values do.

    [Erlingsson, Pihur, Korolova 2014; Arcolezi, Couchot, Al Bouna, Xiao 2021]

    Parameters
    ----------
    mechanism
        The protocol whose epsilon bounds all reports of a person together.
    first
        The epsilon of the first report, below the protocol's own.
    question
        Public text that separates the permanent answers to one question from those to another.

    >>> import fastdp as fd
    >>> mechanism = fd.Longitudinal(fd.KRR(epsilon=4.0, domain=10), first=1.0)
    >>> key = fd.Longitudinal.new_key()
    >>> once = mechanism.permanent([3, 5], persons=["ada", "bob"], key=key)
    >>> once == mechanism.permanent([3, 5], persons=["ada", "bob"], key=key)
    True
    >>> reports = mechanism.randomize([3, 5], persons=["ada", "bob"], key=key)
    """

    mechanism: KRR | PackedBits
    first: float = field(kw_only=True)
    question: str = field(kw_only=True, default="")
    _rounds: TwoKeeps | TwoSets = computed()

    def __post_init__(self) -> None:
        first = resolvable_epsilon("Longitudinal", self.first, "first")
        if not isinstance(self.mechanism, KRR | PackedBits):
            raise ParameterError(
                f"Longitudinal: mechanism must be a KRR or a unary encoding, got {type(self.mechanism).__name__}"
            )
        most = self.mechanism.privacy.epsilon or 0.0
        if not first < most:
            raise ParameterError(
                f"Longitudinal: first must be below the mechanism's epsilon, {most}; a single report "
                f"costs less than all of them; got {first}"
            )
        rounds: TwoKeeps | TwoSets
        if isinstance(self.mechanism, KRR):
            size = self.mechanism.domain.size
            target = KRRLaw(Rate.below(Fraction(first)), size)
            rounds = TwoKeeps.reaching(target.keep, self.mechanism.keep, size)
        else:
            rounds = TwoSets.reaching(first, *self.mechanism.coins)
        set_fields(self, first=first, _rounds=rounds)

    new_key = staticmethod(new_key)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        """The mechanism's domain."""
        return self.mechanism.domain

    @property
    def p(self) -> float:
        """The probability of a report to support the true value, both rounds together."""
        return float(self._rounds.p)

    @property
    def q(self) -> float:
        """The probability of a report to support a given other value, both rounds together."""
        return float(self._rounds.q)

    @property
    def privacy(self) -> Privacy:
        """What all the reports of a person about one value cost together, however many."""
        return Privacy(epsilon=self.mechanism.privacy.epsilon, unit="person and value", neighbours="replace")

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of the permanent answer, which all reports follow from."""
        return self.mechanism.losses()

    @property
    def single_report(self) -> Privacy:
        """What one report alone costs: at most ``first``."""
        return Privacy(epsilon=self._rounds.cost, unit="report", neighbours="replace")

    def channel(self) -> KRRChannel | DenseChannel:
        """The channel from values to single reports, both rounds together."""
        if isinstance(self._rounds, TwoKeeps):
            return KRRChannel(self.domain.size, self.p, self.q)
        return sets_channel("Longitudinal", self.domain.size, self.p, self.q)

    @property
    def report_type(self) -> ReportType | None:
        """The mechanism's own."""
        return self.mechanism.report_type

    @property
    def counts_outputs(self) -> bool:
        """Whether reports can be counted as outputs of the channel: those of k-RR."""
        return isinstance(self._rounds, TwoKeeps)

    @property
    def aggregates_outputs(self) -> bool:
        """Whether `aggregate` counts the outputs of the channel, and not the values that reports support."""
        return self.counts_outputs

    def count_outputs(self, reports: Column) -> np.ndarray:
        """How many reports are each output of the channel, in one pass; counts of batches add up."""
        if not self.counts_outputs:
            raise ParameterError("Longitudinal: sets are not counted one by one; use aggregate")
        return self.aggregate(reports).support

    def permanent(self, values: Column, *, persons: Column, key: bytes) -> Any:
        """The first answers, which never change and are never published; in the form of the mechanism's reports.

        Parameters
        ----------
        values, persons, key
            As in `randomize`.
        """
        return self._answer(values, persons, key, None, "error")

    def randomize(  # type: ignore[override]  # no report without knowing whose
        self, values: Column, *, persons: Column, key: bytes, rng: Rng | None = None, nulls: Nulls = "error"
    ) -> Any:
        """One fresh report per value, of the mechanism's report type.

        ``persons`` are integers or strings that tell people apart; ``key`` is secret, and the same in every collection.

        Parameters
        ----------
        values
            The true values: a column of any container, or one value.
        persons
            Whose the values are, one identifier per value.
        key
            The secret key that permanent answers are made from, as `new_key` gives it.
        rng
            Where randomness comes from; by default the process's own stream, keyed by the operating system.
        nulls
            ``"error"`` refuses nulls, ``"public"`` leaves them where they are.
        """
        return self._answer(values, persons, key, resolve("Longitudinal", rng), nulls)

    def _answer(self, values: Column, persons: Column, key: bytes, rng: Rng | None, nulls: Nulls) -> Any:
        owner = "Longitudinal"
        column = read_codes(owner, values, self.domain, nulls=nulls)
        purpose = (type(self.mechanism).__name__, self.domain.size, self.domain.labels, self._rounds.permanent)
        answers, names = read_key(owner, key, self.question, purpose)
        people = read_persons(owner, persons, column.size, names)
        stream = Rng() if rng is None else rng  # slots are reserved, and not read if there is no second round
        if isinstance(self._rounds, TwoKeeps):
            return self._answer_codes(column, answers, people, stream, self._rounds, fresh=rng is not None)
        return self._answer_sets(values, column, answers, people, stream, self._rounds, fresh=rng is not None)

    def _answer_codes(
        self, column: Any, answers: np.ndarray, people: Persons, rng: Rng, rounds: TwoKeeps, *, fresh: bool
    ) -> Any:
        k = np.uint64(self.domain.size)
        first, second = halves(rounds.permanent), halves(rounds.again)

        def block(key: Any, slot: Any, at: int, codes: np.ndarray, memory: Any, result: np.ndarray) -> None:
            kept = np.empty_like(codes) if fresh else result
            someone = people.read(at, at + codes.size)
            if fill_permanent_krr(answers, someone, codes, *first, k, memory.permanent, kept):
                raise out_of_domain("Longitudinal")
            if fresh:
                fill_krr_large(key, slot, *second, k, kept, memory.scratch, result)

        return run("Longitudinal", column, rng, block)

    def _answer_sets(
        self,
        values: Column,
        column: Any,
        answers: np.ndarray,
        people: Persons,
        rng: Rng,
        rounds: TwoSets,
        *,
        fresh: bool,
    ) -> Any:
        k, kind = self.domain.size, self.mechanism.report_type
        assert kind is not None, "sets have a type of their own"
        coins = *rounds.noise.halves, *rounds.truth.halves

        def block(key: Any, slot: Any, at: int, codes: np.ndarray, memory: Any, result: Parts) -> None:
            someone, by_value = people.read(at, at + codes.size), True
            if fill_permanent_sets(answers, someone, codes, by_value, *coins, k, memory.permanent, result[0]):
                raise out_of_domain("Longitudinal")
            if fresh:
                flip_sets(key, slot, *rounds.flip.halves, k, memory.bits, result[0])

        width = kind.fields[0].per_report
        return run_reports("Longitudinal", values, column, rng, kind, block, slots=width)

    def aggregate(self, reports: Column) -> Counts:
        """How many reports support each value, in one pass; counts of batches add up."""
        counts: Counts = self.mechanism.aggregate(reports)
        return counts
