"""How columns of a plan are read from text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

    from fastdp.plans.plan import Plan


def text_types(plan: Plan) -> dict[str, pa.DataType]:
    """How the columns of a plan that are randomized are read from text."""
    return {name: kind for part in plan.parts for name, kind in part.text_types().items()}


def report_types(plan: Plan) -> dict[str, pa.DataType]:
    """How the reports of a plan are read from text, which does not state their types."""
    import pyarrow as pa

    types: dict[str, pa.DataType] = {}
    for part in plan.parts:
        read = part.text_types()
        if read:
            types |= zip(part.columns, part.result_types(list(read.values())), strict=True)
    return {name: kind.value_type if pa.types.is_dictionary(kind) else kind for name, kind in types.items()}


def unbounded(plan: Plan) -> frozenset[str]:
    """The columns that are read from text as floats and have no bounds: what text is rounded to is not clamped."""
    import pyarrow as pa

    bounded = {name for part in plan.parts if "bounds" in part.given for name in part.columns}
    return frozenset(name for name, kind in text_types(plan).items() if kind == pa.float64() and name not in bounded)
