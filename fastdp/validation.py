"""Every check of a parameter. A check returns the value in its canonical type, or raises ParameterError."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from fastdp.errors import ParameterError, shown

if TYPE_CHECKING:
    import numpy as np


LARGEST_INTEGER = 1 << 62


class PerRecord:
    """A parameter with one value per record: positive finite float64, read-only, compared by value."""

    __slots__ = ("values",)

    def __init__(self, values: np.ndarray) -> None:
        self.values = values

    def __len__(self) -> int:
        return int(self.values.size)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PerRecord) and self.values.tobytes() == other.values.tobytes()

    def __hash__(self) -> int:
        return hash(self.values.tobytes())

    def __repr__(self) -> str:
        return f"<{len(self)} per-record values>"


def is_number(value: object) -> bool:
    """Whether value is a real number and not a bool; numpy's scalars count."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def as_float(value: object) -> float:
    """A real number as float64: infinite beyond its range, NaN if it is not a real number."""
    try:
        return float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    except OverflowError:
        return math.inf


def floats(owner: str, name: str, value: object) -> np.ndarray:
    """An array of float64, without a copy where it is one; not a mapping, not text, no ragged rows."""
    import numpy as np

    try:
        return np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(f"{owner}: {name} must hold numbers, in rows of one length") from None


def positive(owner: str, name: str, value: object) -> float:
    """A finite number > 0.

    >>> positive("KRR", "epsilon", -1.0)
    Traceback (most recent call last):
    fastdp.errors.ParameterError: KRR: epsilon must be a finite number > 0, got -1.0
    """
    if type(value) is float and 0 < value < math.inf:  # nearly always
        return value
    number = as_float(value)
    if not math.isfinite(number) or number <= 0:
        raise ParameterError(f"{owner}: {name} must be a finite number > 0, got {shown(value)}")
    if isinstance(value, numbers.Integral) and int(value) != int(number):
        raise ParameterError(f"{owner}: {name} must be exact in float64, got {shown(value)}; give a float")
    return number


def positive_or_per_record(owner: str, name: str, value: object) -> float | PerRecord:
    """A finite number > 0, or a one-dimensional sequence of such numbers, one per record."""
    if isinstance(value, PerRecord) or (type(value) is float and 0 < value < math.inf):  # nearly always
        return value
    if is_number(value) or isinstance(value, str | bytes | bool) or not hasattr(value, "__len__"):
        return positive(owner, name, value)
    import numpy as np

    try:
        given = np.asarray(value) if len(value) else np.zeros(0)
    except (TypeError, ValueError):
        given = np.zeros(0, object)
    good = given.ndim == 1 and given.dtype.kind in "iuf" and not isinstance(value, np.ma.MaskedArray)
    values = given.astype(np.float64) if good else np.zeros(0)
    if good and given.dtype.kind in "iu" and given.size and int(given.max()) > 1 << 53:
        raise ParameterError(f"{owner}: a per-record {name} must be exact in float64: integers of at most 2**53")
    if not good or not (np.isfinite(values) & (values > 0)).all():
        raise ParameterError(f"{owner}: a per-record {name} must be a one-dimensional array of finite numbers > 0")
    values.setflags(write=False)
    return PerRecord(values)


def positive_integer_or_per_record(owner: str, name: str, value: object) -> int | PerRecord:
    """An integer >= 1, or a one-dimensional sequence of such integers, one per record."""
    if isinstance(value, numbers.Real | str | bytes) or not hasattr(value, "__len__"):
        return positive_integer(owner, name, value)
    chosen = positive_or_per_record(owner, name, value)
    if isinstance(chosen, PerRecord) and (chosen.values % 1 != 0).any():
        raise ParameterError(f"{owner}: a per-record {name} must hold integers >= 1")
    return chosen if isinstance(chosen, PerRecord) else positive_integer(owner, name, value)


def probability(owner: str, name: str, value: object) -> float:
    """A number strictly between 0 and 1."""
    number = as_float(value)
    if not 0 < number < 1:
        raise ParameterError(f"{owner}: {name} must be a number between 0 and 1, both excluded, got {shown(value)}")
    return number


def positive_integer(owner: str, name: str, value: object) -> int:
    """An integer >= 1; a float is refused even when it is whole."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or not 1 <= int(value) < LARGEST_INTEGER:
        raise ParameterError(f"{owner}: {name} must be an integer >= 1 and below 2**62, got {shown(value)}")
    return int(value)


def power_of_two(owner: str, name: str, value: object) -> float:
    """A finite power of two, such as 0.25 or 1024."""
    number = positive(owner, name, value)
    if math.frexp(number)[0] != 0.5:
        below = 2.0 ** math.floor(math.log2(number))
        raise ParameterError(f"{owner}: {name} must be a power of two, got {number!r}; the next below is {below!r}")
    return number


def bounds(owner: str, value: object, *, integers: bool) -> tuple[Any, Any]:
    """A pair (low, high) of finite numbers with low < high."""
    kind = "integers" if integers else "finite numbers"
    pair: tuple[Any, Any] = (None, None)
    if isinstance(value, tuple | list) and len(value) == 2:
        pair = (value[0], value[1])
    low, high = pair
    if not integers and type(low) is type(high) is float and -math.inf < low < high < math.inf:  # nearly always
        return low, high
    if integers:
        good = all(isinstance(v, numbers.Integral) and not isinstance(v, bool) for v in (low, high))
    else:
        good = math.isfinite(as_float(low)) and math.isfinite(as_float(high))
    if not good or not low < high:
        raise ParameterError(f"{owner}: bounds must be two {kind} (low, high) with low < high, got {shown(value)}")
    return (int(low), int(high)) if integers else (float(low), float(high))


def origin(owner: str, value: object) -> tuple[float, float]:
    """A latitude and a longitude, where a plane touches the globe."""
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ParameterError(f"{owner}: origin must be a latitude and a longitude")
    latitude, longitude = (as_float(one) for one in value)
    if not (-90 <= latitude <= 90 and -180 <= longitude <= 180):
        raise ParameterError(f"{owner}: origin must be a latitude from -90 to 90 and a longitude from -180 to 180")
    return latitude, longitude


def one_of(owner: str, name: str, value: object, allowed: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in allowed:
        words = ", ".join(repr(word) for word in allowed)
        raise ParameterError(f"{owner}: {name} must be one of {words}, got {shown(value)}")
    return str(value)


def exactly_one(owner: str, **given: Any) -> str:
    """The name of the only parameter given; the alternatives are the keywords."""
    present = [name for name, value in given.items() if value is not None]
    if len(present) != 1:
        names = " or ".join(given)
        raise ParameterError(f"{owner}: give exactly one of {names}, got {' and '.join(present) or 'none'}")
    return present[0]


def level(owner: str, value: object) -> float:
    """A confidence level, strictly between 0 and 1."""
    return probability(owner, "level", value)


def unknown(what: str, given: object, allowed: tuple[str, ...]) -> str:
    """What to say of a word that is not among those allowed.

    >>> unknown("key", "epsilom", ("epsilon", "domain"))
    "unknown key 'epsilom'; did you mean 'epsilon'?"
    """
    near = get_close_matches(given, allowed, 1) if isinstance(given, str) else []
    hint = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(allowed)}"
    return f"unknown {what} {given!r}; {hint}"


def all_known(owner: str, what: str, given: Iterable[object], allowed: Sequence[str]) -> None:
    """Refuse the first of several words that is not among those allowed, with the nearest that is."""
    for word in given:
        if word not in allowed:
            raise ParameterError(f"{owner}: {unknown(what, word, tuple(allowed))}")


def visible_text(text: str) -> str:
    """Text without control characters, which a label of a file could hold.

    >>> visible_text("red\\x1b[31m")
    'red?[31m'
    """
    return "".join(character if character.isprintable() else "?" for character in text)
