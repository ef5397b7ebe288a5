"""Every mechanism, one row each: plan words, class, family, values, keys, warm-up calls and names in the papers.

Plan words, ``fastdp warmup`` and the completeness of the contract tests follow from these rows. Other packages add
rows through entry points of the group ``fastdp.mechanisms``, each the name of a `Row`.
"""

from __future__ import annotations

import functools
import importlib.metadata
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fastdp.errors import ParameterError
from fastdp.mechanisms.catalogue import ROWS
from fastdp.mechanisms.rows import Row, Takes, Warmup, Word
from fastdp.validation import unknown

if TYPE_CHECKING:
    from fastdp.mechanisms.base import Mechanism

__all__ = ["GROUP", "Row", "Takes", "Warmup", "Word", "find_protocol", "load", "rows"]

GROUP = "fastdp.mechanisms"


@functools.cache
def rows() -> tuple[Row, ...]:
    """All mechanisms: fastdp's own, then those of other packages."""
    found = list(ROWS)
    for point in importlib.metadata.entry_points(group=GROUP):
        try:
            row = point.load()
            _check_new(row, found)
        except Exception as error:  # noqa: BLE001 - whatever another package raises, the others are still there
            message = f"fastdp: the mechanism {point.name!r} of another package is left out: {error}"
            warnings.warn(message, stacklevel=2)
        else:
            found.append(row)
    return tuple(found)


def _check_new(row: Any, known: list[Row]) -> None:
    """Refuse what is no row, or takes a name that another mechanism has."""
    if not isinstance(row, Row):
        raise ParameterError(f"its entry point must name a Row, got {type(row).__name__}")
    names = {other.name for other in known} | {word.name for other in known for word in other.words}
    taken = names.intersection([row.name, *(word.name for word in row.words)])
    if taken:
        raise ParameterError(f"the name {min(taken)!r} is another mechanism's")


def load(owner: str, name: str) -> type[Mechanism]:
    """The class of that name, or an error with the nearest one."""
    found = {row.name: row for row in rows()}
    if name not in found:
        raise ParameterError(f"{owner}: {unknown('mechanism', name, tuple(found))}")
    return found[name].load()


def find_protocol(owner: str, protocol: str | Callable[..., Any]) -> tuple[Any, Callable[..., Any]]:
    """A local protocol as it is named, by its class or by a plan word that fixes parameters, and how it is made.

    ``protocol`` is a class or other callable, the name of a class, or a plan word.
    """
    if not isinstance(protocol, str):
        return protocol, protocol
    names: dict[str, tuple[Any, Callable[..., Any]]] = {}
    for row in rows():
        if row.takes == "categories":
            names[row.name] = row, row.load
            names |= {word.name: (row, functools.partial(_loaded, row, word)) for word in row.words}
    if protocol not in names:
        raise ParameterError(f"{owner}: {unknown('protocol', protocol, tuple(names))}")
    build = names[protocol][1]()
    return (build if isinstance(build, type) else protocol), build


def _loaded(row: Row, word: Word) -> Callable[..., Any]:
    return functools.partial(row.load(), **word.fixed) if word.fixed else row.load()
