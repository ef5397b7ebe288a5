"""An extension of griffe: doctests at the end of a docstring are its section of examples."""

from __future__ import annotations

import re
from typing import Any

import griffe


def with_heading(text: str) -> str:
    """The docstring with the heading that numpy's style wants before its examples.

    >>> print(with_heading("One.\\n\\n>>> 1 + 1\\n2"))
    One.
    <BLANKLINE>
    Examples
    --------
    >>> 1 + 1
    2
    """
    return re.sub(r"\n+(?=>>> )", "\n\nExamples\n--------\n", text, count=1)


class DoctestExamples(griffe.Extension):
    """Give docstrings with doctests a section of examples."""

    def on_object(self, *, obj: griffe.Object, **_more: Any) -> None:
        """Change the docstring of one object."""
        if obj.docstring is not None:
            obj.docstring.value = with_heading(obj.docstring.value)
