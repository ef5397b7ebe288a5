"""FrequentStrings: the strings that many people have, of no declared domain."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.binomial import normal_quantile
from fastdp.columns.numeric import Nulls
from fastdp.columns.persons import read_persons
from fastdp.columns.reports import Field, Parts, ReportType
from fastdp.engine.runner import run_reports, working_memory
from fastdp.errors import ParameterError, SchemaError
from fastdp.kernels.local.hashing import LINE_BITS
from fastdp.kernels.local.permanent import fill_permanent_krr
from fastdp.kernels.local.strings import fill_permanent_seeds, fill_string_hashes, fill_strings
from fastdp.kernels.stream.words import TILE
from fastdp.laws.coins import halves, resolvable_epsilon
from fastdp.laws.local.hashing import LARGEST_G, HashLaw, best_g, edges
from fastdp.laws.local.krr import KRRLaw, build_bounds
from fastdp.laws.rate import Rate
from fastdp.losses import AtomicLoss
from fastdp.mechanisms.annotations import UNSET, OptionalInteger, computed, frozen, gives_reports
from fastdp.mechanisms.base import ColumnMechanism, derived, given, set_fields
from fastdp.mechanisms.central.key_selection import KeySelection
from fastdp.mechanisms.local.frequencies import FrequencyEstimate, Score, protocol_variance
from fastdp.mechanisms.local.strings.search import ALLOWED, Found, search
from fastdp.mechanisms.local.strings.shares import StringShares
from fastdp.mechanisms.local.strings.texts import name_words, read_texts
from fastdp.privacy import Privacy
from fastdp.random.permanent_keys import new_key, read_key
from fastdp.random.rng import Rng, resolve
from fastdp.typing import Column

if TYPE_CHECKING:
    import pyarrow as pa

OWNER = "FrequentStrings"
MOST_BYTES, MOST_STEP, FIRST_BITS = 64, 12, 12
REPORTS = ReportType((Field("seed", np.dtype(np.uint64)), Field("value", np.dtype(np.uint16))))


@frozen()
class FrequentStrings(ColumnMechanism):
    """Report a hash of a prefix of the string, randomized by k-ary randomized response, and which function it was.

    epsilon-local DP for one report per person, whatever the string. A report's 64-bit seed, which says nothing of the
    string, selects a hash function to g numbers and the length of the prefix. `estimate` extends the most supported
    prefixes by all possible next bits, level by level (the prefix extending method), so that no domain is declared.
    10 random bytes per report. [Wang, Li, Jha 2019; Bassily, Nissim, Stemmer, Thakurta 2017]

    Parameters
    ----------
    epsilon
        The privacy of one report.
    length
        Bytes of a string (in UTF-8) that are told apart; longer strings are cut.
    step
        Bits by which prefixes are extended.
    g
        The number of hash values; by default the one with the smallest variance.

    >>> import fastdp as fd
    >>> mechanism = FrequentStrings(epsilon=4.0, length=4)
    >>> words = ["rain", "sun"] * 5000 + ["fog"] * 1000
    >>> reports = mechanism.randomize(words, rng=fd.Rng.unsafe_seed(1))
    >>> mechanism.estimate(reports, top=2).strings
    ['rain', 'sun']
    """

    epsilon: float
    length: int = 8
    step: int = 6
    g: OptionalInteger = UNSET
    _law: HashLaw = computed()

    def __post_init__(self) -> None:
        epsilon = resolvable_epsilon(OWNER, self.epsilon)
        length = validation.positive_integer(OWNER, "length", self.length)
        step = validation.positive_integer(OWNER, "step", self.step)
        if length > MOST_BYTES:
            raise ParameterError(f"{OWNER}: length must be at most {MOST_BYTES} bytes, got {length}")
        if step > MOST_STEP:
            raise ParameterError(f"{OWNER}: step must be at most {MOST_STEP} bits, got {step}")
        g = derived(best_g(epsilon)) if given(self.g) is None else validation.positive_integer(OWNER, "g", self.g)
        if not 2 <= g <= LARGEST_G:
            raise ParameterError(f"{OWNER}: g must be from 2 to {LARGEST_G}, got {g}")
        law = HashLaw(KRRLaw(Rate.below(Fraction(epsilon)), g), in_cohorts=False)
        set_fields(self, epsilon=epsilon, length=length, step=step, g=g, _law=law)

    new_key = staticmethod(new_key)

    @property
    def privacy(self) -> Privacy:
        """The guarantee of the sampler as implemented, from its integer weights, rounded up."""
        return Privacy(epsilon=self._law.cost, unit="report", neighbours="replace")

    def losses(self) -> tuple[AtomicLoss, ...]:
        """The privacy loss of one string's report instead of another's: as if their hashes always differed."""
        return (self._law.krr.loss(),)

    @property
    def report_type(self) -> ReportType:
        """A seed and a hash."""
        return REPORTS

    def result_type(self, arrow_type: pa.DataType) -> pa.DataType:
        """The arrow type of the reports of text."""
        import pyarrow as pa

        encoded = pa.types.is_dictionary(arrow_type) or pa.types.is_run_end_encoded(arrow_type)
        kind = arrow_type.value_type if encoded else arrow_type
        if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
            raise SchemaError(f"{OWNER}: strings must be text, not {kind}")
        return REPORTS.arrow_type()

    @property
    def prefix_bits(self) -> np.ndarray:
        """The bits of the prefix of each level."""
        total = 8 * self.length
        first = min(FIRST_BITS, total)
        return np.array([*range(first, total, self.step), total], np.int64)

    @property
    def _ends(self) -> np.ndarray:
        """The running shares of the levels, out of 2**32; the last one, which counts whole strings, has two parts."""
        parts = self.prefix_bits.size + 1
        return np.array([*((1 << 32) * place // parts for place in range(1, parts - 1)), 1 << 32], np.uint64)

    def _level_share(self, level: int) -> float:
        ends = [0, *self._ends.tolist()]
        return float(ends[level + 1] - ends[level]) / 2**32

    @gives_reports
    def randomize(self, values: Column, *, rng: Rng | None = None, nulls: Nulls = "error") -> Any:
        """One report per string: arrow reports for arrow strings, numpy ones for everything else.

        Parameters
        ----------
        values
            Strings, a column of any container.
        rng
            Where randomness comes from; by default the process's own stream, keyed by the operating system.
        nulls
            ``"error"`` refuses nulls, ``"public"`` leaves them where they are.
        """
        words, column, plain = read_texts(OWNER, values, self._words, nulls)
        bounds, ends, bits, g = build_bounds(self._law.krr), self._ends, self.prefix_bits, np.uint64(self.g)

        def block(key: Any, slot: Any, first: int, places: np.ndarray, memory: Any, result: Parts) -> None:
            own = words[first : first + places.size]
            upper, hashes = np.empty(TILE, np.uint32), np.empty(places.size, np.uint16)
            fill_strings(key, slot, *bounds, g, own, ends, bits, memory.scratch, upper, hashes, *result)

        return run_reports(OWNER, plain, column, resolve(OWNER, rng), REPORTS, block)

    def permanent(self, values: Column, *, persons: Column, key: bytes, question: str = "") -> np.ndarray:
        """Reports for repeated collection: a fixed function of the key, the person and the string.

        Asked again, a person with the same string gives the same report, so that all collections together cost
        epsilon once for each different string of a person. A structured array of numpy.

        Parameters
        ----------
        values
            Strings, a column of any container.
        persons
            Whose they are, one identifier per value.
        key
            The secret key, as `new_key` gives it.
        question
            Public text that separates the answers to one question from those to another.
        """
        words, column, _ = read_texts(OWNER, values, self._words, "error")
        answers, names = read_key(OWNER, key, question, (OWNER, self.length, self.step, self.g))
        seeder, _ = read_key(OWNER, key, question, (OWNER, "seeds", self.length, self.step, self.g))
        someone = read_persons(OWNER, persons, column.size, names).read(0, column.size)
        seeds, hashes = np.empty(column.size, np.uint64), np.empty(column.size, np.uint16)
        reports = np.empty(column.size, REPORTS.numpy_dtype())
        values_out = np.empty(column.size, np.uint16)
        with working_memory() as memory:
            fill_permanent_seeds(seeder, someone, memory.permanent, seeds)
            fill_string_hashes(words, seeds, self._ends, self.prefix_bits, np.uint64(self.g), hashes)
            keep = halves(int(self._law.krr.keep * (1 << 128)))
            fill_permanent_krr(answers, someone, hashes, *keep, np.uint64(self.g), memory.permanent, values_out)
        reports["seed"], reports["value"] = seeds, values_out
        return reports

    def hashes(self, value: str, seeds: np.ndarray) -> np.ndarray:
        """The hash of a string by the function that each seed selects: what a report keeps most often.

        Parameters
        ----------
        value
            A string.
        seeds
            The ``seed`` field of reports.
        """
        words, _, _ = read_texts(OWNER, [value], self._words, "error")
        seeds = np.ascontiguousarray(seeds, np.uint64)
        hashes = np.empty(seeds.size, np.uint16)
        repeated = np.ascontiguousarray(np.broadcast_to(words, (seeds.size, words.shape[1])))
        fill_string_hashes(repeated, seeds, self._ends, self.prefix_bits, np.uint64(self.g), hashes)
        return hashes

    @property
    def _words(self) -> int:
        return -(-self.length // 8)

    def estimate(self, reports: Column, *, top: int = 50) -> StringShares:
        """The most frequent strings, with shares and intervals that hold all at once.

        Parameters
        ----------
        reports
            This mechanism's reports, a column of any container.
        top
            How many strings are returned, at the most.
        """
        top = validation.positive_integer(OWNER, "top", top)
        parts = list(REPORTS.read(OWNER, reports, nulls="public"))
        if not sum(part[0].size for part in parts):
            raise ParameterError(f"{OWNER}: there are no reports")
        seeds, values = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
        cuts = np.array(edges(self.g, LINE_BITS, 1 << LINE_BITS), np.uint64)
        found = search(
            OWNER, seeds, values, self._ends, self.prefix_bits, cuts, self._words, self._width(top), self._rates
        )
        return self._name(found, top, seeds.size)

    def _name(self, found: Found, top: int, n: int) -> StringShares:
        reports = max(found.reports, 1)
        p, q = self._rates
        shares = (found.support / reports - q) / (p - q)
        kept = np.flatnonzero(shares > 0)[:top]
        constant, linear = (protocol_variance(p, q, reports, f) for f in (0.0, 1.0))
        errors = np.sqrt(protocol_variance(p, q, reports, np.clip(shares[kept], 0, 1)))
        score = Score(constant, linear - constant, 1 / reports)
        estimate = FrequencyEstimate(shares[kept], errors, reports, score, (p, q))
        return StringShares(list(name_words(found.words[kept])), shares[kept], n, estimate, found.tested)

    @property
    def _rates(self) -> tuple[float, float]:
        return float(self._law.p), float(self._law.q)

    @staticmethod
    def _width(top: int) -> int:
        return max(100, 2 * top)

    def explain(self, n: int, *, top: int = 50, level: float = 0.95) -> Mapping[str, float]:
        """What ``n`` reports will tell: the error of a share, and the share below which a string may be missed.

        With probability ``level``, every string with a share of at least ``found_above`` stays among the prefixes that
        are extended, and all estimates of the last level are within ``half_width`` of the truth.

        Parameters
        ----------
        n
            The number of reports.
        top
            As in `estimate`.
        level
            The probability with which the bound holds.

        >>> 0.005 < FrequentStrings(epsilon=4.0).explain(10**6)["found_above"] < 0.05
        True
        """
        n = validation.positive_integer(OWNER, "n", n)
        level = validation.level(OWNER, level)
        width, levels = self._width(top), self.prefix_bits.size
        steps = np.diff(np.concatenate([[0], self.prefix_bits]))
        tested = [2.0 ** int(steps[0]), *(width * 2.0 ** int(step) for step in steps[1:])]
        z = normal_quantile(1 - (1 - level) / math.fsum(tested))
        p, q = self._rates

        def deviation(share: float, place: int) -> float:
            reports = max(1.0, n * self._level_share(place) - 4 * math.sqrt(n * self._level_share(place)))
            return math.sqrt(protocol_variance(p, q, 1, share) / reports + share * (1 - share) / reports)

        share = 0.0
        for _ in range(200):
            # Others that rank above it have shares of at least share - 2 t - slack: at most one part in that of them.
            widest = max(2 * z * deviation(share, place) + ALLOWED * deviation(0.0, place) for place in range(levels))
            share = min(1.0, widest + 1 / width)
        last = levels - 1
        return {"std_error": deviation(0.0, last), "half_width": z * deviation(share, last), "found_above": share}

    def select(self, values: Column, *, delta: float, rng: Rng | None = None) -> pa.Table:
        """In the central model, for a trusted table: the strings that many rows have, with noisy counts.

        Exact key selection (`KeySelection`): (epsilon, delta)-DP for one row, far more accurate than reports.

        Parameters
        ----------
        values
            Strings, a column of any container; one row per person.
        delta
            The probability that a string of one row may be told.
        rng
            Where randomness comes from; the process's own stream by default.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        from fastdp.columns.containers import unwrap

        selection = KeySelection(epsilon=self.epsilon, delta=delta)
        plain, _ = unwrap(OWNER, values)
        column = plain if isinstance(plain, pa.Array | pa.ChunkedArray) else pa.array(list(plain), pa.large_string())
        self.result_type(column.type)
        counted = pc.value_counts(column.drop_null())
        order = pc.sort_indices(counted.field("values").cast(pa.large_string()))
        names, counts = counted.field("values").take(order), counted.field("counts").take(order)
        kept = selection.select(counts.to_numpy(zero_copy_only=False).astype(np.int64), rng=rng)
        return pa.table({"string": names.take(pa.array(kept.indices)), "count": kept.counts})
