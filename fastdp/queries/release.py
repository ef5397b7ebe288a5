"""fd.release: one answer, or a few, from a table or a column in memory or on disk.

Each call is a `ReleasePlan` with one query. ``epsilon`` or ``rho`` is the budget; there is no default. ``person`` names
the column of the persons, or is that column; then ``max_rows`` of each count, and of groups ``max_groups``.

>>> import fastdp as fd
>>> answer = fd.release.mean([40.0] * 1000, bounds=(0, 120), epsilon=1.0)
>>> low, high = answer.interval(0.95)
>>> low <= answer.value <= high
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fastdp.privacy import Neighbours
from fastdp.queries.answers.answer import Answer, Answers
from fastdp.queries.data.single import read_data
from fastdp.queries.plans.plan import ReleasePlan
from fastdp.queries.unit import Bound
from fastdp.random.rng import Rng

__all__ = [
    "count", "distinct", "group_by", "histogram", "marginals", "mean", "quantiles", "sum", "variance",
]  # fmt: skip
Limits = tuple[float, float] | Sequence[float] | str | None
"""Bounds of a column: two numbers, or "private"."""


def count(
    data: object,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    person: object = None,
    max_rows: int | None = None,
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """The number of rows.

    Parameters
    ----------
    data
        A table, data frame, file, folder or column.
    epsilon, rho
        The budget: epsilon for geometric noise, rho for discrete Gaussian noise.
    person
        The column that names the person, or its name; one row is one unit by default.
    max_rows
        Rows of a person that count, at the most.
    neighbours
        "add/remove" or "replace" one unit.
    rng
        Where randomness comes from; a fresh stream by default.

    >>> import fastdp as fd
    >>> abs(fd.release.count(range(1000), epsilon=1.0).value - 1000) < 100
    True
    """
    return _one("count", data, "count", epsilon, rho, person, max_rows, neighbours, rng, column=None)


def sum(  # noqa: A001
    data: object,
    *,
    bounds: Limits = None,
    column: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    person: object = None,
    max_rows: int | None = None,
    nulls: str = "drop",
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """The sum of a column, each value clamped to ``bounds``, exact in integers before the noise.

    ``bounds`` are two numbers or "private"; ``column`` names the column if ``data`` is a table; ``nulls`` (and NaN)
    are dropped, or count as the "lower" or "upper" bound. The others are as in `count`.
    """
    return _one("sum", data, "sum", epsilon, rho, person, max_rows, neighbours, rng, column, bounds, nulls)


def mean(
    data: object,
    *,
    bounds: Limits = None,
    column: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    person: object = None,
    max_rows: int | None = None,
    nulls: str = "drop",
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """The mean of a column: a noisy sum around the middle of the bounds over a noisy count; Fieller's interval.

    Parameters are as in `sum`.
    """
    return _one("mean", data, "mean", epsilon, rho, person, max_rows, neighbours, rng, column, bounds, nulls)


def variance(
    data: object,
    *,
    bounds: Limits = None,
    column: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    person: object = None,
    max_rows: int | None = None,
    nulls: str = "drop",
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """The variance of a column (divided by the number of rows), from three noisy sums; parameters as in `sum`."""
    return _one("variance", data, "variance", epsilon, rho, person, max_rows, neighbours, rng, column, bounds, nulls)


def quantiles(
    data: object,
    quantiles: Sequence[float] = (0.25, 0.5, 0.75),
    *,
    bounds: Limits = None,
    column: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    interval: float | None = None,
    person: object = None,
    max_rows: int | None = None,
    nulls: str = "drop",
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """Several quantiles at once, by the exponential mechanism on ranks, recursively.

    ``quantiles`` are numbers from 0 to 1 in ascending order. With ``interval=0.95`` each comes with an interval at that
    level, for which two more quantiles are drawn; without, `Answer.rank_error` says how far ranks may be off. The
    others are as in `sum`.

    >>> import fastdp as fd
    >>> ages = list(range(100)) * 20
    >>> fd.release.quantiles(ages, [0.5], bounds=(0, 120), epsilon=1.0, rng=fd.Rng.unsafe_seed(1)).value
    array([49.])
    """
    from fastdp.queries.quantiles import read_quantiles

    words = " ".join(repr(float(one)) for one in read_quantiles("release.quantiles", quantiles))
    more = {} if interval is None else {"interval": interval}
    return _one(
        "quantiles", data, "quantiles", epsilon, rho, person, max_rows, neighbours, rng, column, bounds, nulls,
        words=words, more=more,
    )  # fmt: skip


def distinct(
    data: object,
    *,
    column: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    person: object = None,
    max_groups: int | None = None,
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """The number of distinct values of a column; of a person, ``max_groups`` of them count. Others as in `count`."""
    rows = None if person is None else 1
    return _one(
        "distinct", data, "distinct", epsilon, rho, person, rows, neighbours, rng, column, max_groups=max_groups
    )  # fmt: skip


def histogram(
    data: object,
    *,
    edges: Sequence[float] | None = None,
    domain: Sequence[Any] | None = None,
    tree: int | None = None,
    column: str | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    person: object = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answer:
    """How many rows fall into each bin between ``edges``, or have each value of ``domain``; others are dropped.

    ``tree`` measures nested ranges of bins too, with so many children per node, and makes them agree: ranges of many
    bins then have far smaller errors. The others are as in `group_by`.
    """
    table, named, who = read_data("histogram", data, column, person)
    query: dict[str, Any] = {"name": "histogram", "histogram": named}
    query |= {key: value for key, value in (("edges", edges), ("domain", domain), ("tree", tree)) if value is not None}
    source = _source(who, neighbours, max_groups, max_rows)
    plan = ReleasePlan(queries=[query], budget=_budget(epsilon, rho, None), source=source)
    return plan.run(table, rng=rng)["histogram"]["count"]


def group_by(
    data: object,
    by: str | Sequence[str],
    answers: Mapping[str, str] | Sequence[str],
    *,
    keys: Sequence[Any] | str | None = None,
    bounds: Mapping[str, Any] | None = None,
    nulls: Mapping[str, str] | None = None,
    epsilon: float | None = None,
    rho: float | None = None,
    delta: float | None = None,
    person: str | None = None,
    max_groups: int | None = None,
    max_rows: int | None = None,
    bound: Bound | None = None,
    neighbours: Neighbours = "add/remove",
    interval: float | None = None,
    rng: Rng | None = None,
) -> Answers:
    """Counts, sums, means, variances, quantiles and distinct values of each group.

    Parameters
    ----------
    data
        A table, data frame, file or folder.
    by
        The column, or columns, whose values are the groups.
    answers
        What is asked: ``["count", "mean(income)"]``, or by name ``{"n": "count", "pay": "mean(income)"}``.
    keys
        The groups, of which each is answered and others are dropped; or "select", which needs ``delta``.
    bounds, nulls
        By column, as in `sum`.
    epsilon, rho, delta
        The budget.
    person, max_groups, max_rows, bound, neighbours
        The unit: see `Unit`.
    interval
        The level of intervals of quantiles, for which two more are drawn around each.
    rng
        Where randomness comes from; a fresh stream by default.

    >>> import fastdp as fd
    >>> table = {"city": ["Paris"] * 500 + ["Rome"] * 300, "income": [30_000] * 800}
    >>> found = fd.release.group_by(table, "city", {"n": "count", "pay": "mean(income)"}, keys=["Paris", "Rome"],
    ...                             bounds={"income": (0, 100_000)}, epsilon=1.0)
    >>> found.to_arrow().column_names[:2]
    ['city', 'n']
    """
    names = [by] if isinstance(by, str) else list(by)
    query = {"name": "groups", "group_by": names, "keys": keys, "answers": answers, "interval": interval}
    columns: dict[str, dict[str, Any]] = {name: {"bounds": value} for name, value in (bounds or {}).items()}
    for name, policy in (nulls or {}).items():
        columns.setdefault(name, {})["nulls"] = policy
    source = _source(person, neighbours, max_groups, max_rows) | ({} if bound is None else {"bound": bound})
    given = {key: value for key, value in query.items() if value is not None}
    plan = ReleasePlan(queries=[given], budget=_budget(epsilon, rho, delta), source=source, columns=columns)
    return plan.run(data, rng=rng)["groups"]


def marginals(
    data: object,
    domains: Mapping[str, Sequence[Any]],
    *,
    ways: int = 2,
    rho: float | None = None,
    person: str | None = None,
    max_rows: int | None = None,
    neighbours: Neighbours = "add/remove",
    rng: Rng | None = None,
) -> Answers:
    """All marginals of up to ``ways`` columns, together, at the least total variance.

    ``domains`` lists the values of each column; rows with others are dropped. The others are as in `count`.

    >>> import fastdp as fd
    >>> table = {"a": [0, 1] * 500, "b": [0, 0, 1, 1] * 250}
    >>> list(fd.release.marginals(table, {"a": [0, 1], "b": [0, 1]}, rho=0.5))
    ['a', 'b', 'a × b']
    """
    plan = ReleasePlan(
        queries=[{"name": "marginals", "marginals": dict(domains), "ways": ways}],
        budget=_budget(None, rho, None), source=_source(person, neighbours, None, max_rows),
    )  # fmt: skip
    return plan.run(data, rng=rng)["marginals"]


def _one(
    owner: str, data: Any, kind: str, epsilon: Any, rho: Any, person: Any, max_rows: Any, neighbours: Any, rng: Any,
    column: str | None = None, bounds: Any = None, nulls: str = "drop", *, max_groups: Any = None, words: str = "",
    more: Mapping[str, Any] | None = None,
) -> Answer:  # fmt: skip
    """The only answer of a plan with one question."""
    table, named, who = read_data(owner, data, column, person, needs_column=kind != "count")
    asked = "count" if kind == "count" else f"{kind}({named}{', ' if words else ''}{words})"
    columns = {named: {"bounds": bounds, "nulls": nulls}} if kind not in {"count", "distinct"} else {}
    plan = ReleasePlan(
        queries=[{"name": owner, "answers": {kind: asked}, **(more or {})}], budget=_budget(epsilon, rho, None),
        source=_source(who, neighbours, max_groups, max_rows), columns=columns,
    )  # fmt: skip
    return plan.run(table, rng=rng)[owner][kind]


def _budget(epsilon: Any, rho: Any, delta: Any) -> dict[str, Any]:
    return {key: value for key, value in (("epsilon", epsilon), ("rho", rho), ("delta", delta)) if value is not None}


def _source(person: Any, neighbours: Any, max_groups: Any, max_rows: Any) -> dict[str, Any]:
    given = {"person": person, "neighbours": neighbours, "max_groups": max_groups, "max_rows": max_rows}
    return {key: value for key, value in given.items() if value is not None}
