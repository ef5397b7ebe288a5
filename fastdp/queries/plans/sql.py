"""SQL as a plan: aggregates of plain columns, grouped by plain columns; everything else is refused with the reason."""

from __future__ import annotations

from typing import Any

from fastdp import optional
from fastdp.errors import ParameterError

OWNER = "release --sql"
REFUSED = {
    "where": "filter the data first",
    "having": "a group that is left out would tell",
    "joins": "join the data first",
    "distinct": "ask for distinct(column)",
    "order": "groups come in the order of their keys",
    "limit": "every group is answered",
    "with": "write one select",
    "with_": "write one select",
    "windows": "it has no bounded sensitivity",
    "qualify": "it has no bounded sensitivity",
}


def read_sql(text: str) -> dict[str, Any]:
    """The query of a statement such as ``select city, count(*), avg(income) from t group by city``.

    Only names of columns stand inside aggregates: what is clamped is what enters the sum, so that no expression can
    undo a bound.
    """
    sqlglot = optional.load(OWNER, "sqlglot", extra="sql")
    expressions = sqlglot.exp
    try:
        statements = [one for one in sqlglot.parse(text) if one is not None]
    except sqlglot.errors.ParseError:
        raise ParameterError(f"{OWNER}: this is no SQL that sqlglot can read") from None
    if len(statements) != 1 or not isinstance(statements[0], expressions.Select):
        raise ParameterError(f"{OWNER}: write one select statement")
    select = statements[0]
    for name, reason in REFUSED.items():
        if select.args.get(name):
            raise ParameterError(f"{OWNER}: {name.strip('_')} is not offered; {reason}")
    group = select.args.get("group")
    by = [] if group is None else [_column(expressions, one, "group by") for one in group.expressions]
    answers: dict[str, str] = {}
    for item in select.expressions:
        named, inner = (item.alias, item.this) if isinstance(item, expressions.Alias) else ("", item)
        if isinstance(inner, expressions.Column):
            if inner.name not in by:
                raise ParameterError(f"{OWNER}: column {inner.name!r} stands outside an aggregate and not in group by")
            continue
        asked = _aggregate(expressions, inner)
        name = named or asked.replace("(", "_").replace(")", "").replace(", ", "_")
        if name in answers:
            raise ParameterError(f"{OWNER}: two answers are called {name!r}; give one another name: ... as name")
        answers[name] = asked
    if not answers:
        raise ParameterError(f"{OWNER}: asks for no aggregate")
    return {"name": "sql", "answers": answers, **({"group_by": by} if by else {})}


def _column(expressions: Any, item: Any, where: str) -> str:
    if not isinstance(item, expressions.Column) or not item.name:
        raise ParameterError(f"{OWNER}: only names of columns stand in {where}; make {item.sql()} a column first")
    return str(item.name)


def _aggregate(expressions: Any, item: Any) -> str:
    kinds = {
        expressions.Sum: "sum", expressions.Avg: "mean", expressions.VariancePop: "variance",
        expressions.Median: "median", expressions.Min: "min", expressions.Max: "max",
    }  # fmt: skip
    if isinstance(item, expressions.Count):
        inner = item.this
        if isinstance(inner, expressions.Star):
            return "count"
        if isinstance(inner, expressions.Distinct) and len(inner.expressions) == 1:
            return f"distinct({_column(expressions, inner.expressions[0], 'count')})"
        return f"count({_column(expressions, inner, 'count')})"
    if type(item) in kinds:
        return f"{kinds[type(item)]}({_column(expressions, item.this, 'an aggregate')})"
    raise ParameterError(
        f"{OWNER}: {item.sql()} is not offered; it takes count, sum, avg, var_pop, median, min and max of a column"
    )
