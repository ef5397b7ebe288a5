"""Labels as they are spelled: aliases and upper or lower case, settled before a label is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from fastdp.columns.domain import Domain
from fastdp.errors import ParameterError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class Spelling:
    """The label of the domain that a spelling stands for: an alias of it, or one that differs by case and spaces."""

    labels: Mapping[str, str] = field(hash=False)
    fold: bool

    @classmethod
    def read(cls, owner: str, given: Mapping[str, Any], domain: Domain | None) -> Spelling | None:
        """From a plan's ``aliases`` and ``fold_case``; None if it has neither.

        >>> found = Spelling.read("Plan", {"aliases": {"NYC": "New York"}}, Domain(2, ("New York", "Rome")))
        >>> found.label("NYC"), found.label("Paris")
        ('New York', 'Paris')
        """
        aliases, fold = given.get("aliases", {}), given.get("fold_case", False)
        if not isinstance(fold, bool):
            raise ParameterError(f"{owner}: fold_case must be true or false")
        if not isinstance(aliases, Mapping):
            raise ParameterError(f"{owner}: aliases must be a table from spellings to labels of the domain")
        if not aliases and not fold:
            return None
        if domain is None or domain.labels is None or not isinstance(domain.labels[0], str):
            raise ParameterError(f"{owner}: aliases and fold_case are for domains of labels that are text")
        if any(label not in domain.labels for label in aliases.values()):
            raise ParameterError(f"{owner}: every alias must stand for a label of the domain")
        known = {label: label for label in domain.labels} | dict(aliases)
        if fold:
            folded: dict[str, str] = {}
            for spelling, label in known.items():
                if folded.setdefault(_fold(spelling), label) != label:
                    raise ParameterError(f"{owner}: fold_case makes two labels of the domain one; give aliases instead")
            known = folded
        return cls(known, fold)

    def label(self, text: str) -> str:
        """The label of a spelling, or the text itself where none is known."""
        return self.labels.get(_fold(text) if self.fold else text, text)

    def settle(self, values: pa.Array) -> pa.Array:
        """Labels of all spellings; only distinct ones are looked up."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
            return values
        coded = pc.dictionary_encode(values)
        labels = [None if text is None else self.label(text) for text in coded.dictionary.to_pylist()]
        return pa.array(labels, values.type).take(coded.indices)


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()
