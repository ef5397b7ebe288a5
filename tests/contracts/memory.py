"""Working memory of a call, measured: ``python -m tests.contracts.memory [--all]`` prints one line of JSON per case,
``python -m tests.contracts.memory NAME FEW MANY`` that of one case with these numbers of rows.

It runs in a process of its own, whose allocators give freed memory back at once (see ``ENVIRONMENT``): then the growth
of the process at its peak, less the results, is what the call needed beyond its input and output.
"""

from __future__ import annotations

import gc
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import fastdp as fd
from fastdp.columns import buffers
from tests.contracts.cases import CASES, EACH
from tests.contracts.containers import CONTAINERS, Container, to_arrow
from tests.contracts.metrics import METRICS, SIZE
from tests.contracts.protocols import PROTOCOLS

ENVIRONMENT = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_MMAP_THRESHOLD_": "65536", "FASTDP_THREADS": "2"}
SMALL, LARGE = 1 << 18, 3 << 20
"""Rows of the two calls that are compared: from the first on, all blocks are full."""
LABELS = ["cold", "flu", "none", "a label that is not so short"]
NUMBERS = [3, 5, 70, 1000]
K = len(LABELS)


class Call(NamedTuple):
    """``make(rows)`` gives a function that randomizes so many rows; ``cost`` is the share of rows that time allows."""

    name: str
    make: Callable[[int], Callable[[], Any]]
    cost: int = 1
    is_slow: bool = False
    converted: int = 0
    """Bytes per row of the arrow array that the container is converted to first, which counts as input then."""


def codes(rows: int, k: int = K, dtype: Any = np.int32) -> np.ndarray:
    return (np.arange(rows) % k).astype(dtype)


def _bind(randomize: Callable[..., Any], *values: Any, **more: Any) -> Callable[[], Any]:
    return lambda: randomize(*values, rng=fd.Rng.unsafe_seed(1), **more)


def _of_array(mechanism: Any, wrap: Callable[[int], Any]) -> Callable[[int], Callable[[], Any]]:
    return lambda rows: _bind(mechanism.randomize, wrap(rows))


def _mechanisms() -> Iterator[Call]:
    """Every mechanism of the contract lists, on numpy arrays."""
    seen = set()
    for case in CASES:
        each = any(isinstance(value, np.ndarray) for value in case.parameters.values())
        is_variant = each or type(case.mechanism) in seen
        seen.add(type(case.mechanism))

        def make(rows: int, case: Any = case) -> Callable[[], Any]:
            more = {k: np.resize(v, rows) if np.size(v) == EACH else v for k, v in case.parameters.items()}
            return _bind(type(case.mechanism)(**more).randomize, codes(rows, 13, case.dtype))

        yield Call(case.name, make, is_slow=is_variant)
    for protocol in PROTOCOLS:

        def report(rows: int, protocol: Any = protocol) -> Callable[[], Any]:
            values, mechanism = protocol.values(rows, 9), protocol.make(0.8, 9)
            persons = np.arange(rows)
            more = {"persons": persons, "key": bytes(32)} if protocol.keyed else {}
            return _bind(mechanism.randomize, values, **more)

        is_variant = protocol.name in {"sue", "unary-of", "thresholded-histogram", "rappor-narrow", "longitudinal-sue"}
        cost = 4 if protocol.name.startswith(("local-h", "longitudinal", "dbit")) else 1
        yield Call(protocol.name, report, cost, is_variant)
    for metric in METRICS:
        yield Call(metric.name, _of_array(metric.make(1.5), lambda rows: codes(rows, SIZE)))


def _numbers() -> Iterator[Call]:
    """Numbers and truth values as arrow may hold them."""
    kinds: dict[str, Callable[[int], Any]] = {
        "float32": lambda rows: codes(rows, dtype=np.float32),
        "int64": lambda rows: codes(rows, dtype=np.int64),
        "strided": lambda rows: codes(2 * rows, dtype=np.float64)[::2],
        "arrow": lambda rows: pa.array(codes(rows, dtype=np.float64)),
        "nulls": lambda rows: _holes(codes(rows, dtype=np.float64)),
        "chunks": lambda rows: pa.chunked_array([_holes(codes(rows // 4, dtype=np.float64))] * 4),
        "dictionary": lambda rows: pa.array(codes(rows, dtype=np.float64)).dictionary_encode(),
        "runs": lambda rows: pc.run_end_encode(pa.array(np.repeat(codes(rows // 64), 64).astype(float))),
    }
    laplace, coin = fd.Laplace(epsilon=1.0, sensitivity=1.0), fd.RandomizedResponse(epsilon=1.0)
    for name, wrap in kinds.items():
        yield Call(f"laplace of {name}", lambda rows, wrap=wrap: _bind(laplace.randomize, wrap(rows), nulls="public"))
    yield Call("truths with nulls", lambda rows: _bind(coin.randomize, _holes(codes(rows, 2, bool)), nulls="public"))
    yield Call("truths in arrow", lambda rows: _bind(coin.randomize, pa.array(codes(rows, 2, bool))))


def _holes(values: np.ndarray) -> pa.Array:
    return pa.array(values, mask=np.arange(values.size) % 7 == 3)


def _labels() -> Iterator[Call]:
    """Labels in every layout, through k-RR, which gives labels back, and unary encoding, which does not."""
    text, whole = pa.array(LABELS), pa.array(NUMBERS)
    kinds: dict[str, tuple[list[Any], Callable[[int], Any]]] = {
        "strings": (LABELS, lambda rows: text.take(pa.array(codes(rows)))),
        "strings with nulls": (LABELS, lambda rows: text.take(_holes(codes(rows)))),
        "strings in chunks": (LABELS, lambda rows: pa.chunked_array([text.take(pa.array(codes(rows // 4)))] * 4)),
        "large strings": (LABELS, lambda rows: text.cast(pa.large_string()).take(pa.array(codes(rows)))),
        "string views": (LABELS, lambda rows: text.take(pa.array(codes(rows))).cast(pa.string_view())),
        "dictionary": (LABELS, lambda rows: pa.DictionaryArray.from_arrays(pa.array(codes(rows)), text)),
        "dictionary with nulls": (LABELS, lambda rows: pa.DictionaryArray.from_arrays(_holes(codes(rows)), text)),
        "runs": (LABELS, lambda rows: pc.run_end_encode(text.take(pa.array(np.repeat(codes(rows // 64), 64))))),
        "integers": (NUMBERS, lambda rows: whole.take(pa.array(codes(rows)))),
        "numpy text": (LABELS, lambda rows: np.array(LABELS)[codes(rows)]),
        "numpy objects": (LABELS, lambda rows: np.array(LABELS, object)[codes(rows)]),
        "numpy integers": (NUMBERS, lambda rows: np.array(NUMBERS)[codes(rows)]),
        "list": (LABELS, lambda rows: np.array(LABELS, object)[codes(rows)].tolist()),
    }
    for name, (labels, wrap) in kinds.items():
        more = {"nulls": "public"} if "nulls" in name else {}
        for kind in (fd.KRR, fd.UnaryEncoding):
            mechanism = kind(epsilon=1.0, domain=labels)

            def make(rows: int, mechanism: Any = mechanism, wrap: Any = wrap, more: Any = more) -> Callable[[], Any]:
                return _bind(mechanism.randomize, wrap(rows), **more)

            yield Call(f"{kind.__name__} of {name}", make, 3 if name == "numpy text" else 1, kind is not fd.KRR)
    many = [f"label {i}" for i in range(40_000)]
    large = fd.KRR(epsilon=9.0, domain=many)
    yield Call("KRR of many labels", _of_array(large, lambda rows: pa.array(many).take(pa.array(codes(rows, 40_000)))))


def _points() -> Iterator[Call]:
    """Points in the plane and on the globe, as two columns or in one container."""
    planar = fd.PlanarLaplace(epsilon=1.0, unit="km")
    near = fd.PlanarLaplace(epsilon=1.0, unit="km", origin=(1.0, 2.0))
    remapped = planar.remap([0.5, 0.5], [(0.0, 0.0), (3.0, 3.0)])

    def two(randomize: Any) -> Callable[[int], Callable[[], Any]]:
        return lambda rows: _bind(randomize, codes(rows, dtype=float), codes(rows, 3, float))

    yield Call("planar", two(planar.randomize))
    yield Call("planar in one array", lambda rows: _bind(planar.randomize, codes(2 * rows, 3, float).reshape(-1, 2)))
    yield Call(
        "planar in chunks",
        lambda rows: _bind(
            planar.randomize,
            pa.chunked_array([_holes(codes(rows // 4, dtype=float))] * 4),
            pa.array(codes(rows // 4 * 4, 3, float)),
            nulls="public",
        ),
    )
    yield Call("planar by latitude", two(near.randomize_latlon), 4)
    yield Call("remapped points", two(remapped.randomize), 4)
    yield Call("globe", two(fd.GlobeLaplace(epsilon=1.0, unit="km").randomize), 6)


def _tables() -> Iterator[Call]:
    """Several attributes at once, and persons by name."""
    for way in (fd.SplitBudget, fd.SampleAndFake, fd.SampleOne):
        plain = way(epsilon=1.0, domains={"a": 4, "b": 5})
        named = way(epsilon=1.0, domains={"a": LABELS, "b": 5}, protocol=fd.UnaryEncoding)

        def arrays(rows: int, plain: Any = plain) -> Callable[[], Any]:
            return _bind(plain.randomize, {"a": codes(rows), "b": codes(rows, 5)})

        def table(rows: int, named: Any = named) -> Callable[[], Any]:
            strings = pa.array(LABELS).take(pa.array(codes(rows)))
            return _bind(named.randomize, pa.table({"a": strings, "b": codes(rows, 5)}))

        yield Call(f"{way.__name__} of arrays", arrays)
        yield Call(f"{way.__name__} of a table", table, 2)
    twice = fd.Longitudinal(fd.KRR(epsilon=4.0, domain=4), first=1.0)

    def by_name(rows: int) -> Callable[[], Any]:
        return _bind(twice.randomize, codes(rows), persons=pa.array(np.arange(rows)).cast(pa.string()), key=bytes(32))

    yield Call("persons by name", by_name, 6)


CONVERTED = {
    "duckdb": {"laplace": 8, "krr": 16, "oue": 4},
    **{name: {"laplace": 8, "krr": 48, "oue": 16} for name in ("polars", "polars-chunked", "polars-frame")},
}
"""Bytes per row that a library's own conversion to arrow and back takes: views of text become whole texts and views
again, chunks are joined, a relation is evaluated."""
COARSE: dict[str, Callable[[pa.Array], Any]] = {
    "reader": lambda values: pa.table({"answers": values}).to_reader(1 << 16),
    "arro3-reader": lambda values: _arro3().RecordBatchReader.from_arrow(
        pa.table({"answers": values}).to_reader(1 << 16)
    ),
}
"""In batches of a size that somebody would use."""


def _arro3() -> Any:
    import arro3.core

    return arro3.core


def _containers() -> Iterator[Call]:
    """Every container of another library, with numbers, labels and sets."""
    text = pa.array(LABELS)
    kinds = {
        "laplace": (fd.Laplace(epsilon=1.0, sensitivity=1.0), lambda rows: pa.array(codes(rows, dtype=np.float64))),
        "krr": (fd.KRR(epsilon=1.0, domain=LABELS), lambda rows: text.take(pa.array(codes(rows)))),
        "oue": (fd.UnaryEncoding(epsilon=1.0, domain=4), lambda rows: pa.array(codes(rows))),
    }
    for container in CONTAINERS:
        if container.library is not None and not _has(container.library):
            continue
        for kind, (mechanism, values) in kinds.items():
            if container.name == "pandas-strided" and kind == "krr":
                continue

            def make(rows: int, container: Container = container, m: Any = mechanism, v: Any = values) -> Any:
                given = COARSE.get(container.name, container.wrap)(v(rows))
                return _bind(m.randomize, given)

            slow = kind != "laplace" or container.name.startswith(("pandas-", "arro3-", "nanoarrow-"))
            yield Call(f"{kind} in {container.name}", make, 4, slow, CONVERTED.get(container.name, {}).get(kind, 0))


def _has(library: str) -> bool:
    import importlib.util

    try:
        return importlib.util.find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def calls() -> Iterator[Call]:
    """Every mechanism and every kind of container."""
    for group in (_mechanisms, _numbers, _labels, _points, _tables, _containers):
        yield from group()


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) << 10
    raise OSError(name)


def _bytes_of(results: Any) -> int:
    if isinstance(results, tuple | dict):
        return sum(map(_bytes_of, results.values() if isinstance(results, dict) else results))
    if isinstance(results, list):
        return sys.getsizeof(results)
    return int(results.nbytes if isinstance(results, np.ndarray) else to_arrow(results).nbytes)


def working_memory(make: Callable[[int], Callable[[], Any]], rows: int) -> int:
    """Bytes that a call needs at its peak beyond its input and output."""
    call = make(rows)
    buffers._kept.clear()
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the high-water mark starts anew
    before = _status("VmRSS")
    results = call()
    peak = _status("VmHWM")
    return peak - before - _bytes_of(results)


def measure(case: Call, few: int, many: int) -> dict[str, Any]:
    """Working memory of a case in a call of ``few`` rows and one of ``many``."""
    case.make(1000)()  # compiled, and everything imported
    found = [working_memory(case.make, rows) for rows in (few, many)]
    return {"name": case.name, "rows": [few, many], "bytes": found, "converted": case.converted}


def main(arguments: list[str]) -> None:
    """Measure all cases in a small call and a large one; or one case, with the two numbers of rows given."""
    gc.freeze()  # what was imported, which is never collected
    if len(arguments) == 3:
        name, few, many = arguments[0], int(arguments[1]), int(arguments[2])
        found: Iterator[dict[str, Any]] = (measure(case, few, many) for case in calls() if case.name == name)
    else:
        everything = "--all" in arguments
        found = (
            measure(case, SMALL, LARGE // case.cost if everything else max(2 * SMALL, LARGE // 3 // case.cost))
            for case in calls()
            if everything or not case.is_slow
        )
    for line in found:
        print(json.dumps(line), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
