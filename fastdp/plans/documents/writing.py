"""Plans as TOML: a file that exists keeps its comments and its order, and only what has changed is written anew."""

from __future__ import annotations

import datetime as dt
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import tomlkit
from tomlkit.items import AoT, Table

from fastdp.errors import FastDPError, ParameterError
from fastdp.plans.column_entry import ColumnEntry
from fastdp.plans.column_group import Group
from fastdp.plans.documents.named_files import with_files

if TYPE_CHECKING:
    from fastdp.plans.plan import Plan

MOMENTS = ("bounds", "nulls")
"""Keys whose values are dates and times in TOML, and text in JSON."""
WIDE = 100
"""Characters beyond which a list gets a line for each of its elements."""


def updated(plan: Plan, text: str, folder: Path) -> str:
    """The text of a plan's file in a folder, as it was where the plan still says the same; ``text`` may be empty."""
    document = tomlkit.parse(text)
    _update_ledger(document, plan, folder)
    _update_columns(document, plan, folder)
    _update_groups(document, plan)
    return tomlkit.dumps(document)


def _update_ledger(document: Any, plan: Plan, folder: Path) -> None:
    if plan.ledger is None:
        document.pop("ledger", None)
    elif "ledger" not in document or folder / str(document["ledger"]) != Path(plan.ledger):
        is_found = plan.path is not None and not Path(plan.ledger).is_absolute()
        document["ledger"] = os.path.relpath(plan.ledger, folder) if is_found else str(plan.ledger)


def _update_columns(document: Any, plan: Plan, folder: Path) -> None:
    if not plan.columns:
        document.pop("columns", None)
        return
    if "columns" not in document:
        document["columns"] = tomlkit.table(is_super_table=True)
    columns = document["columns"]
    written = with_files(columns.unwrap(), folder)
    before: Any = None
    for name in list(columns):
        if name in plan.columns:
            before = columns[name]
            continue
        if isinstance(columns[name], Table) and isinstance(before, Table):
            before.value.body.extend(_trailing(columns[name]))
        del columns[name]
    for name, entry in plan.columns.items():
        given = _in_toml(entry)
        if name not in written:
            columns[name] = _table(given)
        elif not isinstance(written[name], Mapping):
            if dict(entry.given) != {"action": written[name]}:
                columns[name] = _table(given)
        else:
            _change(columns[name], _in_toml(ColumnEntry.read(name, written[name])), given)


def _trailing(table: Table) -> list[Any]:
    """Comments below the last key of a table, which are about what follows."""
    body = list(table.value.body)
    last = max((place for place, (key, _) in enumerate(body) if key is not None), default=-1)
    return body[last + 1 :]


def _update_groups(document: Any, plan: Plan) -> None:
    groups: Any = document.get("groups")
    if not plan.groups:
        document.pop("groups", None)
        return
    if not isinstance(groups, AoT):
        document["groups"] = groups = tomlkit.aot()
    for number, group in enumerate(plan.groups):
        if number < len(groups):
            _change(groups[number], Group.read(number + 1, groups[number].unwrap()).given, group.given)
        else:
            groups.append(_table(group.given))
    while len(groups) > len(plan.groups):
        del groups[-1]


def _change(table: Any, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
    """Set and take out what differs; what a file is named for stays named where its content is the same."""
    named = {"domain": ("domain_file", "domain_column"), "labels": ("hierarchy_file",)}
    for key in before:
        if key not in after or before[key] != after[key]:
            for one in (*named.get(key, ()), *(() if key in after else (key,))):
                table.pop(one, None)
    for key, value in after.items():
        if key not in before or before[key] != value:
            table[key] = _item(value)


def _table(given: Mapping[str, Any]) -> Table:
    table = tomlkit.table()
    for key, value in given.items():
        table.add(key, _item(value))
    table.add(tomlkit.nl())
    return table


def _item(value: Any) -> Any:
    if isinstance(value, Mapping):
        inline = tomlkit.inline_table()
        for key, one in value.items():
            inline[key] = _item(one)
        return inline
    item = tomlkit.item(value)
    if isinstance(value, list) and len(item.as_string()) > WIDE:
        item.multiline(multiline=True)
    return item


def _in_toml(entry: ColumnEntry) -> dict[str, Any]:
    """What a plan says of a column, with dates and times as TOML has them, and without what is said by nothing."""
    given = dict(entry.given)
    if given.get("boundary") == "open":
        del given["boundary"]
    for key in MOMENTS if entry.ticks is not None else ():
        value = given.get(key)
        if isinstance(value, list):
            given[key] = [_moment(one) for one in value]
        elif key in given:
            given[key] = _moment(value)
    return given


def _moment(value: Any) -> Any:
    """A date, a time or both, of their text; anything else as it is."""
    if not isinstance(value, str):
        return value
    for kind in (dt.date, dt.time, dt.datetime):
        try:
            return kind.fromisoformat(value)
        except ValueError:
            continue
    return value


def write(plan: Plan, path: Path) -> None:
    """Write or update a plan's file, which is there whole or as it was."""
    base = path if path.exists() or plan.path is None or not plan.path.exists() else plan.path
    try:
        text = base.read_bytes().decode("utf-8-sig") if base.exists() else ""
        if text:
            type(plan).load(base)
        made = updated(plan, text, base.parent)
    except (OSError, UnicodeDecodeError, ValueError, FastDPError) as error:
        raise ParameterError(
            f"Plan: {str(base)!r} cannot be updated, for it is no plan ({type(error).__name__}); choose another name"
        ) from None
    if base.parent.resolve() != path.parent.resolve():
        made = _moved(made, base.parent, path.parent)
    hidden = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}")
    try:
        hidden.write_text(made, encoding="utf-8")
        hidden.replace(path)
    except OSError as error:
        raise ParameterError(f"Plan: cannot write {str(path)!r}: {error.strerror}") from None
    finally:
        hidden.unlink(missing_ok=True)


def _moved(text: str, old: Path, new: Path) -> str:
    """The text for another folder: files that it names are where they were."""
    document = tomlkit.parse(text)
    entries = document.get("columns", {}).values()
    for entry in (one for one in entries if isinstance(one, Mapping)):
        for key in ("domain_file", "hierarchy_file", "key_file"):
            if key in entry and not Path(str(entry[key])).is_absolute():
                entry[key] = os.path.relpath(old / str(entry[key]), new)  # type: ignore[index]
    return tomlkit.dumps(document)
