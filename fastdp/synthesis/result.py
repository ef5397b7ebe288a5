"""Synthesis: a fitted model that rows are drawn from, what it cost, and how far it is off."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from fastdp import validation
from fastdp.binomial import normal_quantile
from fastdp.columns.tables import same_kind
from fastdp.errors import ParameterError
from fastdp.io.outputs import Output
from fastdp.privacy import Privacy
from fastdp.synthesis.columns import Coder
from fastdp.synthesis.curator import OWNER, STEPS
from fastdp.synthesis.fitting.axes import Columns
from fastdp.synthesis.fitting.descent import Measurement
from fastdp.synthesis.fitting.drawing import Drawer, draw_uniforms
from fastdp.synthesis.fitting.model import Model
from fastdp.synthesis.receipt import WARNING, SynthesisReceipt

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.queries.answers.noise import Noise
    from fastdp.synthesis.plan import SynthesisPlan


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """Noisy distances of the data from the model's counts, and their noise."""

    noisy: np.ndarray
    noise: Noise


@dataclass(frozen=True, slots=True, eq=False)
class Synthesis:
    """A private model of a table: rows in any number, its cost, and how far its marginals are from the data's.

    Parameters
    ----------
    plan
        What was asked.
    privacy
        The guarantee of all of it; rows cost nothing more.
    receipt
        What was measured and chosen, with which noise.

    >>> import fastdp as fd
    >>> table = {"city": ["Rome", "Paris"] * 500, "age": [20, 30, 40, 50] * 250}
    >>> made = fd.synthesize(table, {"city": ["Rome", "Paris"], "age": {"bins": 4, "bounds": [20, 60]}}, rho=0.5)
    >>> rows = made.rows(100)
    >>> sorted(rows), len(rows["age"])
    (['age', 'city'], 100)
    """

    plan: SynthesisPlan
    privacy: Privacy
    receipt: SynthesisReceipt
    _model: Model = field(repr=False)
    _measured: Sequence[Measurement] = field(repr=False)
    _checked: Checked | None = field(repr=False)
    _coders: Sequence[Coder] = field(repr=False)
    _secret: bytes = field(repr=False)
    _like: Any = field(repr=False)

    warning = WARNING

    @property
    def expected_rows(self) -> int:
        """The number of rows of the data, by the noisy counts."""
        return max(1, round(self._model.rows))

    @property
    def names(self) -> list[str]:
        """The columns of a row."""
        return [domain.name for domain in self.plan.domains]

    @property
    def schema(self) -> pa.Schema:
        """The arrow schema of the rows."""
        import pyarrow as pa

        return pa.schema([pa.field(coder.domain.name, coder.type) for coder in self._coders])

    def batches(self, rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Rows as a stream of arrow batches; the same number gives the same rows.

        Parameters
        ----------
        rows
            How many; about as many as the data have by default.
        """
        import pyarrow as pa

        count = self.expected_rows if rows is None else validation.positive_integer(OWNER, "rows", rows)
        schema = self.schema
        masses = [self._model.marginal((number,)) for number in range(len(self._coders))]
        for number, codes in enumerate(Drawer(self._model).chunks(count, self._secret)):
            columns = []
            for place, coder in enumerate(self._coders):
                needed = coder.domain.values is None
                uniforms = draw_uniforms(self._secret, codes.shape[1] if needed else 0, "inside", number, place)
                columns.append(coder.decode(codes[place], uniforms, masses[place]))
            yield pa.RecordBatch.from_arrays(columns, schema=schema)

    def to_arrow(self, rows: int | None = None) -> pa.Table:
        """Rows as a pyarrow table.

        Parameters
        ----------
        rows
            How many; about as many as the data have by default.
        """
        import pyarrow as pa

        return pa.Table.from_batches(list(self.batches(rows)), self.schema)

    def rows(self, rows: int | None = None) -> Any:
        """Rows in the kind of container that the data came in; of a file, a pyarrow table.

        Parameters
        ----------
        rows
            How many; about as many as the data have by default.
        """
        table = self.to_arrow(rows)
        return table if self._like is None else same_kind(table, self._like)

    def write(
        self, output: str | os.PathLike[str], rows: int | None = None, *, receipt: str | os.PathLike[str] | None = None,
        output_format: str | None = None, force: bool = False,
    ) -> SynthesisReceipt:  # fmt: skip
        """Write rows to a Parquet, Arrow or CSV file, or "-", a few at a time, with the receipt beside it.

        Parameters
        ----------
        output
            The path; its ending names the format.
        rows
            How many; about as many as the data have by default.
        receipt
            Where the receipt goes; by default beside the output.
        output_format
            "parquet", "arrow" or "csv", where the ending does not say.
        force
            Replace what is there.
        """
        from fastdp.io.memory import TableSource

        nothing: Any = TableSource(self.schema.empty_table())
        target = Output(OWNER, nothing, output, receipt=receipt, output_format=output_format, force=force)
        stamp = self.receipt.with_rows(self.expected_rows if rows is None else rows)
        batches = self.batches(rows)
        sink = target.open(self.schema, set(self.schema.names), stamp)
        try:
            for batch in batches:
                sink.write(batch)
            return sink.finish(stamp)  # type: ignore[return-value]  # it is the stamp that was given
        except BaseException:
            sink.discard()
            raise

    def marginal(self, *columns: str) -> np.ndarray:
        """The model's counts of the cells of some columns, an array with one axis per column.

        Parameters
        ----------
        columns
            Names of columns.
        """
        subset = self._subset(columns)
        found = self._model.rows * self._model.marginal(subset)
        shaped = found.reshape([self.plan.sizes[column] for column in subset])
        return np.transpose(shaped, [subset.index(self.names.index(name)) for name in columns])

    def _subset(self, columns: Sequence[str]) -> Columns:
        if not columns or len(set(columns)) < len(columns):
            raise ParameterError(f"{OWNER}: name one column or more, each once")
        for name in columns:
            if name not in self.names:
                raise ParameterError(f"{OWNER}: {validation.unknown('column', name, tuple(self.names))}")
        return tuple(sorted(self.names.index(name) for name in columns))

    def modelled(self) -> list[tuple[str, ...]]:
        """The largest sets of columns whose dependence the model holds as it was measured."""
        return [tuple(self.names[column] for column in clique) for clique in self._model.tree.cliques]

    def not_modelled(self) -> list[tuple[str, str]]:
        """Pairs of columns that depend on each other through others alone, or not at all."""
        held = {pair for clique in self._model.tree.cliques for pair in itertools.combinations(clique, 2)}
        pairs = itertools.combinations(range(len(self.names)), 2)
        return [(self.names[a], self.names[b]) for a, b in pairs if (a, b) not in held]

    def errors(self, level: float = 0.95) -> pa.Table:
        """How far the model is off, for each marginal of the workload: half the L1 distance between shares.

        ``expected`` is what the noise alone would make of a marginal that was measured (null for others). ``error`` is
        measured, from a share of the budget kept for it, against the model's counts rounded to 1/16 of a row; ``low``
        and ``high`` hold the true distance with probability ``level``, one by one. The first row is the mean over the
        workload. Shares are of the number of rows that the noisy counts tell.

        Parameters
        ----------
        level
            The level of confidence of the intervals.
        """
        import pyarrow as pa

        level = validation.level(OWNER, level)
        rows, unit = self._model.rows, 2 * STEPS * self._model.rows
        measured = {one.subset: one for one in self._measured}
        labels = ["(mean)", *(" × ".join(self.names[c] for c in subset) for subset in self.plan.workload)]
        expected: list[float | None] = [None]
        for subset in self.plan.workload:
            one = measured.get(subset)
            expected.append(
                None if one is None else one.values.size * math.sqrt(one.variance * 2 / math.pi) / (2 * rows)
            )
        found: list[float | None] = [None] * len(labels)
        low, high = list(found), list(found)
        if self._checked is not None:
            noise, noisy = self._checked.noise, self._checked.noisy.astype(np.float64)
            width = noise.half_width(level) if noise.variance else 0
            spread = math.sqrt(noise.variance / noisy.size)
            # The mean of m noises: normal for Gaussian noise; by Chebyshev's inequality for geometric noise.
            factor = normal_quantile(level) if noise.is_gaussian else 1 / math.sqrt(1 - level)
            across = spread * factor if noisy.size > 1 else width
            mean = noisy.mean()
            values = [mean, *noisy]
            widths = [across, *([width] * noisy.size)]
            found = [max(0.0, value / unit) for value in values]
            low = [max(0.0, (value - w) / unit) for value, w in zip(values, widths, strict=True)]
            high = [max(0.0, (value + w) / unit) for value, w in zip(values, widths, strict=True)]
        columns: Mapping[str, Any] = {"expected": expected, "error": found, "low": low, "high": high}
        return pa.table({"marginal": labels, **{name: pa.array(v, pa.float64()) for name, v in columns.items()}})

    def noisy_marginals(self) -> dict[tuple[str, ...], tuple[np.ndarray, np.ndarray, float]]:
        """For each marginal that was measured: noisy counts, the model's counts, and the noise's standard deviation."""
        found: dict[tuple[str, ...], tuple[np.ndarray, np.ndarray, float]] = {}
        for one in self._measured:
            names = tuple(self.names[column] for column in one.subset)
            fitted = self._model.rows * self._model.marginal(one.subset)
            known = found.get(names)
            if known is None or math.sqrt(one.variance) < known[2]:
                found[names] = (one.values, fitted, math.sqrt(one.variance))
        return found

    def cells(self, columns: Sequence[str]) -> list[str]:
        """The cells of a marginal in words, in the order of `noisy_marginals`.

        Parameters
        ----------
        columns
            The names of the marginal's columns.
        """
        parts = []
        for name in columns:
            domain = self.plan.domains[self.names.index(name)]
            if domain.values is not None:
                own = [str(value) for value in domain.values]
            else:
                edges = [f"{edge:g}" if isinstance(edge, int | float) else str(edge) for edge in domain.edges or ()]
                own = [f"{a} to {b}" for a, b in itertools.pairwise(edges)]
            parts.append(own + ["null"] * domain.nulls)
        return [", ".join(cell) for cell in itertools.product(*parts)]

    def __repr__(self) -> str:
        return f"Synthesis({', '.join(self.names)}; {len(self._measured)} marginals measured; {self.privacy})"
