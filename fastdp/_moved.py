"""Old module paths: they lead to where things live now, for one version, with a warning."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

_MOVES = (
    ("fastdp.kernels", "fastdp.kernels.stream", "aes chacha group=cipher keystream words bernoulli bits"),
    (
        "fastdp.kernels", "fastdp.kernels.central",
        "addition digits=two_digits each=per_record within=truncated stairs=staircase",
    ),
    ("fastdp.kernels", "fastdp.kernels", "cells=cell_tables"),
    (
        "fastdp.kernels", "fastdp.kernels.local",
        ("krr randomized_response unary hashing subset hadamard bloom numeric permanent histogram counts=count_codes "
         "reports=count_numbers"),
    ),
    ("fastdp.kernels", "fastdp.kernels.metric", "planar planar_exact rows=probability_rows places=map_cells"),
    (
        "fastdp.kernels", "fastdp.kernels.products",
        "dense sparse line grid blocks fourier vectors walsh cohorts support likelihood ratios simplex interior",
    ),
    ("fastdp.channels", "fastdp.channels", "dense=base ratios=metrics"),
    ("fastdp.columns", "fastdp.columns", "frames=tables"),
    ("fastdp", "fastdp.units", "quantities=lengths"),
    ("fastdp.noise", "fastdp.laws", "rates=rate weights=fixed_point sampling=law flips=coins cells=cell_tables"),
    ("fastdp.noise", "fastdp.laws", "odds=coins"),
    ("fastdp.noise", "fastdp.engine", "uniform runner"),
    (
        "fastdp.noise", "fastdp.laws.central",
        "laplace gaussian gaussian_aim=gaussian_request staircase grid=placement digits=two_digits",
    ),
    ("fastdp.noise", "fastdp.laws.local", "krr hashing subset duchi=two_point window longitudinal=two_rounds"),
    ("fastdp.noise", "fastdp.laws.metric", "planar offsets=cell_masses rows=probability_rows"),
    (
        "fastdp.mechanisms", "fastdp.mechanisms.central",
        "additive laplace geometric gaussian discrete_gaussian staircase",
    ),
    (
        "fastdp.mechanisms", "fastdp.mechanisms.local",
        ("frequencies krr randomized_response unary subset hadamard hashing rappor summed_histogram numeric "
         "square_wave longitudinal dbitflip attributes"),
    ),
    ("fastdp.mechanisms", "fastdp.random", "permanent=permanent_keys"),
    ("fastdp.mechanisms.local", "fastdp.random", "permanent_keys"),
    (
        "fastdp.mechanisms", "fastdp.mechanisms.metric",
        ("finite tight optimal blahut_arimoto grid planar_laplace remapped_points globe_laplace "
         "trajectory memoized_trajectory predictive_trajectory"),
    ),
    (
        "fastdp.tables", "fastdp.io",
        "outputs atomic formats streams=byte_stream csv_files=csv ipc folders",
    ),
    (
        "fastdp.tables", "fastdp.plans",
        ("plan entry=column_entry group=column_group points=point_group joint=category_group policies spec "
         "explain total"),
    ),
    ("fastdp.tables", "fastdp.plans.documents", "skeleton=template places=coordinate_names"),
    (
        "fastdp.tables", "fastdp.tables.sanitizing",
        "job kept=public_column order=order_watch pipeline shuffle receipt origin=receipt_lookup",
    ),
    (
        "fastdp.tables", "fastdp.tables.estimating",
        ("findings=results readers=category_readers number_readers group_readers means steps=bounded_noise "
         "subjects=estimable_parts"),
    ),
    ("fastdp.estimators", "fastdp.estimators", "reports=estimate"),
    (
        "fastdp.estimators", "fastdp.estimators.likelihood",
        "problem run=search accelerate second_order line=truncated_geometric batches deconvolution",
    ),
    (
        "fastdp.estimators", "fastdp.estimators.smoothing",
        "regularize held_out=cross_validation paths=step_paths maps=map_prior",
    ),
    ("fastdp.columns", "fastdp.columns", "truths=booleans"),
    ("fastdp", "fastdp", "parallel=threads"),
    ("fastdp.anonymity", "fastdp.anonymity.coding", "codes encoding grouping"),
    ("fastdp.learning", "fastdp.learning.noise", "streams=coefficients"),
)  # fmt: skip
"""The old package, the new one, and the modules that moved, old=new where the name changed."""
_SPLIT = {
    "fastdp.tables.sources": ("fastdp.io.open", "fastdp.io.base", "fastdp.io.memory", "fastdp.io.parquet"),
    "fastdp.learning.noise_streams": (
        "fastdp.learning.noise.banded", "fastdp.learning.noise.tree", "fastdp.learning.noise.stream",
    ),
    "fastdp.tables.sinks": ("fastdp.io.sinks", "fastdp.io.memory", "fastdp.io.parquet"),
}  # fmt: skip
"""Modules that became several; names are looked up in these, in this order."""


def moved() -> dict[str, str]:
    """The new path of every module that moved."""
    pairs = ((old, new, *name.partition("=")[::2]) for old, new, names in _MOVES for name in names.split())
    return {f"{old}.{name}": f"{new}.{renamed or name}" for old, new, name, renamed in pairs}


def split() -> dict[str, tuple[str, ...]]:
    """The new paths of every module that was split."""
    return dict(_SPLIT)


class _Moved(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Answers imports of old paths with the module at the new one."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        del path, target
        if not fullname.startswith("fastdp."):
            return None
        if fullname == "fastdp.noise":
            return importlib.util.spec_from_loader(fullname, self, is_package=True)
        known = fullname in _SPLIT or fullname in moved()
        return importlib.util.spec_from_loader(fullname, self) if known else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        if spec.name == "fastdp.noise":
            return None
        homes = _SPLIT[spec.name] if spec.name in _SPLIT else (moved()[spec.name],)
        message = f"{spec.name} moved to {' and '.join(homes)}; the old path goes with the next version"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        parts = [importlib.import_module(home) for home in homes]
        return parts[0] if len(parts) == 1 else _join(spec.name, parts)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own spec back; it has been executed at its own path."""
        if module.__name__ not in {"fastdp.noise", *_SPLIT}:
            module.__spec__ = importlib.util.spec_from_file_location(module.__name__, module.__file__)


def _join(name: str, parts: list[ModuleType]) -> ModuleType:
    """A module with the names of all parts; of two things with one name, that of the earlier part."""
    joined = ModuleType(name)
    for part in reversed(parts):
        joined.__dict__.update({name: value for name, value in vars(part).items() if not name.startswith("__")})
    return joined


def redirect() -> None:
    """Let imports of old paths lead to the new ones."""
    if not any(isinstance(finder, _Moved) for finder in sys.meta_path):
        sys.meta_path.append(_Moved())
