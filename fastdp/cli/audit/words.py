"""Mechanisms, inputs and callables as people write them on a command line."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from fastdp.mechanisms.base import Mechanism

OWNER = "audit"


def read_count(_context: click.Context, _parameter: click.Parameter, value: str | None) -> int | None:
    """A whole number such as 1e6."""
    if value is None:
        return None
    try:
        count = float(value)
    except (ValueError, OverflowError):
        raise click.BadParameter("must be a number such as 1e6") from None
    if not 1 <= count < 2**62 or count != int(count):
        raise click.BadParameter("must be a whole number of at least 1, such as 1e6")
    return int(count)


def read_value(text: str) -> Any:
    """A number, text, tuple, list or dict as Python writes it; anything else is text."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text


def read_mechanism(text: str) -> Mechanism | Callable[..., Any]:
    """A mechanism as the call that makes it, or a callable as ``module:name``."""
    from fastdp.errors import ParameterError

    module, colon, name = text.partition(":")
    if colon and "(" not in module:
        return read_callable(module, name)
    wrong = ParameterError(
        f"{OWNER}: give a mechanism with its parameters, such as 'KRR(epsilon=1, domain=4)', or module:callable"
    )
    try:
        tree = ast.parse(text, mode="eval").body
        described = _described(tree)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        raise wrong from None
    if not isinstance(described, dict) or "type" not in described:
        raise wrong
    from fastdp.mechanisms.base import Mechanism

    return Mechanism.from_dict(described)


def _described(node: ast.AST) -> Any:
    """A call of a mechanism as a dict of its name and parameters; any other value as it is."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.args:
        return {"type": node.func.id} | {str(part.arg): _described(part.value) for part in node.keywords}
    return ast.literal_eval(node)


def read_callable(module: str, name: str) -> Callable[..., Any]:
    """A function of a module, which may lie in the working folder."""
    from fastdp.errors import ParameterError

    if str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError):
        raise ParameterError(f"{OWNER}: no callable {name!r} in a module {module!r}; give module:name") from None
    if not callable(found):
        raise ParameterError(f"{OWNER}: {module}:{name} is no callable")
    return found  # type: ignore[no-any-return]
