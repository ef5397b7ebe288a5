"""Plans of anonymization: what is asked of every class, and a hierarchy for each quasi-identifier, in TOML."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

from fastdp import validation
from fastdp.errors import ParameterError
from fastdp.hierarchies import Hierarchy

OWNER = "anonymize"
KEYS = (
    "k", "l", "l_model", "c", "t", "t_distance", "alpha", "beta", "delta", "sensitive", "suppress", "dummies", "loss",
    "method", "nulls", "keep", "drop", "quasi",
)  # fmt: skip


def load_plan(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The parameters of :func:`fastdp.anonymize` from a file; hierarchies in files are found beside it."""
    place = Path(path)
    try:
        read = tomllib.loads(place.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"{OWNER}: {place.name!r} is no TOML file: {error}") from None
    validation.all_known(OWNER, "key", read, KEYS)
    if "k" not in read:
        raise ParameterError(f"{OWNER}: the plan must say k, the fewest rows of a class")
    quasi = read.get("quasi")
    if not isinstance(quasi, dict) or not quasi:
        raise ParameterError(f"{OWNER}: the plan must have a table [quasi] with a hierarchy for each quasi-identifier")
    hierarchies = {}
    for name, entry in quasi.items():
        if not isinstance(entry, dict):
            raise ParameterError(
                f"{OWNER}: column {name!r} of [quasi] must be a table, such as {{ intervals = [5, 10] }}"
            )
        hierarchies[name] = Hierarchy.from_dict(entry, folder=place.parent) if entry else None
    return {**read, "quasi": hierarchies}
