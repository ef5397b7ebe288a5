"""How a text file separates fields, quotes them, writes decimals and encodes characters."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from fastdp.errors import ParameterError
from fastdp.validation import unknown

WORDS = {"tab": "\t", "space": " ", "\\t": "\t"}
"""Separators that are hard to type."""
UTF8 = "utf-8"


@dataclass(frozen=True, slots=True)
class Dialect:
    """The dialect of a text file; the same holds for what is read and what is written.

    >>> Dialect.read("sanitize", {"delimiter": "tab", "encoding": "Latin-1"})
    Dialect(delimiter='\\t', quote='"', encoding='iso8859-1', decimal='.')
    """

    delimiter: str = ","
    quote: str = '"'
    encoding: str = UTF8
    decimal: str = "."

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any] | None) -> Dialect:
        """From options by their names; those that are None are left at their defaults."""
        if given is not None and not isinstance(given, Mapping):
            raise ParameterError(f"{owner}: csv must be a dict of {', '.join(OPTIONS)}, got {type(given).__name__}")
        read: dict[str, str] = {}
        for name, value in (given or {}).items():
            if name not in OPTIONS:
                raise ParameterError(f"{owner}: {unknown('csv option', name, OPTIONS)}")
            if value is not None:
                read[name] = _encoding(owner, value) if name == "encoding" else _character(owner, name, value)
        made = cls(**read)
        if made.delimiter == made.decimal:
            raise ParameterError(
                f"{owner}: delimiter and decimal are both {made.decimal!r}; say what separates fields, such as "
                'delimiter=";" (--delimiter ";")'
            )
        if made.quote in {made.delimiter, made.decimal}:
            raise ParameterError(f"{owner}: quote, delimiter and decimal must differ (--quote, --delimiter, --decimal)")
        return made

    @property
    def is_utf8(self) -> bool:
        """Whether its bytes can be parsed as they are."""
        return self.encoding == UTF8


OPTIONS = tuple(field.name for field in fields(Dialect))


def _character(owner: str, name: str, value: object) -> str:
    text = WORDS.get(value, value) if isinstance(value, str) else value
    if name == "decimal" and text not in {".", ","}:
        raise ParameterError(f'{owner}: decimal must be "." or "," (--decimal)')
    if not isinstance(text, str) or len(text) != 1 or not text.isascii() or text in "\r\n\0" or text.isalnum():
        raise ParameterError(
            f'{owner}: {name} must be one ASCII character that is no letter, digit or line end, or "tab" '
            f"(--{name}), got {value!r}"
        )
    return text


def _encoding(owner: str, value: object) -> str:
    """The canonical name of an encoding of text."""
    try:
        found = codecs.lookup(value)  # type: ignore[arg-type]
        "".encode(found.name)  # refuses codecs that are no encodings of text
    except (LookupError, TypeError, ValueError):
        raise ParameterError(
            f"{owner}: encoding {value!r} is not known to Python; name one such as utf-8, latin-1, cp1252 or utf-16 "
            "(--encoding)"
        ) from None
    return UTF8 if found.name in {"utf-8", "utf-8-sig", "ascii"} else found.name
