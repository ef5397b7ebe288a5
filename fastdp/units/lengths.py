"""Quantities as people write them: lengths such as ``250m`` and rates such as ``ln(2)/100m``."""

from __future__ import annotations

import math
import re

from fastdp.errors import ParameterError, shown

METRES = {"m": 1.0, "km": 1000.0, "ft": 0.3048, "mi": 1609.344}
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([a-z]+)|([()*/]))")
_DEEPEST = 20
_LONGEST = 200


def parse_number(owner: str, name: str, text: str) -> float:
    """A number > 0 without a unit.

    >>> parse_number("geo", "epsilon", "3*ln(2)") == 3 * math.log(2)
    True
    """
    return _parse(owner, name, text, 0, "a number such as '1.5' or 'ln(8)'")


def parse_length(owner: str, name: str, text: str) -> float:
    """A length > 0 in metres, from m, km, ft or mi.

    >>> parse_length("geo", "cell", "0.25 km")
    250.0
    """
    return _parse(owner, name, text, 1, "a length such as '250m' or '0.5 km'")


def parse_rate(owner: str, name: str, text: str) -> float:
    """An epsilon > 0 per metre.

    >>> parse_rate("geo", "epsilon", "ln(2)/100m") == math.log(2) / 100
    True
    >>> parse_rate("geo", "epsilon", "2 / km")
    0.002
    """
    return _parse(owner, name, text, -1, "an epsilon per length such as 'ln(2)/100m' or '2/km'")


def read_rate(owner: str, epsilon: object, unit: str) -> object:
    """An epsilon per unit: a text such as ``ln(2)/200m`` in that unit, anything else as it is.

    >>> read_rate("PlanarLaplace", "ln(2)/200m", "km") == math.log(2) / 200 * 1000
    True
    """
    return parse_rate(owner, "epsilon", epsilon) * METRES[unit] if isinstance(epsilon, str) else epsilon


def _parse(owner: str, name: str, text: str, power: int, kind: str) -> float:
    wrong = ParameterError(f"{owner}: {name} must be {kind}, got {shown(text)}")
    if not isinstance(text, str) or len(text) > _LONGEST:
        raise wrong
    try:
        value, found = _Reader(text).read()
    except (ValueError, ZeroDivisionError, OverflowError):
        raise wrong from None
    if found != power or not math.isfinite(value) or value <= 0:
        raise wrong
    return value


class _Reader:
    """Products and quotients of numbers, lengths, logarithms and brackets; each a value and its power of a length."""

    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str]] = []
        place = 0
        text = text.rstrip()
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is None:
                raise ValueError
            kind = ("number", "word", "sign")[int(found.lastindex or 1) - 1]
            self._tokens.append((kind, found[int(found.lastindex or 1)]))
            place = found.end()
        self._depth = 0

    def read(self) -> tuple[float, int]:
        result = self._product()
        if self._tokens:
            raise ValueError
        return result

    def _take(self, *wanted: str) -> str | None:
        if self._tokens and self._tokens[0][1] in wanted:
            return self._tokens.pop(0)[1]
        return None

    def _product(self) -> tuple[float, int]:
        value, power = self._factor()
        while sign := self._take("*", "/"):
            other, more = self._factor()
            value, power = (value * other, power + more) if sign == "*" else (value / other, power - more)
        return value, power

    def _factor(self) -> tuple[float, int]:
        if self._take("("):
            return self._bracket()
        if self._take("ln"):
            if not self._take("("):
                raise ValueError
            value, power = self._bracket()
            if power:
                raise ValueError
            return math.log(value), 0
        kind, text = self._tokens.pop(0) if self._tokens else ("", "")
        if kind == "word" and text in METRES:  # as in 2/km
            return METRES[text], 1
        if kind != "number":
            raise ValueError
        unit = self._take(*METRES)
        return float(text) * METRES.get(unit or "", 1.0), int(unit is not None)

    def _bracket(self) -> tuple[float, int]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise ValueError
        result = self._product()
        if not self._take(")"):
            raise ValueError
        return result
