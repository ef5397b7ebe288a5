"""polars: frames that are sanitized once, whatever collects them, and mechanisms as expressions.

Importing ``fastdp.polars`` registers ``lf.fastdp``, ``df.fastdp`` and ``pl.col("x").fastdp``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fastdp.integrations.frames import Frame
from fastdp.optional import load
from fastdp.plans.plan import Plan
from fastdp.random.job import JobKey
from fastdp.tables.chunks import CHUNK, WHOLE
from fastdp.tables.sanitize import read_key
from fastdp.tables.sanitizing.payment import Budget, pay_for
from fastdp.tables.task import Task

pl = load("fastdp.polars", "polars", extra="polars")


@pl.api.register_dataframe_namespace("fastdp")
class FrameNamespace(Frame):
    """What fastdp does with a data frame."""


@pl.api.register_lazyframe_namespace("fastdp")
class LazyNamespace:
    """What fastdp does with a lazy frame.

    >>> import polars as pl, fastdp as fd
    >>> _ = fd.polars
    >>> plan = fd.Plan(columns={"ill": {"mechanism": "randomized_response", "epsilon": 1.0}})
    >>> private = pl.LazyFrame({"ill": [True, False] * 500}).fastdp.sanitize(plan)
    >>> private.collect().equals(private.collect(engine="streaming"))
    True
    """

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def sanitize(
        self,
        plan: Plan,
        *,
        key: JobKey | None = None,
        ledger: Budget = None,
        name: str = "",
        records: int | None = None,
    ) -> Any:
        """A lazy frame of the sanitized rows, which has the same bytes whenever it is collected.

        The ledger pays now, once, for all of them. What is selected or filtered from it is post-processing.

        Parameters
        ----------
        plan
            What becomes of each column.
        key, ledger, name, records
            As in `fastdp.sanitize`.
        """
        schema = self._frame.collect_schema().to_frame().to_arrow().schema
        chosen = read_key("sanitize", key, None)
        task = Task(schema, plan, chosen)
        pay_for(plan, ledger, name=name or "polars", records=records)
        columns, frame = task.columns, self._frame

        def source(names: Any, predicate: Any, rows: int | None, _size: int | None) -> Iterator[Any]:
            left = rows
            for made in Task.of(columns, chosen).run(WHOLE, _batches(frame, schema)):
                part = pl.from_arrow(made)
                if left is not None:
                    part = part.head(left)
                    left -= part.height
                if predicate is not None:
                    part = part.filter(predicate)
                yield part if names is None else part.select(names)
                if left == 0:
                    return

        shown = pl.from_arrow(task.schema.empty_table()).schema
        plugins = load("fastdp.polars", "polars.io.plugins", extra="polars")
        return plugins.register_io_source(source, schema=shown, is_pure=True)


def _batches(frame: Any, schema: Any) -> Iterator[Any]:
    """The rows of a lazy frame in order, as arrow batches of one schema."""
    if hasattr(frame, "collect_batches"):
        parts = frame.collect_batches(chunk_size=CHUNK, maintain_order=True)
    else:
        parts = iter([frame.collect()])
    for part in parts:
        yield from part.to_arrow().cast(schema).to_batches()


@pl.api.register_expr_namespace("fastdp")
class ExprNamespace:
    """Mechanisms as expressions. **They draw at every collect**: a lazy frame that is collected twice costs twice.

    >>> import polars as pl, fastdp as fd
    >>> _ = fd.polars
    >>> frame = pl.DataFrame({"x": [1.0, 2.0]})
    >>> frame.select(pl.col("x").fastdp.laplace(epsilon=1.0, sensitivity=1.0)).shape
    (2, 1)
    """

    def __init__(self, expr: Any) -> None:
        self._expr = expr

    def laplace(self, *, epsilon: float, sensitivity: float, bounds: tuple[float, float] | None = None) -> Any:
        """Laplace noise on floats; see `fastdp.Laplace`."""
        from fastdp.mechanisms.central.laplace import Laplace

        return self._map(Laplace(epsilon=epsilon, sensitivity=sensitivity, bounds=bounds).randomize, pl.Float64)

    def gaussian(self, *, epsilon: float, delta: float, sensitivity: float) -> Any:
        """Gaussian noise on floats; see `fastdp.Gaussian`."""
        from fastdp.mechanisms.central.gaussian import Gaussian

        return self._map(Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity).randomize, pl.Float64)

    def geometric(self, *, epsilon: float, sensitivity: int = 1) -> Any:
        """Two-sided geometric noise on integers; see `fastdp.Geometric`."""
        from fastdp.mechanisms.central.geometric import Geometric

        return self._map(Geometric(epsilon=epsilon, sensitivity=sensitivity).randomize, None)

    def krr(self, *, epsilon: float, domain: Sequence[str]) -> Any:
        """k-ary randomized response on labels; see `fastdp.KRR`."""
        from fastdp.mechanisms.local.krr import KRR

        return self._map(KRR(epsilon=epsilon, domain=list(domain)).randomize, None)

    def randomized_response(self, *, epsilon: float) -> Any:
        """Randomized response on truth values; see `fastdp.RandomizedResponse`."""
        from fastdp.mechanisms.local.randomized_response import RandomizedResponse

        return self._map(RandomizedResponse(epsilon=epsilon).randomize, pl.Boolean)

    def _map(self, randomize: Callable[[Any], Any], kind: Any) -> Any:
        return self._expr.map_batches(randomize, return_dtype=kind or pl.self_dtype(), is_elementwise=True)
