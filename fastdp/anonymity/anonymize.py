"""Generalize and suppress until every class meets a requirement, at the least loss that is possible."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from fastdp.anonymity.job import OWNER, Job
from fastdp.anonymity.requirements import Requirement
from fastdp.anonymity.result import Anonymized
from fastdp.hierarchies import Hierarchy
from fastdp.io.outputs import Output
from fastdp.renamed import with_total
from fastdp.typing import Progress, TableSource


def anonymize(
    table: TableSource,
    quasi: Mapping[str, Hierarchy | None] | Sequence[str],
    *,
    k: int,
    l: float | None = None,
    t: float | None = None,
    sensitive: Sequence[str] | str = (),
    l_model: str = "distinct",
    c: float | None = None,
    t_distance: str = "equal",
    alpha: float | None = None,
    beta: float | None = None,
    delta: float | None = None,
    suppress: float = 0.05,
    dummies: float = 0.0,
    loss: str = "ncp",
    method: str = "optimal",
    keep: Sequence[str] = (),
    drop: Sequence[str] = (),
    nulls: str = "error",
    output: str | os.PathLike[str] | None = None,
    force: bool = False,
    input_format: str | None = None,
    progress: Progress | None = None,
) -> Anonymized:
    """Generalize quasi-identifiers until every class meets a requirement; the output is always recounted.

    ``method="optimal"`` gives every column one level of its hierarchy: all combinations are checked, on distinct rows,
    and the one with the least loss is taken, which is proven. Beyond a million combinations only those are skipped that
    cannot be better. ``method="mondrian"`` cuts the table into parts of at least k rows, each with its own ranges: less
    loss, no proof of it. Rows whose class does not meet the requirement are left out.

    Files are read twice and written once: memory grows with the number of distinct rows. (Mondrian and dummy records
    need the codes of all rows.)

    Parameters
    ----------
    table
        A table, data frame, dict of columns, or a path.
    quasi
        A hierarchy for each quasi-identifier; for Mondrian names are enough.
    k
        The fewest rows of a class.
    l, l_model, c
        The least diversity of ``sensitive`` in a class: "distinct" values, "entropy", or "recursive" with its c.
    t, t_distance
        The largest distance between a class and the table: "equal" or "ordered".
    alpha, beta, delta
        The largest share of one value, relative gain, and log ratio.
    sensitive
        The columns that the models above are about, each of which must meet them; they are written as they are.
    suppress
        The largest share of rows that may be left out.
    dummies
        The largest number of dummy records, as a share of the rows. They fill classes up to k, the largest first;
        their other columns are those of rows spread over the table, and the output is sorted, so that no place gives
        them away.
    loss
        What is minimized: "ncp" (normalized certainty penalty), "entropy" or "discernibility".
    method
        "optimal" or "mondrian".
    keep, drop
        What becomes of every other column: written as it is, or left out. A column that nothing names is refused.
    nulls
        What a missing value is: an error, a value of its own ("value"), or a reason to leave the row out ("drop").
    output
        A file or folder to write, with the certificate as its receipt beside it.
    force
        Replace an existing output file.
    input_format
        The format of a file whose content and name do not tell.
    progress
        Called with the number of combinations visited and of all; None where some may be skipped.

    >>> ages = {"age": [31, 34, 38, 52, 55, 59], "ill": ["flu", "HIV", "flu", "flu", "HIV", "HIV"]}
    >>> made = anonymize(ages, {"age": Hierarchy.intervals(10, 50)}, k=3, sensitive="ill")
    >>> made.levels, round(made.loss, 6), made.table["age"][0], made.classes.k
    ({'age': 1}, 0.4, '30-39', 3)
    """
    job = Job(
        table, quasi, keep, drop, sensitive, nulls, input_format,
        Requirement.checked(
            OWNER, k=k, l=l, t=t, l_model=l_model, c=c, t_distance=t_distance, alpha=alpha, beta=beta, delta=delta
        ),
        suppress=suppress, dummies=dummies, loss=loss, method=method,
    )  # fmt: skip
    target = None if output is None else Output(OWNER, job.source, output, force=force)
    return job.run(table, target, with_total(OWNER, progress))
