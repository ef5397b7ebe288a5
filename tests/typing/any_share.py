"""Count how many public parameters and fields are ``Any``: ``python -m tests.typing.any_share [--list ROOM]``.

Public are functions, methods and classes whose names, and those of what they stand in, do not start with an
underscore. Kernels are left out: numba, not annotations, types them.
"""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import fastdp

ROOT = Path(fastdp.__file__).parent


class Slot(NamedTuple):
    """A parameter or a field, where it stands, and its annotation."""

    room: str
    place: str
    annotation: str

    @property
    def is_any(self) -> bool:
        """Whether it is ``Any`` and nothing more precise; a parameter without an annotation is."""
        return self.annotation in {"Any", "Any | None", ""}


def slots() -> Iterator[Slot]:
    """Every public parameter and field of the package."""
    for path in sorted(ROOT.rglob("*.py")):
        below = path.relative_to(ROOT)
        if below.parts[0] != "kernels" and not any(part.startswith("_") for part in below.with_suffix("").parts):
            room = below.parts[0] if len(below.parts) > 1 else "."
            for name, annotation in _of(ast.parse(path.read_text())):
                yield Slot(room, f"{below}:{name}", annotation)


def _of(tree: ast.Module | ast.ClassDef, inside: str = "") -> Iterator[tuple[str, str]]:
    overloaded = {node.name for node in tree.body if isinstance(node, ast.FunctionDef) and _has(node, "overload")}
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from _of(node, f"{node.name}.")
        elif isinstance(node, ast.FunctionDef) and not _is_hidden(node, overloaded):
            for name, text in _parameters(node, is_method=bool(inside)):
                yield f"{inside}{node.name}({name})", text
        elif isinstance(node, ast.AnnAssign) and inside and not ast.unparse(node.target).startswith("_"):
            yield f"{inside}{ast.unparse(node.target)}", ast.unparse(node.annotation)


def _is_hidden(node: ast.FunctionDef, overloaded: set[str]) -> bool:
    """Whether a function is private, or the body behind overloads, which are all that a type checker sees."""
    if node.name.startswith("_") and node.name not in {"__init__", "__call__"}:
        return True
    return node.name in overloaded and not _has(node, "overload")


def _has(node: ast.FunctionDef, decorator: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == decorator for one in node.decorator_list)


def _parameters(node: ast.FunctionDef, *, is_method: bool) -> Iterator[tuple[str, str]]:
    given = node.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    for one in named[1:] if is_method and not _has(node, "staticmethod") else named:
        yield one.arg, ast.unparse(one.annotation) if one.annotation else ""


def share(found: list[Slot]) -> float:
    """The part of parameters and fields that is ``Any``."""
    return sum(slot.is_any for slot in found) / len(found)


def main() -> None:
    """Print the share of each room, or what is ``Any`` in one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", metavar="ROOM", help="name every Any of a room")
    room = parser.parse_args().list
    found = list(slots())
    for slot in found:
        if slot.room == room and slot.is_any:
            print(f"{slot.place}: {slot.annotation or 'no annotation'}")
    for name in sorted({slot.room for slot in found}):
        here = [slot for slot in found if slot.room == name]
        print(f"{name:>12} {sum(slot.is_any for slot in here):4d} of {len(here):4d}  {share(here):5.1%}")
    print(f"{'all':>12} {sum(slot.is_any for slot in found):4d} of {len(found):4d}  {share(found):5.1%}")


if __name__ == "__main__":
    main()
