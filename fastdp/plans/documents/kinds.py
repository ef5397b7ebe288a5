"""What a column probably holds, by its name and, for the owner's eyes, by its values."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastdp.plans.documents.coordinate_names import as_latitude, as_longitude

if TYPE_CHECKING:
    import pyarrow as pa

SAMPLE = 200_000
"""Rows that a profile looks at."""
FEW = 60
"""Distinct labels up to which a text column is taken for categories."""
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")
_WORDS = {
    "identity": ("ssn", "passport", "iban", "tax", "national"),
    "email": ("email", "mail"),
    "name": ("name", "firstname", "lastname", "surname"),
    "phone": ("phone", "mobile", "tel"),
    "address": ("address", "street"),
    "id": ("id", "uuid", "guid", "key", "number", "account"),
    "zip": ("zip", "zipcode", "postcode", "postal", "plz"),
    "age": ("age",),
    "year": ("year",),
    "percent": ("percent", "percentage", "pct"),
    "money": ("income", "salary", "price", "amount", "balance", "paid", "cost", "revenue"),
}
DIRECT = ("identity", "email", "name", "phone", "address", "id")
"""Kinds that name a person by themselves."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen of a column: its kind, distinct values and nulls of the rows that were looked at."""

    kind: str
    rows: int = 0
    distinct: int = 0
    nulls: int = 0


def kind_by_name(name: str) -> str:
    """The kind that a name tells of; empty if it tells nothing.

    >>> kind_by_name("customer_email"), kind_by_name("birthYear"), kind_by_name("region")
    ('email', 'year', '')
    """
    parts = re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    if as_latitude(name) is not None or as_longitude(name) is not None:
        return "place"
    return next((kind for kind, words in _WORDS.items() if any(word in parts for word in words)), "")


def look(name: str, values: pa.ChunkedArray) -> Seen:
    """The kind of a column by its values, of which nothing but counts is kept."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind, types = values.type, pa.types
    named = kind_by_name(name)
    if types.is_nested(kind) or types.is_binary(kind) or types.is_large_binary(kind):
        return Seen(named, len(values), 0, values.null_count)
    plain = values.cast(kind.value_type) if types.is_dictionary(kind) else values
    if types.is_string_view(plain.type):
        plain = plain.cast(pa.large_string())
    distinct = pc.count_distinct(plain, mode="only_valid").as_py()
    seen = Seen(named, len(values), distinct, values.null_count)
    present = len(values) - values.null_count
    if not (types.is_string(plain.type) or types.is_large_string(plain.type)) or not present:
        return seen
    if not named and sum(bool(_EMAIL.fullmatch(one)) for one in plain.drop_null()[:200].to_pylist()) > 100:
        named = "email"
    if not named and distinct > 0.95 * present and present > FEW:
        named = "id"
    if not named:
        named = "categories" if distinct <= FEW else "text"
    return Seen(named, len(values), distinct, values.null_count)
