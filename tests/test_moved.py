"""Old module paths lead to the new ones, with a warning."""

from __future__ import annotations

import importlib
import sys

import pytest

import fastdp
from fastdp._moved import moved, split


@pytest.mark.parametrize("old", sorted(moved()))
def test_old_path__is_the_module_at_the_new_one(old):
    sys.modules.pop(old, None)
    new = importlib.import_module(moved()[old])
    with pytest.warns(DeprecationWarning, match=moved()[old]):
        found = importlib.import_module(old)
    assert found is new
    assert found.__name__ == found.__spec__.name == moved()[old]
    sys.modules.pop(old, None)


@pytest.mark.parametrize("old", sorted(split()))
def test_path_of_a_module_that_was_split__has_the_names_of_all_parts(old):
    sys.modules.pop(old, None)
    parts = [importlib.import_module(name) for name in split()[old]]
    with pytest.warns(DeprecationWarning, match=parts[0].__name__):
        found = importlib.import_module(old)
    assert found.__name__ == found.__spec__.name == old
    for part in parts:
        own = {name for name, value in vars(part).items() if getattr(value, "__module__", None) == part.__name__}
        assert own
        assert all(getattr(found, name) is getattr(part, name) for name in own)
    sys.modules.pop(old, None)


def test_public_names__outlive_old_paths_of_the_same_name():
    """``fastdp.parallel`` was a module: importing it must not take the function's place."""
    sys.modules.pop("fastdp.parallel", None)
    with pytest.warns(DeprecationWarning, match="threads"):
        importlib.import_module("fastdp.parallel")
    assert callable(fastdp.parallel)
    assert fastdp.accounting is importlib.import_module("fastdp.accounting")
    sys.modules.pop("fastdp.parallel", None)


def test_other_paths__are_not_found():
    for name in ("fastdp.noise.nothing", "fastdp.mechanisms.nothing", "fastdp.nothing"):
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module(name)
