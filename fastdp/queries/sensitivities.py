"""The global sensitivity of the standard queries, as textbooks state it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Literal, get_args

from fastdp import rounding, validation
from fastdp.errors import ParameterError
from fastdp.privacy import Neighbours

Query = Literal["count", "sum", "mean", "variance", "min", "max", "median", "quantile", "histogram"]
_NEED_BOUNDS = ("sum", "mean", "variance", "min", "max", "median", "quantile")
_NEED_N = ("mean", "variance")


def sensitivity(
    query: Query,
    bounds: tuple[float, float] | None = None,
    *,
    n: int | None = None,
    neighbours: Neighbours = "add/remove",
    norm: Literal[1, 2] = 1,
    contributions: int = 1,
) -> float:
    """The global sensitivity of a query: how far its answer moves at most between neighbouring data sets, rounded up.

    With values clamped to ``bounds`` = (low, high) and their width w = high - low:

    | query | add/remove | replace |
    | --- | --- | --- |
    | count | 1 | 0 |
    | sum | max(abs(low), abs(high)) | w |
    | mean of n | w / n | w / n |
    | variance of n (the mean squared deviation) | w**2 (n - 1) / n**2 | the same |
    | min, max, median, quantile | w | w |
    | histogram | 1 | 2, or sqrt(2) in the Euclidean norm |

    For ``"add/remove"`` n is the size of the larger data set, which must then be public. Minimum, median and their like
    move by all of w in the worst case: `fd.release.quantiles` does far better.

    Parameters
    ----------
    query
        One of those in the table.
    bounds
        The interval (low, high) that values are clamped to.
    n
        The number of records, public.
    neighbours
        Whether neighbouring data sets differ by one record more, or by the value of one record.
    norm
        The norm of a histogram's change: 1 for Laplace and geometric noise, 2 for Gaussian.
    contributions
        How many records one person has at most: the sensitivity of protecting the person.

    >>> import fastdp as fd
    >>> fd.sensitivity("sum", bounds=(0, 120))
    120.0
    >>> fd.sensitivity("mean", bounds=(0, 120), n=480)
    0.25
    >>> fd.sensitivity("histogram", neighbours="replace"), fd.sensitivity("count", contributions=5)
    (2.0, 5.0)
    """
    owner = "sensitivity"
    validation.one_of(owner, "query", query, get_args(Query))
    validation.one_of(owner, "neighbours", neighbours, get_args(Neighbours))
    if norm not in {1, 2}:
        raise ParameterError(f"{owner}: norm must be 1 or 2, got {norm!r}")
    times = validation.positive_integer(owner, "contributions", contributions)
    low = high = Fraction(0)
    if query in _NEED_BOUNDS:
        if bounds is None:
            raise ParameterError(
                f"{owner}: a {query} needs bounds=(low, high): without them one record moves it at will"
            )
        low, high = (Fraction(end) for end in validation.bounds(owner, bounds, integers=False))
    elif bounds is not None:
        raise ParameterError(f"{owner}: a {query} has no bounds; leave them out")
    if query in _NEED_N and n is None:
        raise ParameterError(
            f"{owner}: a {query} needs n, the public number of records; else release a sum and a count"
        )
    records = validation.positive_integer(owner, "n", n) if n is not None else 1
    if query == "variance" and times > 1:
        raise ParameterError(f"{owner}: the variance is known for contributions=1 alone; release sums instead")
    width, replaced = high - low, neighbours == "replace"
    if query == "histogram" and norm == 2:
        return rounding.up(times * math.sqrt(2)) if replaced else float(times)
    change = {
        "count": Fraction(0 if replaced else 1),
        "sum": width if replaced else max(abs(low), abs(high)),
        "mean": width / records,
        "variance": width**2 * (records - 1) / records**2,
        "histogram": Fraction(2 if replaced else 1),
    }.get(query, width)
    if query in {"mean", "sum", "count", "histogram"}:
        change *= min(times, records) if query == "mean" else times
    return rounding.float_up(change)
