"""An ordinary export of 20 columns, as a data engineer finds it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

CITIES = ("Berlin", "Paris", "Rome", "Madrid", "Vienna", "Oslo", "Prague", "Lisbon")
PLANS = ("basic", "plus", "pro")
TAGS = ("new", "vip", "late", "gift")


def make_export(rows: int, seed: int = 22) -> pa.Table:
    """Ids, names, e-mails, zip codes, dates, moments, money, categories with typos, places, truths, lists, nulls."""
    rng = np.random.default_rng(seed)

    def missing(share: float) -> np.ndarray:
        return rng.random(rows) < share

    def labels(names, mask=None) -> pa.Array:
        codes = pa.array(rng.integers(0, len(names), rows).astype(np.int32), mask=mask)
        return pa.array(names).take(codes)

    ids = pa.array(np.arange(rows) + 10_000_000).cast(pa.string())
    numbers = pa.array(rng.integers(0, 10**9, rows)).cast(pa.string())
    cents = np.minimum(rng.lognormal(3.5, 1.0, rows) * 100, 200_000).astype(np.int64)
    limbs = np.zeros((rows, 2), np.int64)
    limbs[:, 0] = cents
    amount = pa.Array.from_buffers(pa.decimal128(10, 2), rows, [None, pa.py_buffer(limbs)])
    lengths = rng.integers(0, 4, rows)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
    tags = pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(TAGS).take(pa.array(rng.integers(0, len(TAGS), offsets[-1])))
    )
    typos = (*CITIES, *(city.upper() for city in CITIES), "Berln")
    weights = np.array([8.0] * len(CITIES) + [1.0] * len(CITIES) + [0.5])
    city = pa.array(typos).take(pa.array(rng.choice(len(typos), rows, p=weights / weights.sum())))
    import pyarrow.compute as pc

    return pa.table({
        "customer_id": ids,
        "name": pc.binary_join_element_wise("Person", numbers, " "),
        "email": pc.binary_join_element_wise(numbers, "example.org", "@"),
        "phone": pc.binary_join_element_wise("+49", numbers, ""),
        "zip": pc.utf8_lpad(pa.array(rng.integers(1000, 99_999, rows)).cast(pa.string()), 5, "0"),
        "birth_date": pa.array(
            rng.integers(-9000, 13_000, rows).astype(np.int32), mask=missing(0.03)
        ).cast(pa.date32()),
        "signup_at": pa.array(1_400_000_000_000_000 + rng.integers(0, 10**14 * 3, rows), pa.timestamp("us", "UTC")),
        "last_login": pa.array(
            1_500_000_000_000 + rng.integers(0, 2 * 10**11, rows), pa.timestamp("ms"), mask=missing(0.1)
        ),
        "age": pa.array(rng.integers(18, 95, rows).astype(np.int16)),
        "income": pa.array(np.minimum(rng.lognormal(10.3, 0.6, rows), 200_000), mask=missing(0.05)),
        "amount": amount,
        "discount_percent": pa.array(rng.integers(0, 60, rows).astype(np.int8)),
        "city": city,
        "plan": labels(PLANS, missing(0.02)),
        "tags": tags,
        "lat": pa.array(52.5 + rng.normal(0, 0.1, rows)),
        "lon": pa.array(13.4 + rng.normal(0, 0.15, rows)),
        "active": pa.array(rng.random(rows) < 0.7),
        "opted_in": pa.array(rng.random(rows) < 0.4, mask=missing(0.02)),
        "comment": pc.binary_join_element_wise("call me on", numbers, " "),
    })  # fmt: skip
