"""One query of a release: what is grouped, by which keys, and what is asked; read from words, bound to a schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.queries.plans.questions import Question
from fastdp.queries.tasks.base import Setting, Task
from fastdp.queries.tasks.group_parts import SELECT
from fastdp.queries.tasks.groups import GroupTask
from fastdp.queries.tasks.marginals import MarginalTask, read_domains
from fastdp.queries.tasks.ranks import DistinctTask, QuantileTask
from fastdp.queries.tasks.trees import TreeTask
from fastdp.validation import unknown

KEYS = (
    "name", "group_by", "keys", "keys_file", "answers", "histogram", "edges", "domain", "tree", "marginals", "ways",
    "interval", "share",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """What one ``[[queries]]`` table says, checked as far as that goes without data."""

    name: str
    given: Mapping[str, Any]
    group_by: tuple[str, ...] = ()
    keys: Any = None
    questions: tuple[Question, ...] = ()
    histogram: str | None = None
    edges: tuple[float, ...] | None = None
    tree: int | None = None
    domains: Mapping[str, Any] | None = None
    ways: int | None = None
    interval: float | None = None
    share: float | None = None

    @classmethod
    def read(cls, owner: str, number: int, given: object, folder: Path | None = None) -> Query:
        """The query of a table; files with keys are found beside the plan."""
        if not isinstance(given, Mapping):
            raise ParameterError(f"{owner}: query {number} must be a table")
        for key in given:
            if key not in KEYS:
                raise ParameterError(f"{owner}: query {number}: {unknown('key', key, KEYS)}")
        name = given.get("name", f"query_{number}")
        if not isinstance(name, str) or not name:
            raise ParameterError(f"{owner}: query {number}: name must be text")
        about = f"{owner}: {name}"
        share = given.get("share")
        if share is not None:
            share = validation.positive(about, "share", share)
        interval = given.get("interval")
        if interval is not None:
            interval = validation.level(about, interval)
        common: dict[str, Any] = {"share": share, "interval": interval}
        if "marginals" in given:
            _only(about, given, ("marginals", "ways"))
            ways = validation.positive_integer(about, "ways", given.get("ways", 2))
            return cls(name, given, domains=read_domains(about, given["marginals"], ways), ways=ways, **common)
        if "histogram" in given:
            _only(about, given, ("histogram", "edges", "domain", "tree"))
            return cls(name, given, **_read_histogram(about, given), **common)
        _only(about, given, ("group_by", "keys", "keys_file", "answers"))
        group_by = given.get("group_by", ())
        group_by = (group_by,) if isinstance(group_by, str) else tuple(group_by)
        if not all(isinstance(column, str) for column in group_by) or len(set(group_by)) < len(group_by):
            raise ParameterError(f"{about}: group_by must name columns, each once")
        questions = _read_answers(about, given.get("answers"))
        return cls(
            name, given, group_by=group_by, keys=_read_keys(about, given, group_by, folder), questions=questions,
            **common,
        )  # fmt: skip

    def bind(self, setting: Setting) -> list[Task]:
        """The tasks that answer it, for data of this schema."""
        if self.domains is not None:
            return [MarginalTask(setting, self.name, self.domains, int(self.ways or 2), share=self.share)]
        if self.tree is not None:
            return [
                TreeTask(setting, self.name, str(self.histogram), np.array(self.edges), self.tree, share=self.share)
            ]
        if self.histogram is not None:
            bins = None if self.edges is None else np.array(self.edges)
            question = Question("count", "count")
            return [
                GroupTask(
                    setting, self.name, [question], group_by=[self.histogram], keys=self.keys, edges=bins,
                    share=self.share,
                )
            ]  # fmt: skip
        by_rows = () if self.group_by else ("quantiles", "distinct")
        grouped = [question for question in self.questions if question.kind not in by_rows]
        others = [question for question in self.questions if question.kind in by_rows]
        share = None if self.share is None else self.share / (bool(grouped) + len(others))
        tasks: list[Task] = []
        if grouped:
            tasks.append(
                GroupTask(
                    setting, self.name, grouped, group_by=self.group_by, keys=self.keys, share=share,
                    interval=self.interval,
                )
            )  # fmt: skip
        for question in others:
            if question.kind == "distinct":
                tasks.append(DistinctTask(setting, self.name, question, share=share))
            else:
                tasks.append(QuantileTask(setting, self.name, question, interval=self.interval, share=share))
        return tasks

    def to_dict(self) -> dict[str, Any]:
        """The same words again; keys of a file as they were read."""
        stated = {key: value for key, value in self.given.items() if key != "keys_file"}
        if self.keys is not None and not isinstance(self.keys, str):
            stated["keys" if self.histogram is None else "domain"] = [
                list(key) if isinstance(key, tuple) else key for key in self.keys
            ]
        return {"name": self.name, **stated}


def _only(about: str, given: Mapping[str, Any], allowed: tuple[str, ...]) -> None:
    for key in given:
        if key not in (*allowed, "name", "share", "interval"):
            raise ParameterError(f"{about}: {key} does not go with {allowed[0]}")


def _read_answers(about: str, given: Any) -> tuple[Question, ...]:
    if isinstance(given, Mapping):
        return tuple(Question.read(about, text, name) for name, text in given.items())
    if not isinstance(given, list | tuple) or not given:
        raise ParameterError(f'{about}: answers is missing: list what is asked, such as ["count", "mean(income)"]')
    return tuple(Question.read(about, text) for text in given)


def _read_keys(about: str, given: Mapping[str, Any], group_by: tuple[str, ...], folder: Path | None) -> Any:
    keys, file = given.get("keys"), given.get("keys_file")
    if keys is not None and file is not None:
        raise ParameterError(f"{about}: give keys or keys_file, not both")
    if not group_by:
        if keys is not None or file is not None:
            raise ParameterError(f"{about}: keys belong to group_by")
        return None
    if file is not None:
        return read_keys_file(about, Path(folder or ".") / str(file), group_by)
    if keys is None or keys == SELECT:
        return keys
    if isinstance(keys, str) or not isinstance(keys, list | tuple | np.ndarray):
        raise ParameterError(f'{about}: keys must be "select" or a list of the groups, got {keys!r}')
    return tuple(tuple(key) if isinstance(key, list | tuple) else key for key in keys)


def read_keys_file(about: str, path: Path, group_by: tuple[str, ...]) -> tuple[Any, ...]:
    """The groups that a file lists, one per row, in columns of the same names."""
    from fastdp.io.open import open_source

    source = open_source(about, path)
    missing = [name for name in group_by if name not in source.schema.names]
    if missing:
        raise ParameterError(f"{about}: keys_file has no column {missing[0]!r}")
    rows = [row for batch in source.batches(list(group_by), None, []) for row in batch.to_pylist()]
    return tuple(row[group_by[0]] if len(group_by) == 1 else tuple(row[name] for name in group_by) for row in rows)


def _read_histogram(about: str, given: Mapping[str, Any]) -> dict[str, Any]:
    column = given["histogram"]
    if not isinstance(column, str):
        raise ParameterError(f"{about}: histogram must name a column")
    edges, domain, tree = given.get("edges"), given.get("domain"), given.get("tree")
    if (edges is None) == (domain is None):
        raise ParameterError(f"{about}: a histogram needs edges of bins, or a domain of categories; give one of them")
    if domain is not None:
        if tree is not None:
            raise ParameterError(f"{about}: a tree needs bins in order: give edges")
        if isinstance(domain, str) or not isinstance(domain, list | tuple | np.ndarray | range):
            raise ParameterError(f"{about}: domain must list the categories")
        return {"histogram": column, "keys": tuple(domain)}
    found = validation.floats(about, "edges", edges)
    if found.ndim != 1 or found.size < 2 or not np.isfinite(found).all() or (np.diff(found) <= 0).any():
        raise ParameterError(f"{about}: edges must be two or more finite numbers in ascending order")
    if tree is not None and not 2 <= validation.positive_integer(about, "tree", tree) <= 1 << 10:
        raise ParameterError(f"{about}: tree is the number of children of a node, from 2 to 1,024, got {tree!r}")
    return {"histogram": column, "edges": tuple(found.tolist()), "tree": tree}
