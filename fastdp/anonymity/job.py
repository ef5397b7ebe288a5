"""A table and what is asked of it, carried through the search and written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.anonymity.certificate import Certificate
from fastdp.anonymity.classes import has_order
from fastdp.anonymity.coding.codes import Codes, Rows, sort_values
from fastdp.anonymity.coding.encoding import NULLS, reduce_rows
from fastdp.anonymity.coding.grouping import Shares
from fastdp.anonymity.coding.reading import Names, check_names, load_table, open_table, read_rows
from fastdp.anonymity.generalization import Ladder, climb_all
from fastdp.anonymity.lattice import Found, Node, Problem, padding, released_fits, search
from fastdp.anonymity.loss import LOSSES, Loss
from fastdp.anonymity.mondrian import partition
from fastdp.anonymity.requirements import Requirement, whole_fits
from fastdp.anonymity.result import Anonymized
from fastdp.anonymity.writing import Dummies, LevelWriter, PartWriter, Writer, write
from fastdp.columns.tables import same_kind
from fastdp.errors import NotAchievableError, ParameterError, SchemaError
from fastdp.hierarchies import Hierarchy
from fastdp.io.base import Source
from fastdp.io.memory import TableSink, TableSource
from fastdp.io.outputs import Output
from fastdp.typing import Progress
from fastdp.typing import TableSource as GivenTable

OWNER = "anonymize"
Quasi = Mapping[str, Hierarchy | None] | Sequence[str]
METHODS = ("optimal", "mondrian")
ALTERNATIVES = 20
"""Other nodes that a result lists."""


class Job:
    """A table and what is asked of it, checked before a record is read."""

    def __init__(
        self, table: GivenTable, quasi: Quasi, keep: Sequence[str], drop: Sequence[str], sensitive: Names | None,
        nulls: str, input_format: str | None, requirement: Requirement, *, suppress: float, dummies: float,
        loss: str, method: str,
    ) -> None:  # fmt: skip
        self.requirement, self.nulls, self.input_format = (
            requirement,
            validation.one_of(OWNER, "nulls", nulls, NULLS),
            input_format,
        )
        self.loss = validation.one_of(OWNER, "loss", loss, LOSSES)
        self.method = validation.one_of(OWNER, "method", method, METHODS)
        for name, share in (("suppress", suppress), ("dummies", dummies)):
            if not validation.is_number(share) or not 0 <= share < 1:
                raise ParameterError(f"{OWNER}: {name} must be a share of the rows, from 0 to below 1")
        self.suppress, self.dummies = float(suppress), float(dummies)
        self.hierarchies = _hierarchies(quasi, self.method)
        if requirement.about_values and not sensitive:
            raise ParameterError(f"{OWNER}: l, t, alpha, beta and delta are about a sensitive column; name it")
        if self.dummies and (requirement.about_values or self.method == "mondrian"):
            raise ParameterError(
                f"{OWNER}: dummy records fill classes of a lattice up to k, and meet no other requirement"
            )
        self.source = _rereadable(open_table(OWNER, table, input_format))
        self.quasi, self.sensitive = check_names(OWNER, self.source, list(self.hierarchies), sensitive)
        self.columns = self._choose(keep, drop)
        self.again = table

    def _choose(self, keep: Sequence[str], drop: Sequence[str]) -> list[str]:
        """The columns of the output, in the order of the input."""
        for what, given in (("keep", keep), ("drop", drop)):
            if isinstance(given, str):
                raise ParameterError(f"{OWNER}: {what} must be a list of names")
        named = [*self.quasi, *self.sensitive, *keep, *drop]
        schema = self.source.schema
        for name in named:
            if name not in schema.names:
                raise SchemaError(f"{OWNER}: {validation.unknown('column', name, tuple(schema.names))}")
            if named.count(name) > 1:
                raise SchemaError(f"{OWNER}: column {name!r} is named twice")
        rest = [name for name in schema.names if name not in named]
        if rest:
            raise SchemaError(f"{OWNER}: say keep or drop for every other column: {', '.join(map(repr, rest))}")
        return [name for name in schema.names if name not in drop]

    def run(self, table: GivenTable, target: Output | None, progress: Progress | None) -> Anonymized:
        needed = [*self.quasi, *self.sensitive]
        source = load_table(self.source, needed) if self.method == "mondrian" else self.source
        rows = read_rows(OWNER, source, needed, self.nulls)
        self._check(rows)
        made = self._mondrian(rows) if self.method == "mondrian" else self._optimal(rows, progress)
        writer, certificate, nodes = made
        schema = writer.schema(self.source.schema, self.columns)
        sink: Any = TableSink(schema) if target is None else target.open(schema, set(), certificate)
        again = (
            self.source if isinstance(self.source, TableSource) else open_table(OWNER, self.again, self.input_format)
        )
        certificate, recount = write(
            again, writer, sink, schema, certificate, self.quasi, self.sensitive, self.requirement
        )
        result = None
        if target is None:
            result = sink.table if isinstance(table, (str, os.PathLike, *_streams())) else same_kind(sink.table, table)
        return Anonymized(result, certificate, recount, tuple(nodes[1 : ALTERNATIVES + 1]), tuple(nodes))

    def _check(self, rows: Rows) -> None:
        asked = self.requirement
        if asked.k > rows.count:
            raise ParameterError(
                f"{OWNER}: k is {asked.k:,} and there are {rows.count:,} rows; no class can be so large"
            )

    def _secrets(self, rows: Rows) -> tuple[list[Codes], list[Shares]]:
        """The sensitive columns by rank, where the requirement is about them."""
        found = [self._secret(rows, name) for name in self.sensitive if self.requirement.about_values]
        return [ranked for ranked, _ in found], [shares for _, shares in found]

    def _secret(self, rows: Rows, name: str) -> tuple[Codes, Shares]:
        ranked, counts = sort_values(rows.of([name])[0], rows.weights)
        asked = self.requirement
        if asked.l is not None and asked.l_model != "entropy" and asked.l > counts.size:
            raise ParameterError(f"{OWNER}: l is {asked.l} and column {name!r} has {counts.size} distinct values")
        if asked.l is not None and asked.l_model == "entropy":
            shares = counts / counts.sum()
            most = float(np.exp(-(shares * np.log(shares)).sum()))
            if asked.l > most * (1 + 1e-12):
                raise ParameterError(
                    f"{OWNER}: entropy l is {asked.l} and that of column {name!r} as a whole is {most:.6g}"
                )
        if asked.t_distance == "ordered" and asked.t is not None and not has_order(ranked):
            raise ParameterError(f"{OWNER}: values of column {name!r} have no order; use t_distance='equal'")
        return ranked, Shares.of(counts)

    def _optimal(self, rows: Rows, progress: Progress | None) -> tuple[Writer, Certificate, list[Node]]:
        reduced = rows if rows.weights is not None else reduce_rows(rows)
        assert reduced.weights is not None
        secrets, shares = self._secrets(reduced)
        known = {name: hierarchy for name, hierarchy in self.hierarchies.items() if hierarchy is not None}
        ladders = climb_all(OWNER, reduced, known)
        most = [int(share * rows.count + 1e-9) for share in (self.suppress, self.dummies)]
        problem = Problem(
            ladders, reduced.weights, secrets, shares, self.requirement, Loss.of(self.loss, ladders), most[0], most[1]
        )
        found = search(problem, progress)
        node = next((node for node in found.nodes if released_fits(problem, node.levels)), None)
        if node is None:
            raise self._unachievable(problem)
        writer = _level_writer(problem, node, self.nulls, self.sensitive)
        certificate = self._certificate(rows, node, found, ladders)
        return writer, certificate, [node, *(other for other in found.nodes if other is not node)]

    def _unachievable(self, problem: Problem) -> NotAchievableError:
        tops = [ladder.top for ladder in problem.ladders]
        *_, sizes, fits = problem.classes_at(tops)
        if not fits.all():
            return NotAchievableError(
                f"{OWNER}: not even the whole table as one class meets the requirement on "
                f"{_named(self.sensitive)}; relax it"
            )
        return NotAchievableError(
            f"{OWNER}: no levels meet the requirement with at most {problem.most_suppressed:,} of {problem.rows:,} "
            f"rows suppressed; the top of the lattice has k = {int(sizes.min()):,}"
        )

    def _certificate(self, rows: Rows, node: Node, found: Found, ladders: Sequence[Ladder]) -> Certificate:
        return Certificate(
            self.requirement, self.quasi, self.sensitive, self.method,
            {ladder.name: level for ladder, level in zip(ladders, node.levels, strict=True)}, (self.loss, node.loss),
            rows.count + rows.dropped, node.suppressed, rows.dropped, node.dummies,
            {"size": found.size, "visited": found.visited, "qualifying": found.qualifying, "proven": found.proven},
        )  # fmt: skip

    def _mondrian(self, rows: Rows) -> tuple[Writer, Certificate, list[Node]]:
        secrets, shares = self._secrets(rows)
        columns = [_ordered(column, self.hierarchies[column.name]) for column in rows.of(self.quasi)]
        if not all(whole_fits(one, self.requirement) for one in shares):
            raise NotAchievableError(
                f"{OWNER}: not even the whole table as one class meets the requirement on "
                f"{_named(self.sensitive)}; relax it"
            )
        parts = partition(columns, secrets, shares, self.requirement)
        writer = PartWriter(columns, [self.hierarchies[name] for name in self.quasi], parts, rows.kept)
        certificate = Certificate(
            self.requirement, self.quasi, self.sensitive, self.method, None, ("ncp", writer.loss),
            rows.count + rows.dropped, 0, rows.dropped, 0, None,
        )  # fmt: skip
        return writer, certificate, []


def _named(names: Sequence[str]) -> str:
    return ("column " if len(names) == 1 else "columns ") + ", ".join(map(repr, names))


def _hierarchies(quasi: Quasi, method: str) -> dict[str, Hierarchy | None]:
    if isinstance(quasi, str):
        quasi = [quasi]
    given = dict(quasi) if isinstance(quasi, Mapping) else dict.fromkeys(quasi)
    if not isinstance(quasi, Mapping) and len(given) < len(list(quasi)):
        raise SchemaError(f"{OWNER}: a column is named twice among the quasi-identifiers")
    for name, hierarchy in given.items():
        if hierarchy is None and method == "optimal":
            raise ParameterError(f"{OWNER}: quasi must give column {name!r} a Hierarchy, or use method='mondrian'")
        if hierarchy is not None and not isinstance(hierarchy, Hierarchy):
            raise ParameterError(
                f"{OWNER}: quasi must give column {name!r} a Hierarchy, got a {type(hierarchy).__name__}"
            )
    return given


def _streams() -> tuple[type, ...]:
    import pyarrow as pa

    return (pa.RecordBatchReader,)


def _rereadable(source: Source) -> Source:
    """The source itself, or its table where it can be read only once."""
    if isinstance(source, TableSource) or (source.path is not None):
        return source
    return load_table(source, source.schema.names)


def _ordered(column: Codes, hierarchy: Hierarchy | None) -> Codes:
    """Codes by rank; with a hierarchy in its order, so that a cut follows its branches."""
    ranked, _ = sort_values(column, None)
    if hierarchy is None or hierarchy.kind != "labels":
        return ranked
    import pyarrow as pa

    values = ranked.decoded().to_pylist()
    paths = list(
        zip(
            *(hierarchy.generalize(values, level, owner=OWNER) for level in range(hierarchy.levels - 1, 0, -1)),
            strict=True,
        )
    )
    order = sorted(range(len(values)), key=lambda i: (tuple(map(str, paths[i])), i))
    ranks = np.empty(len(values), ranked.codes.dtype)
    ranks[order] = np.arange(len(values))
    found = ranked.decoded().take(pa.array(order))
    return Codes(column.name, ranks[ranked.codes], ranked.size, found, column.kind, null=False)


def _level_writer(problem: Problem, node: Node, nulls: str, sensitive: Sequence[str]) -> LevelWriter:
    """What writes the rows of a node: its labels, the classes it leaves out, and the dummy records it adds."""
    _, first, sizes, fits = problem.classes_at(node.levels)
    padded = padding(sizes, fits, problem.requirement.k, problem.most_dummies)
    groups = np.stack(
        [
            ladder.groups[level][ladder.column.codes[first]]
            for ladder, level in zip(problem.ladders, node.levels, strict=True)
        ]
    )
    dummies = Dummies(groups[:, padded], problem.requirement.k - sizes[padded]) if padded.any() else None
    return LevelWriter(problem.ladders, node.levels, groups[:, ~fits & ~padded], dummies, nulls, sensitive)
