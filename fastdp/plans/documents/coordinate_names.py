"""Which columns hold coordinates, as far as their names tell."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LATITUDE, _LONGITUDE = ("latitude", "lat"), ("longitude", "long", "lon", "lng")
_PLANE = (("x", "y"), ("easting", "northing"))


def as_latitude(name: str) -> str | None:
    """What is left of a name without the word for a latitude; None if it has none.

    >>> as_latitude("home_lat"), as_latitude("Latitude"), as_latitude("flat")
    ('home', '', None)
    """
    return _without(name, _LATITUDE)


def as_longitude(name: str) -> str | None:
    """What is left of a name without the word for a longitude; None if it has none."""
    return _without(name, _LONGITUDE)


def is_globe(first: str, second: str) -> bool:
    """Whether two columns are a latitude and a longitude."""
    return as_latitude(first) is not None and as_longitude(second) is not None


def is_plane(first: str, second: str) -> bool:
    """Whether two columns are coordinates of a plane."""
    return any(_without(first, (x,)) is not None and _without(second, (y,)) is not None for x, y in _PLANE)


def find_pairs(names: Sequence[str]) -> list[tuple[str, str]]:
    """Every latitude with the longitude of the same place.

    >>> find_pairs(["home_lon", "home_lat", "work_lat", "lat", "lng"])
    [('home_lat', 'home_lon'), ('lat', 'lng')]
    """
    places = {rest: name for name in reversed(names) if (rest := as_longitude(name)) is not None}
    found = [(name, rest) for name in names if (rest := as_latitude(name)) is not None]
    return [(name, places.pop(rest)) for name, rest in found if rest in places]


def _without(name: str, words: tuple[str, ...]) -> str | None:
    parts = [part for part in re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()) if part]
    for word in words:
        if word in parts:
            parts.remove(word)
            return "_".join(parts)
    return None
